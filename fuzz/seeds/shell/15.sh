
f() { echo a; echo b >&2; } >f 2>&1; f; cat f
