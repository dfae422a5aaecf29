;; Where the long strings of a JSON text are, and whether what is in quotes may be. Whatever is outside of them is not
;; looked at. outline.ts feeds it the text window by window; outline-code.ts is what `npm run wat` makes of it.
(module
  ;; A window of 64 KiB, and behind it what was found: offsets of the opening quote and after the closing one.
  (memory (export "memory") 2)
  ;; Whether the end of the last window was inside a string, and where that began.
  (global $in (mut i32) (i32.const 0))
  (global $start (mut i32) (i32.const 0))
  (global $found (mut i32) (i32.const 0))
  (func (export "begin") (global.set $in (i32.const 0)))
  (func (export "found") (result i32) (global.get $found))
  (func (export "isInside") (result i32) (global.get $in))

  (func $isHex (param $at i32) (result i32)
    (local $code i32)
    (local.set $code (i32.load8_u (local.get $at)))
    (i32.or
      (i32.lt_u (i32.sub (local.get $code) (i32.const 0x30)) (i32.const 10))
      (i32.lt_u (i32.sub (i32.or (local.get $code) (i32.const 0x20)) (i32.const 0x61)) (i32.const 6))))

  ;; The first $length bytes of the window, which stand at $base in the text. Strings of $long bytes and more, with their
  ;; quotes, are found. Gives how many bytes need not be looked at again, or -1 where a string is none. An escape is never
  ;; cut in two: unless it is the last, the last 16 bytes of a window are left for the next one.
  (func (export "scan") (param $length i32) (param $isLast i32) (param $base i32) (param $long i32) (result i32)
    (local $at i32) (local $mask i32) (local $code i32) (local $out i32) (local $bytes v128) (local $limit i32)
    (global.set $found (i32.const 0))
    (local.set $out (i32.const 65536))
    (local.set $limit (if (result i32) (local.get $isLast) (then (local.get $length)) (else (i32.sub (local.get $length) (i32.const 16)))))
    (block $done
      (loop $next
        (br_if $done (i32.ge_s (local.get $at) (local.get $limit)))
        ;; Sixteen bytes at once, up to the first that matters.
        (if (i32.le_u (i32.add (local.get $at) (i32.const 16)) (local.get $length)) (then
          (local.set $bytes (v128.load (local.get $at)))
          (local.set $mask (i8x16.bitmask
            (if (result v128) (global.get $in)
              (then (v128.or
                (v128.or
                  (i8x16.eq (local.get $bytes) (v128.const i8x16 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22))
                  (i8x16.eq (local.get $bytes) (v128.const i8x16 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c)))
                (i8x16.lt_u (local.get $bytes) (v128.const i8x16 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20))))
              (else (i8x16.eq (local.get $bytes) (v128.const i8x16 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22))))))
          (if (i32.eqz (local.get $mask)) (then
            (local.set $at (i32.add (local.get $at) (i32.const 16)))
            (br $next)))
          (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $mask))))
          (br_if $done (i32.ge_s (local.get $at) (local.get $limit)))))
        (local.set $code (i32.load8_u (local.get $at)))
        (if (i32.eqz (global.get $in)) (then
          (if (i32.eq (local.get $code) (i32.const 0x22)) (then
            (global.set $in (i32.const 1))
            (global.set $start (i32.add (local.get $base) (local.get $at)))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $next)))
        (if (i32.eq (local.get $code) (i32.const 0x22)) (then
          (global.set $in (i32.const 0))
          (if (i32.ge_u (i32.sub (i32.add (local.get $base) (local.get $at)) (global.get $start)) (local.get $long)) (then
            (i32.store (local.get $out) (global.get $start))
            (i32.store offset=4 (local.get $out) (i32.add (local.get $base) (i32.add (local.get $at) (i32.const 1))))
            (local.set $out (i32.add (local.get $out) (i32.const 8)))
            (global.set $found (i32.add (global.get $found) (i32.const 1)))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br $next)))
        (if (i32.lt_u (local.get $code) (i32.const 0x20)) (then (return (i32.const -1))))
        (if (i32.eq (local.get $code) (i32.const 0x5c)) (then
          (local.set $code (i32.load8_u offset=1 (local.get $at)))
          (if (i32.eq (local.get $code) (i32.const 0x75)) (then
            (if (i32.eqz (i32.and (i32.and (call $isHex (i32.add (local.get $at) (i32.const 2))) (call $isHex (i32.add (local.get $at) (i32.const 3))))
                                  (i32.and (call $isHex (i32.add (local.get $at) (i32.const 4))) (call $isHex (i32.add (local.get $at) (i32.const 5))))))
              (then (return (i32.const -1))))
            (local.set $at (i32.add (local.get $at) (i32.const 6)))
            (br $next)))
          ;; one of " \ / b f n r t
          (if (i32.eqz (i32.or (i32.or (i32.or (i32.eq (local.get $code) (i32.const 0x22)) (i32.eq (local.get $code) (i32.const 0x5c)))
                                       (i32.or (i32.eq (local.get $code) (i32.const 0x2f)) (i32.eq (local.get $code) (i32.const 0x62))))
                               (i32.or (i32.or (i32.eq (local.get $code) (i32.const 0x66)) (i32.eq (local.get $code) (i32.const 0x6e)))
                                       (i32.or (i32.eq (local.get $code) (i32.const 0x72)) (i32.eq (local.get $code) (i32.const 0x74))))))
            (then (return (i32.const -1))))
          (local.set $at (i32.add (local.get $at) (i32.const 2)))
          (br $next)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $next)))
    (local.get $at)))
