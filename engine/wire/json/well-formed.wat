;; Whether text is JSON, without making anything of it: brackets, names, commas, colons, strings, numbers and words stand
;; where they may. well-formed.ts feeds it; well-formed-code.ts is what `npm run wat` makes of it. It never says yes where
;; JSON.parse would say no; it may be unsure where that would say yes.
(module
  (memory (export "memory") 17)
  ;; What may come next: 0 a value, 1 a name or }, 2 a name, 3 a colon, 4 a comma or the end of what is open, 5 a value or ].
  (global $next (mut i32) (i32.const 0))
  ;; How many brackets are open, and of which kind, the innermost lowest: 1 an object, 0 a list.
  (global $depth (mut i32) (i32.const 0))
  (global $kinds (mut i64) (i64.const 0))
  ;; Members of the outermost object whose places are noted: a list of their names, in quotes, each behind its length (a length
  ;; of 0 ends it), or 0; where the places are written, two numbers for each name; and the place that is being written, or 0.
  (global $names (mut i32) (i32.const 0))
  (global $places (mut i32) (i32.const 0))
  (global $place (mut i32) (i32.const 0))
  ;; Where in the whole text the piece begins that is at 0.
  (global $base (mut i32) (i32.const 0))
  ;; Whether a name of the outermost object may be one of the list, or stands there twice.
  (global $isUnsure (mut i32) (i32.const 0))

  ;; Begins a text of which the members in the list $names are noted at $places: where the value begins and ends, or -1.
  (func (export "begin") (param $names i32) (param $places i32)
    (call $begin)
    (if (i32.eqz (i32.load (local.get $names))) (then (return)))
    (global.set $names (local.get $names))
    (global.set $places (local.get $places))
    (loop $more
      (if (i32.load (local.get $names)) (then
        (i32.store (local.get $places) (i32.const -1))
        (local.set $places (i32.add (local.get $places) (i32.const 8)))
        (local.set $names (i32.add (i32.add (local.get $names) (i32.const 4)) (i32.load (local.get $names))))
        (br $more)))))
  (func $begin
    (global.set $next (i32.const 0))
    (global.set $depth (i32.const 0))
    (global.set $kinds (i64.const 0))
    (global.set $names (i32.const 0))
    (global.set $place (i32.const 0))
    (global.set $base (i32.const 0))
    (global.set $isUnsure (i32.const 0)))
  ;; Whether one value is there, nothing is open, and the places of members are sure.
  (func (export "isWhole") (result i32) (i32.and (call $isWhole) (i32.eqz (global.get $isUnsure))))
  (func $isWhole (result i32)
    (i32.and (i32.eqz (global.get $depth)) (i32.eq (global.get $next) (i32.const 4))))

  (func $isDigit (param $code i32) (result i32)
    (i32.lt_u (i32.sub (local.get $code) (i32.const 0x30)) (i32.const 10)))
  (func $isHex (param $at i32) (result i32)
    (local $code i32)
    (local.set $code (i32.load8_u (local.get $at)))
    (i32.or
      (call $isDigit (local.get $code))
      (i32.lt_u (i32.sub (i32.or (local.get $code) (i32.const 0x20)) (i32.const 0x61)) (i32.const 6))))
  (func $digits (param $at i32) (result i32)
    (block $done
      (loop $more
        (br_if $done (i32.eqz (call $isDigit (i32.load8_u (local.get $at)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (br $more)))
    (local.get $at))

  ;; The end of the string whose opening quote stands at $at - 1: behind its closing quote; -1 where it is none, -2 where it
  ;; does not end before $end.
  (func $string (param $at i32) (param $end i32) (result i32)
    (local $mask i32) (local $code i32) (local $bytes v128)
    (loop $more
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const -2))))
      ;; Sixteen bytes at once, up to a quote, a backslash or a control character. What stands behind the text is passed over.
      (local.set $bytes (v128.load (local.get $at)))
      (local.set $mask (i8x16.bitmask (v128.or
        (v128.or
          (i8x16.eq (local.get $bytes) (v128.const i8x16 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22 0x22))
          (i8x16.eq (local.get $bytes) (v128.const i8x16 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c 0x5c)))
        (i8x16.lt_u (local.get $bytes) (v128.const i8x16 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20 0x20)))))
      (if (i32.eqz (local.get $mask)) (then
        (local.set $at (i32.add (local.get $at) (i32.const 16)))
        (br $more)))
      (local.set $at (i32.add (local.get $at) (i32.ctz (local.get $mask))))
      (if (i32.ge_u (local.get $at) (local.get $end)) (then (return (i32.const -2))))
      (local.set $code (i32.load8_u (local.get $at)))
      (if (i32.eq (local.get $code) (i32.const 0x22)) (then (return (i32.add (local.get $at) (i32.const 1)))))
      (if (i32.ne (local.get $code) (i32.const 0x5c)) (then (return (i32.const -1))))
      (if (i32.gt_u (i32.add (local.get $at) (i32.const 2)) (local.get $end)) (then (return (i32.const -2))))
      (local.set $code (i32.load8_u offset=1 (local.get $at)))
      (if (i32.eq (local.get $code) (i32.const 0x75)) (then
        (if (i32.gt_u (i32.add (local.get $at) (i32.const 6)) (local.get $end)) (then (return (i32.const -2))))
        (if (i32.eqz (i32.and (i32.and (call $isHex (i32.add (local.get $at) (i32.const 2))) (call $isHex (i32.add (local.get $at) (i32.const 3))))
                              (i32.and (call $isHex (i32.add (local.get $at) (i32.const 4))) (call $isHex (i32.add (local.get $at) (i32.const 5))))))
          (then (return (i32.const -1))))
        (local.set $at (i32.add (local.get $at) (i32.const 6)))
        (br $more)))
      ;; one of " \ / b f n r t
      (if (i32.eqz (i32.or (i32.or (i32.or (i32.eq (local.get $code) (i32.const 0x22)) (i32.eq (local.get $code) (i32.const 0x5c)))
                                   (i32.or (i32.eq (local.get $code) (i32.const 0x2f)) (i32.eq (local.get $code) (i32.const 0x62))))
                           (i32.or (i32.or (i32.eq (local.get $code) (i32.const 0x66)) (i32.eq (local.get $code) (i32.const 0x6e)))
                                   (i32.or (i32.eq (local.get $code) (i32.const 0x72)) (i32.eq (local.get $code) (i32.const 0x74))))))
        (then (return (i32.const -1))))
      (local.set $at (i32.add (local.get $at) (i32.const 2)))
      (br $more))
    (unreachable))

  ;; The end of the number that begins at $at, or -1. Behind the text stands a zero byte, which ends it.
  (func $number (param $at i32) (result i32)
    (local $from i32) (local $code i32)
    (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x2d)) (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
    (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x30))
      (then (local.set $at (i32.add (local.get $at) (i32.const 1))))
      (else
        (local.set $from (local.get $at))
        (local.set $at (call $digits (local.get $at)))
        (if (i32.eq (local.get $at) (local.get $from)) (then (return (i32.const -1))))))
    (if (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x2e)) (then
      (local.set $from (i32.add (local.get $at) (i32.const 1)))
      (local.set $at (call $digits (local.get $from)))
      (if (i32.eq (local.get $at) (local.get $from)) (then (return (i32.const -1))))))
    (if (i32.eq (i32.or (i32.load8_u (local.get $at)) (i32.const 0x20)) (i32.const 0x65)) (then
      (local.set $from (i32.add (local.get $at) (i32.const 1)))
      (local.set $code (i32.load8_u (local.get $from)))
      (if (i32.or (i32.eq (local.get $code) (i32.const 0x2b)) (i32.eq (local.get $code) (i32.const 0x2d)))
        (then (local.set $from (i32.add (local.get $from) (i32.const 1)))))
      (local.set $at (call $digits (local.get $from)))
      (if (i32.eq (local.get $at) (local.get $from)) (then (return (i32.const -1))))))
    (local.get $at))

  ;; Notes a name of the outermost object, from $at up to $end, if it is in the list. One with an escape may be.
  (func $noteName (param $at i32) (param $end i32)
    (local $name i32) (local $place i32) (local $size i32) (local $letter i32)
    (local.set $name (global.get $names))
    (local.set $place (global.get $places))
    (local.set $letter (local.get $at))
    (loop $letters
      (if (i32.eq (i32.load8_u (local.get $letter)) (i32.const 0x5c)) (then (global.set $isUnsure (i32.const 1))))
      (local.set $letter (i32.add (local.get $letter) (i32.const 1)))
      (br_if $letters (i32.lt_u (local.get $letter) (local.get $end))))
    (block $done
      (loop $more
        (local.set $size (i32.load (local.get $name)))
        (br_if $done (i32.eqz (local.get $size)))
        (local.set $name (i32.add (local.get $name) (i32.const 4)))
        (if (i32.and (i32.eq (local.get $size) (i32.sub (local.get $end) (local.get $at)))
                     (call $isSame (local.get $at) (local.get $name) (local.get $size)))
          (then
            (if (i32.ne (i32.load (local.get $place)) (i32.const -1)) (then (global.set $isUnsure (i32.const 1))))
            (global.set $place (local.get $place))
            (return)))
        (local.set $name (i32.add (local.get $name) (local.get $size)))
        (local.set $place (i32.add (local.get $place) (i32.const 8)))
        (br $more))))
  ;; Notes where the value of a noted member ends, if it is one of the outermost object's.
  (func $noteEnd (param $at i32)
    (if (i32.and (i32.ne (global.get $place) (i32.const 0)) (i32.eq (global.get $depth) (i32.const 1))) (then
      (i32.store offset=4 (global.get $place) (i32.add (global.get $base) (local.get $at)))
      (global.set $place (i32.const 0)))))

  ;; The next piece of a JSON text, at $from, of which the bytes up to $end are there. Gives the offset of what is not JSON any
  ;; more, which is a line end where $isLine is set; the offset where a string begins that does not end before $end, or
  ;; something that may be longer than what is there; or -1 where it is no JSON.
  (func $json (param $from i32) (param $end i32) (param $isLine i32) (param $margin i32) (result i32)
    (local $at i32) (local $code i32) (local $after i32)
    (local.set $at (local.get $from))
    (loop $more
      (if (i32.ge_u (i32.add (local.get $at) (local.get $margin)) (local.get $end)) (then (return (local.get $at))))
      (local.set $code (i32.load8_u (local.get $at)))
      (if (i32.eq (local.get $code) (i32.const 0x22)) (then
        (if (i32.or (i32.eq (global.get $next) (i32.const 1)) (i32.eq (global.get $next) (i32.const 2)))
          (then (local.set $code (i32.const 3)))
          (else
            (if (i32.eqz (i32.or (i32.eqz (global.get $next)) (i32.eq (global.get $next) (i32.const 5)))) (then (return (i32.const -1))))
            (local.set $code (i32.const 4))))
        (local.set $after (call $string (i32.add (local.get $at) (i32.const 1)) (local.get $end)))
        (if (i32.eq (local.get $after) (i32.const -1)) (then (return (i32.const -1))))
        (if (i32.eq (local.get $after) (i32.const -2)) (then (return (local.get $at))))
        (global.set $next (local.get $code))
        (if (i32.and (i32.eq (local.get $code) (i32.const 3))
                     (i32.and (i32.eq (global.get $depth) (i32.const 1)) (i32.ne (global.get $names) (i32.const 0))))
          (then (call $noteName (local.get $at) (local.get $after))))
        (local.set $at (local.get $after))
        (br $more)))
      (local.set $after (i32.add (local.get $at) (i32.const 1)))
      (if (i32.eq (local.get $code) (i32.const 0x3a)) (then ;; :
        (if (i32.ne (global.get $next) (i32.const 3)) (then (return (i32.const -1))))
        (global.set $next (i32.const 0))
        (if (i32.and (i32.ne (global.get $place) (i32.const 0)) (i32.eq (global.get $depth) (i32.const 1)))
          (then (i32.store (global.get $place) (i32.add (global.get $base) (local.get $after)))))
        (local.set $at (local.get $after))
        (br $more)))
      (if (i32.eq (local.get $code) (i32.const 0x2c)) (then ;; ,
        (if (i32.or (i32.ne (global.get $next) (i32.const 4)) (i32.eqz (global.get $depth))) (then (return (i32.const -1))))
        (call $noteEnd (local.get $at))
        (global.set $next (i32.shl (i32.wrap_i64 (i64.and (global.get $kinds) (i64.const 1))) (i32.const 1)))
        (local.set $at (local.get $after))
        (br $more)))
      (if (i32.eq (i32.and (local.get $code) (i32.const 0xdf)) (i32.const 0x5b)) (then ;; [ and {
        (if (i32.eqz (i32.or (i32.eqz (global.get $next)) (i32.eq (global.get $next) (i32.const 5)))) (then (return (i32.const -1))))
        (if (i32.ge_u (global.get $depth) (i32.const 64)) (then (return (i32.const -1))))
        (global.set $depth (i32.add (global.get $depth) (i32.const 1)))
        (if (i32.eq (local.get $code) (i32.const 0x7b))
          (then
            (global.set $kinds (i64.or (i64.shl (global.get $kinds) (i64.const 1)) (i64.const 1)))
            (global.set $next (i32.const 1)))
          (else
            (global.set $kinds (i64.shl (global.get $kinds) (i64.const 1)))
            (global.set $next (i32.const 5))))
        (local.set $at (local.get $after))
        (br $more)))
      (if (i32.eq (i32.and (local.get $code) (i32.const 0xdf)) (i32.const 0x5d)) (then ;; ] and }
        (if (i32.eqz (global.get $depth)) (then (return (i32.const -1))))
        (if (i32.eq (local.get $code) (i32.const 0x7d))
          (then (if (i32.eqz (i32.and (i32.wrap_i64 (i64.and (global.get $kinds) (i64.const 1)))
                                      (i32.or (i32.eq (global.get $next) (i32.const 1)) (i32.eq (global.get $next) (i32.const 4)))))
            (then (return (i32.const -1)))))
          (else (if (i32.or (i32.wrap_i64 (i64.and (global.get $kinds) (i64.const 1)))
                            (i32.eqz (i32.or (i32.eq (global.get $next) (i32.const 5)) (i32.eq (global.get $next) (i32.const 4)))))
            (then (return (i32.const -1))))))
        (call $noteEnd (local.get $at))
        (global.set $depth (i32.sub (global.get $depth) (i32.const 1)))
        (global.set $kinds (i64.shr_u (global.get $kinds) (i64.const 1)))
        (global.set $next (i32.const 4))
        (local.set $at (local.get $after))
        (br $more)))
      (if (i32.or (i32.eq (local.get $code) (i32.const 0x20)) (i32.eq (local.get $code) (i32.const 0x09))) (then
        (local.set $at (local.get $after))
        (br $more)))
      (if (i32.or (i32.eq (local.get $code) (i32.const 0x0a)) (i32.eq (local.get $code) (i32.const 0x0d))) (then
        (if (local.get $isLine) (then (return (local.get $at))))
        (local.set $at (local.get $after))
        (br $more)))
      ;; A number or a word.
      (if (i32.eqz (i32.or (i32.eqz (global.get $next)) (i32.eq (global.get $next) (i32.const 5)))) (then (return (i32.const -1))))
      (global.set $next (i32.const 4))
      (local.set $after (i32.load (local.get $at)))
      (if (i32.or (i32.eq (local.get $after) (i32.const 0x65757274)) (i32.eq (local.get $after) (i32.const 0x6c6c756e))) (then ;; true, null
        (local.set $at (i32.add (local.get $at) (i32.const 4)))
        (br $more)))
      (if (i32.and (i32.eq (local.get $after) (i32.const 0x736c6166)) (i32.eq (i32.load8_u offset=4 (local.get $at)) (i32.const 0x65))) (then ;; false
        (local.set $at (i32.add (local.get $at) (i32.const 5)))
        (br $more)))
      (if (i32.eqz (i32.or (call $isDigit (local.get $code)) (i32.eq (local.get $code) (i32.const 0x2d)))) (then (return (i32.const -1))))
      (local.set $at (call $number (local.get $at)))
      (br_if $more (i32.ge_s (local.get $at) (i32.const 0))))
    (i32.const -1))

  ;; Whether the $size bytes at $one are those at $other.
  (func $isSame (param $one i32) (param $other i32) (param $size i32) (result i32)
    (block $differs
      (loop $more
        (if (i32.eqz (local.get $size)) (then (return (i32.const 1))))
        (local.set $size (i32.sub (local.get $size) (i32.const 1)))
        (br_if $differs (i32.ne (i32.load8_u (i32.add (local.get $one) (local.get $size)))
                                (i32.load8_u (i32.add (local.get $other) (local.get $size)))))
        (br $more)))
    (i32.const 0))

  ;; Where the $size bytes at $marker are in the bytes from $at up to $length; -1 if they are not there. Their second byte and
  ;; their last one are sought at sixteen places at once: the first one is a quote as a rule, which is everywhere.
  (func $find (param $at i32) (param $length i32) (param $marker i32) (param $size i32) (result i32)
    (local $mask i32) (local $early i32) (local $late i32) (local $found i32) (local $one v128) (local $other v128)
    (local.set $early (i32.gt_u (local.get $size) (i32.const 1)))
    (local.set $late (i32.sub (local.get $size) (i32.const 1)))
    (local.set $one (i8x16.splat (i32.load8_u (i32.add (local.get $marker) (local.get $early)))))
    (local.set $other (i8x16.splat (i32.load8_u (i32.add (local.get $marker) (local.get $late)))))
    (loop $more
      (if (i32.gt_u (i32.add (local.get $at) (local.get $size)) (local.get $length)) (then (return (i32.const -1))))
      (local.set $mask (i8x16.bitmask (v128.and
        (i8x16.eq (v128.load (i32.add (local.get $at) (local.get $early))) (local.get $one))
        (i8x16.eq (v128.load (i32.add (local.get $at) (local.get $late))) (local.get $other)))))
      (loop $place
        (if (local.get $mask) (then
          (local.set $found (i32.add (local.get $at) (i32.ctz (local.get $mask))))
          ;; Behind the text is what is left of a text before.
          (if (i32.gt_u (i32.add (local.get $found) (local.get $size)) (local.get $length)) (then (return (i32.const -1))))
          (if (call $isSame (local.get $found) (local.get $marker) (local.get $size)) (then (return (local.get $found))))
          (local.set $mask (i32.and (local.get $mask) (i32.sub (local.get $mask) (i32.const 1))))
          (br $place))))
      (local.set $at (i32.add (local.get $at) (i32.const 16)))
      (br $more))
    (unreachable))

  ;; A piece of a JSON text that begins at 0, where $length bytes are there, behind which stand at least 16 zero bytes. Before it
  ;; there were $base bytes of the text. Gives how many of them need not be seen again, or -1 where it is no JSON.
  (func (export "body") (param $length i32) (param $isLast i32) (param $base i32) (result i32)
    (global.set $base (local.get $base))
    ;; No word is longer than the margin; a longer number is what nobody is sure of.
    (call $json (i32.const 0) (local.get $length) (i32.const 0) (if (result i32) (local.get $isLast) (then (i32.const 0)) (else (i32.const 64)))))

  ;; Whether any marker is in the $length bytes at 0. The markers stand at $markers, each behind its length, and a length of 0
  ;; ends them.
  (func (export "holdsAny") (param $length i32) (param $markers i32) (result i32)
    (call $holdsAny (local.get $length) (local.get $markers)))
  (func $holdsAny (param $length i32) (param $markers i32) (result i32)
    (i32.ne (call $firstOf (local.get $length) (local.get $markers)) (local.get $length)))

  ;; Where the first of the markers is in the $length bytes at 0; $length if none is there.
  (func $firstOf (param $length i32) (param $markers i32) (result i32)
    (local $size i32) (local $found i32) (local $first i32) (local $end i32)
    (local.set $first (local.get $length))
    (loop $more
      (local.set $size (i32.load (local.get $markers)))
      (if (i32.eqz (local.get $size)) (then (return (local.get $first))))
      (local.set $markers (i32.add (local.get $markers) (i32.const 4)))
      ;; Up to where another marker was found.
      (local.set $end (i32.sub (i32.add (local.get $first) (local.get $size)) (i32.const 1)))
      (if (i32.gt_u (local.get $end) (local.get $length)) (then (local.set $end (local.get $length))))
      (local.set $found (call $find (i32.const 0) (local.get $end) (local.get $markers) (local.get $size)))
      (if (i32.ge_s (local.get $found) (i32.const 0)) (then (local.set $first (local.get $found))))
      (local.set $markers (i32.add (local.get $markers) (local.get $size)))
      (br $more))
    (unreachable))

  ;; Where the first marker is in the $length bytes at 0, if it is there once and none of the others is; else -1.
  (func (export "only") (param $length i32) (param $markers i32) (result i32)
    (local $size i32) (local $marker i32) (local $found i32)
    (local.set $size (i32.load (local.get $markers)))
    (local.set $marker (i32.add (local.get $markers) (i32.const 4)))
    (local.set $found (call $find (i32.const 0) (local.get $length) (local.get $marker) (local.get $size)))
    (if (i32.lt_s (local.get $found) (i32.const 0)) (then (return (i32.const -1))))
    (if (i32.ge_s (call $find (i32.add (local.get $found) (i32.const 1)) (local.get $length) (local.get $marker) (local.get $size)) (i32.const 0))
      (then (return (i32.const -1))))
    (if (call $holdsAny (local.get $length) (i32.add (local.get $marker) (local.get $size))) (then (return (i32.const -1))))
    (local.get $found))

  ;; How many of the $length bytes at 0, a block of whole server-sent events, are events whose data is JSON of one line and that
  ;; hold no marker, and that are no errors by their lines: those before the first event of which that is not sure.
  (func (export "events") (param $length i32) (param $markers i32) (result i32)
    (local $at i32) (local $code i32) (local $hasData i32) (local $sure i32) (local $marker i32)
    (local.set $marker (call $firstOf (local.get $length) (local.get $markers)))
    (loop $line
      (if (i32.ge_u (local.get $at) (local.get $length))
        (then (return (select (local.get $length) (local.get $sure) (i32.eq (local.get $marker) (local.get $length))))))
      (if (i32.gt_u (local.get $at) (local.get $marker)) (then (return (local.get $sure))))
      (local.set $code (i32.load8_u (local.get $at)))
      (if (i32.or (i32.eq (local.get $code) (i32.const 0x0a)) (i32.eq (local.get $code) (i32.const 0x0d))) (then
        ;; Also the LF of a CRLF: then another line of data could follow, and that is looked at as if it were another event.
        (if (i32.and (i32.eq (local.get $code) (i32.const 0x0d)) (i32.eq (i32.load8_u offset=1 (local.get $at)) (i32.const 0x0a)))
          (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $hasData (i32.const 0))
        (local.set $sure (local.get $at))
        (br $line)))
      (if (i32.and (i32.eq (i32.load (local.get $at)) (i32.const 0x61746164)) (i32.eq (i32.load8_u offset=4 (local.get $at)) (i32.const 0x3a))) (then ;; data:
        (if (local.get $hasData) (then (return (local.get $sure))))
        (local.set $hasData (i32.const 1))
        (call $begin)
        (local.set $at (call $json (i32.add (local.get $at) (i32.const 5)) (local.get $length) (i32.const 1) (i32.const 0)))
        (if (i32.or (i32.lt_s (local.get $at) (i32.const 0)) (i32.eqz (call $isWhole))) (then (return (local.get $sure)))))
        (else
          (if (i32.eq (i32.load (local.get $at)) (i32.const 0x61746164)) (then (return (local.get $sure))))
          ;; erro… as the field, or behind event: with or without a space.
          (if (i32.eq (i32.load (local.get $at)) (i32.const 0x6f727265)) (then (return (local.get $sure))))
          (if (i32.and
                (i32.eq (i32.load (local.get $at)) (i32.const 0x6e657665))
                (i32.or
                  (i32.eq (i32.load offset=6 (local.get $at)) (i32.const 0x6f727265))
                  (i32.eq (i32.load offset=7 (local.get $at)) (i32.const 0x6f727265))))
            (then (return (local.get $sure))))
          (block $over
            (loop $letter
              (br_if $over (i32.ge_u (local.get $at) (local.get $length)))
              (local.set $code (i32.load8_u (local.get $at)))
              (br_if $over (i32.or (i32.eq (local.get $code) (i32.const 0x0a)) (i32.eq (local.get $code) (i32.const 0x0d))))
              (local.set $at (i32.add (local.get $at) (i32.const 1)))
              (br $letter)))))
      ;; One line end; a second one is the blank line.
      (if (i32.and (i32.eq (i32.load8_u (local.get $at)) (i32.const 0x0d)) (i32.eq (i32.load8_u offset=1 (local.get $at)) (i32.const 0x0a)))
        (then (local.set $at (i32.add (local.get $at) (i32.const 1)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br $line))
    (unreachable)))
