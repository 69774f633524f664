//! A macro that builds a [`LaneOp`](super::LaneOp) from a Rust expression for one lane.

/// Builds a lane function. The parameters are the sources in order; their types determine the
/// operand kinds ([`crate::row::Lane`]).
///
/// - `lane!(|a: f32, b: f32| -> f32 { a + b })`: a result.
/// - `lane!(mode; |mode, a: f32, b: f32| -> f32 { mode.f32(..) })`: a result that depends on the
///   mode.
/// - `lane!(compare |a: u32, b: u32| { a < b })`: a comparison; with the mode: `compare mode;
///   |mode, a: f32, ..|`.
/// - `lane!(carry |carry, a: u32, b: u32| -> u32 { (sum, carry_out) })`: a result and a mask bit
///   from sources and a mask bit; with the mode: `carry mode; |mode, bit, a: f32, ..|`.
///
/// Lanes are computed in chunks of eight. A chunk is loaded before it is stored, so the result may
/// alias a source, and LLVM vectorizes the chunk with AVX2.
macro_rules! lane {
    (|$($x:ident : $t:ty),+| -> $r:ty $body:block) => { lane!(mode; |_mode, $($x: $t),+| -> $r $body) };
    (mode; |$mode:ident, $($x:ident : $t:ty),+| -> $r:ty $body:block) => {{
        #[inline(always)]
        fn lane($mode: $crate::mode::Mode, $($x: $t),+) -> $r $body
        lane!(@levels Map, $crate::lanes::MapFn, [], [$($t),+], <$r as $crate::row::Lane>::KIND,
            |mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>| -> () {
                for chunk in 0..row::CHUNKS {
                    lane!(@load [a, b, c], chunk, $($x: $t),+);
                    let results = row::each!(index => lane(mode, $($x[index]),+));
                    // SAFETY: the contract covers the rows of the result.
                    unsafe { <$r as row::Lane>::store(results, out, chunk) };
                }
            })
    }};
    (compare |$($x:ident : $t:ty),+| $body:block) => { lane!(compare mode; |_mode, $($x: $t),+| $body) };
    (compare mode; |$mode:ident, $($x:ident : $t:ty),+| $body:block) => {{
        #[inline(always)]
        fn lane($mode: $crate::mode::Mode, $($x: $t),+) -> bool $body
        lane!(@levels Compare, $crate::lanes::CompareFn, [gather], [$($t),+], $crate::row::OperandKind::None,
            |mode: Mode, a: Rows<'_>, b: Rows<'_>| -> u32 {
                let mut mask = 0;
                for chunk in 0..row::CHUNKS {
                    lane!(@load [a, b], chunk, $($x: $t),+);
                    let bits = row::each!(index => if lane(mode, $($x[index]),+) { !0 } else { 0 });
                    mask |= gather(bits) << (chunk * row::CHUNK);
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
        lane!(@levels Mask, $crate::lanes::MaskFn, [gather, spread], [$($t),+], <$r as $crate::row::Lane>::KIND,
            |mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>, mask: u32| -> u32 {
                let mut carries = 0;
                for chunk in 0..row::CHUNKS {
                    lane!(@load [a, b, c], chunk, $($x: $t),+);
                    let taken = spread(mask >> (chunk * row::CHUNK));
                    let both: [($r, bool); row::CHUNK] =
                        row::each!(index => lane(mode, taken[index] != 0, $($x[index]),+));
                    // SAFETY: the contract covers the rows of the result.
                    unsafe { <$r as row::Lane>::store(row::each!(index => both[index].0), out, chunk) };
                    let bits = row::each!(index => if both[index].1 { !0 } else { 0 });
                    carries |= gather(bits) << (chunk * row::CHUNK);
                }
                carries
            })
    }};
    (@load [$a:ident $(, $rest:ident)*], $chunk:ident, $x:ident : $t:ty $(, $y:ident : $u:ty)*) => {
        // SAFETY: the contract covers the rows of the source.
        let $x = unsafe { <$t as row::Lane>::load($a, $chunk) };
        lane!(@load [$($rest),*], $chunk $(, $y: $u)*);
    };
    (@load [$($rest:ident),*], $chunk:ident) => {};
    (@sources $a:ty) => { [<$a as row::Lane>::KIND, row::OperandKind::None, row::OperandKind::None] };
    (@sources $a:ty, $b:ty) => { [<$a as row::Lane>::KIND, <$b as row::Lane>::KIND, row::OperandKind::None] };
    (@sources $a:ty, $b:ty, $c:ty) => { [<$a as row::Lane>::KIND, <$b as row::Lane>::KIND, <$c as row::Lane>::KIND] };
    // The names in the first brackets are those of the level's masks that the body calls.
    (@levels $shape:ident, $pointer:ty, [$($masks:ident),*], [$($t:ty),+], $result:expr,
        |$($p:ident : $pt:ty),+| -> $ret:ty $body:block) => {{
        use $crate::lanes::{LaneFunction, LaneOp, Levels};
        use $crate::mode::Mode;
        use $crate::row::{self, Rows};

        unsafe fn base($($p: $pt),+) -> $ret {
            $(use $crate::lanes::masks::base::$masks;)*
            // A function pointer has all operands, a body uses some.
            let _ = ($($p),+);
            $body
        }

        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
        unsafe fn avx2($($p: $pt),+) -> $ret {
            $(use $crate::lanes::masks::avx2::$masks;)*
            let _ = ($($p),+);
            $body
        }

        LaneOp {
            function: LaneFunction::$shape(Levels { base: base as $pointer, avx2: avx2 as $pointer }),
            special_mode: None,
            saturating: None,
            sources: lane!(@sources $($t),+),
            result: $result,
            accumulates: false,
        }
    }};
}

pub(super) use lane;
