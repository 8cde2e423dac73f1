f() { f; }
f
