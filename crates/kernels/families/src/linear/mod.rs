//! `linear_*`: linear layers, which are matrix products with an epilogue.

mod cases;

use crate::family::{constants, plain, read, write};
use crate::matmul;
use crate::matvec::MATVEC;
use crate::product_aliases::{scalar_aliases, vec4_aliases};
use crate::{Family, MATVEC_ROWS, MAX_GROUPS, Matmul, Params};

constants! {
    /// `linear_*`: a product as in [`Matmul`], followed by bias, residual addition and activation.
    /// With several batches, `y` is dense.
    ///
    /// `linear_matvec_*` is `y = A * x` as in [`crate::Matvec`]: it reads `m`, `k`, `lda` and the
    /// fields after `batch_c`.
    pub struct Linear {
        /// Rows of the result.
        pub m: u32,
        /// Columns of the result.
        pub n: u32,
        /// The reduced dimension.
        pub k: u32,
        /// Row stride of `a` in elements.
        pub lda: u32,
        /// Row stride of `b` in elements.
        pub ldb: u32,
        /// Row stride of `y` in elements.
        pub ldc: u32,
        /// Batch size.
        pub batches: u32,
        /// Batch stride of `a` in elements.
        pub batch_a: u32,
        /// Batch stride of `b` in elements.
        pub batch_b: u32,
        /// Batch stride of `y` in elements.
        pub batch_c: u32,
        /// Sum of [`Linear::BIAS`], [`Linear::ADD`] and at most one activation.
        pub flags: u32,
        /// Lower bound of a clamped result.
        pub low: f32,
        /// Upper bound of a clamped result.
        pub high: f32,
    }
}

impl Linear {
    /// Adds `bias[column]`, or `bias[row]` in `linear_matvec_*`. Without it, `bias` is not read.
    pub const BIAS: u32 = 1;
    /// Adds the previous content of `y` before the activation.
    pub const ADD: u32 = 2;
    /// Clamps the result between `low` and `high`; NaN is preserved.
    pub const CLAMP: u32 = 4;
    /// Exact `gelu` activation.
    pub const GELU: u32 = 8;
    /// `silu` activation.
    pub const SILU: u32 = 16;

    /// A plain product without an epilogue.
    pub fn of(product: &Matmul) -> Self {
        let Matmul { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c } = *product;
        Self { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c, ..Self::default() }
    }

    /// A plain product of a dense `m x k` matrix and a vector, for `linear_matvec_*`.
    pub fn row(m: u32, k: u32) -> Self {
        Self { m, n: 1, k, lda: k, batches: 1, ..Self::default() }
    }

    /// The product without its epilogue.
    pub fn product(&self) -> Matmul {
        let Self { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c, .. } = *self;
        Matmul { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c }
    }

    /// Workgroup counts of `linear_matvec_*`.
    pub fn row_grid(&self) -> [u32; 3] {
        [self.m.div_ceil(MATVEC_ROWS).min(MAX_GROUPS), 1, 1]
    }
}

impl Params for Linear {
    /// The grid of the general kernel. The other forms have their own grids.
    fn grid(&self) -> [u32; 3] {
        self.product().grid()
    }
}

macro_rules! activated_epilogue {
    ($activation:literal) => {
        concat!(
            "fn activate(v: Sum) -> Sum {\n    return ",
            $activation,
            ";\n}\n",
            include_str!("linear_epilogue.wgsl"),
            include_str!("../shared/math.wgsl")
        )
    };
}
macro_rules! scalar_epilogue {
    () => {
        activated_epilogue!("activation(v)")
    };
}
macro_rules! vec4_epilogue {
    () => {
        activated_epilogue!("Sum(activation(v.x), activation(v.y), activation(v.z), activation(v.w))")
    };
}

/// Common part of linear layers with the tiles of the general product.
const LAYER: Family = Family {
    bindings: &[read("a"), read("b"), read("bias"), write("y")],
    constants: Linear::CONSTANTS,
    cases: cases::of,
    ..matmul::GENERAL
};

/// Linear layers with large tiles.
const LAYER_LARGE: Family = Family { file: matmul::LARGE.file, text: matmul::LARGE.text, ..LAYER };

/// Linear layers with a single row.
const LAYER_ROW: Family = Family {
    bindings: &[read("a"), read("x"), read("bias"), write("y")],
    constants: Linear::CONSTANTS,
    cases: cases::of,
    ..MATVEC
};

pub(crate) const FAMILIES: &[Family] = &[
    Family { aliases: scalar_aliases!("f32", "f32", scalar_epilogue!()), variants: &[plain("linear_f32")], ..LAYER },
    Family { aliases: scalar_aliases!("f32", "f16", scalar_epilogue!()), variants: &[plain("linear_f16")], ..LAYER },
    Family {
        aliases: vec4_aliases!("f32", "f32", vec4_epilogue!()),
        variants: &[plain("linear_large_f32")],
        ..LAYER_LARGE
    },
    Family {
        aliases: vec4_aliases!("f32", "f16", vec4_epilogue!()),
        variants: &[plain("linear_large_f16")],
        ..LAYER_LARGE
    },
    Family {
        aliases: scalar_aliases!("f32", "f32", scalar_epilogue!()),
        variants: &[plain("linear_matvec_f32")],
        ..LAYER_ROW
    },
    Family {
        aliases: scalar_aliases!("f16", "f32", scalar_epilogue!()),
        variants: &[plain("linear_matvec_f16")],
        ..LAYER_ROW
    },
];
