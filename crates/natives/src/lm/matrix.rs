//! The product by matrix units: sixteen rows by the sixteen tokens of a whole tile.
//!
//! The units sum whole numbers of one group for all pairs of a row and a token at once; scaling them is the rest of the work. Results
//! are those of [`super::tile`] to the bit.

use super::super::simd::amx::Tiles;
use super::super::simd::codes::{Codes, CodesTask, LINE, ROWS};
use super::activations::{Number, Place, TILE};
use super::format::{GROUP, LINES};
use super::tile::{Area, Token, write};

/// An [`Area`] whose tile is whole and whose codes are signed bytes, as a task; as [`super::tile::Tokens`] otherwise.
pub(super) struct Whole<'a>(pub(super) Area, pub(super) &'a Tiles);

/// Sums as the units give them: of all tokens, twice.
#[repr(C, align(64))]
struct Sums([[[i32; ROWS]; TILE]; 2]);

/// Does something for every token. Written out, as only then do all sums stay in registers.
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

impl CodesTask for Whole<'_> {
    type Output = ();

    #[inline(always)]
    fn run<C: Codes>(self, codes: C) {
        match (self.0.weights.finer, self.0.weights.least.is_some()) {
            (false, false) => self.compute::<C, false, false>(codes),
            (false, true) => self.compute::<C, false, true>(codes),
            (true, false) => self.compute::<C, true, false>(codes),
            (true, true) => self.compute::<C, true, true>(codes),
        }
    }
}

impl Whole<'_> {
    #[inline(always)]
    fn compute<C: Codes, const FINER: bool, const LEAST: bool>(&self, codes: C) {
        let Whole(area, _) = self;
        let w = &area.weights;
        let pairs = if FINER { w.groups } else { w.groups.div_ceil(2) };
        let mut buffers = [const { Sums([[[0; ROWS]; TILE]; 2]) }; 2];
        let mut sums = [codes.splat(0.0); TILE];
        if pairs > 0 {
            self.products::<FINER>(0, &mut buffers[0]);
        }
        for pair in 0..pairs {
            // The units work on the next while these are scaled.
            if pair + 1 < pairs {
                self.products::<FINER>(pair + 1, &mut buffers[(pair + 1) % 2]);
            }
            let Sums([first, last]) = &buffers[pair % 2];
            if FINER {
                self.scale::<C, FINER, LEAST>(codes, pair, [first, last], &mut sums);
            } else {
                self.scale::<C, FINER, LEAST>(codes, 2 * pair, [first, first], &mut sums);
                if 2 * pair + 1 < w.groups {
                    self.scale::<C, FINER, LEAST>(codes, 2 * pair + 1, [last, last], &mut sums);
                }
            }
        }
        for (t, &sum) in sums.iter().enumerate() {
            let y = area.y.wrapping_add(t * area.y_stride);
            // SAFETY: the rows of this token are the task's alone, by the promise of its maker.
            unsafe { write(y, codes.values(sum), area.rows, area.add) };
        }
    }

    /// Starts both halves of a group, or two groups; where there is but one left, that one twice.
    #[inline(always)]
    fn products<const FINER: bool>(&self, pair: usize, target: &mut Sums) {
        let Whole(area, tiles) = self;
        let (group, other) = if FINER { (pair, pair) } else { (2 * pair, (2 * pair + 1).min(area.weights.groups - 1)) };
        let x = area.x.wrapping_add(group * area.place.group());
        let lines = area.weights.codes.wrapping_add(group * LINES * LINE);
        let other_x = area.x.wrapping_add(other * area.place.group());
        let other_lines = area.weights.codes.wrapping_add(other * LINES * LINE);
        let target = target.0.as_mut_ptr().cast();
        if FINER {
            let xs = [x, other_x.wrapping_add(GROUP / 2)];
            let lines = [lines, other_lines.wrapping_add(LINES / 2 * LINE)];
            // SAFETY: both halves of a group of sixteen tokens and rows, which the maker of the task vouches for.
            unsafe { tiles.products::<true>(xs, lines, target) };
        } else {
            // SAFETY: as above, two groups.
            unsafe { tiles.products::<false>([x, other_x], [lines, other_lines], target) };
        }
    }

    /// Adds what the units gave for a group, or for its halves.
    #[inline(always)]
    fn scale<C: Codes, const FINER: bool, const LEAST: bool>(
        &self,
        codes: C,
        group: usize,
        whole: [&[[i32; ROWS]; TILE]; 2],
        sums: &mut [C::Floats; TILE],
    ) {
        let Whole(area, _) = self;
        let w = &area.weights;
        let x = area.x.wrapping_add(group * area.place.group());
        let scales = w.sixteens::<C, FINER>(codes, w.scales, group);
        let least = match w.least {
            Some(least) if LEAST => w.sixteens::<C, FINER>(codes, least, group),
            _ => scales,
        };
        tokens!(T => {
            // The width is that of every whole tile, which the compiler does not know.
            let token = Token { x, place: Place { width: TILE }, token: T };
            let by = codes.splat(token.float(Number::Scale));
            // SAFETY: the sums of a token.
            let dot = unsafe { codes.load_sums(whole[0][T].as_ptr()) };
            let mut sum = codes.mul_add(codes.floats(dot), codes.mul(scales[0], by), sums[T]);
            if FINER {
                // SAFETY: as above.
                let dot = unsafe { codes.load_sums(whole[1][T].as_ptr()) };
                sum = codes.mul_add(codes.floats(dot), codes.mul(scales[1], by), sum);
            }
            if LEAST {
                sum = token.add_least::<C, FINER>(codes, &least, sum);
            }
            sums[T] = sum;
        });
    }
}
