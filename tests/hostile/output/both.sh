while :; do echo out; echo err >&2; done
