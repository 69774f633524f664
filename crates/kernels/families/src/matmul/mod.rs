//! `matmul_*`: matrix products.

mod cases;
mod form;

pub use form::MatmulForm;

use crate::family::{constants, plain, read, write};
use crate::product_aliases::{scalar_aliases, vec4_aliases};
use crate::{Family, Params};

/// Rows and columns of the output tile of one `matmul` workgroup.
pub const MATMUL_TILE: u32 = 64;

/// Rows and columns of the output tile of one `matmul_large` workgroup.
pub const MATMUL_LARGE_TILE: u32 = 128;

/// Rows and columns of the output tile of one `matmul_coopmat` workgroup.
pub const MATMUL_MATRIX_TILE: [u32; 2] = [128, 256];

constants! {
    /// `matmul_*`: `C[b] = A[b] * B[b]`, row-major, `A` is `m x k`, `B` is `k x n`.
    ///
    /// Leading dimensions and batch strides are in elements. A batch stride of 0 shares the matrix
    /// between batches.
    pub struct Matmul {
        /// Rows of the result.
        pub m: u32,
        /// Columns of the result.
        pub n: u32,
        /// The reduced dimension.
        pub k: u32,
        /// Row stride of `A`.
        pub lda: u32,
        /// Row stride of `B`.
        pub ldb: u32,
        /// Row stride of `C`.
        pub ldc: u32,
        /// Batch size.
        pub batches: u32,
        /// Batch stride of `A`.
        pub batch_a: u32,
        /// Batch stride of `B`.
        pub batch_b: u32,
        /// Batch stride of `C`.
        pub batch_c: u32,
    }
}

impl Matmul {
    /// One product of dense matrices.
    pub fn dense(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k, lda: k, ldb: n, ldc: n, batches: 1, batch_a: 0, batch_b: 0, batch_c: 0 }
    }
}

impl Matmul {
    /// Workgroup counts for tiles of `rows` by `columns`; batches in z.
    pub fn tiles(&self, [rows, columns]: [u32; 2]) -> [u32; 3] {
        [self.n.div_ceil(columns), self.m.div_ceil(rows), self.batches]
    }
}

impl Params for Matmul {
    /// The grid of the general kernel. The other forms have their own grids.
    fn grid(&self) -> [u32; 3] {
        self.tiles([MATMUL_TILE; 2])
    }
}

/// The epilogue without bias and activation.
macro_rules! epilogue {
    () => {
        include_str!("matmul_epilogue.wgsl")
    };
}

/// Common part of the general variants, with small tiles.
pub(crate) const GENERAL: Family = Family {
    file: "matmul.wgsl",
    text: include_str!("matmul.wgsl"),
    entry: "matmul",
    variants: &[],
    bindings: &[read("a"), read("b"), write("c")],
    constants: Matmul::CONSTANTS,
    cases: cases::of,
    ..Family::DEFAULT
};

/// Common part of the variants with large tiles.
pub(crate) const LARGE: Family =
    Family { file: "matmul_large.wgsl", text: include_str!("matmul_large.wgsl"), ..GENERAL };

pub(crate) const FAMILIES: &[Family] = &[
    Family { aliases: scalar_aliases!("f32", "f32", epilogue!()), variants: &[plain("matmul_f32")], ..GENERAL },
    Family { aliases: scalar_aliases!("f16", "f16", epilogue!()), variants: &[plain("matmul_f16")], ..GENERAL },
    Family { aliases: vec4_aliases!("f32", "f32", epilogue!()), variants: &[plain("matmul_large_f32")], ..LARGE },
    Family { aliases: vec4_aliases!("f16", "f16", epilogue!()), variants: &[plain("matmul_large_f16")], ..LARGE },
    Family {
        file: "matmul_coopmat.wgsl",
        text: include_str!("matmul_coopmat.wgsl"),
        variants: &[plain("matmul_coopmat_f16")],
        matrix: true,
        ..GENERAL
    },
];
