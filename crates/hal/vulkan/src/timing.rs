//! Timestamps of commands: the device writes its clock before and after each command.
//!
//! A timestamp marks when all previous commands have completed, not one command alone. Commands
//! that run concurrently therefore end together in a profile; a barrier between them separates
//! their times.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::sync::Arc;

use ash::vk;
use roci_hal::Error;
use roci_hal::profile::{Clock, CommandTiming};

use crate::device_state::DeviceState;
use crate::error::failed;
use crate::plan::{CommandPlan, PlanStep};
use crate::timestamp_clock::TimestampClock;

/// The queries of one run: a pair for each step that is a command or part of one.
pub(crate) struct TimestampQueries {
    shared: Arc<DeviceState>,
    clock: TimestampClock,
    pool: vk::QueryPool,
    pairs: Vec<QueryPair>,
}

/// The command that a pair of queries belongs to.
struct QueryPair {
    command: usize,
    /// Number of barriers before it.
    barriers: usize,
}

impl TimestampQueries {
    pub(crate) fn new(shared: &Arc<DeviceState>, plan: &CommandPlan) -> Result<Self, Error> {
        let clock =
            shared.timestamp_clock.ok_or_else(|| failed("timestamps")(vk::Result::ERROR_FEATURE_NOT_PRESENT))?;
        let mut barriers = 0;
        let mut pairs = Vec::new();
        for (step, command) in plan.steps.iter().zip(&plan.commands) {
            match step {
                PlanStep::Barrier { .. } => barriers += 1,
                _ => pairs.push(QueryPair { command: *command, barriers }),
            }
        }
        let info =
            vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(2 * pairs.len() as u32);
        // SAFETY: valid create info; plans without steps are not run.
        let pool = unsafe { shared.device.create_query_pool(&info, None) }.map_err(failed("a query pool"))?;
        Ok(Self { shared: Arc::clone(shared), clock, pool, pairs })
    }

    /// Resets all queries, at the start of the first command buffer.
    pub(crate) fn reset(&self, buffer: vk::CommandBuffer) {
        // SAFETY: a command buffer being recorded, of a compute family.
        unsafe { self.shared.device.cmd_reset_query_pool(buffer, self.pool, 0, 2 * self.pairs.len() as u32) };
    }

    /// Writes the timestamp before a step. `step` does not count barriers.
    pub(crate) fn begin(&self, buffer: vk::CommandBuffer, step: usize) {
        self.write(buffer, vk::PipelineStageFlags::TOP_OF_PIPE, 2 * step);
    }

    /// Writes the timestamp after a step.
    pub(crate) fn end(&self, buffer: vk::CommandBuffer, step: usize) {
        self.write(buffer, vk::PipelineStageFlags::BOTTOM_OF_PIPE, 2 * step + 1);
    }

    fn write(&self, buffer: vk::CommandBuffer, stage: vk::PipelineStageFlags, query: usize) {
        // SAFETY: a query of the pool that was reset and is written once, in a family with
        // timestamps.
        unsafe { self.shared.device.cmd_write_timestamp(buffer, stage, self.pool, query as u32) };
    }

    /// Start and end of each command, once all are complete. Empty if the device does not return
    /// them.
    pub(crate) fn spans(&self) -> Vec<CommandTiming> {
        let mut readings = vec![0u64; 2 * self.pairs.len()];
        let flags = vk::QueryResultFlags::TYPE_64;
        // SAFETY: the slice has one element per query.
        let read = unsafe { self.shared.device.get_query_pool_results(self.pool, 0, &mut readings, flags) };
        let (Ok(()), Some(&last)) = (read, readings.last()) else { return Vec::new() };
        let unwrapped = |reading| self.clock.unwrapped(reading, last);
        // Without calibrated timestamps, the last command is assumed to end now, which is slightly
        // late.
        let now = || Some(unwrapped(self.shared.device_clock().unwrap_or(last)));
        let Some(clock) = Clock::read(self.clock.nanoseconds, now) else { return Vec::new() };
        let readings: Vec<_> = readings.into_iter().map(unwrapped).collect();
        let spans = ordered(&self.pairs, &readings).into_iter().zip(&self.pairs);
        let span = |((start, end), pair): ((u64, u64), &QueryPair)| CommandTiming {
            command: pair.command,
            start: clock.instant(start),
            end: clock.instant(end),
        };
        spans.map(span).collect()
    }
}

/// Starts and ends. A start is moved to the end of everything before its barrier: the device may
/// write the timestamp while it still waits there.
fn ordered(pairs: &[QueryPair], readings: &[u64]) -> Vec<(u64, u64)> {
    let (mut barriers, mut complete, mut latest) = (0, 0, 0);
    let pair = |(pair, reading): (&QueryPair, &[u64])| {
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

impl Drop for TimestampQueries {
    fn drop(&mut self) {
        // SAFETY: owned by this value; batches in flight hold it, so no command buffer that writes
        // it is in use.
        unsafe { self.shared.device.destroy_query_pool(self.pool, None) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_never_starts_before_its_barrier() {
        let pair = |barriers| QueryPair { command: 0, barriers };
        let readings = [10, 30, 12, 40, 20, 50];
        let times = ordered(&[pair(0), pair(0), pair(1)], &readings);
        assert_eq!(times, [(10, 30), (12, 40), (40, 50)]);
    }
}
