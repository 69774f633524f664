//! The constants block of each kernel, as the host writes it, and the grid that a problem of that size needs.
//!
//! One struct a kernel family; field order and types are those of the WGSL struct behind `var<immediate>`. All fields
//! are 32 bits wide, so `repr(C)` has no padding and both sides agree byte for byte. Element counts and offsets count
//! elements of the kernel's own type, not bytes.

/// Grids mean nothing to what only the CPU runs.
macro_rules! one_group {
    ($($name:ident)*) => {
        $(impl Params for $name {
            fn grid(&self) -> [u32; 3] {
                [1; 3]
            }
        })*
    };
}
use one_group;

mod blocked;
mod chain;
mod indexing;
mod language;
mod layers;
mod lm;
mod random;
mod rows;
mod window;

use bytemuck::{Pod, Zeroable};

pub use blocked::{ConvBlocked, MatmulPacked, Picture, PoolBlocked, Reorder};
pub use chain::{CHAIN_IMMEDIATES, CHAIN_LENGTH, Chain, ChainCode, ChainError, ChainOp, ChainOperand};
pub use indexing::{Combine, Numbers, Resample, ScatterElements, ScatterNd, Take, TakeElements, TakeNd};
pub use language::{
    LmAttend, LmAttention, LmEmbed, LmGate, LmHalf, LmHeads, LmJoin, LmLinear, LmMix, LmNorm, LmRoute, LmSumNorm,
    WeightFormat,
};
pub use layers::{Attention, Linear};
pub use lm::{LmProduct, LmQuantize, LmRows};
pub use random::{Random, RandomForm};
pub use rows::{ArgReduce, Normalize, Scan, TopK};
pub use window::{Conv, Pool};

/// Invocations of a workgroup in the one-dimensional kernels.
pub const LINEAR_WORKGROUP: u32 = 256;
/// Most workgroups in one grid dimension; Vulkan guarantees 65,535. Kernels loop with the grid as their stride beyond it.
pub const MAX_GROUPS: u32 = 65_535;
/// Rows and columns of the output tile that one workgroup of `matmul` computes.
pub const MATMUL_TILE: u32 = 64;
/// The same for `matmul_large`.
pub const MATMUL_LARGE_TILE: u32 = 128;
/// Rows and columns of the output tile that one workgroup of `matmul_matrix` computes.
pub const MATMUL_MATRIX_TILE: [u32; 2] = [128, 256];
/// Rows of the matrix that one workgroup of `matvec` computes.
pub const MATVEC_ROWS: u32 = 4;

/// A constants block that knows the grid its problem needs.
pub trait Params: Pod {
    /// Workgroup counts that cover the problem.
    fn grid(&self) -> [u32; 3];
}

/// Groups for `count` elements in a grid-stride loop.
fn linear(count: u32) -> [u32; 3] {
    [count.div_ceil(LINEAR_WORKGROUP).min(MAX_GROUPS), 1, 1]
}

/// `fill`: `target[i] = value` for `i` in `offset .. offset + count`, in 32-bit words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Fill {
    /// Words to write.
    pub count: u32,
    /// First word.
    pub offset: u32,
    /// The word.
    pub value: u32,
}

/// `copy`: `target[target_offset + i] = source[source_offset + i]`, in 32-bit words.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Copy {
    /// Words to copy.
    pub count: u32,
    /// First word read.
    pub source_offset: u32,
    /// First word written.
    pub target_offset: u32,
}

/// `arrange`: words in another order. The target is `count` words in rows of `run`, `pitch` apart; word `i` of them is the one
/// at the position of `i` in `shape`, row-major, by `strides`, which may be negative or 0.
///
/// Fewer than five dimensions: lead with ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Arrange {
    /// Words to write: the product of `shape`.
    pub count: u32,
    /// Where position 0 is in the source.
    pub source_offset: u32,
    /// The shape that is walked, outermost first.
    pub shape: [u32; 5],
    /// Words between neighbours of the source along each dimension.
    pub strides: [i32; 5],
    /// First word written.
    pub target_offset: u32,
    /// Words of a row of the target; divides `count`.
    pub run: u32,
    /// Words between the starts of rows of the target.
    pub pitch: u32,
}

/// `narrow_f16` and `widen_f16`: floats of another width.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Convert {
    /// Elements, an even number.
    pub count: u32,
}

/// `unary_*`: `y[i] = f(x[i])`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Unary {
    /// Elements.
    pub count: u32,
}

