//! A kernel that does not end by itself, and is let go in the end whatever happens.

use roci_hal::{Buffer, BufferDesc, CommandBuffer, Device, Error, Queue, Submit};

use crate::case::Failure;
use crate::context::Context;
use crate::kernels::Flag;

pub(super) struct Spinner {
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
        Ok(Self { flag: Flag::new(flag)?, commands })
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
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        self.release();
    }
}
