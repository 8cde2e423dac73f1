
f() { read a; echo "f:$a"; }; f; x=$(cat); echo "rest:$x"