/// `binary_*`: `y[i] = f(a[...], b[...])` over a row-major output of `shape`, inputs by strides (0 broadcasts).
///
/// Fewer than four dimensions: lead with ones. The flat variants ignore all but `count`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Binary {
    /// Output elements: the product of `shape`.
    pub count: u32,
    /// Output shape, outermost first.
    pub shape: [u32; 4],
    /// Element strides of `a` in each output dimension.
    pub a_strides: [u32; 4],
    /// Element strides of `b` in each output dimension.
    pub b_strides: [u32; 4],
}

/// `reduce_*`: `y[o, i] = fold over r of x[o, r, i]`, all row-major.
///
/// One workgroup, or one thread of a CPU, computes an output element. A whole tensor of `n` elements is best reduced in two
/// launches: as `p` rows of `n / p` elements, then the `p` results.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Reduce {
    /// Elements before the reduced axis.
    pub outer: u32,
    /// Length of the reduced axis.
    pub axis: u32,
    /// Elements behind the reduced axis.
    pub inner: u32,
}

/// `softmax`: over the last axis of a row-major `rows x columns` matrix.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Softmax {
    /// Rows, each normalised by itself.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
}

/// `matmul_*`: `C[b] = A[b] * B[b]`, row-major, `A` is `m x k`, `B` is `k x n`.
///
/// Leading dimensions and batch strides in elements; a batch stride of 0 shares the matrix among the batches.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Matmul {
    /// Rows of the result.
    pub m: u32,
    /// Columns of the result.
    pub n: u32,
    /// The summed dimension.
    pub k: u32,
    /// Elements between rows of `A`.
    pub lda: u32,
    /// Elements between rows of `B`.
    pub ldb: u32,
    /// Elements between rows of `C`.
    pub ldc: u32,
    /// Batches.
    pub batches: u32,
    /// Elements between the `A` of two batches.
    pub batch_a: u32,
    /// Elements between the `B` of two batches.
    pub batch_b: u32,
    /// Elements between the `C` of two batches.
    pub batch_c: u32,
}

/// `matvec_*`: `y = A * x`, `A` row-major `m x k`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Matvec {
    /// Rows of `A`, length of `y`.
    pub m: u32,
    /// Columns of `A`, length of `x`.
    pub k: u32,
    /// Elements between rows of `A`.
    pub lda: u32,
}

impl Binary {
    /// Equal shapes without broadcasting: what the flat variants take.
    pub fn flat(count: u32) -> Self {
        Self { count, shape: [1, 1, 1, count], a_strides: [0, 0, 0, 1], b_strides: [0, 0, 0, 1] }
    }
}

impl Matmul {
    /// One dense product without padding between rows.
    pub fn dense(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k, lda: k, ldb: n, ldc: n, batches: 1, batch_a: 0, batch_b: 0, batch_c: 0 }
    }
}

impl Params for Fill {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

impl Params for Copy {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

impl Params for Arrange {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

impl Params for Convert {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

impl Params for Unary {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

impl Params for Binary {
    fn grid(&self) -> [u32; 3] {
        linear(self.count)
    }
}

impl Params for Reduce {
    /// One workgroup an output element; the kernel strides over outputs beyond the grid.
    fn grid(&self) -> [u32; 3] {
        [self.outer.saturating_mul(self.inner).min(MAX_GROUPS), 1, 1]
    }
}

impl Params for Softmax {
    /// One workgroup a row; the kernel strides over rows beyond the grid.
    fn grid(&self) -> [u32; 3] {
        [self.rows.min(MAX_GROUPS), 1, 1]
    }
}

impl Matmul {
    /// Workgroup counts where one computes so many rows and columns of the result; batches in z.
    pub fn tiles(&self, [rows, columns]: [u32; 2]) -> [u32; 3] {
        [self.n.div_ceil(columns), self.m.div_ceil(rows), self.batches]
    }
}

impl Params for Matmul {
    /// That of the general form; the others have a grid of their own.
    fn grid(&self) -> [u32; 3] {
        self.tiles([MATMUL_TILE; 2])
    }
}

impl Params for Matvec {
    /// One workgroup a few rows; the kernel strides over rows beyond the grid.
    fn grid(&self) -> [u32; 3] {
        [self.m.div_ceil(MATVEC_ROWS).min(MAX_GROUPS), 1, 1]
    }
}
