# Runs in the shell that every call starts from, before its image is taken: what it sets stays, and what it uses need
# not be prepared in a call.

# Aliases are a POSIX shell's in scripts, too.
shopt -s expand_aliases

# A shell has them when it starts.
IFS=' 	
' PS1='$ ' PS2='> '

# What is made when it is first used: tables, patterns, the runtime's own state.
x=abc.d; : "${x%.*}" "${x#*.}" $((1 + 1)) "$(echo a | cat)" *
case $x in a*) : ;; esac
[ "$x" = "$x" ] && printf '%s' '' && unset -v x
