kill -9 $$
kill -9 1
kill -SEGV $$
exit 255
