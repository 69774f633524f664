//! `v_trig_preop_f64`: the segment of 2/pi needed to reduce a large argument.

use crate::lanes::LaneOp;
use crate::lanes::macros::lane;

/// The first 1216 bits of 2/pi after the binary point.
const TWO_BY_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// Number of bits that the hardware has.
const KNOWN: u32 = 1201;

/// 53 bits of 2/pi from bit `first` on (0 is the first after the binary point).
fn bits_from(first: u32) -> u64 {
    let word = |index: u32| TWO_BY_PI.get(index as usize).copied().unwrap_or(0);
    let (index, shift) = (first / 64, first % 64);
    let pair = u128::from(word(index)) << 64 | u128::from(word(index + 1));
    let bits = (pair << shift >> 75) as u64;
    // Bits beyond the last known one are zero.
    match (first + 53).saturating_sub(KNOWN) {
        0 => bits,
        unknown @ 1..=52 => bits >> unknown << unknown,
        _ => 0,
    }
}

/// Segment number `segment` for an argument.
#[inline(never)]
fn trig_preop(argument: f64, segment: u32) -> f64 {
    let exponent = (argument.to_bits() >> 52 & 0x7ff) as u32;
    let first = (segment & 31) * 53 + exponent.saturating_sub(1077);
    let scale = if exponent >= 1968 { 128 - 53 } else { -53 } - first.cast_signed();
    // The segment is an integer less than 2^53. The exponent ranges from -53 - 1643 - 970 to 75,
    // which exceeds the range of a single factor.
    let half = scale / 2;
    let power = |by: i32| f64::from_bits(((1023 + by.max(-1022)) as u64) << 52);
    bits_from(first) as f64 * power(half) * power(scale - half)
}

pub(super) fn table() -> Vec<(&'static str, LaneOp)> {
    vec![("v_trig_preop_f64", lane!(|argument: f64, segment: u32| -> f64 { trig_preop(argument, segment) }))]
}

#[cfg(test)]
mod tests {
    use super::trig_preop;

    #[test]
    fn segments_add_up_to_two_over_pi() {
        let sum: f64 = (0..3).rev().map(|segment| trig_preop(1.0, segment)).sum();
        assert_eq!(sum, std::f64::consts::FRAC_2_PI);
        assert_eq!(trig_preop(1.0, 0), (0xa2f9_836e_4e44_1529u64 >> 11) as f64 / 2f64.powi(53));
    }

    #[test]
    fn large_arguments_skip_whole_turns() {
        // 2^60 has the encoded exponent 1083: six bits are skipped.
        let first = trig_preop(2f64.powi(60), 0);
        assert_eq!(first, (0xa2f9_836e_4e44_1529u64 << 6 >> 11) as f64 / 2f64.powi(59));
        assert_eq!(trig_preop(1.0, 31), 0.0);
    }
}
