//! Random numbers as a function of seed and position.

/// SplitMix64 read by position: number `n` of seed `s` is `mix(s + (n + 1) * GAMMA)`.
///
/// It is stateless: a request that is preempted, moved to another device or repeated draws the same
/// numbers for the same tokens. The sequence never changes: users repeat answers with `--seed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    seed: u64,
}

/// The odd number nearest to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// Creates the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// Number `position` of the sequence.
    pub fn bits(self, position: u64) -> u64 {
        let mut bits = self.seed.wrapping_add(position.wrapping_add(1).wrapping_mul(GAMMA));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// Number `position` as a float in `[0, 1)`.
    pub fn unit(self, position: u64) -> f64 {
        // 53 bits fill the fraction of an f64 exactly.
        (self.bits(position) >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_match_published_splitmix64_values() {
        let random = Random::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        for (position, expected) in expected.into_iter().enumerate() {
            assert_eq!(random.bits(position as u64), expected, "number {position}");
        }
    }

    #[test]
    fn floats_are_uniformly_distributed() {
        let random = Random::new(0);
        let mut tenths = [0usize; 10];
        for position in 0..100_000 {
            let unit = random.unit(position);
            assert!((0.0..1.0).contains(&unit));
            tenths[(unit * 10.0) as usize] += 1;
        }
        assert!(tenths.iter().all(|&count| (9_500..10_500).contains(&count)), "{tenths:?}");
    }
}
