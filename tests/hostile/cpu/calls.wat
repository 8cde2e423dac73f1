(memory (export "memory") 1)
(func $a (call $b)) (func $b)
(func (export "_start") (loop $on (call $a) (br $on)))
