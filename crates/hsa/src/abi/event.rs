//! Faults of devices, as the handler of system events gets them.

use std::fmt;

use super::{Agent, EventType, HwExceptionResetCause, HwExceptionResetType, MemoryFaultReason};

/// A kernel used memory that is not there or not allowed.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryFaultInfo {
    /// The GPU.
    pub agent: Agent,
    /// The address, at least its page.
    pub virtual_address: u64,
    /// Why.
    pub fault_reason_mask: MemoryFaultReason,
}

/// Memory of a GPU cannot be used as asked.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryErrorInfo {
    /// The GPU.
    pub agent: Agent,
    /// The address.
    pub virtual_address: u64,
    /// Why: bit 0 says that the memory is in use.
    pub error_reason_mask: u32,
}

/// A GPU was reset.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HwExceptionInfo {
    /// The GPU.
    pub agent: Agent,
    /// How.
    pub reset_type: HwExceptionResetType,
    /// Why.
    pub reset_cause: HwExceptionResetCause,
}

/// What an event tells, by its type.
#[repr(C)]
#[derive(Copy, Clone)]
pub union EventInfo {
    /// With [`EventType::MEMORY_FAULT_EVENT`].
    pub memory_fault: MemoryFaultInfo,
    /// With [`EventType::HW_EXCEPTION_EVENT`].
    pub hw_exception: HwExceptionInfo,
    /// With [`EventType::MEMORY_ERROR_EVENT`].
    pub memory_error: MemoryErrorInfo,
}

/// A fault of a device.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct Event {
    /// Which member of `info` holds.
    pub event_type: EventType,
    /// What happened.
    pub info: EventInfo,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("event_type", &self.event_type).finish_non_exhaustive()
    }
}
