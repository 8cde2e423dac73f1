(memory (export "memory") 20)
(data (i32.const 0) "\00\04\00\00\00\00\10\00")
(func (export "_start")
    (loop $on (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16))) (br $on)))
