x=$(cat /dev/zero)
echo ${#x}
