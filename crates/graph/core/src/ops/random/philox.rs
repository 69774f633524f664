//! Counter-based random values: Philox 4x32-10, of Salmon et al., "Parallel random numbers: as easy
//! as 1, 2, 3" (2011). Every element is drawn independently by its index in the stream, so that all
//! devices draw the same values.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A stream of random values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Distinguishes sequences.
    pub seed: u64,
    /// Distinguishes streams of one seed: how many were drawn before.
    pub run: u64,
}

impl Stream {
    /// The stream of a seed, the same in every run; without a seed, a stream that is unique in this
    /// process.
    pub fn new(seed: Option<u64>) -> Self {
        static SEED: OnceLock<u64> = OnceLock::new();
        static RUNS: AtomicU64 = AtomicU64::new(0);
        match seed {
            Some(seed) => Self { seed, run: 0 },
            None => Self {
                // The standard library seeds its hash maps from the system, which is entropy
                // without a dependency.
                seed: *SEED.get_or_init(|| std::collections::hash_map::RandomState::new().hash_one(0)),
                run: RUNS.fetch_add(1, Ordering::Relaxed),
            },
        }
    }

    /// Four words of the stream.
    pub fn block(self, index: u64) -> [u32; 4] {
        philox([index, self.run], self.seed)
    }

    /// A value in [0, 1) for an element, with 24 bits, which f32 represents exactly.
    pub fn uniform(self, element: u64) -> f64 {
        fraction(self.block(element / 4)[(element % 4) as usize])
    }

    /// Like [`uniform`](Self::uniform), with 53 bits.
    pub fn uniform_double(self, element: u64) -> f64 {
        let [high, low] = self.pair(element);
        let bits = u64::from(high) << 32 | u64::from(low);
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A value of the standard normal distribution for an element, by the Box-Muller transform.
    pub fn normal(self, element: u64) -> f64 {
        let [radius, angle] = self.pair(element).map(fraction);
        // From above 0 to 1, because log(0) is infinite.
        let radius = (-2.0 * (radius + 1.0 / STEPS).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * angle).cos()
    }

    /// Two words for an element.
    fn pair(self, element: u64) -> [u32; 2] {
        let [a, b, c, d] = self.block(element / 2);
        if element.is_multiple_of(2) { [a, b] } else { [c, d] }
    }
}

/// The number of values of a 24-bit fraction.
const STEPS: f64 = (1 << 24) as f64;

fn fraction(word: u32) -> f64 {
    f64::from(word >> 8) / STEPS
}

/// The generator: ten rounds on a 128-bit counter.
fn philox(counter: [u64; 2], key: u64) -> [u32; 4] {
    let [mut a, mut b] = [counter[0] as u32, (counter[0] >> 32) as u32];
    let [mut c, mut d] = [counter[1] as u32, (counter[1] >> 32) as u32];
    let [mut first, mut second] = [key as u32, (key >> 32) as u32];
    for _ in 0..10 {
        let left = u64::from(a) * 0xD251_1F53;
        let right = u64::from(c) * 0xCD9E_8D57;
        (a, b, c, d) = ((right >> 32) as u32 ^ b ^ first, right as u32, (left >> 32) as u32 ^ d ^ second, left as u32);
        first = first.wrapping_add(0x9E37_79B9);
        second = second.wrapping_add(0xBB67_AE85);
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_philox() {
        // The known answers that the authors published.
        assert_eq!(philox([0, 0], 0), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([u64::MAX; 2], u64::MAX), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        let pi = philox([0x85a3_08d3_243f_6a88, 0x0370_7344_1319_8a2e], 0x299f_31d0_a409_3822);
        assert_eq!(pi, [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]);
    }

    #[test]
    fn distributions_have_the_expected_moments() {
        let stream = Stream::new(Some(7));
        let moments = |draw: &dyn Fn(u64) -> f64| {
            let all: Vec<f64> = (0..10_000).map(draw).collect();
            let mean = all.iter().sum::<f64>() / 1e4;
            (mean, all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e4)
        };
        let near = |(mean, variance): (f64, f64), expected: (f64, f64)| {
            (mean - expected.0).abs() < 0.05 && (variance - expected.1).abs() < 0.05
        };
        assert!(near(moments(&|at| stream.uniform(at)), (0.5, 1.0 / 12.0)));
        assert!(near(moments(&|at| stream.uniform_double(at)), (0.5, 1.0 / 12.0)));
        assert!(near(moments(&|at| stream.normal(at)), (0.0, 1.0)));
        assert_ne!(Stream::new(None), Stream::new(None));
    }
}
