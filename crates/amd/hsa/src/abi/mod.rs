//! The C interface: types, constants and layouts, as the headers of the HSA runtime define them.
//!
//! All types are `#[repr(C)]` or transparent, and `tests/layouts` checks them against the C
//! headers. Names are those of C without the prefix. `use roci_hsa::abi::*;` imports everything
//! that the rows of [`for_each_function!`](crate::for_each_function) use, including C types.

mod attributes;
mod callbacks;
mod constants;
mod event;
mod handles;
mod image;
mod loader_table;
mod memory;
mod packets;
mod queue;
mod signal;
mod status;

pub use std::ffi::{c_char, c_int, c_void};

pub use attributes::*;
pub use callbacks::*;
pub use constants::{Constant, ConstantTable};
pub use event::*;
pub use handles::*;
pub use image::*;
pub use loader_table::*;
pub use memory::*;
pub use packets::*;
pub use queue::*;
pub use signal::*;
pub use status::*;

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!("the layouts are those of HSA's large machine model in little endian");
