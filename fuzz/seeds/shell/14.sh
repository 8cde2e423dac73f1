
head -c 16 /dev/urandom | wc -c | tr -d " "
