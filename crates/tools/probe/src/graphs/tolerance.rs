//! Tolerance levels of graph results, by kind of computation and data type.

use roci_graph::DType;
use roci_tolerance::Tolerance;

/// A single operation whose result is rounded to this type.
pub(super) fn operation(dtype: DType) -> Tolerance {
    match dtype {
        DType::F16 => Tolerance::Half,
        DType::BF16 => Tolerance::Bfloat,
        _ => Tolerance::Close,
    }
}

/// Functions that drivers may approximate.
pub(super) fn native(dtype: DType) -> Tolerance {
    match dtype {
        DType::F16 | DType::BF16 => operation(dtype),
        _ => Tolerance::Native,
    }
}

/// Sums of a few hundred products.
pub(super) fn sums(dtype: DType) -> Tolerance {
    match dtype {
        DType::F16 => Tolerance::HalfSums,
        DType::BF16 => Tolerance::BfloatSums,
        _ => Tolerance::Approximate,
    }
}

/// Several consecutive layers.
pub(super) fn layers(dtype: DType) -> Tolerance {
    match dtype {
        DType::F16 => Tolerance::HalfLayers,
        DType::BF16 => Tolerance::BfloatLayers,
        _ => Tolerance::Layers,
    }
}
