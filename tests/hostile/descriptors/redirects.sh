i=3
while :; do eval "exec $i>f$i" 2>/dev/null; i=$((i+1)); done
