
while read -r a b; do echo "$b:$a"; done
