name=world
while [ $# -gt 0 ]; do
    case $1 in
        --name) name=$2 && shift ;;
        --name=*) name=${1#--name=} ;;
    esac
    shift
done

echo "looking for somebody to greet"
echo "found $name"
# A JSON text escapes backslashes and quotes.
escaped=$(printf '%s' "$name" | sed 's/[\\"]/\\&/g')
printf '{"hello": "%s", "runtime": "shell"}\n' "$escaped"
