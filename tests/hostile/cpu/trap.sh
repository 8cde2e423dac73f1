trap 'while :; do :; done' EXIT INT TERM
exit 0
