//! Properties of the CPU driver beyond the conformance suite: out-of-order execution, isolation of
//! panicking kernels, and no data races even for callers that omit semaphores.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use roci_cpu::CpuDriver;
use roci_hal::native::{NativeEntry, NativeKernel, NativeLaunch};
use roci_hal::{
    Access, Binding, Buffer, BufferDesc, Code, Deadline, Device, EntryPoint, Error, ExecutableSource, Kernel, Registry,
    Submit,
};

/// A kernel that calls a function once per part, with the words of its binding.
struct Call<F> {
    bindings: Vec<Access>,
    parts: usize,
    body: F,
}

// SAFETY: `run` creates one slice of the writable binding, and only kernels with `parts == 1` write
// to it.
unsafe impl<F: Fn(usize, &mut [u32]) + Send + Sync> NativeKernel for Call<F> {
    fn accesses(&self) -> &[Access] {
        &self.bindings
    }

    fn prepare(&self, _launch: &NativeLaunch<'_>) -> Result<usize, String> {
        Ok(self.parts)
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let words = match launch.bindings {
            // SAFETY: the driver passes live, aligned memory that no other work accesses; there is
            // one part.
            [target] if parts == 1 => unsafe {
                std::slice::from_raw_parts_mut(target.pointer.cast::<u32>(), target.length / 4)
            },
            _ => &mut [],
        };
        (self.body)(part, words);
    }
}

fn open(uri: &str, timeout: Option<Duration>) -> Result<Device, Error> {
    Registry::new().with(CpuDriver::new()).open(&uri.parse()?, timeout)
}

fn load<F: Fn(usize, &mut [u32]) + Send + Sync + 'static>(
    device: &Device,
    name: &str,
    bindings: &[Access],
    parts: usize,
    body: F,
) -> Kernel {
    let entry = EntryPoint {
        name: name.into(),
        workgroup_size: [1, 1, 1],
        bindings: bindings.to_vec(),
        constants: 0,
        in_place: false,
    };
    let native = NativeEntry { name: name.into(), kernel: Arc::new(Call { bindings: bindings.to_vec(), parts, body }) };
    let source = ExecutableSource { label: name.into(), entry_points: vec![entry], code: Code::Native(vec![native]) };
    device.load(&source).unwrap().kernel(name).unwrap()
}

fn commands(device: &Device, kernel: &Kernel, bindings: &[Binding]) -> roci_hal::CommandBuffer {
    let mut recorder = device.record();
    recorder.dispatch(kernel, [1, 1, 1], bindings, &[]).unwrap();
    recorder.finish().unwrap()
}

#[test]
fn independent_batches_of_one_queue_run_concurrently() {
    let device = open("cpu?threads=2", None).unwrap();
    // Each kernel waits for the other, so running them one after the other would deadlock.
    let meeting = Arc::new(Barrier::new(2));
    let kernel = load(&device, "meet", &[], 1, move |_, _| {
        meeting.wait();
    });
    let commands = commands(&device, &kernel, &[]);
    let done = [device.semaphore(0), device.semaphore(0)];
    let queue = device.queue(0).unwrap();
    for done in &done {
        queue.submit(&commands, Submit::new().signal(done, 1)).unwrap();
    }
    for done in &done {
        done.wait(1, Deadline::default()).unwrap();
    }
}

#[test]
fn the_parts_of_one_kernel_run_concurrently() {
    let device = open("cpu?threads=3", None).unwrap();
    let meeting = Arc::new(Barrier::new(3));
    let kernel = load(&device, "meet", &[], 3, move |_, _| {
        meeting.wait();
    });
    let done = device.semaphore(0);
    device.queue(0).unwrap().submit(&commands(&device, &kernel, &[]), Submit::new().signal(&done, 1)).unwrap();
    done.wait(1, Deadline::default()).unwrap();
}

