
printf "a\\tb\n" | { read -r x; printf "%s\n" "$x"; }
