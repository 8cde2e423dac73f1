yes | tee a b c /dev/stderr