#[test]
fn independent_commands_of_one_batch_run_concurrently() {
    let device = open("cpu?threads=3", None).unwrap();
    // Two parts of one command and the only part of another run concurrently.
    let meeting = Arc::new(Barrier::new(3));
    let other = Arc::clone(&meeting);
    let pair = load(&device, "pair", &[], 2, move |_, _| {
        meeting.wait();
    });
    let single = load(&device, "single", &[], 1, move |_, _| {
        other.wait();
    });
    let mut recorder = device.record();
    recorder.dispatch(&pair, [1, 1, 1], &[], &[]).unwrap();
    recorder.dispatch(&single, [1, 1, 1], &[], &[]).unwrap();
    let commands = recorder.finish().unwrap();
    let done = device.semaphore(0);
    device.queue(0).unwrap().submit(&commands, Submit::new().signal(&done, 1)).unwrap();
    done.wait(1, Deadline::default()).unwrap();
}

#[test]
fn a_kernel_panic_fails_only_its_submission() {
    let device = open("cpu?threads=2", None).unwrap();
    for parts in [1, 4] {
        let bad = load(&device, "bad", &[], parts, |_, _| panic!("index 7 of 3"));
        let done = device.semaphore(0);
        device.queue(0).unwrap().submit(&commands(&device, &bad, &[]), Submit::new().signal(&done, 1)).unwrap();
        let error = done.wait(1, Deadline::default()).unwrap_err();
        assert!(matches!(&error, Error::Kernel { kernel, .. } if kernel == "bad"), "{error}");
        assert!(error.to_string().contains("index 7 of 3"), "{error}");
    }
    let good = load(&device, "good", &[Access::ReadWrite], 1, |_, words| words.fill(7));
    let buffer = device.allocate(BufferDesc::device(64)).unwrap();
    let done = device.semaphore(0);
    let commands = commands(&device, &good, &[(&buffer).into()]);
    device.queue(0).unwrap().submit(&commands, Submit::new().signal(&done, 1)).unwrap();
    done.wait(1, Deadline::default()).unwrap();
    assert_eq!(device.read(&buffer).unwrap(), 7u32.to_ne_bytes().repeat(16));
}

/// Increments every word by plain reads and writes: concurrent runs lose updates and are reported
/// by ThreadSanitizer.
fn increment(device: &Device) -> Kernel {
    load(device, "increment", &[Access::ReadWrite], 1, |_, words| words.iter_mut().for_each(|word| *word += 1))
}

