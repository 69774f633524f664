//! Quantization of activations to eight bits.

use super::activations::{GroupValue, TileLayout};
use super::format::GROUP;
use crate::{Level, Simd, Task};

/// Quantizes the activations `x` of one token into a tile of `width` tokens; the last group is
/// zero-padded.
#[inline(never)]
pub fn quantize_row(level: Level, x: &[f32], tile: &mut [u8], token: usize, width: usize) {
    level.run(Row { x, tile, token, width });
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
        let layout = TileLayout { width: self.width };
        for (x, target) in self.x.chunks(GROUP).zip(self.tile.chunks_exact_mut(layout.group())) {
            let mut values = [0.0; GROUP];
            match x.first_chunk() {
                Some(x) => values = *x,
                None => values[..x.len()].copy_from_slice(x),
            }
            let group = group(&values);
            target[layout.codes(self.token)..][..GROUP].copy_from_slice(bytemuck::cast_slice(&group.codes));
            let [first, last] = group.sums;
            let scaled = |sum: i32| (sum as f32 * group.scale).to_bits();
            let start = |sum: i32| (-128 * sum).cast_unsigned();
            for (value, bits) in [
                (GroupValue::Scale, group.scale.to_bits()),
                (GroupValue::Offset, start(first + last)),
                (GroupValue::FirstOffset, start(first)),
                (GroupValue::LastOffset, start(last)),
                (GroupValue::Sum, scaled(first + last)),
                (GroupValue::FirstSum, scaled(first)),
                (GroupValue::LastSum, scaled(last)),
            ] {
                target[layout.value(value, self.token)..][..4].copy_from_slice(&bits.to_le_bytes());
            }
        }
    }
}

/// A quantized group.
struct Group {
    codes: [i8; GROUP],
    scale: f32,
    /// Sums of the codes of the first and of the last half.
    sums: [i32; 2],
}

/// Adding this rounds a float to the nearest integer, ties to even, which is in the lowest bits of
/// the sum.
const ROUND_TO_INTEGER: f32 = 12_582_912.0;
/// Below this, the reciprocal of the scale is infinite; the values count as zero.
const MIN_MAGNITUDE: f32 = 1e-36;

/// Plain loops over whole arrays, which the compiler vectorizes.
#[inline(always)]
fn group(values: &[f32; GROUP]) -> Group {
    // Compared as integers, magnitudes keep their order, and NaN is the greatest, so that it is not
    // lost.
    let mut most = 0;
    for value in values {
        most = most.max(value.abs().to_bits());
    }
    let most = f32::from_bits(most);
    if most < MIN_MAGNITUDE {
        return Group { codes: [0; GROUP], scale: 0.0, sums: [0; 2] };
    }
    let by = 127.0 / most;
    let mut codes = [0; GROUP];
    let mut sums = [0; 2];
    for (half, sum) in sums.iter_mut().enumerate() {
        for at in half * (GROUP / 2)..(half + 1) * (GROUP / 2) {
            let code = (values[at] * by + ROUND_TO_INTEGER).to_bits() as i8;
            codes[at] = code;
            *sum += i32::from(code);
        }
    }
    Group { codes, scale: most / 127.0, sums }
}
