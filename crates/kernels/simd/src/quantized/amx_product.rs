//! The product on AMX: sixteen rows by the sixteen tokens of a whole tile.
//!
//! AMX sums a group in integers for all pairs of a row and a token at once; the vector units only
//! scale the sums. Results equal those of [`super::product`] bit for bit.

use super::activations::{GroupValue, TILE, TileLayout};
use super::format::{GROUP, LINES};
use super::product::{PanelProduct, Token, write};
use crate::amx::Tiles;
use crate::int8::{Int8, Int8Task, LINE, ROWS};

/// Like [`super::product::Int8Product`], for a [`PanelProduct`] with a whole tile and with signed
/// bytes as codes.
pub(super) struct AmxProduct<'a>(pub(super) PanelProduct, pub(super) &'a Tiles);

/// Sums of two AMX products, by token and row.
#[repr(C, align(64))]
struct Sums([[[i32; ROWS]; TILE]; 2]);

/// Repeats a block for every token. Unrolled by hand: only then do all sums stay in registers.
macro_rules! tokens {
    ($t:ident => $work:block) => {
        tokens!(@ $t $work 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $t:ident $work:block $($number:literal)*) => {
        $({
            const $t: usize = $number;
            $work
        })*
    };
}

impl Int8Task for AmxProduct<'_> {
    type Output = ();

    #[inline(always)]
    fn run<C: Int8>(self, simd: C) {
        match (self.0.weights.fine_scales, self.0.weights.mins.is_some()) {
            (false, false) => self.compute::<C, false, false>(simd),
            (false, true) => self.compute::<C, false, true>(simd),
            (true, false) => self.compute::<C, true, false>(simd),
            (true, true) => self.compute::<C, true, true>(simd),
        }
    }
}

impl AmxProduct<'_> {
    #[inline(always)]
    fn compute<C: Int8, const FINE: bool, const MINS: bool>(&self, simd: C) {
        let AmxProduct(product, _) = self;
        let w = &product.weights;
        let pairs = if FINE { w.groups } else { w.groups.div_ceil(2) };
        let mut buffers = [const { Sums([[[0; ROWS]; TILE]; 2]) }; 2];
        let mut sums = [simd.splat(0.0); TILE];
        if pairs > 0 {
            self.products::<FINE>(0, &mut buffers[0]);
        }
        for pair in 0..pairs {
            // AMX computes the next pair while these sums are scaled.
            if pair + 1 < pairs {
                self.products::<FINE>(pair + 1, &mut buffers[(pair + 1) % 2]);
            }
            let Sums([first, last]) = &buffers[pair % 2];
            if FINE {
                self.scale::<C, FINE, MINS>(simd, pair, [first, last], &mut sums);
            } else {
                self.scale::<C, FINE, MINS>(simd, 2 * pair, [first, first], &mut sums);
                if 2 * pair + 1 < w.groups {
                    self.scale::<C, FINE, MINS>(simd, 2 * pair + 1, [last, last], &mut sums);
                }
            }
        }
        for (t, &sum) in sums.iter().enumerate() {
            let y = product.y.wrapping_add(t * product.y_stride);
            // SAFETY: the task's creator guarantees that only the task touches the rows of this
            // token.
            unsafe { write(y, simd.values(sum), product.rows, product.add) };
        }
    }

    /// Starts the products of both halves of a group, or of two groups. The last of an odd number
    /// of groups is multiplied twice.
    #[inline(always)]
    fn products<const FINE: bool>(&self, pair: usize, target: &mut Sums) {
        let AmxProduct(product, tiles) = self;
        let (group, other) =
            if FINE { (pair, pair) } else { (2 * pair, (2 * pair + 1).min(product.weights.groups - 1)) };
        let x = product.x.wrapping_add(group * product.layout.group());
        let lines = product.weights.codes.wrapping_add(group * LINES * LINE);
        let other_x = product.x.wrapping_add(other * product.layout.group());
        let other_lines = product.weights.codes.wrapping_add(other * LINES * LINE);
        let target = target.0.as_mut_ptr().cast();
        if FINE {
            let xs = [x, other_x.wrapping_add(GROUP / 2)];
            let lines = [lines, other_lines.wrapping_add(LINES / 2 * LINE)];
            // SAFETY: both halves of a group of sixteen tokens and rows, which the task's creator
            // guarantees.
            unsafe { tiles.products::<true>(xs, lines, target) };
        } else {
            // SAFETY: as above, two groups.
            unsafe { tiles.products::<false>([x, other_x], [lines, other_lines], target) };
        }
    }

    /// Adds the sums of a group, or of its halves, multiplied by their scales.
    #[inline(always)]
    fn scale<C: Int8, const FINE: bool, const MINS: bool>(
        &self,
        simd: C,
        group: usize,
        whole: [&[[i32; ROWS]; TILE]; 2],
        sums: &mut [C::Floats; TILE],
    ) {
        let AmxProduct(product, _) = self;
        let w = &product.weights;
        let x = product.x.wrapping_add(group * product.layout.group());
        let scales = w.load_scales(simd, FINE, w.scales, group);
        let mins = match w.mins {
            Some(mins) if MINS => w.load_scales(simd, FINE, mins, group),
            _ => scales,
        };
        tokens!(T => {
            // The compiler does not know that a whole tile has this width.
            let token = Token { x, layout: TileLayout { width: TILE }, token: T };
            let by = simd.splat(token.float(GroupValue::Scale));
            // SAFETY: the sums of a token.
            let dot = unsafe { simd.load_sums(whole[0][T].as_ptr()) };
            let mut sum = simd.mul_add(simd.floats(dot), simd.mul(scales[0], by), sums[T]);
            if FINE {
                // SAFETY: as above.
                let dot = unsafe { simd.load_sums(whole[1][T].as_ptr()) };
                sum = simd.mul_add(simd.floats(dot), simd.mul(scales[1], by), sum);
            }
            if MINS {
                sum = token.add_mins(simd, FINE, &mins, sum);
            }
            sums[T] = sum;
        });
    }
}
