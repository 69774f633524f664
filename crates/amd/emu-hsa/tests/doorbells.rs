//! Doorbells: any write wakes the thread of a sleeping queue, and an idle queue uses no CPU time.

#![expect(unsafe_code, reason = "packets are written to memory as clients write them")]

mod clang;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use roci_emu_hsa::Config;
use roci_hsa::abi::{
    BarrierPacket, DeviceType, FenceScope, KernelDispatchPacket, MemoryPoolFlag, PACKET_SIZE, PacketHeader, PacketType,
    SignalAttribute, SignalCondition, Status, WaitState,
};
use roci_hsa::runtime::{Agent, Queue, QueueOptions, Runtime, Signal, Source};

const CHIP: roci_emu::Chip = roci_emu::Chip::Gfx1010;
/// Timeout of a wait for a signal, in system clock ticks.
const TIMEOUT: u64 = 20 * 1_000_000_000;
/// Time after which the thread of an idle queue sleeps.
const IDLE_TIME: Duration = Duration::from_millis(20);

/// Tests run one at a time: each has its own runtime and counts the threads of the process.
static TEST_LOCK: Mutex<()> = Mutex::new(());

struct Client {
    runtime: Runtime,
    cpu: Agent,
    gpu: Agent,
}

impl Client {
    fn new(polls: bool) -> Self {
        roci_emu_hsa::provide(Config { quiet: true, poll_doorbells: polls, ..Config::new(vec![CHIP]) });
        let runtime = Runtime::open(Source::Table(roci_emu_hsa::table())).expect("the table is complete");
        let agents = runtime.agents().expect("agents can be listed");
        let find = |kind| agents.iter().find(|agent| agent.device_type().ok() == Some(kind)).expect("a CPU and a GPU");
        let (cpu, gpu) = (find(DeviceType::CPU).clone(), find(DeviceType::GPU).clone());
        Self { runtime, cpu, gpu }
    }

    fn queue(&self) -> Queue {
        let options = QueueOptions { size: 64, ..QueueOptions::default() };
        self.gpu.create_queue(&options, |status| panic!("the queue fails: {status}")).expect("a queue")
    }

    fn signal(&self, value: i64) -> Signal {
        self.runtime.create_signal(value, &[], SignalAttribute::EMPTY).expect("a signal")
    }
}

fn wait(done: &Signal) {
    let value = done.wait(SignalCondition::EQ, 0, TIMEOUT, WaitState::BLOCKED);
    assert_eq!(value, 0, "a doorbell was missed");
}

/// Writes a packet except for its first word and returns the slot.
fn write<P>(queue: &Queue, index: u64, packet: &P) -> *mut u8 {
    let slot = queue.ring().as_ptr().wrapping_add((index % u64::from(queue.size())) as usize * PACKET_SIZE);
    let (from, to) = ((&raw const *packet).cast::<u8>().wrapping_add(4), slot.wrapping_add(4));
    // SAFETY: the slot has the size of a packet, and this thread has reserved it.
    unsafe { std::ptr::copy_nonoverlapping(from, to, PACKET_SIZE - 4) };
    slot
}

fn header(kind: PacketType) -> PacketHeader {
    PacketHeader::new(kind, true, FenceScope::SYSTEM, FenceScope::SYSTEM)
}

/// Publishes a packet that only completes a signal and returns its index.
fn publish(queue: &Queue, done: &Signal) -> u64 {
    let index = queue.write_index().fetch_add(1, Ordering::Relaxed);
    publish_at(queue, index, done);
    index
}

/// The same at a given index.
fn publish_at(queue: &Queue, index: u64, done: &Signal) {
    let slot = write(queue, index, &BarrierPacket { completion_signal: done.handle(), ..BarrierPacket::default() });
    // SAFETY: the first word of a slot is only accessed atomically.
    let head = unsafe { &*slot.cast::<AtomicU32>() };
    head.store(header(PacketType::BARRIER_AND).with_next(0), Ordering::Release);
}

/// Publishes a packet and rings the doorbell in memory, as a driver does.
fn submit(queue: &Queue, done: &Signal) {
    queue.doorbell().store(publish(queue, done), Ordering::Release);
}

/// Total voluntary context switches of queue threads.
fn sleeps() -> u64 {
    let mut count = 0;
    for thread in std::fs::read_dir("/proc/self/task").expect("procfs is mounted") {
        // A thread may exit while it is inspected.
        let Ok(text) = std::fs::read_to_string(thread.expect("it can be read").path().join("status")) else { continue };
        let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        if field("Name:").is_some_and(|name| name.starts_with("roci-queue")) {
            count += field("voluntary_ctxt_switches:").and_then(|n| n.parse::<u64>().ok()).expect("a number");
        }
    }
    count
}

/// Whether the system allows userfaultfd; otherwise the test is reported as skipped.
fn traps() -> bool {
    const USER_MODE_ONLY: u32 = 1;
    // SAFETY: no page is registered.
    let opened = unsafe { rustix::mm::userfaultfd(rustix::mm::UserfaultfdFlags::from_bits_retain(USER_MODE_ONLY)) };
    roci_testkit::require("userfaultfd", opened.map(drop)).is_some()
}

