//! Completion of submissions: by a timeline semaphore, or by one fence per submission where
//! unsupported.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use parking_lot::Mutex;
use roci_hal::SpinWindow;

use crate::device_state::DeviceState;

/// Counts completed submissions of a queue, in submission order.
pub(crate) struct CompletionCounter {
    shared: Arc<DeviceState>,
    kind: CounterKind,
}

enum CounterKind {
    Timeline(vk::Semaphore),
    Fences(Mutex<Fences>),
}

#[derive(Default)]
struct Fences {
    /// The count that each fence signals.
    pending: VecDeque<(u64, vk::Fence)>,
    free: Vec<vk::Fence>,
    reached: u64,
}

impl CompletionCounter {
    pub(crate) fn new(shared: &Arc<DeviceState>) -> Result<Self, vk::Result> {
        let kind = if shared.has_timeline() {
            let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
            let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
            // SAFETY: the feature is enabled.
            CounterKind::Timeline(unsafe { shared.device.create_semaphore(&info, None) }?)
        } else {
            CounterKind::Fences(Mutex::default())
        };
        Ok(Self { shared: Arc::clone(shared), kind })
    }

    /// Submits groups of command buffers. Each signals the next count after `last`. Returns how
    /// many were submitted, and the error that stopped it.
    pub(crate) fn submit(
        &self,
        queue: vk::Queue,
        last: u64,
        groups: &[&[vk::CommandBuffer]],
    ) -> (usize, Result<(), vk::Result>) {
        match &self.kind {
            CounterKind::Timeline(semaphore) => {
                let counts: Vec<_> = (last + 1..).take(groups.len()).collect();
                let count = |value| vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(value);
                let mut timelines: Vec<_> = counts.iter().map(std::slice::from_ref).map(count).collect();
                let semaphores = [*semaphore];
                let info = |(group, timeline)| {
                    let info = vk::SubmitInfo::default().command_buffers(group).signal_semaphores(&semaphores);
                    vk::SubmitInfo::push_next(info, timeline)
                };
                let infos: Vec<_> = groups.iter().copied().zip(&mut timelines).map(info).collect();
                // SAFETY: recorded command buffers; the caller has exclusive access to the queue.
                let submitted = unsafe { self.shared.device.queue_submit(queue, &infos, vk::Fence::null()) };
                // Vulkan submits all or none, unless the device is lost.
                (if submitted.is_ok() { groups.len() } else { 0 }, submitted)
            }
            CounterKind::Fences(fences) => {
                let mut fences = fences.lock();
                for (index, group) in groups.iter().enumerate() {
                    if let Err(result) = self.submit_with_fence(queue, last + 1 + index as u64, group, &mut fences) {
                        return (index, Err(result));
                    }
                }
                (groups.len(), Ok(()))
            }
        }
    }

    fn submit_with_fence(
        &self,
        queue: vk::Queue,
        count: u64,
        group: &[vk::CommandBuffer],
        fences: &mut Fences,
    ) -> Result<(), vk::Result> {
        let fence = match fences.free.pop() {
            Some(fence) => fence,
            // SAFETY: valid create info.
            None => unsafe { self.shared.device.create_fence(&vk::FenceCreateInfo::default(), None) }?,
        };
        let infos = [vk::SubmitInfo::default().command_buffers(group)];
        // SAFETY: recorded command buffers; the caller has exclusive access to the queue; the fence
        // is unused.
        let submitted = unsafe { self.shared.device.queue_submit(queue, &infos, fence) };
        match submitted {
            Ok(()) => fences.pending.push_back((count, fence)),
            Err(_) => fences.free.push(fence),
        }
        submitted
    }

    /// Waits until `count` is reached or `time` has passed, and returns the current count. Only one
    /// thread may wait. Spins while completion is expected soon.
    pub(crate) fn wait(&self, count: u64, time: Duration, expected: Option<SpinWindow>) -> Result<u64, vk::Result> {
        if let Some(expected) = expected {
            let rest = expected.time_to_sleep();
            if rest > time {
                return self.sleep(count, time);
            }
            let mut reached = if rest.is_zero() { self.current()? } else { self.sleep(count, rest)? };
            while reached < count && expected.is_open() {
                SpinWindow::spin();
                reached = self.current()?;
            }
            if reached >= count {
                return Ok(reached);
            }
        }
        self.sleep(count, time)
    }

    /// The current count.
    fn current(&self) -> Result<u64, vk::Result> {
        match &self.kind {
            CounterKind::Timeline(semaphore) => match &self.shared.timeline {
                // SAFETY: a timeline semaphore of this device.
                Some(functions) => unsafe { functions.get_semaphore_counter_value(*semaphore) },
                // SAFETY: as above.
                None => unsafe { self.shared.device.get_semaphore_counter_value(*semaphore) },
            },
            CounterKind::Fences(fences) => self.reached(&mut fences.lock()),
        }
    }

    fn sleep(&self, count: u64, time: Duration) -> Result<u64, vk::Result> {
        let nanoseconds = time.as_nanos() as u64;
        match &self.kind {
            CounterKind::Timeline(semaphore) => {
                let (semaphores, values) = ([*semaphore], [count]);
                let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
                let waited = match &self.shared.timeline {
                    // SAFETY: a timeline semaphore of this device.
                    Some(functions) => unsafe { functions.wait_semaphores(&info, nanoseconds) },
                    // SAFETY: as above.
                    None => unsafe { self.shared.device.wait_semaphores(&info, nanoseconds) },
                };
                ignore_timeout(waited)?;
            }
            CounterKind::Fences(fences) => {
                let needed = fences.lock().pending.iter().find(|(at, _)| *at >= count).map(|(_, fence)| *fence);
                if let Some(fence) = needed {
                    // SAFETY: only this thread resets fences.
                    ignore_timeout(unsafe { self.shared.device.wait_for_fences(&[fence], true, nanoseconds) })?;
                }
            }
        }
        self.current()
    }

    /// Reclaims the fences of completed submissions, and returns the count reached.
    fn reached(&self, fences: &mut Fences) -> Result<u64, vk::Result> {
        while let Some((count, fence)) = fences.pending.front().copied() {
            // SAFETY: a fence of this device.
            if !unsafe { self.shared.device.get_fence_status(fence) }? {
                break;
            }
            // SAFETY: signaled, so no queue uses it.
            unsafe { self.shared.device.reset_fences(&[fence]) }?;
            fences.reached = count;
            fences.pending.pop_front();
            fences.free.push(fence);
        }
        Ok(fences.reached)
    }
}

/// Treats a timeout as success.
fn ignore_timeout(waited: Result<(), vk::Result>) -> Result<(), vk::Result> {
    match waited {
        Err(vk::Result::TIMEOUT) => Ok(()),
        other => other,
    }
}

impl Drop for CompletionCounter {
    fn drop(&mut self) {
        match &mut self.kind {
            // SAFETY: the queue drops the counter only when nothing is in flight or the device is
            // lost.
            CounterKind::Timeline(semaphore) => unsafe { self.shared.device.destroy_semaphore(*semaphore, None) },
            CounterKind::Fences(fences) => {
                let fences = fences.get_mut();
                for fence in fences.free.drain(..).chain(fences.pending.drain(..).map(|(_, fence)| fence)) {
                    // SAFETY: as above.
                    unsafe { self.shared.device.destroy_fence(fence, None) };
                }
            }
        }
    }
}
