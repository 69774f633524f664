//! A kernel that spins until it is released. Dropping the handle releases it.

use std::time::Duration;

use roci_base::sync::{Mutex, lock};
use roci_hal::{Buffer, BufferDesc, CommandBuffer, Deadline, Device, Error, Queue, Semaphore, Submit};

use crate::case::Failure;
use crate::context::Context;
use crate::kernels::Flag;

/// Time in which a kernel sees the host's store to its flag if memory is coherent.
const COHERENT: Duration = Duration::from_millis(100);

pub(super) struct Spinner {
    device: Device,
    flag: Flag,
    commands: CommandBuffer,
    /// Each reaches 1 when its submission completes.
    ended: Mutex<Vec<Semaphore>>,
}

impl Spinner {
    pub(super) fn new(context: &Context, device: &Device) -> Result<Self, Failure> {
        let memory = context.host_visible(device)?;
        let flag = device.allocate(BufferDesc::new(64, memory).label("flag"))?;
        let mut words = [0; 16];
        words[1] = context.backend().spin_rounds;
        let kernel = context.kernel(device, "spin")?;
        let grid = [context.backend().spin_groups, 1, 1];
        let commands =
            context.record(device, |recorder| recorder.dispatch(&kernel, grid, &[(&flag).into()], &[]).map(drop))?;
        // Runs to completion once: some drivers compile a kernel at its first run, which must not
        // count as a hang.
        words[0] = 1;
        context.write(device, &flag, bytemuck::cast_slice(&words))?;
        context.run(device, &commands, Submit::new())?;
        words[0] = 0;
        context.write(device, &flag, bytemuck::cast_slice(&words))?;
        Ok(Self { device: device.clone(), flag: Flag::new(flag)?, commands, ended: Mutex::default() })
    }

    pub(super) fn submit(&self, queue: &Queue, submit: Submit) -> Result<(), Error> {
        let ended = self.device.semaphore(0);
        queue.submit(&self.commands, submit.signal(&ended, 1))?;
        lock(&self.ended).push(ended);
        Ok(())
    }

    /// The buffer with the kernel's flag.
    pub(super) fn buffer(&self) -> &Buffer {
        &self.flag.buffer
    }

    /// Releases the kernel.
    pub(super) fn release(&self) {
        self.flag.raise();
        let deadline = Deadline::after(COHERENT);
        let late = |ended: &Semaphore| matches!(ended.wait(1, deadline), Err(Error::Timeout { .. }));
        if !lock(&self.ended).drain(..).any(|ended| late(&ended)) {
            return;
        }
        // Without coherent memory, the device sees the flag only through a stream-ordered write,
        // and no other access may race with that write. A lost device rejects it, and its kernel
        // may then spin until the process ends.
        let mut word = vec![0; 64];
        word[..4].copy_from_slice(&1u32.to_ne_bytes());
        let _ = self.device.queue(0).and_then(|queue| queue.write(&self.flag.buffer, word, Submit::new()));
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.release();
    }
}
