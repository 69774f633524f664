//! Atomic operations.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::memory::pointer;

/// An atomic operation: how the new value follows from the old value and the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Swap,
    /// Compares with the second data operand, stores the first.
    CompareSwap,
    /// The same with a floating-point comparison.
    CompareSwapFloat,
    Add,
    Sub,
    /// Data minus memory.
    ReverseSub,
    /// Subtracts, clamped at zero.
    SubClamp,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    /// Increments; wraps to zero at the limit.
    Increment,
    /// Decrements; wraps to the limit at zero or above the limit.
    Decrement,
    AddFloat,
    MinFloat,
    MaxFloat,
    /// Clears the bits of the first data operand, then sets those of the second.
    MaskedOr,
    /// Subtracts the first data operand; if that wraps, adds the second instead.
    Wrap,
}

impl AtomicOp {
    /// The new value. `data` is the first data operand, `other` the second (the comparand of a
    /// compare-and-swap).
    pub(crate) fn apply(self, wide: bool, old: u64, data: u64, other: u64) -> u64 {
        let bits = if wide { 64 } else { 32 };
        let sign = |value: u64| (value << (64 - bits)).cast_signed() >> (64 - bits);
        let float = |value: u64| if wide { f64::from_bits(value) } else { f64::from(f32::from_bits(value as u32)) };
        match self {
            Self::Swap => data,
            Self::CompareSwap => {
                if old == other {
                    data
                } else {
                    old
                }
            }
            Self::CompareSwapFloat => {
                if float(old) == float(other) {
                    data
                } else {
                    old
                }
            }
            Self::Add => old.wrapping_add(data),
            Self::Sub => old.wrapping_sub(data),
            Self::ReverseSub => data.wrapping_sub(old),
            Self::SubClamp => old.saturating_sub(data),
            Self::MinSigned => {
                if sign(data) < sign(old) {
                    data
                } else {
                    old
                }
            }
            Self::MinUnsigned => old.min(data),
            Self::MaxSigned => {
                if sign(data) > sign(old) {
                    data
                } else {
                    old
                }
            }
            Self::MaxUnsigned => old.max(data),
            Self::And => old & data,
            Self::Or => old | data,
            Self::Xor => old ^ data,
            Self::Increment => {
                if old >= data {
                    0
                } else {
                    old + 1
                }
            }
            Self::Decrement => {
                if old == 0 || old > data {
                    data
                } else {
                    old - 1
                }
            }
            Self::AddFloat if wide => (f64::from_bits(old) + f64::from_bits(data)).to_bits(),
            Self::AddFloat => u64::from((f32::from_bits(old as u32) + f32::from_bits(data as u32)).to_bits()),
            // A number takes precedence over NaN, and -0 is less than +0.
            Self::MinFloat => {
                if less(float(data), float(old)) || float(old).is_nan() {
                    data
                } else {
                    old
                }
            }
            Self::MaxFloat => {
                if less(float(old), float(data)) || float(old).is_nan() {
                    data
                } else {
                    old
                }
            }
            Self::MaskedOr => old & !data | other,
            Self::Wrap => {
                if old >= data {
                    old - data
                } else {
                    old.wrapping_add(other)
                }
            }
        }
    }

    /// Number of data operands: one or two.
    pub(crate) fn operands(self) -> usize {
        if matches!(self, Self::CompareSwap | Self::CompareSwapFloat | Self::MaskedOr | Self::Wrap) { 2 } else { 1 }
    }
}

fn less(a: f64, b: f64) -> bool {
    a < b || a == b && a.is_sign_negative() && b.is_sign_positive()
}

/// Applies an operation to memory with the host's atomics. Returns the old value.
///
/// # Safety
/// The address is that of live, writable memory, and a multiple of the operand's size.
pub(super) unsafe fn update(op: AtomicOp, wide: bool, address: u64, data: u64, other: u64) -> u64 {
    if wide {
        // SAFETY: by contract the address is valid and aligned.
        let cell = unsafe { AtomicU64::from_ptr(pointer(address)) };
        let mut old = cell.load(Ordering::Relaxed);
        loop {
            let new = op.apply(true, old, data, other);
            match cell.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return old,
                Err(now) => old = now,
            }
        }
    }
    // SAFETY: by contract the address is valid and aligned.
    let cell = unsafe { AtomicU32::from_ptr(pointer(address)) };
    let mut old = cell.load(Ordering::Relaxed);
    loop {
        let new = op.apply(false, u64::from(old), data, other) as u32;
        match cell.compare_exchange_weak(old, new, Ordering::SeqCst, Ordering::Relaxed) {
            Ok(_) => return u64::from(old),
            Err(now) => old = now,
        }
    }
}
