//! Stress: queues and runtimes are created and destroyed many times, and many threads share few
//! queues. Nothing may leak, and no signal may be lost. `ROCI_STRESS_SECONDS=60` sets the duration
//! of the last test.

#![expect(unsafe_code, reason = "packets are written to memory as clients write them")]

mod clang;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use roci_emu_hsa::Config;
use roci_hsa::abi::{
    DeviceType, FenceScope, KernelDispatchPacket, MemoryPoolFlag, PACKET_SIZE, PacketHeader, PacketType,
    SignalAttribute, SignalCondition, Status, WaitState,
};
use roci_hsa::runtime::{Agent, Queue, QueueOptions, Runtime, Source, Table};

const CHIP: roci_emu::Chip = roci_emu::Chip::Gfx1010;
/// Timeout of a wait for a signal, in system clock ticks.
const TIMEOUT: u64 = 60 * 1_000_000_000;
/// Bytes that allocators may retain.
const SLACK: u64 = 24 << 20;

/// Tests run one at a time: each counts resources of the process.
static TEST_LOCK: Mutex<()> = Mutex::new(());

/// Resources of the process that can leak.
#[derive(Clone, Copy, Debug)]
struct ProcessResources {
    bytes: u64,
    threads: usize,
    files: usize,
    mappings: usize,
}

impl ProcessResources {
    fn now() -> Self {
        let entries = |folder: &str| std::fs::read_dir(folder).expect("procfs is mounted").count();
        let pages = std::fs::read_to_string("/proc/self/statm").expect("procfs is mounted");
        let resident: u64 =
            pages.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("the second is a number");
        let mappings = std::fs::read_to_string("/proc/self/maps").expect("procfs is mounted").lines().count();
        Self { bytes: resident * 4096, threads: entries("/proc/self/task"), files: entries("/proc/self/fd"), mappings }
    }

