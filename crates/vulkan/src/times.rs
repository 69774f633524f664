//! When commands ran, where somebody asked: the device writes its clock in front of each command and behind it.
//!
//! Vulkan tells when everything up to a place is complete, not when one command is. So commands that run beside each
//! other end together in a profile; a barrier between them keeps their times apart.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::sync::Arc;

use ash::vk;
use roci_hal::Error;
use roci_hal::profile::{Clock, Span};

use crate::fault::failed;
use crate::plan::{Plan, Step};
use crate::shared::Shared;

/// Readings are counted from here, far from both ends of what a number holds.
const MIDDLE: u64 = 1 << 62;

/// The device's clock as queries read it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Ticks {
    /// Bits that count; the others are zero.
    bits: u32,
    nanoseconds: f64,
}

impl Ticks {
    /// The clock that a queue family reads; `None` where it reads none.
    pub(crate) fn of(family: &vk::QueueFamilyProperties, limits: &vk::PhysicalDeviceLimits) -> Option<Self> {
        let (bits, nanoseconds) = (family.timestamp_valid_bits, f64::from(limits.timestamp_period));
        (bits > 0 && nanoseconds > 0.0).then_some(Self { bits: bits.min(64), nanoseconds })
    }

    /// A reading as a number that does not start again at zero, told by how far it is from another one.
    fn unrolled(self, reading: u64, near: u64) -> u64 {
        let unused = 64 - self.bits;
        let distance = (reading.wrapping_sub(near) << unused).cast_signed() >> unused;
        MIDDLE.wrapping_add_signed(distance)
    }
}

/// The queries of one run of a recording: a pair for each step that is a command or a part of one.
pub(crate) struct Times {
    shared: Arc<Shared>,
    ticks: Ticks,
    pool: vk::QueryPool,
    pairs: Vec<Pair>,
}

/// Whose times two queries are.
struct Pair {
    command: usize,
    /// How many barriers stand in front of it.
    barriers: usize,
}

impl Times {
    pub(crate) fn new(shared: &Arc<Shared>, plan: &Plan) -> Result<Self, Error> {
        let ticks = shared.ticks.ok_or_else(|| failed("a profile")(vk::Result::ERROR_FEATURE_NOT_PRESENT))?;
        let mut barriers = 0;
        let mut pairs = Vec::new();
        for (step, command) in plan.steps.iter().zip(&plan.commands) {
            match step {
                Step::Barrier { .. } => barriers += 1,
                _ => pairs.push(Pair { command: *command, barriers }),
            }
        }
        let info =
            vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2 * pairs.len() as u32);
        // SAFETY: a valid description; plans that do nothing are not run.
        let pool = unsafe { shared.device.create_query_pool(&info, None) }.map_err(failed("a profile"))?;
        Ok(Self { shared: Arc::clone(shared), ticks, pool, pairs })
    }

    /// Clears all of them, at the start of the first command buffer.
    pub(crate) fn reset(&self, buffer: vk::CommandBuffer) {
        // SAFETY: a command buffer that is being recorded, of a family that computes.
        unsafe { self.shared.device.cmd_reset_query_pool(buffer, self.pool, 0, 2 * self.pairs.len() as u32) };
    }

    /// In front of a step, by its number among those that are no barriers.
    pub(crate) fn begin(&self, buffer: vk::CommandBuffer, step: usize) {
        self.write(buffer, vk::PipelineStageFlags::TOP_OF_PIPE, 2 * step);
    }

    /// Behind it.
    pub(crate) fn end(&self, buffer: vk::CommandBuffer, step: usize) {
        self.write(buffer, vk::PipelineStageFlags::BOTTOM_OF_PIPE, 2 * step + 1);
    }

    fn write(&self, buffer: vk::CommandBuffer, stage: vk::PipelineStageFlags, query: usize) {
        // SAFETY: a query of the pool that was cleared and is written once, in a family that has a clock.
        unsafe { self.shared.device.cmd_write_timestamp(buffer, stage, self.pool, query as u32) };
    }

    /// When commands ran, once all are complete. Nothing where the device does not tell after all.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut readings = vec![0u64; 2 * self.pairs.len()];
        let flags = vk::QueryResultFlags::TYPE_64;
        // SAFETY: as many numbers as there are queries.
        let read = unsafe { self.shared.device.get_query_pool_results(self.pool, 0, &mut readings, flags) };
        let (Ok(()), Some(&last)) = (read, readings.last()) else { return Vec::new() };
        let unrolled = |reading| self.ticks.unrolled(reading, last);
        // Without a clock that the host can read, the end of the last command is now: a little too late.
        let now = || Some(unrolled(self.shared.device_clock().unwrap_or(last)));
        let Some(clock) = Clock::read(self.ticks.nanoseconds, now) else { return Vec::new() };
        let readings: Vec<_> = readings.into_iter().map(unrolled).collect();
        let spans = ordered(&self.pairs, &readings).into_iter().zip(&self.pairs);
        let span = |((start, end), pair): ((u64, u64), &Pair)| Span {
            command: pair.command,
            start: clock.instant(start),
            end: clock.instant(end),
        };
        spans.map(span).collect()
    }
}

/// Starts and ends, none of which begins before what is complete at the barrier in front of it: the clock may be read
/// while the device waits there.
fn ordered(pairs: &[Pair], readings: &[u64]) -> Vec<(u64, u64)> {
    let (mut barriers, mut complete, mut latest) = (0, 0, 0);
    let pair = |(pair, reading): (&Pair, &[u64])| {
        if pair.barriers > barriers {
            (barriers, complete) = (pair.barriers, latest);
        }
        let start = reading[0].max(complete);
        let end = reading[1].max(start);
        latest = latest.max(end);
        (start, end)
    };
    pairs.iter().zip(readings.chunks_exact(2)).map(pair).collect()
}

impl Drop for Times {
    fn drop(&mut self) {
        // SAFETY: its own; flights hold it, so no command buffer that writes it is in use.
        unsafe { self.shared.device.destroy_query_pool(self.pool, None) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_without_a_clock_tell_no_times() {
        let family = |timestamp_valid_bits| vk::QueueFamilyProperties { timestamp_valid_bits, ..Default::default() };
        let limits = vk::PhysicalDeviceLimits { timestamp_period: 10.0, ..Default::default() };
        assert_eq!(Ticks::of(&family(0), &limits), None);
        assert_eq!(Ticks::of(&family(36), &limits), Some(Ticks { bits: 36, nanoseconds: 10.0 }));
        assert_eq!(Ticks::of(&family(64), &vk::PhysicalDeviceLimits::default()), None);
    }

    #[test]
    fn a_clock_that_starts_again_goes_on() {
        let ticks = Ticks { bits: 36, nanoseconds: 1.0 };
        assert_eq!(ticks.unrolled(5, 5), MIDDLE);
        assert_eq!(ticks.unrolled(5, (1 << 36) - 10), MIDDLE + 15);
        assert_eq!(ticks.unrolled((1 << 36) - 10, 5), MIDDLE - 15);
        assert_eq!(Ticks { bits: 64, ..ticks }.unrolled(7, 9), MIDDLE - 2);
    }

    #[test]
    fn nothing_begins_before_the_barrier_in_front_of_it() {
        let pair = |barriers| Pair { command: 0, barriers };
        let readings = [10, 30, 12, 40, 20, 50];
        let times = ordered(&[pair(0), pair(0), pair(1)], &readings);
        assert_eq!(times, [(10, 30), (12, 40), (40, 50)]);
    }
}
