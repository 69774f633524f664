//! Signals in memory: a signal's handle is the address of this struct, and devices write it without a call.

use std::sync::atomic::{AtomicI64, AtomicU64};

/// What a signal holds.
pub type SignalValue = i64;

/// What a signal is. In C: `amd_signal_kind64_t`.
#[repr(transparent)]
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct SignalKind(pub i64);

impl SignalKind {
    /// `AMD_SIGNAL_KIND_INVALID`: not a signal.
    pub const INVALID: Self = Self(0);
    /// `AMD_SIGNAL_KIND_USER`: an ordinary one, with a value.
    pub const USER: Self = Self(1);
    /// `AMD_SIGNAL_KIND_DOORBELL`: a queue's doorbell; the value is the address of the hardware's 64-bit doorbell.
    pub const DOORBELL: Self = Self(-1);
    /// `AMD_SIGNAL_KIND_LEGACY_DOORBELL`: an old queue's doorbell of 32 bits.
    pub const LEGACY_DOORBELL: Self = Self(-2);
}

/// `amd_signal_t`. What host and devices change at the same time is atomic.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct AmdSignal {
    /// What it is.
    pub kind: SignalKind,
    /// The value of an ordinary signal, or the address of a doorbell (`hardware_doorbell_ptr`).
    pub value: AtomicI64,
    /// Where the device writes the event's id to raise an interrupt; 0 where nobody sleeps.
    pub event_mailbox_ptr: u64,
    /// The event's id.
    pub event_id: u32,
    /// Reserved.
    pub reserved1: u32,
    /// When the dispatch that completes it began, in ticks of the device's clock.
    pub start_ts: AtomicU64,
    /// When it ended.
    pub end_ts: AtomicU64,
    /// The queue of a doorbell.
    pub queue_ptr: u64,
    /// Reserved.
    pub reserved3: [u32; 2],
}
