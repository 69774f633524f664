//! Macros for the entries of the table: the source files of a product, and its variants for groups of
//! weight formats.

/// Source of a product with weights: these files (a kind of kernel, its weight decoding) and the
/// epilogue.
macro_rules! source {
    ($($file:literal),*) => { concat!($(include_str!($file),)* include_str!("lm_linear_epilogue.wgsl")) };
}

/// The variants of a kernel for all compact formats, in the order of [`WeightFormat`].
macro_rules! compact_variants {
    ($prefix:literal $(, $key:ident = $value:literal)*) => {
        compact_variants!(@list $prefix [$($key = $value),*];
            "q5_0" 11, "q5_1" 12, "q5_k" 13, "q6_k" 14, "q2_k" 15, "q3_k" 16, "tq2_0" 17, "q2_0" 18, "q1_0" 19,
            "iq1_s" 20, "iq1_m" 21, "iq2_xxs" 22, "iq2_xs" 23, "iq2_s" 24, "iq3_xxs" 25, "iq3_s" 26)
    };
    (@list $prefix:literal $others:tt; $($format:literal $id:literal),*) => {
        &[$(compact_variants!(@one $prefix $format $id $others)),*]
    };
    (@one $prefix:literal $format:literal $id:literal [$($key:ident = $value:literal),*]) => {
        crate::Variant {
            name: concat!($prefix, "_", $format),
            overrides: &[("FORMAT", $id as f64) $(, (stringify!($key), $value as f64))*],
        }
    };
}

/// The variants of a kernel for the compact formats without a grid that the kernel stages, in the
/// order of [`WeightFormat`].
macro_rules! gridless_variants {
    ($prefix:literal $others:tt) => {
        compact_variants!(@list $prefix $others;
            "q5_0" 11, "q5_1" 12, "q5_k" 13, "q6_k" 14, "q2_k" 15, "q3_k" 16, "tq2_0" 17, "q2_0" 18, "q1_0" 19,
            "iq1_s" 20, "iq1_m" 21)
    };
}

/// The variants of a kernel for the quantized formats of `lm_weights.wgsl`, in the order of
/// [`WeightFormat`].
macro_rules! quantized_variants {
    ($prefix:literal) => {
        compact_variants!(@list $prefix [];
            "q4" 3, "q4_affine" 4, "nvfp4" 5, "q4_nl" 6, "q4_e2m1" 7, "q8" 8, "iq4_xs" 9, "q4_superblock" 10)
    };
}

/// The variants of a kernel for the quantized formats of `lm_weights.wgsl` with four bits per code,
/// in the order of [`WeightFormat`].
macro_rules! nibble_variants {
    ($prefix:literal) => {
        compact_variants!(@list $prefix [];
            "q4" 3, "q4_affine" 4, "nvfp4" 5, "q4_nl" 6, "q4_e2m1" 7, "iq4_xs" 9, "q4_superblock" 10)
    };
}

pub(super) use {compact_variants, gridless_variants, nibble_variants, quantized_variants, source};
