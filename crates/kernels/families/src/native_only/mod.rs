//! Constants blocks of the kernels that only the CPU has; they have no WGSL.

mod blocked;
mod lm;

pub use blocked::{BlockedLayout, ConvBlocked, MatmulPacked, PoolBlocked, Reorder};
pub use lm::{LmEmbedPacked, LmExpertsPacked, LmMatmulPacked, LmQuantize, LmReadAhead};

/// CPU-only kernels ignore the grid.
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
