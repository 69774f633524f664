//! `lm_quantize`: activations as whole numbers.

use roci_hal::native::{NativeKernel, NativeLaunch};

use super::super::check::{self, Access, Extent};
use super::super::simd::{Level, Simd, Task};
use super::super::{memory, parts};
use super::activations::{BYTES, Number, Place, TILE};
use super::format::GROUP;
use crate::params;

/// The kernel.
pub(in super::super) struct Quantize(pub(in super::super) Level);

// SAFETY: `prepare` holds both arrays against their bindings and rejects an overlap; parts are disjoint ranges of tiles.
unsafe impl NativeKernel for Quantize {
    fn accesses(&self) -> &[roci_hal::Access] {
        check::last_written(2)
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        let p: params::LmQuantize = check::constants(launch)?;
        let [x, y] = check::bindings(launch)?;
        if p.tokens == 0 || p.columns == 0 {
            return Ok(0);
        }
        let extent = Extent::of(&[(p.tokens, p.x_stride), (p.columns, 1)]).after(p.x_offset);
        let x = Access::read::<f32>("x", x, extent)?;
        let groups = u128::from(p.columns.div_ceil(GROUP as u32));
        let words = u128::from(p.tokens) * groups * (BYTES / size_of::<u32>()) as u128;
        let y = Access::write::<u32>("y", y, Extent::words(words))?;
        y.apart_from(&x)?;
        let bytes = u64::from(p.tokens) * u64::from(p.columns) * 4;
        Ok(parts::count(bytes, (p.tokens as usize).div_ceil(TILE), launch.workers))
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let Ok(p) = check::constants::<params::LmQuantize>(launch) else { return };
        let [x, y] = [launch.bindings[0], launch.bindings[1]];
        let (tokens, columns) = (p.tokens as usize, p.columns as usize);
        let row = columns.div_ceil(GROUP) * BYTES;
        let range = parts::share(tokens, TILE, part, parts);
        for first in range.clone().step_by(TILE) {
            let width = TILE.min(range.end - first);
            // SAFETY: this part's own tile, within the extent that `prepare` checked.
            let tile = unsafe { memory::output::<u8>(y, first * row..(first + width) * row) };
            for token in 0..width {
                let start = p.x_offset as usize + (first + token) * p.x_stride as usize;
                // SAFETY: within the extent that `prepare` checked; `x` is read only.
                let x = unsafe { memory::input::<f32>(x, start..start + columns) };
                self.0.run(Row { x, tile, token, width });
            }
        }
    }
}

/// One token of a tile.
struct Row<'a> {
    x: &'a [f32],
    tile: &'a mut [u8],
    token: usize,
    width: usize,
}

impl Task for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let place = Place { width: self.width };
        for (x, target) in self.x.chunks(GROUP).zip(self.tile.chunks_exact_mut(place.group())) {
            let mut values = [0.0; GROUP];
            match x.first_chunk() {
                Some(x) => values = *x,
                None => values[..x.len()].copy_from_slice(x),
            }
            let group = group(&values);
            target[place.codes(self.token)..][..GROUP].copy_from_slice(bytemuck::cast_slice(&group.codes));
            let [first, last] = group.sums;
            let scaled = |sum: i32| (sum as f32 * group.scale).to_bits();
            let start = |sum: i32| (-128 * sum).cast_unsigned();
            for (number, bits) in [
                (Number::Scale, group.scale.to_bits()),
                (Number::Start, start(first + last)),
                (Number::FirstStart, start(first)),
                (Number::LastStart, start(last)),
                (Number::Sum, scaled(first + last)),
                (Number::FirstSum, scaled(first)),
                (Number::LastSum, scaled(last)),
            ] {
                target[place.number(number, self.token)..][..4].copy_from_slice(&bits.to_le_bytes());
            }
        }
    }
}

/// Quantised values.
struct Group {
    codes: [i8; GROUP],
    scale: f32,
    /// Of the first and of the last half.
    sums: [i32; 2],
}

/// A float of this size has no places behind the point: adding it rounds to the nearest whole number, ties to even, which then
/// stands in the lowest bits.
const WHOLE: f32 = 12_582_912.0;
/// Below this, the reciprocal of the scale is no finite number, and the values are as good as zero.
const LEAST: f32 = 1e-36;

/// Plain loops over whole arrays, which become vectors.
#[inline(always)]
fn group(values: &[f32; GROUP]) -> Group {
    // As whole numbers, sizes have the same order, and NaN is greater than all: it is not hidden.
    let mut most = 0;
    for value in values {
        most = most.max(value.abs().to_bits());
    }
    let most = f32::from_bits(most);
    if most < LEAST {
        return Group { codes: [0; GROUP], scale: 0.0, sums: [0; 2] };
    }
    let by = 127.0 / most;
    let mut codes = [0; GROUP];
    let mut sums = [0; 2];
    for (half, sum) in sums.iter_mut().enumerate() {
        for at in half * (GROUP / 2)..(half + 1) * (GROUP / 2) {
            let code = (values[at] * by + WHOLE).to_bits() as i8;
            codes[at] = code;
            *sum += i32::from(code);
        }
    }
    Group { codes, scale: most / 127.0, sums }
}
