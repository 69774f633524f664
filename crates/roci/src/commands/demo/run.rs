//! One kernel on one device, through the HAL and nothing else.

use std::time::{Duration, Instant};

use roci_hal::{Binding, Buffer, BufferDesc, CommandBuffer, Deadline, Device, Error, Profile, Queue, Submit};

use crate::error::CliError;
use crate::interrupt;

use super::cases::{Case, Prepared};
use super::reference::POISON;

/// Runs are repeated for about this long, so that the best of them means something.
const REPEAT_FOR: Duration = Duration::from_millis(60);
/// And at least this often.
const REPEAT_AT_LEAST: u32 = 3;
/// How much longer we wait than the device may work: its own report of a hang says more than our missed deadline.
const PATIENCE: Duration = Duration::from_secs(2);

/// What came back.
pub(super) struct Measured {
    /// The output of the first run, over poisoned memory.
    pub(super) output: Vec<u8>,
    /// From submission to completion, the best of all runs.
    pub(super) seconds: f64,
}

/// Uploads the inputs, runs the kernel once on poisoned output and reads it back, then times it.
pub(super) fn measure(
    device: &Device,
    profile: Option<&Profile>,
    case: &Case,
    problem: &Prepared,
    timeout: Duration,
) -> Result<Measured, CliError> {
    let ready = Ready::new(device, profile, case, problem, timeout)?;
    let (output, mut best) = ready.result()?;
    let started = Instant::now();
    let mut runs = 0;
    while (runs < REPEAT_AT_LEAST || started.elapsed() < REPEAT_FOR) && !interrupt::asked() {
        best = best.min(ready.timed(&ready.dispatch, case.name())?);
        runs += 1;
    }
    Ok(Measured { output, seconds: best.as_secs_f64() })
}

/// A kernel that is loaded and recorded, with its inputs on the device.
pub(in crate::commands) struct Ready<'a> {
    device: &'a Device,
    profile: Option<&'a Profile>,
    name: &'static str,
    timeout: Duration,
    queue: Queue,
    poison: CommandBuffer,
    dispatch: CommandBuffer,
    output: Buffer,
}

impl<'a> Ready<'a> {
    /// Uploads, loads, records.
    pub(in crate::commands) fn new(
        device: &'a Device,
        profile: Option<&'a Profile>,
        case: &Case,
        problem: &Prepared,
        timeout: Duration,
    ) -> Result<Self, CliError> {
        let queue = device.queue(0)?;
        let executable = device.load(&case.kernel.executable(device.info())?)?;
        let kernel = executable.kernel(case.name())?;

        let mut buffers = Vec::new();
        for (input, binding) in problem.inputs.iter().zip(case.kernel.bindings()) {
            let buffer = allocate(device, input.bytes.len(), binding.name)?;
            let whole_words = padded(&input.bytes);
            let done = device.semaphore(0);
            queue.write(&buffer, whole_words, submit(profile).signal(&done, 1).label("upload"))?;
            done.wait(1, deadline(timeout))?;
            buffers.push(buffer);
        }
        let output = allocate(device, problem.expected.len() * problem.output.size(), "output")?;
        let bindings: Vec<_> = buffers.iter().chain([&output]).map(Binding::from).collect();

        let mut poison = device.record();
        poison.label("poison").fill(&output, POISON)?;
        let poison = poison.finish()?;
        let mut dispatch = device.record();
        dispatch.label(case.name()).dispatch(&kernel, case.problem.grid(), &bindings, case.problem.constants())?;
        let dispatch = dispatch.finish()?;
        Ok(Self { device, profile, name: case.name(), timeout, queue, poison, dispatch, output })
    }

    /// Runs the kernel on poisoned output; what it wrote, and how long it took from submission to completion.
    pub(in crate::commands) fn result(&self) -> Result<(Vec<u8>, Duration), Error> {
        self.timed(&self.poison, "poison")?;
        let time = self.timed(&self.dispatch, self.name)?;
        let download = self.queue.read(&self.output, submit(self.profile).label("download"))?;
        Ok((download.wait(deadline(self.timeout))?, time))
    }

    /// From submission to completion.
    fn timed(&self, commands: &CommandBuffer, label: &str) -> Result<Duration, Error> {
        let done = self.device.semaphore(0);
        let submit = submit(self.profile).signal(&done, 1).label(format!("demo {label}"));
        let started = Instant::now();
        self.queue.submit(commands, submit)?;
        done.wait(1, deadline(self.timeout))?;
        Ok(started.elapsed())
    }
}

/// When a wait is given up.
fn deadline(timeout: Duration) -> Deadline {
    Deadline::of_work(timeout.saturating_add(PATIENCE))
}

/// A submission, measured if that was asked for.
fn submit(profile: Option<&Profile>) -> Submit {
    profile.map_or_else(Submit::new, |profile| Submit::new().profile(profile))
}

/// The fastest memory that the device has, in whole words.
fn allocate(device: &Device, size: usize, label: &str) -> Result<Buffer, Error> {
    let desc = BufferDesc {
        size: size.next_multiple_of(4) as u64,
        memory: device.info().fastest_memory(),
        label: Some(label.into()),
    };
    device.allocate(desc)
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
