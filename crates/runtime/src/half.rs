//! Products in 16-bit floats: what may be handed to kernels as such.
//!
//! Sums are f32 whatever the operands are. Weights become 16-bit once, when they are sent to the device, so that reading
//! them takes half the time and the memory; a model that holds them so loses nothing by it.

use half::f16;
use roci_graph::{Data, Tensor};

/// What products are computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floats.
    #[default]
    F32,
    /// 16-bit floats, summed in 32 bits. On the CPU this is F32.
    F16,
}

/// The elements of a constant as pairs of 16-bit floats; `None` where that would lose more than the session allows, or
/// where they are no pairs.
pub(crate) fn pairs(tensor: &Tensor, precision: Precision) -> Option<Vec<u32>> {
    let halves: Vec<f16> = match tensor.data() {
        Data::F16(all) => all.clone(),
        Data::F32(all) if precision == Precision::F16 => all.iter().map(|&one| f16::from_f32(one)).collect(),
        _ => return None,
    };
    // A weight that is too large for them would become infinite.
    let fits = || halves.iter().all(|half| half.is_finite());
    (halves.len().is_multiple_of(2) && fits()).then(|| pack(&halves))
}

/// Two elements a word, the first in the lower half.
pub(crate) fn pack(halves: &[f16]) -> Vec<u32> {
    let word = |pair: &[f16; 2]| u32::from(pair[0].to_bits()) | u32::from(pair[1].to_bits()) << 16;
    halves.as_chunks::<2>().0.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_become_pairs_where_nothing_is_lost_that_must_not_be() {
        let floats = Tensor::vector(vec![1.0f32, -2.0]);
        assert_eq!(pairs(&floats, Precision::F16), Some(vec![0xc000_3c00]));
        assert_eq!(pairs(&floats, Precision::F32), None);
        let halves = Tensor::vector(vec![f16::ONE, f16::from_f32(-2.0)]);
        assert_eq!(pairs(&halves, Precision::F32), Some(vec![0xc000_3c00]));
        assert_eq!(pairs(&Tensor::vector(vec![1.0f32]), Precision::F16), None, "no pairs");
        assert_eq!(pairs(&Tensor::vector(vec![1e6f32, 0.0]), Precision::F16), None, "too large");
    }
}
