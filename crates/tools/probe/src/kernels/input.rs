//! Deterministic inputs, uniformly distributed over a range, without special values.

use half::f16;

/// Storage type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A 32-bit word.
    U32,
    /// Single precision.
    F32,
    /// Half precision.
    F16,
}

impl Element {
    /// Size of an element in bytes.
    pub fn size(self) -> usize {
        match self {
            Self::U32 | Self::F32 => 4,
            Self::F16 => 2,
        }
    }

    /// Encodes values as bytes, rounded to the element type.
    pub fn encode(self, values: &[f64]) -> Vec<u8> {
        match self {
            Self::U32 => values.iter().flat_map(|value| (*value as u32).to_le_bytes()).collect(),
            Self::F32 => values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect(),
            Self::F16 => values.iter().flat_map(|value| f16::from_f64(*value).to_le_bytes()).collect(),
        }
    }

    /// Decodes bytes to values without loss. Trailing bytes that are shorter than an element are
    /// padding.
    pub fn decode(self, bytes: &[u8]) -> Vec<f64> {
        let quads = || bytes.as_chunks::<4>().0.iter().copied();
        match self {
            Self::U32 => quads().map(|word| f64::from(u32::from_le_bytes(word))).collect(),
            Self::F32 => quads().map(|word| f64::from(f32::from_le_bytes(word))).collect(),
            Self::F16 => bytes.as_chunks::<2>().0.iter().map(|half| f16::from_le_bytes(*half).to_f64()).collect(),
        }
    }
}

/// An input buffer and its values.
#[derive(Clone, Debug)]
pub struct Input {
    /// Contents of the buffer.
    pub bytes: Vec<u8>,
    /// The same values, for the reference.
    pub values: Vec<f64>,
}

impl Input {
    /// `count` uniformly distributed values in `low .. high`, rounded to the element type.
    pub fn spread(element: Element, count: usize, low: f64, high: f64, seed: u64) -> Self {
        let values: Vec<_> = (0..count as u64).map(|index| low + (high - low) * unit(seed, index)).collect();
        let bytes = element.encode(&values);
        Self { values: element.decode(&bytes), bytes }
    }

    /// An input of 32-bit words.
    pub fn words(words: Vec<u32>) -> Self {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        Self { values: Element::U32.decode(&bytes), bytes }
    }
}

/// A uniform value in `0 .. 1` per index: SplitMix64, whose consecutive outputs are uncorrelated.
/// Not `fastrand`, whose sequences may change between versions: the errors that `roci demo` and
/// `roci doctor --verify` report are compared between releases.
fn unit(seed: u64, index: u64) -> f64 {
    let mut z = (seed << 40).wrapping_add(index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_the_same_each_time_and_spread() {
        let make = |seed| Input::spread(Element::F16, 1000, -2.0, 2.0, seed);
        assert_eq!(make(1).bytes, make(1).bytes);
        assert_ne!(make(1).bytes, make(2).bytes);
        let mean = make(1).values.iter().sum::<f64>() / 1000.0;
        assert!(mean.abs() < 0.2 && make(1).values.iter().all(|value| (-2.0..=2.0).contains(value)), "{mean}");
    }

    #[test]
    fn memory_is_read_as_it_was_written() {
        for element in [Element::U32, Element::F32, Element::F16] {
            let values = [0.0, 1.0, 1024.0, 3.0];
            assert_eq!(element.decode(&element.encode(&values)), values);
        }
    }
}
