i=0
while :; do echo x >"f$i"; i=$((i+1)); done 2>/dev/null
