
touch a b; echo "*" \* [a]* "["a]
