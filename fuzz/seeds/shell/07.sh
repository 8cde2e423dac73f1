
echo '{"a":[1,2]}' | grep -c a
