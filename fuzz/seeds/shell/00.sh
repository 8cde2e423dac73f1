
head -1
