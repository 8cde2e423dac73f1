
for i; do echo $i; done; for i in; do echo no; done; echo $?
