//! The way of weights to a device: pieces are made where the device copies them from, while it copies those before.

use roci_hal::{Buffer, BufferDesc, BufferRange, Deadline, Device, Queue, Semaphore, Submit};

use crate::Error;

/// Pieces that are made or on their way at a time.
const SLOTS: usize = 3;

/// Sends pieces to a device.
pub(crate) struct Upload {
    device: Device,
    queue: Queue,
    done: Semaphore,
    sent: u64,
    slots: [Slot; SLOTS],
}

/// Memory of one piece.
#[derive(Default)]
struct Slot {
    buffer: Option<Buffer>,
    /// What is reached when the device has copied what lies there.
    until: u64,
}

impl Upload {
    pub(crate) fn new(device: &Device) -> Result<Self, Error> {
        let (queue, done) = (device.queue(0)?, device.semaphore(0));
        Ok(Self { device: device.clone(), queue, done, sent: 0, slots: Default::default() })
    }

    /// Sends a piece of so many bytes, which `fill` writes, all of them: what was there before is another piece. From each offset on, as much as
    /// the range has goes to the range.
    pub(crate) fn send(
        &mut self,
        bytes: u64,
        fill: impl FnOnce(&mut [u8]),
        places: &[(u64, BufferRange)],
    ) -> Result<(), Error> {
        let slot = &mut self.slots[self.sent as usize % SLOTS];
        self.done.wait(slot.until, Deadline::default())?;
        let kept = slot.buffer.take().filter(|buffer| buffer.size() >= bytes);
        let buffer = match kept {
            Some(buffer) => buffer,
            None => self.device.allocate(BufferDesc::host(bytes.next_power_of_two()).label("a piece of weights"))?,
        };
        fill(&mut buffer.range(0, bytes)?.map_write()?);
        let mut recorder = self.device.record();
        for (offset, target) in places {
            recorder.copy(buffer.range(*offset, target.length())?, target)?;
        }
        let submit = Submit::new().wait(&self.done, self.sent).signal(&self.done, self.sent + 1).label("weights");
        self.queue.submit(&recorder.finish()?, submit)?;
        self.sent += 1;
        *slot = Slot { buffer: Some(buffer), until: self.sent };
        Ok(())
    }

    /// Waits until everything has arrived.
    pub(crate) fn finish(&self) -> Result<(), Error> {
        Ok(self.done.wait(self.sent, Deadline::default())?)
    }
}
