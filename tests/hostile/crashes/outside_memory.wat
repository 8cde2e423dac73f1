(memory (export "memory") 1)
(func (export "_start") (drop (i32.load offset=0xffffffff (i32.const 0xffffffff))))
