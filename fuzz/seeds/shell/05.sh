
seq 5 | cat | cat | tail -1
