
echo a$ "$" $
