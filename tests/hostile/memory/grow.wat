(memory (export "memory") 1)
(func (export "_start") (loop $on (drop (memory.grow (i32.const 1))) (br $on)))
