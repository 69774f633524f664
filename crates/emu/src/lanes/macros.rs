//! The macro that makes a [`LaneOp`](super::LaneOp) of a Rust expression over one lane.

/// A lane function. Parameters are the sources in order; their types give the operand kinds ([`crate::row::Lane`]).
///
/// - `lane!(|a: f32, b: f32| -> f32 { a + b })`: a result.
/// - `lane!(mode; |mode, a: f32, b: f32| -> f32 { mode.f32(..) })`: a result that depends on the mode.
/// - `lane!(compare |a: u32, b: u32| { a < b })`: a comparison; with the mode: `compare mode; |mode, a: f32, ..|`.
/// - `lane!(carry |carry, a: u32, b: u32| -> u32 { (sum, carry_out) })`: a result and a bit, of sources and a bit; with
///   the mode: `carry mode; |mode, bit, a: f32, ..|`.
///
/// Lanes are computed in chunks of eight, loaded before any is stored: so a result may lie where a source does, and LLVM
/// makes AVX2 code of the whole.
macro_rules! lane {
    (|$($x:ident : $t:ty),+| -> $r:ty $body:block) => { lane!(mode; |_mode, $($x: $t),+| -> $r $body) };
    (mode; |$mode:ident, $($x:ident : $t:ty),+| -> $r:ty $body:block) => {{
        #[inline(always)]
        fn lane($mode: $crate::mode::Mode, $($x: $t),+) -> $r $body
        lane!(@levels Map, $crate::lanes::MapFn, [$($t),+], <$r as $crate::row::Lane>::KIND,
            |mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>| -> () {
                for chunk in 0..CHUNKS {
                    lane!(@load [a, b, c], chunk, $($x: $t),+);
                    let results = each!(index => lane(mode, $($x[index]),+));
                    // SAFETY: the caller's promise covers the result's rows.
                    unsafe { <$r as Lane>::store(results, out, chunk) };
                }
            })
    }};
    (compare |$($x:ident : $t:ty),+| $body:block) => { lane!(compare mode; |_mode, $($x: $t),+| $body) };
    (compare mode; |$mode:ident, $($x:ident : $t:ty),+| $body:block) => {{
        #[inline(always)]
        fn lane($mode: $crate::mode::Mode, $($x: $t),+) -> bool $body
        lane!(@levels Compare, $crate::lanes::CompareFn, [$($t),+], $crate::row::Kind::None,
            |mode: Mode, a: Rows<'_>, b: Rows<'_>| -> u32 {
                let mut mask = 0;
                for chunk in 0..CHUNKS {
                    lane!(@load [a, b], chunk, $($x: $t),+);
                    let bits = each!(index => if lane(mode, $($x[index]),+) { !0 } else { 0 });
                    mask |= gather(bits) << (chunk * CHUNK);
                }
                mask
            })
    }};
    (carry |$bit:ident, $($x:ident : $t:ty),+| -> $r:ty $body:block) => {
        lane!(carry mode; |_mode, $bit, $($x: $t),+| -> $r $body)
    };
    (carry mode; |$mode:ident, $bit:ident, $($x:ident : $t:ty),+| -> $r:ty $body:block) => {{
        #[inline(always)]
        fn lane($mode: $crate::mode::Mode, $bit: bool, $($x: $t),+) -> ($r, bool) $body
        lane!(@levels Mask, $crate::lanes::MaskFn, [$($t),+], <$r as $crate::row::Lane>::KIND,
            |mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>, mask: u32| -> u32 {
                let mut carries = 0;
                for chunk in 0..CHUNKS {
                    lane!(@load [a, b, c], chunk, $($x: $t),+);
                    let taken = spread(mask >> (chunk * CHUNK));
                    let both: [($r, bool); CHUNK] = each!(index => lane(mode, taken[index] != 0, $($x[index]),+));
                    // SAFETY: the caller's promise covers the result's rows.
                    unsafe { <$r as Lane>::store(each!(index => both[index].0), out, chunk) };
                    carries |= gather(each!(index => if both[index].1 { !0 } else { 0 })) << (chunk * CHUNK);
                }
                carries
            })
    }};
    (@load [$a:ident $(, $rest:ident)*], $chunk:ident, $x:ident : $t:ty $(, $y:ident : $u:ty)*) => {
        // SAFETY: the caller's promise covers the source's rows.
        let $x = unsafe { <$t as Lane>::load($a, $chunk) };
        lane!(@load [$($rest),*], $chunk $(, $y: $u)*);
    };
    (@load [$($rest:ident),*], $chunk:ident) => {};
    (@sources $a:ty) => { [<$a as Lane>::KIND, Kind::None, Kind::None] };
    (@sources $a:ty, $b:ty) => { [<$a as Lane>::KIND, <$b as Lane>::KIND, Kind::None] };
    (@sources $a:ty, $b:ty, $c:ty) => { [<$a as Lane>::KIND, <$b as Lane>::KIND, <$c as Lane>::KIND] };
    (@levels $shape:ident, $pointer:ty, [$($t:ty),+], $result:expr, |$($p:ident : $pt:ty),+| -> $ret:ty $body:block) => {{
        #[allow(unused_imports, reason = "not every shape needs all of them")]
        use $crate::lanes::masks;
        use $crate::lanes::{Function, LaneOp, Levels};
        use $crate::mode::Mode;
        #[allow(unused_imports, reason = "comparisons have no result to store")]
        use $crate::row::{CHUNK, CHUNKS, Kind, Lane, Rows, each};

        #[allow(unused_variables, reason = "functions of one shape take as many operands, used or not")]
        unsafe fn base($($p: $pt),+) -> $ret {
            #[allow(unused_imports, reason = "only comparisons and carries need them")]
            use masks::base::{gather, spread};
            $body
        }

        #[allow(unused_variables, reason = "functions of one shape take as many operands, used or not")]
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
        unsafe fn avx2($($p: $pt),+) -> $ret {
            #[allow(unused_imports, reason = "only comparisons and carries need them")]
            use masks::avx2::{gather, spread};
            $body
        }

        LaneOp {
            function: Function::$shape(Levels { base: base as $pointer, avx2: avx2 as $pointer }),
            moded: None,
            saturating: None,
            sources: lane!(@sources $($t),+),
            result: $result,
            accumulates: false,
        }
    }};
}

pub(super) use lane;
