;; What the host calls, and what the boot files need from QuickJS beside its modules `qjs:std` and `qjs:os`.
;;
;; The module is a reactor that only sets up a context. This makes of it one that runs turns: `host_alloc` and `turn`.
;; Three functions of the module are replaced, because each is called at just the place where the boot files have to
;; decide: what a module's name means, what becomes of a rejected promise, and `Math.random`, whose state the image
;; would repeat in every call. `std.loadScript` is replaced, too: it is the boot files' door to functions that the
;; engine offers in C only (see `boot.js`, which closes it again).
;;
;; A value of JavaScript is an i64: the tag in the upper half, a number or pointer in the lower.
(module
  (import "module" "memory" (memory 0))
  (import "module" "qjs_init" (func $qjs_init (result i32)))
  (import "module" "qjs_get_context" (func $qjs_get_context (result i32)))
  (import "module" "malloc" (func $malloc (param i32) (result i32)))
  (import "module" "calloc" (func $calloc (param i32 i32) (result i32)))
  (import "module" "free" (func $free (param i32)))
  (import "module" "strlen" (func $strlen (param i32) (result i32)))
  (import "module" "eval_buf" (func $eval_buf (param i32 i32 i32 i32 i32) (result i32)))
  (import "module" "js_std_dump_error" (func $dump_error (param i32)))
  (import "module" "JS_GetRuntime" (func $runtime_of (param i32) (result i32)))
  (import "module" "JS_SetMaxStackSize" (func $set_stack (param i32 i32)))
  (import "module" "JS_NewStringLen" (func $new_string (param i32 i32 i32) (result i64)))
  (import "module" "JS_ToCStringLen2" (func $to_text (param i32 i32 i64 i32) (result i32)))
  (import "module" "JS_FreeCString" (func $free_text (param i32 i32)))
  (import "module" "JS_Call" (func $js_call (param i32 i64 i64 i32 i32) (result i64)))
  (import "module" "JS_DupValue" (func $dup (param i32 i64) (result i64)))
  (import "module" "JS_FreeValue" (func $free_value (param i32 i64)))
  (import "module" "JS_Eval" (func $js_eval (param i32 i32 i32 i32 i32) (result i64)))
  (import "module" "JS_EvalFunction" (func $eval_function (param i32 i64) (result i64)))
  (import "module" "JS_GetImportMeta" (func $import_meta (param i32 i32) (result i64)))
  (import "module" "JS_GetModuleNamespace" (func $namespace (param i32 i32) (result i64)))
  (import "module" "JS_ExecutePendingJob" (func $run_job (param i32 i32) (result i32)))
  (import "module" "JS_GetException" (func $exception (param i32) (result i64)))
  (import "module" "JS_PromiseState" (func $promise_state (param i32 i64) (result i32)))
  (import "module" "JS_PromiseResult" (func $promise_result (param i32 i64) (result i64)))

  (import "module" "JS_NewUint8ArrayCopy" (func $new_bytes (param i32 i32 i32) (result i64)))
  (import "module" "JS_GetArrayBuffer" (func $buffer (param i32 i32 i64) (result i32)))

  ;; The context; 0 before the first turn.
  (global $context (mut i32) (i32.const 0))
  ;; Sixteen bytes of memory for answers that come through a pointer, and a file name behind them.
  (global $answer (mut i32) (i32.const 0))
  ;; The function that the boot files want called, `hook(kind, a, b)`; undefined before they have set it.
  (global $hook (mut i64) (i64.const 0x300000000))
  ;; The state of Math.random, an xorshift128+.
  (global $random_0 (mut i64) (i64.const 1))
  (global $random_1 (mut i64) (i64.const 2))

  ;; Memory for a text of so many bytes. The zero behind it ends it for C.
  (func (export "host_alloc") (param $length i32) (result i32)
    (call $calloc (i32.add (local.get $length) (i32.const 1)) (i32.const 1)))

  ;; Runs the text and returns its exit status. Before there is a hook the text is a module; from then on it is handed
  ;; to the hook, which is called again, with nothing, for as long as it answers with a number below 0. Jobs (what
  ;; promises left to do) run after each time.
  (func (export "turn") (param $text i32) (param $length i32) (result i32)
    (local $value i64) (local $status i64)
    (if (i32.eqz (global.get $context)) (then (call $start)))
    (if (i64.eq (global.get $hook) (i64.const 0x300000000)) (then
      ;; eval_buf answers -1 after it has printed what is wrong.
      (return (i32.and (call $eval_buf (global.get $context) (local.get $text) (local.get $length)
        (i32.add (global.get $answer) (i32.const 16)) (i32.const 1)) (i32.const 1)))))
    (local.set $value (call $new_string (global.get $context) (local.get $text) (local.get $length)))
    (loop $again
      (local.set $status (call $call_hook (i32.const 0) (local.get $value) (i64.const 0x300000000)))
      (if (i64.eq (local.get $status) (i64.const 0x600000000)) (then
        ;; The hook catches what a script throws: here even the memory for that was missing.
        (call $dump_error (global.get $context))
        (return (i32.const 1))))
      (call $free_value (global.get $context) (local.get $value))
      (local.set $value (i64.const 0x300000000))
      (if (i32.ge_s (i32.wrap_i64 (local.get $status)) (i32.const 0)) (then
        (return (i32.wrap_i64 (local.get $status)))))
      (call $run_jobs)
      (br $again))
    (unreachable))

  (func $start
    (if (call $qjs_init) (then (unreachable)))
    (global.set $context (call $qjs_get_context))
    ;; Of the module's two megabytes: the engine takes one for itself.
    (call $set_stack (call $runtime_of (global.get $context)) (i32.const 0x1E0000))
    (global.set $answer (call $calloc (i32.const 32) (i32.const 1)))
    ;; "<ampoule>", the name of the boot files in stacks.
    (i64.store offset=16 (global.get $answer) (i64.const 0x656C756F706D613C))
    (i32.store8 offset=24 (global.get $answer) (i32.const 0x3E)))

  (func $run_jobs
    (local $ran i32)
    (loop $again
      (local.set $ran (call $run_job (call $runtime_of (global.get $context)) (global.get $answer)))
      (br_if $again (i32.gt_s (local.get $ran) (i32.const 0)))
      (if (i32.lt_s (local.get $ran) (i32.const 0)) (then
        (call $tell (i32.const 1) (call $exception (global.get $context)) (i64.const 0x300000000))
        (br $again)))))

  ;; Calls the hook. The values stay the caller's, the answer is the caller's too.
  (func $call_hook (param $kind i32) (param $a i64) (param $b i64) (result i64)
    (local $arguments i32) (local $result i64)
    (local.set $arguments (call $malloc (i32.const 24)))
    (if (i32.eqz (local.get $arguments)) (then (unreachable)))
    (i64.store (local.get $arguments) (i64.extend_i32_u (local.get $kind)))
    (i64.store offset=8 (local.get $arguments) (local.get $a))
    (i64.store offset=16 (local.get $arguments) (local.get $b))
    (local.set $result (call $js_call (global.get $context) (global.get $hook) (i64.const 0x300000000) (i32.const 3)
      (local.get $arguments)))
    (call $free (local.get $arguments))
    (local.get $result))

  ;; Calls the hook with a value to let go of, and drops the answer. An exception of the hook's own is dropped as well.
  (func $tell (param $kind i32) (param $a i64) (param $b i64)
    (local $result i64)
    (local.set $result (call $call_hook (local.get $kind) (local.get $a) (local.get $b)))
    (if (i64.eq (local.get $result) (i64.const 0x600000000)) (then
      (local.set $result (call $exception (global.get $context)))))
    (call $free_value (global.get $context) (local.get $result))
    (call $free_value (global.get $context) (local.get $a)))

  ;; Evaluates or compiles a text under a file's name.
  (func $eval_text (param $source i64) (param $file i32) (param $flags i32) (result i64)
    (local $text i32) (local $result i64)
    (local.set $text (call $to_text (global.get $context) (global.get $answer) (local.get $source) (i32.const 0)))
    (if (i32.eqz (local.get $text)) (then (return (i64.const 0x600000000))))
    (local.set $result (call $js_eval (global.get $context) (local.get $text) (i32.load (global.get $answer))
      (local.get $file) (local.get $flags)))
    (call $free_text (global.get $context) (local.get $text))
    (local.get $result))

  ;; std.loadScript, as the boot files use it: native(what, a, b, c).
  (func (export "replace:js_loadScript") (param $context i32) (param $this i64) (param $count i32) (param $values i32)
    (result i64)
    (local $what i32) (local $a i64) (local $file i32) (local $result i64)
    (local.set $what (i32.load (local.get $values)))
    (local.set $a (i64.load offset=8 (local.get $values)))
    ;; 0: set the hook.
    (if (i32.eq (local.get $what) (i32.const 0)) (then
      (global.set $hook (call $dup (local.get $context) (local.get $a)))))
    ;; 1: evaluate the text `a` under the file name `b` with the flags `c`.
    (if (i32.eq (local.get $what) (i32.const 1)) (then
      (local.set $file (call $to_text (local.get $context) (global.get $answer)
        (i64.load offset=16 (local.get $values)) (i32.const 0)))
      (if (i32.eqz (local.get $file)) (then (return (i64.const 0x600000000))))
      (local.set $result (call $eval_text (local.get $a) (local.get $file) (i32.load offset=24 (local.get $values))))
      (call $free_text (local.get $context) (local.get $file))
      (return (local.get $result))))
    ;; 2: the object `import.meta` of the compiled module `a`.
    (if (i32.eq (local.get $what) (i32.const 2)) (then
      (return (call $import_meta (local.get $context) (i32.wrap_i64 (local.get $a))))))
    ;; 3: run the compiled module `a`; the result is a promise.
    (if (i32.eq (local.get $what) (i32.const 3)) (then
      (return (call $eval_function (local.get $context) (call $dup (local.get $context) (local.get $a))))))
    ;; 4: the state of the promise `a`: 0 pending, 1 fulfilled, 2 rejected.
    (if (i32.eq (local.get $what) (i32.const 4)) (then
      (return (i64.extend_i32_u (call $promise_state (local.get $context) (local.get $a))))))
    ;; 5: what the promise `a` holds.
    (if (i32.eq (local.get $what) (i32.const 5)) (then
      (return (call $promise_result (local.get $context) (local.get $a)))))
    ;; 6: the namespace of the module `a`.
    (if (i32.eq (local.get $what) (i32.const 6)) (then
      (return (call $namespace (local.get $context) (i32.wrap_i64 (local.get $a))))))
    ;; 7: seed Math.random with four integers.
    (if (i32.eq (local.get $what) (i32.const 7)) (then
      (global.set $random_0 (call $joined (local.get $a) (i64.load offset=16 (local.get $values))))
      (global.set $random_1 (i64.or (i64.const 1) (call $joined (i64.load offset=24 (local.get $values))
        (i64.load offset=32 (local.get $values)))))))
    ;; 8: the UTF-8 bytes of the text `a`.
    (if (i32.eq (local.get $what) (i32.const 8)) (then
      (local.set $file (call $to_text (local.get $context) (global.get $answer) (local.get $a) (i32.const 0)))
      (if (i32.eqz (local.get $file)) (then (return (i64.const 0x600000000))))
      (local.set $result (call $new_bytes (local.get $context) (local.get $file) (i32.load (global.get $answer))))
      (call $free_text (local.get $context) (local.get $file))
      (return (local.get $result))))
    ;; 9: the text of `c` bytes of UTF-8 from `b` on in the buffer `a`.
    (if (i32.eq (local.get $what) (i32.const 9)) (then
      (local.set $file (call $buffer (local.get $context) (global.get $answer) (local.get $a)))
      (return (call $new_string (local.get $context)
        (i32.add (local.get $file) (i32.load offset=16 (local.get $values))) (i32.load offset=24 (local.get $values))))))
    (i64.const 0x300000000))

  (func $joined (param $low i64) (param $high i64) (result i64)
    (i64.or (i64.and (local.get $low) (i64.const 0xFFFFFFFF)) (i64.shl (local.get $high) (i64.const 32))))

  ;; What a module's name stands for: the hook's answer, which is the text of a module.
  (func (export "replace:js_module_loader") (param $context i32) (param $file i32) (param $opaque i32)
    (param $attributes i64) (result i32)
    (local $name i64) (local $source i64) (local $module i64)
    (local.set $name (call $new_string (local.get $context) (local.get $file) (call $strlen (local.get $file))))
    (local.set $source (call $call_hook (i32.const 2) (local.get $name) (local.get $attributes)))
    (local.set $module (i64.const 0x600000000))
    (if (i64.ne (local.get $source) (i64.const 0x600000000)) (then
      ;; 0x21: a module, only compiled.
      (local.set $module (call $eval_text (local.get $source) (local.get $file) (i32.const 0x21)))
      (call $free_value (local.get $context) (local.get $source))))
    (if (i64.ne (local.get $module) (i64.const 0x600000000)) (then
      (call $tell (i32.const 3)
        (call $import_meta (local.get $context) (i32.wrap_i64 (local.get $module))) (local.get $name))
      ;; The context keeps its modules.
      (call $free_value (local.get $context) (local.get $module))))
    (call $free_value (local.get $context) (local.get $name))
    (if (result i32) (i64.eq (local.get $module) (i64.const 0x600000000))
      (then (i32.const 0))
      (else (i32.wrap_i64 (local.get $module)))))

  ;; A promise was rejected and nobody handles it (kind 4), or somebody does now (kind 5).
  (func (export "replace:js_std_promise_rejection_tracker") (param $context i32) (param $promise i64) (param $reason i64)
    (param $handled i32) (param $opaque i32)
    (if (i64.eq (global.get $hook) (i64.const 0x300000000)) (then (return)))
    (call $tell (i32.add (i32.const 4) (i32.ne (local.get $handled) (i32.const 0)))
      (call $dup (local.get $context) (local.get $promise)) (local.get $reason)))

  (func (export "replace:js_math_random") (param $context i32) (param $this i64) (param $count i32) (param $values i32)
    (result i64)
    (local $x i64) (local $y i64)
    (local.set $x (global.get $random_0))
    (local.set $y (global.get $random_1))
    (global.set $random_0 (local.get $y))
    (local.set $x (i64.xor (local.get $x) (i64.shl (local.get $x) (i64.const 23))))
    (global.set $random_1 (i64.xor (i64.xor (local.get $x) (local.get $y))
      (i64.xor (i64.shr_u (local.get $x) (i64.const 17)) (i64.shr_u (local.get $y) (i64.const 26)))))
    ;; 52 bits make a number from 1 up to 2. A number that is no integer has its bits moved by a constant.
    (i64.sub
      (i64.reinterpret_f64 (f64.sub
        (f64.reinterpret_i64 (i64.or (i64.const 0x3FF0000000000000)
          (i64.shr_u (i64.add (global.get $random_1) (local.get $y)) (i64.const 12))))
        (f64.const 1)))
      (i64.const 0x7FF8000A00000000)))
)
