//! The in-flight tracker: which batches of a queue wait for room, which run, and which have
//! completed.

use std::collections::VecDeque;

use roci_hal::driver::{BatchFault, Completion};

use crate::ring_writer::{RingBatch, RingWriter};

/// A batch of a queue.
pub(crate) struct QueuedBatch {
    pub(crate) packets: RingBatch,
    /// `None` once a failure was reported.
    pub(crate) completion: Option<Completion>,
}

/// A batch that could not be written, and why.
pub(crate) type FailedBatch = (Completion, BatchFault);

/// The batches of one queue. They complete in order.
#[derive(Default)]
pub(crate) struct InFlight {
    /// Completely written batches with their epochs, oldest first.
    running: VecDeque<(u64, QueuedBatch)>,
    /// Batches that wait for room. The first may be partially written.
    pending: VecDeque<QueuedBatch>,
    /// Epoch of the last completely written batch: the number of such batches so far.
    last_epoch: u64,
}

impl InFlight {
    pub(crate) fn push(&mut self, batch: QueuedBatch) {
        self.pending.push_back(batch);
    }

    /// Whether batches wait for room.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Epoch of the oldest running batch.
    pub(crate) fn oldest_epoch(&self) -> Option<u64> {
        self.running.front().map(|(epoch, _)| *epoch)
    }

    /// Writes pending batches as far as there is room. Returns batches that cannot be written.
    pub(crate) fn write_pending(&mut self, writer: &mut RingWriter) -> Vec<FailedBatch> {
        let mut failed = Vec::new();
        while let Some(mut batch) = self.pending.pop_front() {
            match writer.write(&mut batch.packets) {
                Ok(true) => {
                    self.last_epoch += 1;
                    self.running.push_back((self.last_epoch, batch));
                }
                Ok(false) => {
                    self.pending.push_front(batch);
                    break;
                }
                // None of its packets was written: the queue stays usable.
                Err(error) if !batch.packets.is_started() => {
                    writer.undo(&batch.packets);
                    let command = batch.packets.next_command();
                    let fault = BatchFault::Kernel { command, reason: error.to_string() };
                    failed.extend(batch.completion.map(|completion| (completion, fault)));
                }
                Err(error) => {
                    // Leaked: the GPU may run what was written until the device is closed, and
                    // its copies may end at any time.
                    std::mem::forget(batch.packets);
                    let fault = BatchFault::Device(error.to_string());
                    failed.extend(batch.completion.map(|completion| (completion, fault)));
                }
            }
        }
        failed
    }

    /// Removes the batches up to an epoch and releases their kernel arguments.
    pub(crate) fn retire(&mut self, epoch: u64, writer: &mut RingWriter) -> Vec<QueuedBatch> {
        let mut completed = Vec::new();
        while let Some((_, batch)) = self.running.pop_front_if(|(own, _)| *own <= epoch) {
            writer.release(&batch.packets);
            completed.push(batch);
        }
        completed
    }

    /// Reports the command in flight of the oldest running batch.
    pub(crate) fn report_progress(&self, writer: &RingWriter) {
        let (Some(read_index), Some((_, batch))) = (writer.read_index(), self.running.front()) else { return };
        if let (Some(command), Some(completion)) = (batch.packets.current_command(read_index), &batch.completion) {
            completion.progress(command as usize);
        }
    }

    /// Takes the completion of the oldest batch, to report a failure of the queue. The batch itself
    /// stays: the runtime may still execute its copies, and the queue still has its packets.
    pub(crate) fn take_oldest_completion(&mut self) -> Option<Completion> {
        let running = self.running.front_mut().map(|(_, batch)| batch);
        running.or(self.pending.front_mut()).and_then(|batch| batch.completion.take())
    }

    /// Removes all batches.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = QueuedBatch> + use<> {
        let running = std::mem::take(&mut self.running);
        running.into_iter().map(|(_, batch)| batch).chain(std::mem::take(&mut self.pending))
    }
}
