f() { f | f; }
f
