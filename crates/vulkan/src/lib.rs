//! The driver of GPUs by Vulkan 1.1 and later, with the loader found at run time.
//!
//! Start reading at `driver` (what is found and opened), then `discover` and `features` (what a device is and has),
//! `device`, `memory`, `executable`, `plan` and `encode` (commands made into command buffers), `queue` (submission and
//! completion) and `times` (when commands ran).

mod clock;
mod device;
mod discover;
mod driver;
mod encode;
mod executable;
mod families;
mod fault;
mod features;
mod instance;
mod memory;
mod pipelines;
mod plan;
mod program;
mod queue;
mod radeon;
mod shared;
mod spirv;
#[cfg(test)]
mod tests;
mod times;
mod validation;

pub use driver::{Options, VulkanDriver};
pub use instance::has_validation;
pub use validation::Hook;
