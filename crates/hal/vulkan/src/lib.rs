//! The driver for GPUs through Vulkan 1.1 or later. The loader is found at run time.
//!
//! Reading order: `driver` (enumeration), `discover` and `features` (device description), `device`
//! (the HAL's traits), `buffer`, `executable`, `commands` (a recording prepared for replay), `plan`
//! and `encode` (its chunks and command buffers), `queue` (submission and completion),
//! `completion_counter`, `timing`.
//!
//! A recording becomes command buffers in `VulkanDevice::prepare`: `CommandEncoder::dispatch`
//! (`encode`) calls `vkCmdDispatch`. Recordings with slots are encoded at the first submission with
//! these ranges. `CompletionCounter::submit` calls `vkQueueSubmit`.

mod buffer;
mod commands;
mod completion_counter;
mod device;
mod device_state;
mod discover;
mod driver;
mod encode;
mod error;
mod executable;
mod features;
mod instance;
mod pipeline_cache;
mod plan;
mod queue;
mod queue_family;
mod radeon;
mod spirv;
#[cfg(test)]
mod tests;
mod timestamp_clock;
mod timing;
mod validation;

pub use driver::{Options, VulkanDriver};
pub use instance::has_validation;
pub use validation::ValidationHook;
