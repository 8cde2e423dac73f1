i=0
while :; do eval "v$i=$i$i$i$i"; i=$((i+1)); done
