
true && false || echo c; false && echo n; echo $?
