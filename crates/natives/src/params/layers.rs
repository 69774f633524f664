//! Constants of layers that are more than a product: linear ones with what follows them, and attention.

use bytemuck::{Pod, Zeroable};

use super::{MATVEC_ROWS, MAX_GROUPS, Matmul, Params};

/// Rows that one workgroup of `attention` computes.
const ATTENTION_ROWS: u32 = 32;

/// `linear_*`: products as [`Matmul`] has them, whose sums get bias, another term and a function before they are written.
/// `y` is dense where there are several batches: they follow each other.
///
/// `linear_row_*` is `y = A * x` as [`super::Matvec`] has it: it reads `m`, `k`, `lda` and what stands behind `batch_c`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Linear {
    /// Rows of the result.
    pub m: u32,
    /// Columns of the result.
    pub n: u32,
    /// The summed dimension.
    pub k: u32,
    /// Elements between rows of `a`.
    pub lda: u32,
    /// Elements between rows of `b`.
    pub ldb: u32,
    /// Elements between rows of `y`.
    pub ldc: u32,
    /// Batches.
    pub batches: u32,
    /// Elements between the `a` of two batches.
    pub batch_a: u32,
    /// Elements between the `b` of two batches.
    pub batch_b: u32,
    /// Elements between the `y` of two batches.
    pub batch_c: u32,
    /// Sum of [`Linear::BIAS`], [`Linear::ADD`] and one of the functions.
    pub flags: u32,
    /// Least value of a clamped result.
    pub low: f32,
    /// Greatest value of a clamped result.
    pub high: f32,
}

impl Linear {
    /// Adds `bias[column]`; without it `bias` is not read. Of `linear_row_*` it is `bias[row]`.
    pub const BIAS: u32 = 1;
    /// Adds to what is in `y`, in front of the function.
    pub const ADD: u32 = 2;
    /// Clamps the result between `low` and `high`; NaN stays.
    pub const CLAMP: u32 = 4;
    /// Through the exact `gelu`.
    pub const GELU: u32 = 8;
    /// Through `silu`.
    pub const SILU: u32 = 16;

    /// A product and nothing else.
    pub fn of(product: &Matmul) -> Self {
        let Matmul { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c } = *product;
        Self { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c, ..Self::default() }
    }

    /// A matrix of `m` rows times a vector and nothing else, for `linear_row_*`.
    pub fn row(m: u32, k: u32) -> Self {
        Self { m, n: 1, k, lda: k, batches: 1, ..Self::default() }
    }

    /// The product of it.
    pub fn product(&self) -> Matmul {
        let Self { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c, .. } = *self;
        Matmul { m, n, k, lda, ldb, ldc, batches, batch_a, batch_b, batch_c }
    }

    /// Workgroup counts of `linear_row_*`.
    pub fn row_grid(&self) -> [u32; 3] {
        [self.m.div_ceil(MATVEC_ROWS).min(MAX_GROUPS), 1, 1]
    }
}

impl Params for Linear {
    /// That of the general form; the others have a grid of their own.
    fn grid(&self) -> [u32; 3] {
        self.product().grid()
    }
}

/// `attention`: for each batch and head, `softmax(q * k^T * scale + mask) * v`. Strides are by batch, head and row; neighbours
/// of a row lie side by side.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Attention {
    /// Batches.
    pub batch: u32,
    /// Heads of `q` and `y`.
    pub heads: u32,
    /// So many of them in a row share one head of `k` and `v`.
    pub shared_by: u32,
    /// Rows of `q` and `y`.
    pub rows: u32,
    /// Rows of `k` and `v`.
    pub keys: u32,
    /// Elements of a row of `q` and `k`.
    pub size: u32,
    /// Elements of a row of `v` and `y`.
    pub width: u32,
    /// Keys that the first row sees besides the first, where [`Attention::CAUSAL`] is set.
    pub past: u32,
    /// Strides of the queries.
    pub q: [u32; 3],
    /// Strides of the keys.
    pub k: [u32; 3],
    /// Strides of the values.
    pub v: [u32; 3],
    /// Strides of the result.
    pub y: [u32; 3],
    /// Strides of the mask, with that between keys; all 0 and [`Attention::MASK`] not set where there is none.
    pub mask: [u32; 4],
    /// What products are multiplied with.
    pub scale: f32,
    /// Sum of [`Attention::MASK`], [`Attention::STRICT`] and [`Attention::CAUSAL`].
    pub flags: u32,
}

impl Attention {
    /// There is a mask, which is added to the scores.
    pub const MASK: u32 = 1;
    /// A query that sees no key gives NaN, and not zeros.
    pub const STRICT: u32 = 2;
    /// A row sees `past` keys more than those up to its own place.
    pub const CAUSAL: u32 = 4;
    /// Most elements of a row of `v` that GPUs hold at once.
    pub const MOST_WIDTH: u32 = 256;

    /// Whether the kernel for GPUs takes it.
    pub fn fits_groups(&self) -> bool {
        let [rows, heads, batch] = self.grid();
        self.width <= Self::MOST_WIDTH && rows.max(heads).max(batch) <= MAX_GROUPS
    }
}

impl Params for Attention {
    /// One workgroup some rows of a head; heads in y, batches in z.
    fn grid(&self) -> [u32; 3] {
        [self.rows.div_ceil(ATTENTION_ROWS), self.heads, self.batch]
    }
}
