//! A kernel that does not end by itself, and is let go in the end whatever happens.

use std::time::Duration;

use roci_hal::{Buffer, BufferDesc, CommandBuffer, Device, Error, Queue, Submit};

use crate::case::Failure;
use crate::context::Context;
use crate::kernels::raise;

/// Attempts to let go of the kernel of a lost device, one a millisecond.
const ATTEMPTS: u32 = 200;

pub(super) struct Spinner {
    device: Device,
    pub(super) flag: Buffer,
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
        Ok(Self { device: device.clone(), flag, commands })
    }

    pub(super) fn submit(&self, queue: &Queue, submit: Submit) -> Result<(), Error> {
        queue.submit(&self.commands, submit)
    }

    /// Lets it end, while the device lives.
    pub(super) fn release(&self) -> Result<(), Error> {
        let mut word = vec![0; 64];
        word[..4].copy_from_slice(&1u32.to_ne_bytes());
        self.device.queue(0)?.write(&self.flag, word, Submit::new())
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        if self.release().is_ok() {
            return;
        }
        for _ in 0..ATTEMPTS {
            if self.flag.map().is_ok_and(|mut mapping| raise(&mut mapping)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
