//! What several families share: WGSL, encodings of words, and grids.

use crate::MAX_GROUPS;
use crate::family::linear;

/// Math functions.
pub(crate) const MATH: &str = include_str!("math.wgsl");
/// Functions that interpret words as numbers or as indices.
pub(crate) const WORDS: &str = include_str!("words.wgsl");
/// Functions of the kernels that normalize rows.
pub(crate) const ROWS: &str = include_str!("rows.wgsl");
/// Functions of the kernels that keep rows of a recurrent state in registers.
pub(crate) const RECURRENCE: &str = include_str!("recurrence.wgsl");

/// Minimum inner size for one invocation per line; adjacent invocations then read adjacent
/// elements. Smaller inner sizes use one workgroup per line.
const COLUMNS: u32 = 32;

/// How a kernel interprets the words of a buffer; [`word`](Self::word) encodes it for a constants
/// block.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// IEEE single precision.
    F32 = 0,
    /// Signed 32-bit integers.
    I32 = 1,
    /// Unsigned 32-bit integers.
    U32 = 2,
}

impl Numbers {
    /// The encoding in a constants block.
    pub fn word(self) -> u32 {
        self as u32
    }

    /// Decodes a word of a constants block.
    pub fn of(word: u32) -> Option<Self> {
        [Self::F32, Self::I32, Self::U32].into_iter().find(|numbers| numbers.word() == word)
    }
}

/// How a scatter combines an element with an update; [`word`](Self::word) encodes it for a
/// constants block.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The update replaces the element.
    Replace = 0,
    /// Sum; integers wrap.
    Add = 1,
    /// Product; integers wrap.
    Mul = 2,
    /// Minimum; propagates NaN.
    Min = 3,
    /// Maximum; propagates NaN.
    Max = 4,
}

impl Combine {
    /// The encoding in a constants block.
    pub fn word(self) -> u32 {
        self as u32
    }

    /// Decodes a word of a constants block.
    pub fn of(word: u32) -> Option<Self> {
        [Self::Replace, Self::Add, Self::Mul, Self::Min, Self::Max].into_iter().find(|combine| combine.word() == word)
    }
}

/// Workgroups for the lines along an axis.
pub(crate) fn lines(outer: u32, inner: u32) -> [u32; 3] {
    let count = outer.saturating_mul(inner);
    if inner >= COLUMNS { linear(count) } else { [count.min(MAX_GROUPS), 1, 1] }
}

/// The saturating product.
pub(crate) fn product(sizes: &[u32]) -> u32 {
    sizes.iter().fold(1, |product: u32, &size| product.saturating_mul(size))
}
