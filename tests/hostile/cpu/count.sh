seq 1 999999999999 | sort -n | tail -1
