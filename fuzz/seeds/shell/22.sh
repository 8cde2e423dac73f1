
echo x >/dev/null; cat /dev/null; wc -c </dev/null | tr -d " "
