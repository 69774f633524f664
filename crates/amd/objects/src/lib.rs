//! Reports on the AMD GPU code in files, for `roci objects`.
//!
//! - [`FileReport`] describes the code objects of one file: targets, kernels, resource usage.
//! - [`disassemble`] disassembles the functions of a code object.
//! - [`extract`] writes a code object to its own file.
//! - [`coverage`] reports which libraries of an installation have kernels for a chip.
//!
//! All input is untrusted. Names from files may contain control characters: callers escape them
//! before they print ([`escaped`]).

#![forbid(unsafe_code)]

pub mod coverage;
mod disassemble;
mod error;
mod extract;
mod report;

pub use disassemble::{Function, InstructionLine, disassemble};
pub use error::ObjectError;
pub use extract::extract;
pub use report::{FileReport, KernelReport, ObjectReport, ProblemReport, escaped};