    /// Fails if there are more now; threads that have ended get time to exit.
    fn assert_same(self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let now = Self::now();
            let same = now.bytes <= self.bytes + SLACK && now.mappings <= self.mappings + 16;
            if same && now.threads <= self.threads && now.files <= self.files {
                return;
            }
            assert!(Instant::now() < deadline, "before: {self:?}, now: {now:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn open() -> (Runtime, Agent, Agent) {
    roci_emu_hsa::provide(Config { quiet: true, ..Config::new(vec![CHIP]) });
    // SAFETY: the emulated runtime fulfills the contract of `Table::new`.
    let table = unsafe { Table::new(roci_emu_hsa::api(), "emulated") };
    let runtime = Runtime::open(Source::Table(table)).expect("the table is complete");
    let agents = runtime.agents().expect("agents can be listed");
    let find =
        |kind| agents.iter().find(|agent| agent.device_type().ok() == Some(kind)).expect("a CPU and a GPU").clone();
    (runtime, find(DeviceType::CPU), find(DeviceType::GPU))
}

fn queue(gpu: &Agent, size: u32) -> Queue {
    let options = QueueOptions { size, ..QueueOptions::default() };
    gpu.create_queue(&options, |status| panic!("the queue fails: {status}")).expect("a queue")
}

/// Submits a packet concurrently with other threads: reserve, write, publish, ring.
fn submit(queue: &Queue, packet: &KernelDispatchPacket) {
    let index = queue.write_index().fetch_add(1, Ordering::Relaxed);
    while index - queue.read_index().load(Ordering::Acquire) >= u64::from(queue.size()) {
        std::thread::yield_now();
    }
    let slot = queue.ring().as_ptr().wrapping_add((index % u64::from(queue.size())) as usize * PACKET_SIZE);
    let (from, to) = ((&raw const *packet).cast::<u8>().wrapping_add(4), slot.wrapping_add(4));
    // SAFETY: this thread has reserved the slot; the first word, which makes it valid, is not
    // written here.
    unsafe { std::ptr::copy_nonoverlapping(from, to, PACKET_SIZE - 4) };
    // SAFETY: the first word of a slot is only accessed atomically.
    let head = unsafe { &*slot.cast::<AtomicU32>() };
    let header = PacketHeader::new(PacketType::KERNEL_DISPATCH, false, FenceScope::SYSTEM, FenceScope::SYSTEM);
    head.store(header.with_next(packet.setup), Ordering::Release);
    queue.doorbell().store(index, Ordering::Release);
}

#[test]
fn ten_thousand_queues_leak_nothing() {
    let _lock = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let (_runtime, _cpu, gpu) = open();
    drop(queue(&gpu, 64));
    let before = ProcessResources::now();
    for round in 0..2_500 {
        // Several at once, destroyed in another order.
        let mut queues: Vec<Queue> = (0..4).map(|index| queue(&gpu, 64 << index)).collect();
        drop(queues.swap_remove(round % 4));
    }
    before.assert_same();
}

#[test]
fn a_thousand_runtimes_leak_nothing() {
    let _lock = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    roci_emu_hsa::provide(Config { quiet: true, ..Config::new(vec![CHIP]) });
    let api = roci_emu_hsa::api();
    let mut before = None;
    for round in 0..1_000 {
        // SAFETY: these functions take no arguments.
        assert_eq!(unsafe { (api.hsa_init)() }, Status::SUCCESS);
        if round % 10 == 0 {
            // Objects of the runtime must be freed with it.
            let (runtime, _cpu, gpu) = open();
            let signal = runtime.create_signal(1, &[], SignalAttribute::EMPTY).expect("a signal");
            drop((queue(&gpu, 64), signal));
        }
        // SAFETY: as above.
        assert_eq!(unsafe { (api.hsa_shut_down)() }, Status::SUCCESS);
        if round == 20 {
            before = Some(ProcessResources::now());
        }
    }
    before.expect("there are more rounds").assert_same();
    // SAFETY: as above.
    assert_eq!(unsafe { (api.hsa_shut_down)() }, Status::ERROR_NOT_INITIALIZED);
}

#[test]
fn eight_threads_on_four_queues_lose_no_signal() {
    const THREADS: usize = 8;
    const BATCH: u32 = 16;
    let _lock = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(clang) = clang::Clang::find() else { return };
    let (runtime, cpu, gpu) = open();
    let source = "kernel void count(global unsigned *to) {
                      __opencl_atomic_fetch_add((global atomic_uint *)to + __builtin_amdgcn_workitem_id_x(), 1,
                          memory_order_relaxed, memory_scope_device);
                  }";
    let code = clang.compile(source, CHIP.name());
    let executable = runtime.load(code.into(), &[&gpu]).expect("the code runs on this chip");
    let kernel = executable.kernel("count.kd", &gpu).expect("the source has it");
    let pools = cpu.pools().expect("pools can be listed");
    let memory = pools[0].allocate(THREADS * 512, MemoryPoolFlag::STANDARD_FLAG).expect("there is memory");
    memory.allow_access(&[&gpu]).expect("the GPU gets access");
    let start = memory.address().as_ptr().expose_provenance() as u64;
    let queues: Vec<Queue> = (0..4).map(|_| queue(&gpu, 64)).collect();
    let limit = Duration::from_secs(roci_testkit::stress_seconds().unwrap_or(3));
    let (begin, batches) = (Instant::now(), AtomicU64::new(0));
    let before = Mutex::new(None);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (queues, runtime, batches, before) = (&queues, &runtime, &batches, &before);
            // Counters, then the kernel argument with their address.
            let counters = start + thread as u64 * 512;
            scope.spawn(move || {
                let done = runtime.create_signal(0, &[], SignalAttribute::EMPTY).expect("a signal");
                let arguments = std::ptr::with_exposed_provenance_mut::<u64>((counters + 256) as usize);
                // SAFETY: inside the allocation, in the part of this thread.
                unsafe { arguments.write(counters) };
                // SAFETY: the same; kernels modify it atomically.
                let count = unsafe { &*std::ptr::with_exposed_provenance::<[AtomicU32; 64]>(counters as usize) };
                let packet = KernelDispatchPacket {
                    setup: 1,
                    workgroup_size_x: 64,
                    workgroup_size_y: 1,
                    workgroup_size_z: 1,
                    grid_size_x: 64,
                    grid_size_y: 1,
                    grid_size_z: 1,
                    kernel_object: kernel.object,
                    kernarg_address: counters + 256,
                    completion_signal: done.handle(),
                    ..KernelDispatchPacket::default()
                };
                let mut round = 0_u32;
                while begin.elapsed() < limit {
                    done.store(i64::from(BATCH));
                    for index in 0..BATCH as usize {
                        submit(&queues[(thread + index * round as usize) % queues.len()], &packet);
                    }
                    let value = done.wait(SignalCondition::EQ, 0, TIMEOUT, WaitState::BLOCKED);
                    assert_eq!(value, 0, "thread {thread}: a signal was lost in round {round}");
                    round += 1;
                    let counts = count.each_ref().map(|one| one.load(Ordering::Acquire));
                    assert_eq!(counts, [round * BATCH; 64], "thread {thread}, round {round}");
                    if batches.fetch_add(1, Ordering::Relaxed) == 200 {
                        *before.lock().expect("no panic") = Some(ProcessResources::now());
                    }
                }
            });
        }
    });
    let before = before.into_inner().expect("no panic");
    before.expect("there are hundreds of batches in a second").assert_same();
    assert!(
        queues
            .iter()
            .all(|queue| { queue.read_index().load(Ordering::Acquire) == queue.write_index().load(Ordering::Acquire) })
    );
}
