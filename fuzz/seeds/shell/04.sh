
x=1; cat <<E
'$x' "$x"
E
