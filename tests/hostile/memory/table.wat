(memory (export "memory") 1)
(table $t 1 funcref)
(func (export "_start")
    (loop $on
        (drop (table.grow $t (ref.null func) (i32.const 999)))
        (table.fill $t (i32.const 0) (ref.null func) (table.size $t))
        (br $on)))
