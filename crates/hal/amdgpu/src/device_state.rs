//! State shared by a device, its commands and its queues.

use roci_hal::Error;
use roci_hsa::runtime::Agent;

use crate::buffer::BufferAllocator;
use crate::copy_policy::CopyPolicy;
use crate::executable::Executable;
use crate::faults::LastFault;

pub(crate) struct DeviceState {
    pub(crate) gpus: Vec<Agent>,
    pub(crate) allocator: BufferAllocator,
    /// The driver's own kernels for fills and copies.
    pub(crate) builtin_kernels: Executable,
    pub(crate) copy_policy: CopyPolicy,
    /// Describes the last fault in more detail than the runtime.
    pub(crate) last_fault: Option<LastFault>,
    /// Canonical URI, for messages.
    pub(crate) name: String,
}

impl DeviceState {
    pub(crate) fn out_of_memory(&self, requested: u64) -> Error {
        Error::OutOfMemory { device: self.name.clone(), requested, limit: Some(self.allocator.max_allocation()) }
    }
}
