x='eval "$x"'
eval "$x"
