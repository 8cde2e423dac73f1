# Runs in the shell that every call starts from, before its image is taken: what it sets stays, and what it uses once
# need not be prepared in a call.
set -o posix
unset -v BASH_VERSION
