//! Lane functions of other shapes than [`lane!`](crate::lanes::macros::lane) makes: f16 computed in f32, and functions
//! with one loop for the modes that are common and another for the rest.

use crate::row::{CHUNK, each};

/// As [`lane!`](crate::lanes::macros::lane), for longer bodies: they become a loop over all lanes, for which the
/// compiler's vectoriser of loops has no limit of length, where that of straight code gives up.
macro_rules! long {
    (|$($x:ident : $t:ty),+| -> $r:ty $body:block) => { long!(mode; |_mode, $($x: $t),+| -> $r $body) };
    (mode; |$mode:ident, $($x:ident : $t:ty),+| -> $r:ty $body:block) => {{
        #[inline(always)]
        fn lane($mode: $crate::mode::Mode, $($x: $t),+) -> $r $body
        $crate::lanes::macros::lane!(@levels Map, $crate::lanes::MapFn, [$($t),+], <$r as $crate::row::Lane>::KIND,
            |mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>| -> () {
                $crate::lanes::float::shapes::long!(@loop [a, b, c], out, |$($x: $t),+| -> $r, lane(mode));
            })
    }};
    (@loop [$($rows:ident),+], $out:ident, |$($x:ident : $t:ty),+| -> $r:ty, $lane:ident($mode:ident)) => {
        $crate::lanes::float::shapes::long!(@load [$($rows),+], $($x: $t),+);
        let mut results = [<$r as Default>::default(); $crate::row::LANES];
        for index in 0..$crate::row::LANES {
            results[index] = $lane($mode, $($x[index]),+);
        }
        for chunk in 0..CHUNKS {
            let values = each!(index => results[chunk * CHUNK + index]);
            // SAFETY: the caller's promise covers the result's rows.
            unsafe { <$r as Lane>::store(values, $out, chunk) };
        }
    };
    (@load [$a:ident $(, $rest:ident)*], $x:ident : $t:ty $(, $y:ident : $u:ty)*) => {
        let mut $x = [<$t as Default>::default(); $crate::row::LANES];
        for chunk in 0..CHUNKS {
            // SAFETY: the caller's promise covers the source's rows.
            let values = unsafe { <$t as Lane>::load($a, chunk) };
            $x[chunk * CHUNK..][..CHUNK].copy_from_slice(&values);
        }
        $crate::lanes::float::shapes::long!(@load [$($rest),*] $(, $y: $u)*);
    };
    (@load [$($rest:ident),*]) => {};
}
pub(super) use long;

/// A function under modes that are not plain: where `$when` says that the mode is common, the first body in all lanes,
/// else the second. A branch in each lane would keep the compiler from vectorising either.
macro_rules! either {
    ($when:expr; |$mode:ident, $($x:ident : $t:ty),+| -> $r:ty $common:block else $other:block) => {{
        #[inline(always)]
        fn common($mode: $crate::mode::Mode, $($x: $t),+) -> $r $common
        #[inline(always)]
        fn other($mode: $crate::mode::Mode, $($x: $t),+) -> $r $other
        $crate::lanes::macros::lane!(@levels Map, $crate::lanes::MapFn, [$($t),+], <$r as $crate::row::Lane>::KIND,
            |mode: Mode, out: Rows<'_>, a: Rows<'_>, b: Rows<'_>, c: Rows<'_>| -> () {
                if $when(mode) {
                    $crate::lanes::float::shapes::long!(@loop [a, b, c], out, |$($x: $t),+| -> $r, common(mode));
                } else {
                    $crate::lanes::float::shapes::long!(@loop [a, b, c], out, |$($x: $t),+| -> $r, other(mode));
                }
            })
    }};
}
pub(super) use either;

