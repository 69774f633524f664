//! Lane functions that [`lane!`](crate::lanes::macros::lane) cannot express: f16 computed in f32,
//! and functions with one loop for common modes and another for the rest.

use crate::row::{CHUNK, each};

/// Like [`lane!`](crate::lanes::macros::lane), for long bodies. They become a loop over all lanes:
/// LLVM's loop vectorizer has no length limit, unlike its vectorizer for straight-line code.
macro_rules! long {
    (|$($x:ident : $t:ty),+| -> $r:ty $body:block) => { long!(mode; |_mode, $($x: $t),+| -> $r $body) };
    (mode; |$mode:ident, $($x:ident : $t:ty),+| -> $r:ty $body:block) => {{
        #[inline(always)]
        fn lane($mode: $crate::mode::Mode, $($x: $t),+) -> $r $body
        $crate::lanes::macros::lane!(@levels Map, $crate::lanes::MapFn, [], [$($t),+], <$r as $crate::row::Lane>::KIND,
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
        for chunk in 0..$crate::row::CHUNKS {
            let values = $crate::row::each!(index => results[chunk * $crate::row::CHUNK + index]);
            // SAFETY: the contract covers the rows of the result.
            unsafe { <$r as $crate::row::Lane>::store(values, $out, chunk) };
        }
    };
    (@load [$a:ident $(, $rest:ident)*], $x:ident : $t:ty $(, $y:ident : $u:ty)*) => {
        let mut $x = [<$t as Default>::default(); $crate::row::LANES];
        for chunk in 0..$crate::row::CHUNKS {
            // SAFETY: the contract covers the rows of the source.
            let values = unsafe { <$t as $crate::row::Lane>::load($a, chunk) };
            $x[chunk * $crate::row::CHUNK..][..$crate::row::CHUNK].copy_from_slice(&values);
        }
        $crate::lanes::float::shapes::long!(@load [$($rest),*] $(, $y: $u)*);
    };
    (@load [$($rest:ident),*]) => {};
}
pub(super) use long;

/// A function for non-default modes. If `$when` holds, the mode is common and the first body runs
/// in all lanes, otherwise the second. A branch in each lane would prevent vectorization.
macro_rules! either {
    ($when:expr; |$mode:ident, $($x:ident : $t:ty),+| -> $r:ty $common:block else $other:block) => {{
        #[inline(always)]
        fn common($mode: $crate::mode::Mode, $($x: $t),+) -> $r $common
        #[inline(always)]
        fn other($mode: $crate::mode::Mode, $($x: $t),+) -> $r $other
        $crate::lanes::macros::lane!(@levels Map, $crate::lanes::MapFn, [], [$($t),+], <$r as $crate::row::Lane>::KIND,
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

/// A function compiled for both levels, from a body on whole operands. The names in front are those
/// of the level's [`f16c`](super::f16c) that the body calls: `widen`, `narrow`.
macro_rules! both_levels {
    ([$($f16c:ident),+]; [$($source:expr),+] -> $result:expr;
        |$mode:ident, $out:ident, $a:ident, $b:ident, $c:ident| $body:block) => {{
        use $crate::lanes::float::f16c;
        use $crate::lanes::{LaneFunction, LaneOp, Levels, MapFn};
        use $crate::mode::Mode;
        use $crate::row::{OperandKind, Rows};

        unsafe fn base($mode: Mode, $out: Rows<'_>, $a: Rows<'_>, $b: Rows<'_>, $c: Rows<'_>) {
            use f16c::base::{$($f16c),+};
            // A function pointer has all operands, a body uses some.
            let _ = ($mode, $out, $a, $b, $c);
            $body
        }

        #[cfg_attr(target_arch = "x86_64", target_feature(enable = "avx2,fma,f16c"))]
        unsafe fn avx2($mode: Mode, $out: Rows<'_>, $a: Rows<'_>, $b: Rows<'_>, $c: Rows<'_>) {
            use f16c::avx2::{$($f16c),+};
            let _ = ($mode, $out, $a, $b, $c);
            $body
        }

        let mut sources = [OperandKind::None; 3];
        sources.iter_mut().zip([$($source),+]).for_each(|(slot, kind)| *slot = kind);
        LaneOp {
            function: LaneFunction::Map(Levels { base: base as MapFn, avx2: avx2 as MapFn }),
            special_mode: None,
            saturating: None,
            sources,
            result: $result,
            accumulates: false,
        }
    }};
}
pub(super) use both_levels;

/// f16 operations computed in f32: `halves!(F16, |a, b| plain; |round| other)`, with
/// [`OperandKind::F16`] or [`OperandKind::PackedF16`](crate::row::OperandKind) operands. Both
/// bodies take and return f32. The second, for other modes, must be exact or rounded to odd.
macro_rules! halves {
    ($kind:ident, |$($x:ident),+| $plain:expr; |$round:ident| $other:expr) => {
        halves!(@function $kind, |$($x),+| |_round| $plain, |_mode| $crate::lanes::rounding::FloatMode::PLAIN)
            .with_modes(halves!(@function $kind, |$($x),+| |$round| $other, $crate::lanes::rounding::FloatMode::of_16_64))
    };
    (@function $kind:ident, |$($x:ident),+| |$round:ident| $body:expr, $rules:expr) => {{
        #[inline(always)]
        fn lane($round: $crate::mode::RoundingMode, $($x: f32),+) -> f32 {
            $body
        }
        $crate::lanes::float::shapes::both_levels!([narrow, widen];
            [$(halves!(@kind $kind, $x)),+] -> OperandKind::$kind; |mode, out, a, b, c| {
            let rules: $crate::lanes::rounding::FloatMode = $rules(mode);
            for chunk in 0..$crate::row::CHUNKS {
                let mut sources = [a, b, c].into_iter();
                $(
                    let rows = sources.next().unwrap_or(a);
                    // SAFETY: the contract covers the row of the source.
                    let $x = unsafe { rows.chunk(0, chunk) };
                )+
                let bits = halves!(@words $kind, rules, widen, narrow, lane, $($x),+);
                // SAFETY: the contract covers the row of the result.
                unsafe { out.set_chunk(0, chunk, bits) };
            }
        })
    }};
    (@kind $kind:ident, $x:ident) => { OperandKind::$kind };
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

/// Optionally flushes denormal f16 in the lower halves of words to zero of the same sign. Upper
/// halves are not preserved.
#[inline(always)]
pub(super) fn flushed(words: [u32; CHUNK], flush: bool) -> [u32; CHUNK] {
    let mask = if flush { 0x8000 } else { !0 };
    each!(lane => if words[lane] & 0x7c00 == 0 { words[lane] & mask } else { words[lane] })
}