fn words(device: &Device, buffer: &Buffer) -> Vec<u32> {
    device.read(buffer).unwrap().chunks_exact(4).map(|bytes| u32::from_ne_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn unordered_batches_on_the_same_memory_do_not_race() {
    let device = open("cpu?threads=4", None).unwrap();
    let kernel = increment(&device);
    let buffer = device.allocate(BufferDesc::device(4096)).unwrap();
    let fixed = commands(&device, &kernel, &[(&buffer).into()]);
    let slotted = commands(&device, &kernel, &[Binding::slot(0, 4096)]);
    let done: Vec<_> = (0..200).map(|_| device.semaphore(0)).collect();
    for (index, done) in done.iter().enumerate() {
        let queue = device.queue(index % 2).unwrap();
        if index % 2 == 0 {
            queue.submit(&fixed, Submit::new().signal(done, 1)).unwrap();
        } else {
            queue.submit(&slotted, Submit::new().bind(&buffer).signal(done, 1)).unwrap();
        }
    }
    done.iter().for_each(|done| done.wait(1, Deadline::default()).unwrap());
    assert_eq!(words(&device, &buffer), vec![200; 1024]);
}

#[test]
fn commands_without_a_barrier_on_the_same_memory_do_not_race() {
    let device = open("cpu?threads=4", None).unwrap();
    let kernel = increment(&device);
    let buffer = device.allocate(BufferDesc::device(4096)).unwrap();
    // Three bindings of the same bytes, two of them known only at replay.
    let bindings = [Binding::from(&buffer), Binding::slot(0, 4096), Binding::slot(1, 4096)];
    let spread = load(&device, "spread", &[], 4, |_, _| {});
    let mut recorder = device.record();
    for _ in 0..20 {
        for binding in &bindings {
            recorder.dispatch(&kernel, [1, 1, 1], std::slice::from_ref(binding), &[]).unwrap();
        }
        // Several parts, so that the workers share the segment.
        recorder.dispatch(&spread, [1, 1, 1], &[], &[]).unwrap();
    }
    let commands = recorder.finish().unwrap();
    let done = device.semaphore(0);
    let submit = Submit::new().bind(&buffer).bind(&buffer).signal(&done, 1);
    device.queue(0).unwrap().submit(&commands, submit).unwrap();
    done.wait(1, Deadline::default()).unwrap();
    assert_eq!(words(&device, &buffer), vec![60; 1024]);
}

/// Mixes the words of one buffer into another; each part writes its own words and reads words of
/// other parts.
struct Mix;

impl Mix {
    const WORDS: usize = 1 << 10;

    fn word(source: &[u32], at: usize) -> u32 {
        source[(at * 7 + 3) % source.len()].wrapping_mul(31).wrapping_add(at as u32)
    }
}

// SAFETY: each part writes its own words of the second binding, and the first is only read.
unsafe impl NativeKernel for Mix {
    fn accesses(&self) -> &[Access] {
        &[Access::Read, Access::ReadWrite]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        Ok(3 * launch.workers)
    }

    unsafe fn run(&self, launch: &NativeLaunch<'_>, part: usize, parts: usize) {
        let [source, target] = launch.bindings else { return };
        // SAFETY: live memory of this length that nothing writes meanwhile.
        let source = unsafe { std::slice::from_raw_parts(source.pointer.cast::<u32>(), Self::WORDS) };
        let edge = |part: usize| Self::WORDS * part / parts;
        for at in edge(part)..edge(part + 1) {
            // SAFETY: a word of this part.
            unsafe { target.pointer.cast::<u32>().wrapping_add(at).write(Self::word(source, at)) };
        }
    }
}

#[test]
fn writes_of_a_segment_are_visible_to_the_next() {
    for workers in [2, 5, 16] {
        let device = open(&format!("cpu?threads={workers}"), None).unwrap();
        let entry = EntryPoint {
            name: "mix".into(),
            workgroup_size: [1, 1, 1],
            bindings: vec![Access::Read, Access::ReadWrite],
            constants: 0,
            in_place: false,
        };
        let native = NativeEntry { name: "mix".into(), kernel: Arc::new(Mix) };
        let source =
            ExecutableSource { label: "mix".into(), entry_points: vec![entry], code: Code::Native(vec![native]) };
        let mix = device.load(&source).unwrap().kernel("mix").unwrap();
        let queue = device.queue(0).unwrap();
        // Two independent chains of segments, whose helpers change between them.
        let chains: Vec<_> = (0..2)
            .map(|_| {
                let buffers: Vec<Buffer> =
                    (0..2).map(|_| device.allocate(BufferDesc::host(4 * Mix::WORDS as u64)).unwrap()).collect();
                buffers[0].map().unwrap().fill(0);
                let mut recorder = device.record();
                for step in 0..100 {
                    recorder
                        .dispatch(&mix, [1, 1, 1], &[(&buffers[step % 2]).into(), (&buffers[1 - step % 2]).into()], &[])
                        .unwrap();
                    recorder.barrier();
                }
                (buffers, recorder.finish().unwrap(), device.semaphore(0))
            })
            .collect();
        let replays = 20;
        for replay in 0..replays {
            for (_, commands, done) in &chains {
                queue.submit(commands, Submit::new().wait(done, replay).signal(done, replay + 1)).unwrap();
            }
        }
        let mut expected = vec![0; Mix::WORDS];
        for _ in 0..100 * replays {
            expected = (0..Mix::WORDS).map(|at| Mix::word(&expected, at)).collect::<Vec<u32>>();
        }
        for (buffers, _, done) in &chains {
            done.wait(replays, Deadline::default()).unwrap();
            assert!(words(&device, &buffers[0]) == expected, "{workers} workers");
        }
    }
}

#[test]
fn an_endless_kernel_loses_the_device_but_not_the_process() {
    let device = open("cpu?threads=2", Some(Duration::from_millis(500))).unwrap();
    let release = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&release);
    let endless = load(&device, "endless", &[], 2, move |part, _| {
        while part == 1 && !gate.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let done = device.semaphore(0);
    let submit = Submit::new().signal(&done, 1).label("layer 3");
    device.queue(1).unwrap().submit(&commands(&device, &endless, &[]), submit).unwrap();
    let error = done.wait(1, Deadline::default()).unwrap_err();
    assert!(matches!(error, Error::Lost(_)), "{error}");
    for word in ["cpu?threads=2", "queue 1", "endless", "layer 3"] {
        assert!(error.to_string().contains(word), "{word} is missing in: {error}");
    }
    assert!(device.allocate(BufferDesc::device(64)).is_err());
    let fresh = open("cpu", None).unwrap();
    fresh.write(&fresh.allocate(BufferDesc::device(64)).unwrap(), &[1; 64]).unwrap();
    release.store(true, Ordering::Relaxed);
}

#[test]
fn a_hang_among_independent_commands_names_the_hung_one() {
    let device = open("cpu?threads=2", Some(Duration::from_millis(500))).unwrap();
    let release = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&release);
    let quick = load(&device, "quick", &[], 2, |_, _| {});
    let endless = load(&device, "endless", &[], 2, move |_, _| {
        while !gate.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let mut recorder = device.record();
    recorder.dispatch(&quick, [1, 1, 1], &[], &[]).unwrap();
    recorder.dispatch(&endless, [1, 1, 1], &[], &[]).unwrap();
    let commands = recorder.finish().unwrap();
    let done = device.semaphore(0);
    device.queue(0).unwrap().submit(&commands, Submit::new().signal(&done, 1)).unwrap();
    let error = done.wait(1, Deadline::default()).unwrap_err();
    assert!(matches!(&error, Error::Lost(loss) if loss.in_flight.kernel.as_deref() == Some("endless")), "{error}");
    release.store(true, Ordering::Relaxed);
}

#[test]
fn the_timeout_applies_per_command() {
    let device = open("cpu?threads=2", Some(Duration::from_secs(1))).unwrap();
    let sleep = load(&device, "sleep", &[], 2, |_, _| std::thread::sleep(Duration::from_millis(100)));
    let mut recorder = device.record();
    for _ in 0..12 {
        recorder.dispatch(&sleep, [1, 1, 1], &[], &[]).unwrap();
    }
    let commands = recorder.finish().unwrap();
    let done = device.semaphore(0);
    device.queue(0).unwrap().submit(&commands, Submit::new().signal(&done, 1)).unwrap();
    done.wait(1, Deadline::default()).unwrap();
}

/// A kernel whose launch validation panics.
struct PanickingKernel;

// SAFETY: it accesses no memory.
unsafe impl NativeKernel for PanickingKernel {
    fn accesses(&self) -> &[Access] {
        &[Access::ReadWrite]
    }

    fn prepare(&self, launch: &NativeLaunch<'_>) -> Result<usize, String> {
        panic!("{} bytes", launch.bindings[0].length)
    }

    unsafe fn run(&self, _launch: &NativeLaunch<'_>, _part: usize, _parts: usize) {}
}

#[test]
fn a_panic_in_prepare_fails_only_its_submission() {
    let device = open("cpu?threads=1", None).unwrap();
    let entry = EntryPoint {
        name: "panicking".into(),
        workgroup_size: [1, 1, 1],
        bindings: vec![Access::ReadWrite],
        constants: 0,
        in_place: false,
    };
    let native = NativeEntry { name: "panicking".into(), kernel: Arc::new(PanickingKernel) };
    let source =
        ExecutableSource { label: "panicking".into(), entry_points: vec![entry], code: Code::Native(vec![native]) };
    let kernel = device.load(&source).unwrap().kernel("panicking").unwrap();
    let buffer = device.allocate(BufferDesc::device(64)).unwrap();
    let commands = commands(&device, &kernel, &[Binding::slot(0, 64)]);
    for _ in 0..3 {
        let done = device.semaphore(0);
        device.queue(0).unwrap().submit(&commands, Submit::new().bind(&buffer).signal(&done, 1)).unwrap();
        let error = done.wait(1, Deadline::default()).unwrap_err();
        assert!(error.to_string().contains("64 bytes"), "{error}");
    }
}

#[test]
fn the_threads_parameter_is_validated() {
    for (uri, word) in [("cpu?threads=0", "1 to 1024"), ("cpu?threads=many", "1 to 1024"), ("cpu:1", "no device 1")] {
        let error = open(uri, None).err().unwrap().to_string();
        assert!(error.contains(word), "{uri}: {error}");
    }
    open("cpu:0?threads=1", None).unwrap();
}
