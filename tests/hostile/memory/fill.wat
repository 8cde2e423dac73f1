(memory (export "memory") 1)
(func (export "_start") (local $bytes i32)
    (loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 64)) (i32.const -1))))
    (local.set $bytes (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1)))
    (loop $on
        (memory.fill (i32.const 0) (i32.const 1) (local.get $bytes))
        (memory.copy (i32.const 1) (i32.const 0) (local.get $bytes))
        (br $on)))
