(memory (export "memory") 1)
(data (i32.const 0) "f")
(func (export "_start")
    (loop $on
        (drop (call $path_open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 1)
            (i64.const 0x1fffffff) (i64.const 0x1fffffff) (i32.const 0) (i32.const 1008)))
        (br $on)))
