//! Matrix products with f16 weights.
//!
//! Weights are converted to f16 once, when they are uploaded, which halves their memory and the
//! time to read them. Sums are always f32. A model whose weights are f16 loses no precision.

use half::f16;
use roci_graph::{Data, Tensor};

/// The precision of matrix products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// f32 weights and sums.
    #[default]
    F32,
    /// f16 weights and f32 sums. The CPU device uses f32.
    F16,
}

/// The elements of a constant as f16, two per word; `None` if that loses more precision than the
/// session allows, or if the number of elements is odd.
pub(crate) fn f16_words(tensor: &Tensor, precision: Precision) -> Option<Vec<u32>> {
    let elements: Vec<f16> = match tensor.data() {
        Data::F16(all) => all.clone(),
        Data::F32(all) if precision == Precision::F16 => all.iter().map(|&one| f16::from_f32(one)).collect(),
        _ => return None,
    };
    // A weight beyond the range of f16 would become infinite.
    let fits = || elements.iter().all(|element| element.is_finite());
    (elements.len().is_multiple_of(2) && fits()).then(|| pack_f16(&elements))
}

/// Packs two elements into a word, the first one in the lower half.
pub(crate) fn pack_f16(elements: &[f16]) -> Vec<u32> {
    let word = |pair: &[f16; 2]| u32::from(pair[0].to_bits()) | u32::from(pair[1].to_bits()) << 16;
    elements.as_chunks::<2>().0.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_weights_that_fit_f16_are_converted() {
        let floats = Tensor::vector(vec![1.0f32, -2.0]);
        assert_eq!(f16_words(&floats, Precision::F16), Some(vec![0xc000_3c00]));
        assert_eq!(f16_words(&floats, Precision::F32), None);
        let f16_tensor = Tensor::vector(vec![f16::ONE, f16::from_f32(-2.0)]);
        assert_eq!(f16_words(&f16_tensor, Precision::F32), Some(vec![0xc000_3c00]));
        assert_eq!(f16_words(&Tensor::vector(vec![1.0f32]), Precision::F16), None, "an odd number of elements");
        assert_eq!(f16_words(&Tensor::vector(vec![1e6f32, 0.0]), Precision::F16), None, "too large");
    }
}
