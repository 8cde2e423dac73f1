(memory (export "memory") 1)
(func $f (call $f) (call $f))
(func (export "_start") (call $f))
