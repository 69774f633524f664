//! Faults of devices, as the handler of system events gets them.

#![expect(unsafe_code, reason = "reads the member of a union that the type of the event names")]

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

/// What an event tells, with its kind.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// A kernel used memory that is not there or not allowed.
    MemoryFault(MemoryFaultInfo),
    /// The GPU was reset.
    HwException(HwExceptionInfo),
    /// Memory of the GPU cannot be used as asked.
    MemoryError(MemoryErrorInfo),
}

impl Event {
    /// What it tells; `None` for a kind that a newer library brings.
    pub fn told(&self) -> Option<Told> {
        Some(match self.event_type {
            // SAFETY: the type says that this member was written.
            EventType::MEMORY_FAULT_EVENT => Told::MemoryFault(unsafe { self.info.memory_fault }),
            // SAFETY: the same.
            EventType::HW_EXCEPTION_EVENT => Told::HwException(unsafe { self.info.hw_exception }),
            // SAFETY: the same.
            EventType::MEMORY_ERROR_EVENT => Told::MemoryError(unsafe { self.info.memory_error }),
            _ => return None,
        })
    }
}

impl Told {
    /// The GPU that it is about.
    pub fn agent(&self) -> Agent {
        match self {
            Self::MemoryFault(info) => info.agent,
            Self::HwException(info) => info.agent,
            Self::MemoryError(info) => info.agent,
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MemoryFault(info) => {
                write!(f, "memory fault at {:#x}: ", info.virtual_address)?;
                let reasons = MemoryFaultReason::TABLE.constants.iter();
                let mut reasons = reasons.filter(|reason| u64::from(info.fault_reason_mask.0) & reason.value != 0);
                match reasons.next() {
                    None => f.write_str("no reason is given"),
                    Some(first) => {
                        f.write_str(first.meaning)?;
                        reasons.try_for_each(|reason| write!(f, "; {}", reason.meaning))
                    }
                }
            }
            Self::HwException(info) => write!(f, "the GPU was reset ({:?})", info.reset_cause),
            Self::MemoryError(info) => {
                let cause = if info.error_reason_mask & 1 != 0 { "it is in use" } else { "no reason is given" };
                write!(f, "memory at {:#x} cannot be used as asked: {cause}", info.virtual_address)
            }
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("event_type", &self.event_type).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_with_address_and_every_reason() {
        let agent = Agent { handle: 7 };
        let fault_reason_mask = MemoryFaultReason::PAGE_NOT_PRESENT | MemoryFaultReason::IMPRECISE;
        let memory_fault = MemoryFaultInfo { agent, virtual_address: 0x7f00_1000, fault_reason_mask };
        let event = Event { event_type: EventType::MEMORY_FAULT_EVENT, info: EventInfo { memory_fault } };
        let told = event.told().expect("a kind that is known");
        assert_eq!(told.agent(), agent);
        let text =
            "memory fault at 0x7f001000: nothing is mapped there, or the GPU has no access; the address is not exact";
        assert_eq!(told.to_string(), text);
        assert_eq!(Event { event_type: EventType(99), ..event }.told(), None);
    }
}
