i=0
while [ $i -lt 50 ]; do sleep 9999 & i=$((i+1)); done
wait
