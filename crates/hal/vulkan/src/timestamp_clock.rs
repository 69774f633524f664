//! The device's clock: how many bits of a timestamp are valid, and how long a tick is.

use ash::vk;

/// Origin of unwrapped timestamps, far from both ends of the range.
const MIDDLE: u64 = 1 << 62;

/// Properties of the device's timestamps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimestampClock {
    /// Number of valid bits; the others are zero.
    bits: u32,
    /// Nanoseconds per tick.
    pub(crate) nanoseconds: f64,
}

impl TimestampClock {
    /// The clock of a queue family; `None` without timestamps.
    pub(crate) fn of(family: &vk::QueueFamilyProperties, limits: &vk::PhysicalDeviceLimits) -> Option<Self> {
        let (bits, nanoseconds) = (family.timestamp_valid_bits, f64::from(limits.timestamp_period));
        (bits > 0 && nanoseconds > 0.0).then_some(Self { bits: bits.min(64), nanoseconds })
    }

    /// Unwraps a timestamp by its signed distance from `near`.
    pub(crate) fn unwrapped(self, reading: u64, near: u64) -> u64 {
        let unused = 64 - self.bits;
        let distance = (reading.wrapping_sub(near) << unused).cast_signed() >> unused;
        MIDDLE.wrapping_add_signed(distance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_families_without_timestamps_report_no_timings() {
        let family = |timestamp_valid_bits| vk::QueueFamilyProperties { timestamp_valid_bits, ..Default::default() };
        let limits = vk::PhysicalDeviceLimits { timestamp_period: 10.0, ..Default::default() };
        assert_eq!(TimestampClock::of(&family(0), &limits), None);
        assert_eq!(TimestampClock::of(&family(36), &limits), Some(TimestampClock { bits: 36, nanoseconds: 10.0 }));
        assert_eq!(TimestampClock::of(&family(64), &vk::PhysicalDeviceLimits::default()), None);
    }

    #[test]
    fn a_wrapped_clock_continues() {
        let clock = TimestampClock { bits: 36, nanoseconds: 1.0 };
        assert_eq!(clock.unwrapped(5, 5), MIDDLE);
        assert_eq!(clock.unwrapped(5, (1 << 36) - 10), MIDDLE + 15);
        assert_eq!(clock.unwrapped((1 << 36) - 10, 5), MIDDLE - 15);
        assert_eq!(TimestampClock { bits: 64, ..clock }.unwrapped(7, 9), MIDDLE - 2);
    }
}
