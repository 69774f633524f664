//! Weights in the order in which tiles read them.

use roci_simd::Level;
use roci_simd::blocked_conv::VECTORS;

/// Weights `[outs, ins, taps]` (depthwise: `[channels, 1, taps]` with `ins` 1) and a bias by output
/// channel, packed for `conv_blocked` of a level with inputs in blocks of `block` channels.
///
/// The bias comes first, padded to whole blocks. Then, for each tile of output channels, each block
/// of inputs, each element of the window and each channel of the block, the weights of these output
/// channels are adjacent.
pub fn pack_blocked(
    level: Level,
    weights: &[f32],
    bias: Option<&[f32]>,
    [outs, ins, taps]: [usize; 3],
    block: usize,
    depthwise: bool,
) -> Vec<f32> {
    let lanes = level.lanes();
    let width = outs.next_multiple_of(lanes);
    let weight = |out: usize, channel: usize, tap: usize| {
        weights.get((out * ins + channel) * taps + tap).copied().filter(|_| out < outs).unwrap_or(0.0)
    };
    let mut packed = Vec::with_capacity(width * (1 + ins * taps));
    packed.extend((0..width).map(|out| bias.and_then(|bias| bias.get(out)).copied().unwrap_or(0.0)));
    let step = if depthwise { lanes } else { VECTORS * lanes };
    for first in (0..width).step_by(step) {
        let group = first..(first + step).min(width);
        for start in (0..ins).step_by(block.max(1)) {
            let channels = start..(start + block).min(ins);
            for tap in 0..taps {
                for channel in channels.clone() {
                    packed.extend(group.clone().map(|out| weight(out, channel, tap)));
                }
            }
        }
    }
    packed
}
