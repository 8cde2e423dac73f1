i=0
while [ $((i)) -ge 0 ]; do i=$(((i * 7 + 3) % 1000003)); done
