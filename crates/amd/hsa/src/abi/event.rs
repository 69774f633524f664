//! Device faults, as system event handlers get them.

#![expect(unsafe_code, reason = "reads the member of a union that the type of the event names")]

use std::fmt;

use super::{Agent, EventType, HwExceptionResetCause, HwExceptionResetType, MemoryFaultReason};

/// A kernel accessed memory that is not mapped or not accessible.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryFaultInfo {
    /// GPU that faulted.
    pub agent: Agent,
    /// Faulting address, exact or rounded down to the page.
    pub virtual_address: u64,
    /// Bit mask of reasons.
    pub fault_reason_mask: MemoryFaultReason,
}

/// A memory error of a GPU.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MemoryErrorInfo {
    /// GPU with the error.
    pub agent: Agent,
    /// Where the error occurred, as the GPU addresses it.
    pub virtual_address: u64,
    /// Reason; bit 0 means that the memory is in use.
    pub error_reason_mask: u32,
}

/// A GPU was reset.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct HwExceptionInfo {
    /// GPU that was reset.
    pub agent: Agent,
    /// Kind of the reset.
    pub reset_type: HwExceptionResetType,
    /// What made the driver reset the GPU.
    pub reset_cause: HwExceptionResetCause,
}

/// Details of an event; the event type selects the field.
#[repr(C)]
#[derive(Copy, Clone)]
pub union EventInfo {
    /// For [`EventType::MEMORY_FAULT_EVENT`].
    pub memory_fault: MemoryFaultInfo,
    /// For [`EventType::HW_EXCEPTION_EVENT`].
    pub hw_exception: HwExceptionInfo,
    /// For [`EventType::MEMORY_ERROR_EVENT`].
    pub memory_error: MemoryErrorInfo,
}

impl std::fmt::Debug for EventInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The event's kind, which is not known here, selects the field.
        f.debug_struct("EventInfo").finish_non_exhaustive()
    }
}

/// A system event: a fault of a device.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct Event {
    /// Selects the field of `info`.
    pub event_type: EventType,
    /// Details of the event.
    pub info: EventInfo,
}

/// Details of an event by type.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum EventDetails {
    /// A kernel accessed memory that is not mapped or not accessible.
    MemoryFault(MemoryFaultInfo),
    /// The GPU was reset.
    HwException(HwExceptionInfo),
    /// A memory error of the GPU.
    MemoryError(MemoryErrorInfo),
}

impl Event {
    /// Details of the event; `None` for a type that only a newer library knows.
    pub fn details(&self) -> Option<EventDetails> {
        Some(match self.event_type {
            // SAFETY: the event type selects this field of the union.
            EventType::MEMORY_FAULT_EVENT => EventDetails::MemoryFault(unsafe { self.info.memory_fault }),
            // SAFETY: as above.
            EventType::HW_EXCEPTION_EVENT => EventDetails::HwException(unsafe { self.info.hw_exception }),
            // SAFETY: as above.
            EventType::MEMORY_ERROR_EVENT => EventDetails::MemoryError(unsafe { self.info.memory_error }),
            _ => return None,
        })
    }
}

impl EventDetails {
    /// GPU of the event.
    pub fn agent(&self) -> Agent {
        match self {
            Self::MemoryFault(info) => info.agent,
            Self::HwException(info) => info.agent,
            Self::MemoryError(info) => info.agent,
        }
    }
}

impl fmt::Display for EventDetails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MemoryFault(info) => {
                write!(f, "memory fault at {:#x}: ", info.virtual_address)?;
                let reasons = MemoryFaultReason::TABLE.constants.iter();
                let mut reasons = reasons.filter(|reason| u64::from(info.fault_reason_mask.0) & reason.value != 0);
                match reasons.next() {
                    None => f.write_str("no reason reported"),
                    Some(first) => {
                        f.write_str(first.meaning)?;
                        reasons.try_for_each(|reason| write!(f, "; {}", reason.meaning))
                    }
                }
            }
            Self::HwException(info) => write!(f, "the GPU was reset ({:?})", info.reset_cause),
            Self::MemoryError(info) => {
                let cause = if info.error_reason_mask & 1 != 0 { "the memory is in use" } else { "no reason reported" };
                write!(f, "memory error at {:#x}: {cause}", info.virtual_address)
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
    fn a_memory_fault_shows_address_and_all_reasons() {
        let agent = Agent { handle: 7 };
        let fault_reason_mask = MemoryFaultReason::PAGE_NOT_PRESENT | MemoryFaultReason::IMPRECISE;
        let memory_fault = MemoryFaultInfo { agent, virtual_address: 0x7f00_1000, fault_reason_mask };
        let event = Event { event_type: EventType::MEMORY_FAULT_EVENT, info: EventInfo { memory_fault } };
        let details = event.details().expect("a known type");
        assert_eq!(details.agent(), agent);
        let text =
            "memory fault at 0x7f001000: nothing is mapped there, or the GPU has no access; the address is not exact";
        assert_eq!(details.to_string(), text);
        assert_eq!(Event { event_type: EventType(99), ..event }.details(), None);
    }
}