#[test]
fn a_doorbell_wakes_a_sleeping_queue() {
    let _lock = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    for polls in [false, true] {
        let client = Client::new(polls);
        let (queues, done) = ([client.queue(), client.queue()], client.signal(0));
        for round in 0..40 {
            std::thread::sleep(Duration::from_micros(100 * (round % 20)));
            done.store(2);
            for queue in &queues {
                submit(queue, &done);
            }
            wait(&done);
        }
        // By a call, too.
        std::thread::sleep(IDLE_TIME);
        done.store(1);
        let index = publish(&queues[0], &done);
        // SAFETY: the queue is alive.
        let doorbell = unsafe { (*queues[0].as_ptr()).doorbell_signal };
        let ring = client.runtime.api().hsa_signal_store_screlease;
        // SAFETY: the signal is alive.
        unsafe { ring(doorbell, index as i64) };
        wait(&done);
    }
}

#[test]
fn a_doorbell_may_ring_before_its_packet_is_valid() {
    let _lock = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    for polls in [false, true] {
        let client = Client::new(polls);
        let (queue, done) = (client.queue(), client.signal(1));
        std::thread::sleep(IDLE_TIME);
        // A producer that does not use the write index of the queue.
        queue.doorbell().store(0, Ordering::Release);
        std::thread::sleep(IDLE_TIME);
        publish_at(&queue, 0, &done);
        wait(&done);
    }
}

#[test]
fn an_idle_queue_sleeps() {
    let _lock = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    if !traps() {
        return;
    }
    for polls in [false, true] {
        let client = Client::new(polls);
        let queues = [client.queue(), client.queue()];
        let done = client.signal(2);
        for queue in &queues {
            submit(queue, &done);
        }
        wait(&done);
        std::thread::sleep(IDLE_TIME);
        let before = sleeps();
        std::thread::sleep(10 * IDLE_TIME);
        assert_eq!(sleeps() > before, polls, "from {before} to {}", sleeps());
    }
}

#[test]
fn a_kernel_wakes_a_sleeping_queue() {
    let _lock = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(clang) = clang::Clang::find() else { return };
    let client = Client::new(false);
    let source =
        "kernel void enqueue(global unsigned *header, unsigned value, global ulong *index, global ulong *doorbell) {
                      *index = 1;
                      __opencl_atomic_store((global atomic_uint *)header, value, memory_order_release,
                          memory_scope_all_svm_devices);
                      *doorbell = 0;
                  }";
    let code = clang.compile(source, CHIP.name());
    let executable = client.runtime.load(code.into(), &[&client.gpu]).expect("the code runs on this chip");
    let kernel = executable.kernel("enqueue.kd", &client.gpu).expect("the source has it");
    let pools = client.cpu.pools().expect("pools can be listed");
    let memory = pools[0].allocate(4096, MemoryPoolFlag::STANDARD_FLAG).expect("there is memory");
    memory.allow_access(&[&client.gpu]).expect("the GPU gets access");
    let (first, second, done) = (client.queue(), client.queue(), client.signal(1));
    let target = write(&second, 0, &BarrierPacket { completion_signal: done.handle(), ..BarrierPacket::default() });
    let address = |pointer: *const u8| pointer.expose_provenance() as u64;
    let arguments = [
        address(target),
        header(PacketType::BARRIER_AND).with_next(0).into(),
        address((&raw const *second.write_index()).cast()),
        address((&raw const *second.doorbell()).cast()),
    ];
    // SAFETY: inside the allocation, and no kernel is running.
    unsafe { memory.address().as_ptr().cast::<[u64; 4]>().write(arguments) };
    let packet = KernelDispatchPacket {
        setup: 1,
        workgroup_size_x: 1,
        workgroup_size_y: 1,
        workgroup_size_z: 1,
        grid_size_x: 1,
        grid_size_y: 1,
        grid_size_z: 1,
        kernel_object: kernel.object,
        kernarg_address: address(memory.address().as_ptr().cast()),
        ..KernelDispatchPacket::default()
    };
    let slot = write(&first, 0, &packet);
    std::thread::sleep(IDLE_TIME);
    first.write_index().store(1, Ordering::Relaxed);
    // SAFETY: the first word of a slot is only accessed atomically.
    let head = unsafe { &*slot.cast::<AtomicU32>() };
    head.store(header(PacketType::KERNEL_DISPATCH).with_next(1), Ordering::Release);
    first.doorbell().store(0, Ordering::Release);
    wait(&done);
}

#[test]
fn a_doorbell_writer_continues_when_its_queue_is_destroyed() {
    let _lock = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let client = Client::new(false);
    let inactivate = client.runtime.api().hsa_queue_inactivate;
    for round in 0..50 {
        let (queue, end) = (client.queue(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !end.load(Ordering::Relaxed) {
                    // There is no packet, so the thread wakes and sleeps again.
                    queue.doorbell().store(0, Ordering::Release);
                    std::thread::sleep(Duration::from_micros(round * 5));
                }
                queue.doorbell().store(1, Ordering::Release);
            });
            std::thread::sleep(Duration::from_micros(500));
            // SAFETY: the queue is alive.
            assert_eq!(unsafe { inactivate(queue.as_ptr()) }, Status::SUCCESS);
            end.store(true, Ordering::Relaxed);
        });
    }
}
