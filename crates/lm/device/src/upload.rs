//! Pipelined upload: the host fills a staging buffer while the device copies the previous ones.

use roci_hal::{Buffer, BufferDesc, BufferRange, Deadline, Device, Queue, Semaphore, Submit};

use crate::Error;

/// Staging buffers, which is the number of uploads that are being filled or in flight.
const SLOTS: usize = 3;

/// A queue of uploads to one device.
pub(crate) struct UploadQueue {
    device: Device,
    queue: Queue,
    done: Semaphore,
    /// Uploads submitted so far, which is the last value that `done` will reach.
    submitted: u64,
    slots: [StagingSlot; SLOTS],
}

/// A staging buffer, allocated on first use.
#[derive(Default)]
struct StagingSlot {
    buffer: Option<Buffer>,
    /// Value of the semaphore at which its last copy is complete.
    free_at: u64,
}

impl UploadQueue {
    pub(crate) fn new(device: &Device) -> Result<Self, Error> {
        let (queue, done) = (device.queue(0)?, device.semaphore(0));
        Ok(Self { device: device.clone(), queue, done, submitted: 0, slots: Default::default() })
    }

    /// Uploads `bytes` bytes. `fill` must write all of them, since the staging buffer holds old
    /// data. Each target range is copied from its offset in the staging buffer.
    pub(crate) fn send(
        &mut self,
        bytes: u64,
        fill: impl FnOnce(&mut [u8]),
        targets: &[(u64, BufferRange)],
    ) -> Result<(), Error> {
        let slot = &mut self.slots[self.submitted as usize % SLOTS];
        self.done.wait(slot.free_at, Deadline::default())?;
        let reused = slot.buffer.take().filter(|buffer| buffer.size() >= bytes);
        let buffer = match reused {
            Some(buffer) => buffer,
            None => self.device.allocate(BufferDesc::host(bytes.next_power_of_two()).label("weight staging"))?,
        };
        fill(&mut buffer.range(0, bytes)?.map_write()?);
        let mut recorder = self.device.record();
        for (offset, target) in targets {
            recorder.copy(buffer.range(*offset, target.length())?, target)?;
        }
        let submit =
            Submit::new().wait(&self.done, self.submitted).signal(&self.done, self.submitted + 1).label("weights");
        self.queue.submit(&recorder.finish()?, submit)?;
        self.submitted += 1;
        *slot = StagingSlot { buffer: Some(buffer), free_at: self.submitted };
        Ok(())
    }

    /// Waits until all uploads are complete.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        Ok(self.done.wait(self.submitted, Deadline::default())?)
    }
}
