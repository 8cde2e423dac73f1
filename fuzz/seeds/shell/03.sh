
seq 1 1000000 | head -1