/// A function at both levels, of a body over whole operands that calls `widen` and `narrow` of the level's
/// [`f16c`](super::f16c).
macro_rules! levelled {
    ([$($source:expr),+] -> $result:expr; |$mode:ident, $out:ident, $a:ident, $b:ident, $c:ident| $body:block) => {{
        use $crate::lanes::float::f16c;
        use $crate::lanes::{Function, LaneOp, Levels, MapFn};
        use $crate::mode::Mode;
        use $crate::row::{Kind, Rows};

        #[allow(unused_variables, reason = "functions of one shape take as many operands, used or not")]
        unsafe fn base($mode: Mode, $out: Rows<'_>, $a: Rows<'_>, $b: Rows<'_>, $c: Rows<'_>) {
            #[allow(unused_imports, reason = "not every body needs both")]
            use f16c::base::{narrow, widen};
            $body
        }

        #[allow(unused_variables, reason = "functions of one shape take as many operands, used or not")]
        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
        unsafe fn avx2($mode: Mode, $out: Rows<'_>, $a: Rows<'_>, $b: Rows<'_>, $c: Rows<'_>) {
            #[allow(unused_imports, reason = "not every body needs both")]
            use f16c::avx2::{narrow, widen};
            $body
        }

        let mut sources = [Kind::None; 3];
        sources.iter_mut().zip([$($source),+]).for_each(|(place, kind)| *place = kind);
        LaneOp {
            function: Function::Map(Levels { base: base as MapFn, avx2: avx2 as MapFn }),
            moded: None,
            saturating: None,
            sources,
            result: $result,
            accumulates: false,
        }
    }};
}
pub(super) use levelled;

/// f16 operations that are computed in f32: `halves!(F16, |a, b| plain; |round| other)`, with [`Kind::F16`] or
/// [`Kind::PackedF16`](crate::row::Kind) operands. Both bodies see and give f32; the second, for other modes, must be
/// exact or rounded to odd.
macro_rules! halves {
    ($kind:ident, |$($x:ident),+| $plain:expr; |$round:ident| $other:expr) => {
        halves!(@function $kind, |$($x),+| |_round| $plain, |_mode| $crate::lanes::rounding::Rules::PLAIN)
            .moded(halves!(@function $kind, |$($x),+| |$round| $other, $crate::lanes::rounding::Rules::of_16_64))
    };
    (@function $kind:ident, |$($x:ident),+| |$round:ident| $body:expr, $rules:expr) => {{
        #[inline(always)]
        fn lane($round: $crate::mode::Round, $($x: f32),+) -> f32 {
            $body
        }
        $crate::lanes::float::shapes::levelled!([$(halves!(@kind $kind, $x)),+] -> Kind::$kind; |mode, out, a, b, c| {
            let rules: $crate::lanes::rounding::Rules = $rules(mode);
            for chunk in 0..$crate::row::CHUNKS {
                let mut sources = [a, b, c].into_iter();
                $(
                    let rows = sources.next().unwrap_or(a);
                    // SAFETY: the caller's promise covers the source's row.
                    let $x = unsafe { rows.chunk(0, chunk) };
                )+
                let bits = halves!(@words $kind, rules, widen, narrow, lane, $($x),+);
                // SAFETY: the caller's promise covers the result's row.
                unsafe { out.set_chunk(0, chunk, bits) };
            }
        })
    }};
    (@kind $kind:ident, $x:ident) => { Kind::$kind };
    (@words F16, $rules:ident, $widen:ident, $narrow:ident, $lane:ident, $($x:ident),+) => {{
        $(let $x = $widen($crate::lanes::float::shapes::flushed($x, $rules.flush_in));)+
        let values = $crate::row::each!(index => $lane($rules.round, $($x[index]),+));
        let bits = $narrow(values, $rules.round);
        let bits = $crate::row::each!(index =>
            $crate::lanes::rounding::saturated16(bits[index], values[index], $rules.saturate));
        $crate::lanes::float::shapes::flushed(bits, $rules.flush_out)
    }};
    (@words PackedF16, $rules:ident, $widen:ident, $narrow:ident, $lane:ident, $($x:ident),+) => {{
        let low = halves!(@words F16, $rules, $widen, $narrow, $lane, $($x),+);
        $(let $x = $crate::row::each!(index => $x[index] >> 16);)+
        let high = halves!(@words F16, $rules, $widen, $narrow, $lane, $($x),+);
        $crate::row::each!(index => low[index] | high[index] << 16)
    }};
}
pub(super) use halves;

/// Zero of the same sign in place of denormal f16 in the lower halves of words, if asked; upper halves may be lost.
#[inline(always)]
pub(super) fn flushed(words: [u32; CHUNK], flush: bool) -> [u32; CHUNK] {
    let kept = if flush { 0x8000 } else { !0 };
    each!(lane => if words[lane] & 0x7c00 == 0 { words[lane] & kept } else { words[lane] })
}
