//! The HAL's work between a call and a driver: delaying submissions, staging, pooling, releasing
//! memory.

use std::time::Duration;

use roci_hal::null::NullDriver;
use roci_hal::{BufferDesc, Device, Error, Registry, Submit};

const LONG: Duration = Duration::from_secs(60);

fn device() -> Device {
    Registry::new().with(NullDriver::new(1)).open(&"null".parse().unwrap(), None).unwrap()
}

#[test]
fn a_long_chain_is_released_without_recursion() {
    let device = device();
    let buffer = device.allocate(BufferDesc::host(4)).unwrap();
    let queue = device.queue(0).unwrap();
    let time = device.semaphore(0);
    for step in 1..=10_000u64 {
        let submit = Submit::new().wait(&time, step).signal(&time, step + 1);
        match step % 3 {
            0 => queue.barrier(submit).unwrap(),
            _ => queue.write(&buffer, (step as u32).to_ne_bytes().to_vec(), submit).unwrap(),
        }
    }
    // On a small stack, so that deep recursion would overflow it.
    let release = time.clone();
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(move || release.signal(1)).unwrap();
    thread.join().unwrap().unwrap();
    time.wait(10_001, LONG).unwrap();
    assert_eq!(device.read(&buffer).unwrap(), 10_000u32.to_ne_bytes());
}

#[test]
fn a_failure_propagates_through_a_long_chain() {
    let device = device();
    let queue = device.queue(0).unwrap();
    let links: Vec<_> = (0..10_001).map(|_| device.semaphore(0)).collect();
    for pair in links.windows(2) {
        queue.barrier(Submit::new().wait(&pair[0], 1).signal(&pair[1], 1)).unwrap();
    }
    let first = links[0].clone();
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    thread.spawn(move || first.fail(Error::invalid("link", "broke"))).unwrap().join().unwrap();
    assert_eq!(links[10_000].wait(1, LONG).unwrap_err().to_string(), "link: broke");
}

#[test]
fn a_chain_of_dropped_semaphores_fails_without_recursion() {
    let device = device();
    let queue = device.queue(0).unwrap();
    let first = device.semaphore(0);
    let mut last = first.clone();
    for _ in 0..10_000 {
        let next = device.semaphore(0);
        queue.barrier(Submit::new().wait(&last, 1).signal(&next, 1)).unwrap();
        last = next;
    }
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    thread.spawn(move || drop(first)).unwrap().join().unwrap();
    let error = last.wait(1, LONG).unwrap_err();
    assert_eq!(error.to_string(), "semaphore: its last handle was dropped before it reached the awaited value");
}

#[test]
fn staging_buffers_are_reused() {
    let device = device();
    let buffer = device.allocate(BufferDesc::device(5000)).unwrap();
    let data: Vec<u8> = (0..5000u32).map(|index| index as u8).collect();
    assert_eq!(device.pooled_bytes(), 0);
    device.write(&buffer, &data).unwrap();
    let staged = device.pooled_bytes();
    assert!((5000..=6000).contains(&staged), "{staged} bytes of staging");
    assert_eq!(device.read(buffer.range(3, 4990).unwrap()).unwrap(), data[3..4993]);
    assert_eq!(device.pooled_bytes(), staged);
    device.trim();
    assert_eq!(device.pooled_bytes(), 0);
    assert_eq!(device.read(&buffer).unwrap(), data);
}

#[test]
fn stream_ordered_memory_is_reused_by_type_and_size() {
    let device = device();
    let queue = device.queue(0).unwrap();
    let round = |desc: BufferDesc| {
        let buffer = queue.alloca(desc, Submit::new()).unwrap();
        queue.dealloca(&buffer, Submit::new()).unwrap();
        device.pooled_bytes()
    };
    assert_eq!(round(BufferDesc::device(1 << 20)), 1 << 20);
    assert_eq!(round(BufferDesc::device(1 << 20)), 1 << 20);
    assert_eq!(round(BufferDesc::device((1 << 20) - 4)), 1 << 20);
    assert_eq!(round(BufferDesc::shared(1 << 20)), 2 << 20);
    // Dropping a buffer returns its memory, too.
    drop(queue.alloca(BufferDesc::device(1 << 20), Submit::new()).unwrap());
    assert_eq!(device.pooled_bytes(), 2 << 20);
}

#[test]
fn concurrent_reads_are_legal() {
    let device = device();
    let shared = device.allocate(BufferDesc::shared(1 << 16)).unwrap();
    device.write(&shared, &vec![3; 1 << 16]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..200 {
                    assert_eq!(device.read(&shared).unwrap()[..], [3; 1 << 16]);
                }
            });
        }
    });
}

#[test]
fn handles_may_be_dropped_in_flight() {
    let device = device();
    let queue = device.queue(0).unwrap();
    let gate = device.semaphore(0);
    let done = device.semaphore(0);
    let target = device.allocate(BufferDesc::host(64)).unwrap();
    {
        let source = device.allocate(BufferDesc::device(64)).unwrap();
        let mut recorder = device.record();
        recorder.fill(&source, 0x0101_0101).unwrap().barrier().copy(&source, &target).unwrap();
        let commands = recorder.finish().unwrap();
        queue.submit(&commands, Submit::new().wait(&gate, 1).signal(&done, 1)).unwrap();
        let scratch = queue.alloca(BufferDesc::device(64), Submit::new().wait(&done, 1)).unwrap();
        queue.dealloca(&scratch, Submit::new().wait(&gate, 2)).unwrap();
    }
    drop((queue, device));
    gate.signal(1).unwrap();
    done.wait(1, LONG).unwrap();
    assert_eq!(target.map().unwrap()[..], [1; 64]);
}

#[test]
fn losing_a_device_fails_waiting_work() {
    let device = device();
    let gate = device.semaphore(0);
    let done = device.semaphore(0);
    device.queue(1).unwrap().barrier(Submit::new().wait(&gate, 1).signal(&done, 1).label("later")).unwrap();
    device.lose("unplugged");
    let error = done.wait(1, LONG).unwrap_err();
    assert_eq!(error.to_string(), "null is lost: unplugged, nothing in flight, nothing finished before");
    let later = device.allocate(BufferDesc::device(4)).err().map(|error| error.to_string());
    assert_eq!(later, Some(error.to_string()));
}

#[test]
fn a_timeout_names_the_device_and_the_last_completed_command() {
    let device = device();
    let buffer = device.allocate(BufferDesc::device(64)).unwrap();
    let mut recorder = device.record();
    recorder.fill(&buffer, 0).unwrap();
    device.queue(0).unwrap().submit(&recorder.finish().unwrap(), Submit::new()).unwrap();
    let error = device.semaphore(0).wait(1, Duration::from_millis(1)).unwrap_err().to_string();
    assert!(error.starts_with("no completion within 0.0"), "{error}");
    assert!(error.ends_with(" s on null, nothing in flight, last finished: \"fill\""), "{error}");
}
