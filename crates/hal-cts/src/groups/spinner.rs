//! A kernel that does not end by itself, and is let go in the end whatever happens.

use roci_hal::{Buffer, BufferDesc, CommandBuffer, Device, Error, Queue, Submit};

use crate::case::Failure;
use crate::context::Context;
use crate::kernels::Flag;

pub(super) struct Spinner {
    device: Device,
    flag: Flag,
    commands: CommandBuffer,
}

impl Spinner {
    pub(super) fn new(context: &Context, device: &Device) -> Result<Self, Failure> {
        let memory = context.host_visible(device)?;
        let flag = device.allocate(BufferDesc { size: 64, memory, label: Some("flag".into()) })?;
        context.write(device, &flag, &[0; 64])?;
        let kernel = context.kernel(device, "spin")?;
        let commands = context
            .record(device, |recorder| recorder.dispatch(&kernel, [1, 1, 1], &[(&flag).into()], &[]).map(drop))?;
        Ok(Self { device: device.clone(), flag: Flag::new(flag)?, commands })
    }

    pub(super) fn submit(&self, queue: &Queue, submit: Submit) -> Result<(), Error> {
        queue.submit(&self.commands, submit)
    }

    /// The buffer that the kernel looks at.
    pub(super) fn buffer(&self) -> &Buffer {
        &self.flag.buffer
    }

    /// Lets it end.
    pub(super) fn release(&self) {
        self.flag.raise();
        // Where memory is not coherent the device sees the flag only through a write in stream order. A lost device
        // refuses that, and its kernel may then spin until the process ends.
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
