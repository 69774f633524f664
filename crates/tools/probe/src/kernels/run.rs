//! Runs a kernel on a device through the HAL, without the graph runtime.

use std::time::{Duration, Instant};

use roci_hal::{Binding, Buffer, BufferDesc, CommandBuffer, Deadline, Device, Profile, Queue, Submit};

use crate::Error;

use super::reference::POISON;
use super::{Case, PreparedCase};

/// Total duration of the repeated runs; the best time counts.
const REPEAT_FOR: Duration = Duration::from_millis(60);
/// Minimum number of repeated runs.
const MIN_REPEATS: u32 = 3;
/// Added to the timeout of each wait, so that the driver times out first: its hang report is more
/// detailed.
const WAIT_MARGIN: Duration = Duration::from_secs(2);

/// Output and time of a kernel.
#[derive(Debug)]
#[non_exhaustive]
pub struct Measurement {
    /// Output of the first run, which started with poisoned memory.
    pub output: Vec<u8>,
    /// Seconds from submission to completion, the best of all runs.
    pub seconds: f64,
}

/// Uploads the inputs, runs the kernel once on a poisoned or initialized output, reads the output
/// back, then times repeated runs for a fixed duration or until `interrupted` returns true.
pub fn measure(
    device: &Device,
    profile: Option<&Profile>,
    case: &Case,
    problem: &PreparedCase,
    timeout: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Measurement, Error> {
    let ready = LoadedKernel::new(device, profile, case, problem, timeout)?;
    let (output, mut best) = ready.result()?;
    let started = Instant::now();
    let mut runs = 0;
    while (runs < MIN_REPEATS || started.elapsed() < REPEAT_FOR) && !interrupted() {
        best = best.min(ready.timed(&ready.dispatch, case.name())?);
        runs += 1;
    }
    Ok(Measurement { output, seconds: best.as_secs_f64() })
}

/// A loaded and recorded kernel with its inputs uploaded.
pub struct LoadedKernel<'a> {
    device: &'a Device,
    profile: Option<&'a Profile>,
    name: &'static str,
    timeout: Duration,
    queue: Queue,
    poison: CommandBuffer,
    initial: Option<Vec<u8>>,
    dispatch: CommandBuffer,
    output: Buffer,
}

impl std::fmt::Debug for LoadedKernel<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedKernel").field("name", &self.name).field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl<'a> LoadedKernel<'a> {
    /// Uploads the inputs, loads the kernel and records its dispatch.
    pub fn new(
        device: &'a Device,
        profile: Option<&'a Profile>,
        case: &Case,
        problem: &PreparedCase,
        timeout: Duration,
    ) -> Result<Self, Error> {
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
        let initial = problem.initial.as_deref().map(padded);
        Ok(Self { device, profile, name: case.name(), timeout, queue, poison, initial, dispatch, output })
    }

    /// Runs the kernel on a poisoned or initialized output. Returns the output and the time from
    /// submission to completion.
    pub fn result(&self) -> Result<(Vec<u8>, Duration), Error> {
        match &self.initial {
            None => self.timed(&self.poison, "poison").map(drop)?,
            Some(bytes) => {
                let done = self.device.semaphore(0);
                let submit = submit(self.profile).signal(&done, 1).label("upload");
                self.queue.write(&self.output, bytes.clone(), submit)?;
                done.wait(1, deadline(self.timeout))?;
            }
        }
        let time = self.timed(&self.dispatch, self.name)?;
        let download = self.queue.read(&self.output, submit(self.profile).label("download"))?;
        Ok((download.wait(deadline(self.timeout))?, time))
    }

    /// Time from submission to completion.
    fn timed(&self, commands: &CommandBuffer, label: &str) -> Result<Duration, Error> {
        let done = self.device.semaphore(0);
        let submit = submit(self.profile).signal(&done, 1).label(format!("demo {label}"));
        let started = Instant::now();
        self.queue.submit(commands, submit)?;
        done.wait(1, deadline(self.timeout))?;
        Ok(started.elapsed())
    }
}

/// Deadline of a wait.
fn deadline(timeout: Duration) -> Deadline {
    Deadline::excluding_compilation(timeout.saturating_add(WAIT_MARGIN))
}

/// A submission, with profiling if `profile` is given.
fn submit(profile: Option<&Profile>) -> Submit {
    profile.map_or_else(Submit::new, |profile| Submit::new().profile(profile))
}

/// Allocates whole words in the device's fastest memory type.
fn allocate(device: &Device, size: usize, label: &str) -> Result<Buffer, Error> {
    let size = size.next_multiple_of(4) as u64;
    Ok(device.allocate(BufferDesc::new(size, device.info().fastest_memory()).label(label))?)
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}
