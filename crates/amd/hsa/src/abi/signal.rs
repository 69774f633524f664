//! Signals in memory. The handle of a signal is the address of this struct, and devices write it
//! without a call.

use std::sync::atomic::{AtomicI64, AtomicU64};

/// Signed, since programs count down to 0 and below (`hsa_signal_value_t`).
pub type SignalValue = i64;

/// Kind of a signal. In C: `amd_signal_kind64_t`.
#[repr(transparent)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SignalKind(pub i64);

impl SignalKind {
    /// `AMD_SIGNAL_KIND_INVALID`: not a signal, or destroyed.
    pub const INVALID: Self = Self(0);
    /// `AMD_SIGNAL_KIND_USER`: an ordinary signal with a value.
    pub const USER: Self = Self(1);
    /// `AMD_SIGNAL_KIND_DOORBELL`: doorbell of a queue; the value is the address of the 64-bit
    /// hardware doorbell.
    pub const DOORBELL: Self = Self(-1);
    /// `AMD_SIGNAL_KIND_LEGACY_DOORBELL`: 32-bit doorbell of an old queue.
    pub const LEGACY_DOORBELL: Self = Self(-2);
}

/// `amd_signal_t`. Fields that host and devices modify concurrently are atomic.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct AmdSignal {
    /// Whether `value` is a value or the address of a doorbell.
    pub kind: SignalKind,
    /// Value of an ordinary signal, or address of a doorbell (`hardware_doorbell_ptr`).
    pub value: AtomicI64,
    /// Address to which the device writes the event id to raise an interrupt; 0 if no thread
    /// sleeps.
    pub event_mailbox_ptr: u64,
    /// Event id of the interrupt.
    pub event_id: u32,
    /// Reserved.
    pub reserved1: u32,
    /// Start of the dispatch that completes it, in GPU clock ticks.
    pub start_ts: AtomicU64,
    /// End of that dispatch, in GPU clock ticks.
    pub end_ts: AtomicU64,
    /// Address of the queue of a doorbell.
    pub queue_ptr: u64,
    /// Reserved.
    pub reserved3: [u32; 2],
}
