printf '%999999999s' x | wc -c
