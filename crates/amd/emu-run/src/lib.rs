//! Runs AMD code on an emulated GPU, for `roci emu`.
//!
//! - [`PreparedKernel`] finds a kernel in a file, binds its arguments (scalars and NumPy arrays),
//!   and launches or traces it.
//! - [`install`] makes the emulated HSA runtime loadable by other programs, and
//!   [`environment_changes`] is the environment that they need.
//!
//! Start reading at `kernel`, then `arguments` (text to kernel arguments) and `launch` (what a HIP
//! or OpenCL runtime would fill in).

#![forbid(unsafe_code)]

mod arguments;
mod environment;
mod error;
mod install;
mod kernel;
mod launch;
mod object;
mod output;
mod report;
mod trace;

pub use arguments::Output;
pub use environment::{EnvironmentChange, EnvironmentOptions, environment_changes, shell_commands};
pub use error::Error;
pub use install::{Installation, install};
pub use kernel::{KernelOptions, PreparedKernel, format_size, parse_chip};
pub use report::{RunReport, lane_rate};
pub use trace::{Trace, TraceOptions};
