;; Prints two lines, then {"hello": NAME, "runtime": "wasm"}, where NAME is what follows --name in the arguments.
(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $args_sizes_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "args_get" (func $args_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 34)

  ;; 0: a buffer's address and length, 8: the bytes that were written, 16: the number and the bytes of the arguments.
  (data (i32.const 64) "looking for somebody to greet\nfound ")  ;; 36 bytes
  (data (i32.const 128) "\n{\"hello\": \"")                      ;; 12 bytes
  (data (i32.const 192) "\", \"runtime\": \"wasm\"}\n")           ;; 22 bytes
  (data (i32.const 256) "--name\00")
  (data (i32.const 272) "world\00")
  (data (i32.const 288) "\\")
  ;; From 1024 on the arguments' addresses, from 1 MiB on their bytes; an argument list has less than 1 MiB.

  (func $write (param $from i32) (param $length i32)
    (i32.store (i32.const 0) (local.get $from))
    (i32.store (i32.const 4) (local.get $length))
    (drop (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))

  (func $length (param $text i32) (result i32)
    (local $end i32)
    (local.set $end (local.get $text))
    (block $done (loop $next
      (br_if $done (i32.eqz (i32.load8_u (local.get $end))))
      (local.set $end (i32.add (local.get $end) (i32.const 1)))
      (br $next)))
    (i32.sub (local.get $end) (local.get $text)))

  (func $same (param $one i32) (param $other i32) (result i32)
    (loop $next
      (if (i32.ne (i32.load8_u (local.get $one)) (i32.load8_u (local.get $other))) (then (return (i32.const 0))))
      (if (i32.eqz (i32.load8_u (local.get $one))) (then (return (i32.const 1))))
      (local.set $one (i32.add (local.get $one) (i32.const 1)))
      (local.set $other (i32.add (local.get $other) (i32.const 1)))
      (br $next))
    (unreachable))

  ;; As a JSON text has it: a backslash before backslashes and quotes.
  (func $write_escaped (param $text i32)
    (local $byte i32)
    (block $done (loop $next
      (local.set $byte (i32.load8_u (local.get $text)))
      (br_if $done (i32.eqz (local.get $byte)))
      (if (i32.or (i32.eq (local.get $byte) (i32.const 34)) (i32.eq (local.get $byte) (i32.const 92)))
        (then (call $write (i32.const 288) (i32.const 1))))
      (call $write (local.get $text) (i32.const 1))
      (local.set $text (i32.add (local.get $text) (i32.const 1)))
      (br $next))))

  (func (export "_start")
    (local $count i32) (local $index i32) (local $name i32)
    (local.set $name (i32.const 272))
    (if (call $args_sizes_get (i32.const 16) (i32.const 20)) (then (call $proc_exit (i32.const 1))))
    (local.set $count (i32.load (i32.const 16)))
    ;; More than these places hold is more than a call may bring.
    (if (i32.or (i32.gt_u (local.get $count) (i32.const 200000)) (i32.gt_u (i32.load (i32.const 20)) (i32.const 1048576)))
      (then (call $proc_exit (i32.const 1))))
    (if (call $args_get (i32.const 1024) (i32.const 1048576)) (then (call $proc_exit (i32.const 1))))
    (local.set $index (i32.const 1))
    (block $done (loop $next
      (br_if $done (i32.ge_u (i32.add (local.get $index) (i32.const 1)) (local.get $count)))
      (if (call $same
            (i32.load (i32.add (i32.const 1024) (i32.mul (local.get $index) (i32.const 4))))
            (i32.const 256))
        (then (local.set $name
          (i32.load (i32.add (i32.const 1028) (i32.mul (local.get $index) (i32.const 4)))))))
      (local.set $index (i32.add (local.get $index) (i32.const 1)))
      (br $next)))
    (call $write (i32.const 64) (i32.const 36))
    (call $write (local.get $name) (call $length (local.get $name)))
    (call $write (i32.const 128) (i32.const 12))
    (call $write_escaped (local.get $name))
    (call $write (i32.const 192) (i32.const 22))))
