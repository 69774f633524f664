//! Queues, packets, signals and copies through the C interface, as a driver uses it.

#![expect(unsafe_code, reason = "packets are written to memory as clients write them")]

mod clang;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use roci_emu_hsa::Config;
use roci_hsa::abi::{
    self, AmdSignal, BarrierPacket, BarrierValuePacket, DeviceType, FenceScope, KernelDispatchPacket, MemoryPoolFlag,
    PACKET_SIZE, PacketHeader, PacketType, SignalAttribute, SignalCondition, SignalKind, Status, VendorFormat,
    WaitState, c_void,
};
use roci_hsa::runtime::{Agent, Allocation, Executable, Queue, QueueOptions, Runtime, Signal, Source, Wait};

/// Chip of most tests.
const CHIP: roci_emu::Chip = roci_emu::Chip::Gfx1010;

/// Runtime, GPU and CPU of a test.
struct Client {
    runtime: Runtime,
    gpu: Agent,
    cpu: Agent,
}

impl Client {
    fn new() -> Self {
        roci_emu_hsa::provide(Config { quiet: true, ..Config::new(vec![CHIP, roci_emu::Chip::Gfx1100]) });
        let runtime = Runtime::open(Source::Table(roci_emu_hsa::table())).expect("the table is complete");
        let agents = runtime.agents().expect("agents can be listed");
        let cpu = agents.iter().find(|agent| agent.device_type().ok() == Some(DeviceType::CPU)).expect("a CPU").clone();
        let gpu = agents.iter().find(|agent| agent.name().ok().as_deref() == Some(CHIP.name())).expect("a GPU").clone();
        Self { runtime, gpu, cpu }
    }

    fn queue(&self) -> Queue {
        let options = QueueOptions { size: 64, ..QueueOptions::default() };
        self.gpu.create_queue(&options, |status| panic!("the queue fails: {status}")).expect("a queue")
    }

    fn signal(&self, value: i64) -> Signal {
        self.runtime.create_signal(value, &[], SignalAttribute::EMPTY).expect("a signal")
    }

    /// Host memory that the GPU can access.
    fn memory(&self, bytes: usize) -> Allocation {
        let pools = self.cpu.pools().expect("pools can be listed");
        let memory = pools[0].allocate(bytes, MemoryPoolFlag::STANDARD_FLAG).expect("there is memory");
        memory.allow_access(&[&self.gpu]).expect("the GPU gets access");
        memory
    }

    /// A kernel that adds a number to words of memory.
    fn adder(&self) -> Option<Adder> {
        let text = "kernel void add(global unsigned *to, unsigned value) {
                        to[__builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x()] += value;
                    }
                    kernel void fault(global unsigned *to, unsigned value) { *(global unsigned *)16 = value; }
                    kernel void endless(global volatile unsigned *to, unsigned value) { while (!to[0]); }
                    kernel void trap(global unsigned *to, unsigned value) { __builtin_trap(); }";
        let code = clang::Clang::find()?.compile(text, CHIP.name());
        let executable = self.runtime.load(code.into(), &[&self.gpu]).expect("the code runs on this chip");
        Some(Adder { executable, gpu: self.gpu.clone(), arguments: self.memory(4096) })
    }
}

struct Adder {
    executable: Executable,
    gpu: Agent,
    arguments: Allocation,
}

impl Adder {
    /// Dispatch packet for `groups` workgroups of 64.
    fn packet(&self, name: &str, to: u64, value: u32, groups: u32, slot: usize, done: &Signal) -> KernelDispatchPacket {
        let kernel = self.executable.kernel(&format!("{name}.kd"), &self.gpu).expect("the source has it");
        let kernarg = self.arguments.address().as_ptr().wrapping_add(64 * slot);
        // SAFETY: inside the kernarg memory; no packet uses the slot yet.
        unsafe { kernarg.cast::<u64>().write(to) };
        // SAFETY: as above.
        unsafe { kernarg.wrapping_add(8).cast::<u32>().write(value) };
        KernelDispatchPacket {
            setup: 1,
            workgroup_size_x: 64,
            workgroup_size_y: 1,
            workgroup_size_z: 1,
            grid_size_x: 64 * groups,
            grid_size_y: 1,
            grid_size_z: 1,
            private_segment_size: kernel.private_size,
            group_segment_size: kernel.group_size,
            kernel_object: kernel.object,
            kernarg_address: kernarg.expose_provenance() as u64,
            completion_signal: done.handle(),
            ..KernelDispatchPacket::default()
        }
    }
}

const HEADER: PacketHeader =
    PacketHeader::new(PacketType::KERNEL_DISPATCH, true, FenceScope::SYSTEM, FenceScope::SYSTEM);

/// Writes a packet without its header, which makes it valid later.
fn write<P>(queue: &Queue, index: u64, packet: &P) {
    let slot = (index & u64::from(queue.size() - 1)) as usize * PACKET_SIZE;
    let packet_slot = queue.ring().as_ptr().wrapping_add(slot);
    let body = (&raw const *packet).cast::<u8>().wrapping_add(4);
    // SAFETY: the slot has the size of a packet; the first word is left unchanged.
    unsafe { std::ptr::copy_nonoverlapping(body, packet_slot.wrapping_add(4), PACKET_SIZE - 4) };
}

/// Makes a packet valid.
fn publish(queue: &Queue, index: u64, header: PacketHeader, next: u16) {
    let slot = (index & u64::from(queue.size() - 1)) as usize * PACKET_SIZE;
    // SAFETY: inside the ring buffer; the first word is only accessed atomically.
    let head = unsafe { &*queue.ring().as_ptr().wrapping_add(slot).cast::<AtomicU32>() };
    head.store(header.with_next(next), Ordering::Release);
}

/// Submits a packet as a driver does, without a call: reserve, write, publish, ring.
fn submit<P>(queue: &Queue, packet: &P, header: PacketHeader, next: u16) {
    let index = queue.write_index().fetch_add(1, Ordering::Relaxed);
    while index - queue.read_index().load(Ordering::Acquire) >= u64::from(queue.size()) {
        std::thread::yield_now();
    }
    write(queue, index, packet);
    publish(queue, index, header, next);
    queue.doorbell().store(index, Ordering::Release);
}

fn words(memory: &Allocation) -> &[AtomicU32] {
    // SAFETY: words of a live allocation that are only accessed atomically.
    unsafe { std::slice::from_raw_parts(memory.address().as_ptr().cast(), memory.size() / 4) }
}

fn address(memory: &Allocation) -> u64 {
    memory.address().as_ptr().expose_provenance() as u64
}

fn wait(signal: &Signal) {
    let value = signal.wait(SignalCondition::LT, 1, 20 * 1_000_000_000, WaitState::BLOCKED);
    assert!(value < 1, "not complete after 20 seconds: {value}");
}

#[test]
fn kernels_run_in_order_across_ring_wraparound() {
    let client = Client::new();
    let Some(adder) = client.adder() else { return };
    let (queue, memory, done) = (client.queue(), client.memory(4 * 256), client.signal(200));
    for round in 0..200 {
        let packet = adder.packet("add", address(&memory), round + 1, 4, round as usize % 60, &done);
        submit(&queue, &packet, HEADER, 1);
        if round % 50 == 49 {
            // Kernel arguments of a slot are reused only after its kernel.
            done.wait(SignalCondition::LT, i64::from(150 - round / 50 * 50) + 1, u64::MAX, WaitState::BLOCKED);
        }
    }
    wait(&done);
    assert!(words(&memory).iter().all(|word| word.load(Ordering::Relaxed) == 200 * 201 / 2));
    assert_eq!(queue.read_index().load(Ordering::Acquire), 200);
}

#[test]
fn a_packet_may_become_valid_after_the_doorbell() {
    let client = Client::new();
    let Some(adder) = client.adder() else { return };
    let (queue, memory, done) = (client.queue(), client.memory(256), client.signal(2));
    let first = queue.write_index().fetch_add(2, Ordering::Relaxed);
    for index in [first, first + 1] {
        write(&queue, index, &adder.packet("add", address(&memory), 5, 1, index as usize, &done));
    }
    queue.doorbell().store(first + 1, Ordering::Release);
    publish(&queue, first + 1, HEADER, 1);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(done.load(), 2, "the first packet is not valid yet, so that none ran");
    publish(&queue, first, HEADER, 1);
    wait(&done);
    assert_eq!(words(&memory)[0].load(Ordering::Relaxed), 10);
}

#[test]
fn a_completion_signal_may_be_in_any_memory() {
    let client = Client::new();
    let Some(adder) = client.adder() else { return };
    let (queue, memory) = (client.queue(), client.memory(4096));
    queue.set_profiling(true).expect("times can be taken");
    let raw = memory.address().as_ptr().wrapping_add(1024).cast::<AmdSignal>();
    // SAFETY: the address is aligned and inside this test's memory.
    unsafe { raw.write(AmdSignal { kind: SignalKind::USER, value: AtomicI64::new(1), ..AmdSignal::default() }) };
    let mut packet = adder.packet("add", address(&memory), 1, 1, 0, &client.signal(0));
    packet.completion_signal = abi_signal(raw);
    submit(&queue, &packet, HEADER, 1);
    // SAFETY: alive, and fields that change are atomic.
    let signal = unsafe { &*raw };
    let start = Instant::now();
    while signal.value.load(Ordering::Acquire) != 0 {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    let (begin, end) = (signal.start_ts.load(Ordering::Relaxed), signal.end_ts.load(Ordering::Relaxed));
    assert!(begin > 0 && begin <= end, "{begin} to {end}");
}

fn abi_signal(memory: *mut AmdSignal) -> abi::Signal {
    abi::Signal { handle: memory.expose_provenance() as u64 }
}

#[test]
fn barriers_wait_for_signals() {
    let client = Client::new();
    let Some(adder) = client.adder() else { return };
    let (queue, memory, done) = (client.queue(), client.memory(256), client.signal(1));
    let (first, second, third) = (client.signal(1), client.signal(1), client.signal(7));
    let header = |kind| PacketHeader::new(kind, true, FenceScope::NONE, FenceScope::NONE);
    let barrier = |signals: &[&Signal]| {
        let mut packet = BarrierPacket::default();
        for (dependency, signal) in packet.dep_signal.iter_mut().zip(signals) {
            *dependency = signal.handle();
        }
        packet
    };
    submit(&queue, &barrier(&[&first, &second]), header(PacketType::BARRIER_AND), 0);
    submit(&queue, &barrier(&[&first, &second]), header(PacketType::BARRIER_OR), 0);
    submit(&queue, &barrier(&[]), header(PacketType::BARRIER_AND), 0);
    let value = BarrierValuePacket {
        signal: third.handle(),
        value: 2,
        mask: 6,
        cond: SignalCondition::EQ,
        ..BarrierValuePacket::default()
    };
    submit(&queue, &value, header(PacketType::VENDOR_SPECIFIC), u16::from(VendorFormat::BARRIER_VALUE.0));
    submit(&queue, &adder.packet("add", address(&memory), 1, 1, 0, &done), HEADER, 1);
    let waits = |what: &str| {
        std::thread::sleep(Duration::from_millis(10));
        assert_eq!(done.load(), 1, "{what}");
    };
    waits("for both");
    first.store(0);
    waits("for the second");
    // By a plain memory write, as another device does.
    second.in_memory().value.store(0, Ordering::Release);
    waits("for a value");
    third.store(3);
    wait(&done);
}

#[test]
fn wait_any_returns_on_one_signal() {
    let client = Client::new();
    let (first, second) = (client.signal(5), client.signal(5));
    let waits = [
        Wait { signal: &first, condition: SignalCondition::NE, value: 5 },
        Wait { signal: &second, condition: SignalCondition::LT, value: 3 },
    ];
    assert_eq!(client.runtime.wait_any(&waits, 1000, WaitState::BLOCKED), None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(5));
            second.store(2);
        });
        assert_eq!(client.runtime.wait_any(&waits, u64::MAX, WaitState::BLOCKED), Some((1, 2)));
    });
}

#[test]
fn handlers_are_called_until_they_return_false() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn handler(value: i64, argument: *mut c_void) -> bool {
        assert_eq!(argument as usize, 77);
        CALLS.fetch_add(value as u32, Ordering::SeqCst);
        CALLS.load(Ordering::SeqCst) < 6
    }
    let client = Client::new();
    let signal = client.signal(0);
    let argument = std::ptr::without_provenance_mut(77);
    let add = client.runtime.api().hsa_amd_signal_async_handler;
    // SAFETY: the handler does not use its argument.
    let status = unsafe { add(signal.handle(), SignalCondition::GTE, 2, Some(handler), argument) };
    assert_eq!(status, Status::SUCCESS);
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(CALLS.load(Ordering::SeqCst), 0);
    signal.store(2);
    let start = Instant::now();
    while CALLS.load(Ordering::SeqCst) < 6 {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(CALLS.load(Ordering::SeqCst), 6, "called again after it returned false");
}

#[test]
fn destroying_a_signal_removes_its_handlers() {
    unsafe extern "C" fn count(_: i64, argument: *mut c_void) -> bool {
        // SAFETY: the argument is one of the counters below.
        unsafe { &*argument.cast::<AtomicU32>() }.fetch_add(1, Ordering::SeqCst);
        true
    }
    static CALLS: [AtomicU32; 3] = [const { AtomicU32::new(0) }; 3];
    let client = Client::new();
    let add = client.runtime.api().hsa_amd_signal_async_handler;
    let wait_for = |signal: &Signal, calls: &'static AtomicU32| {
        let argument = (&raw const *calls).cast_mut().cast();
        // SAFETY: the counter is leaked.
        let status = unsafe { add(signal.handle(), SignalCondition::LT, 1, Some(count), argument) };
        assert_eq!(status, Status::SUCCESS);
    };
    for (attributes, calls) in [(SignalAttribute::EMPTY, &CALLS[0]), (SignalAttribute::IPC, &CALLS[1])] {
        let signal = client.runtime.create_signal(1, &[], attributes).expect("a signal");
        wait_for(&signal, calls);
    }
    // It may reuse the address of the first.
    let signal = client.signal(0);
    wait_for(&signal, &CALLS[2]);
    let start = Instant::now();
    while CALLS[2].load(Ordering::SeqCst) < 3 {
        assert!(start.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    // While its handler is called repeatedly.
    drop(signal);
    std::thread::sleep(Duration::from_millis(5));
    let calls = [0, 1, 2].map(|index| CALLS[index].load(Ordering::SeqCst));
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(calls, [0, 0, CALLS[2].load(Ordering::SeqCst)]);
}

#[test]
fn copies_wait_for_signals() {
    let client = Client::new();
    let (from, to) = (client.memory(4096), client.memory(4096));
    words(&from)[1000].store(42, Ordering::Relaxed);
    let (gate, done) = (client.signal(1), client.signal(1));
    // SAFETY: both live until the copy is complete.
    unsafe {
        client.runtime.async_copy(
            (to.address().as_ptr().cast(), &client.gpu),
            (from.address().as_ptr().cast(), &client.cpu),
            4096,
            &[&gate],
            &done,
        )
    }
    .expect("the copy starts");
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!((done.load(), words(&to)[1000].load(Ordering::Relaxed)), (1, 0));
    gate.store(0);
    wait(&done);
    assert_eq!(words(&to)[1000].load(Ordering::Relaxed), 42);
}

/// A queue that records its errors.
fn recording_queue(client: &Client) -> (Queue, Arc<Mutex<Vec<Status>>>) {
    let errors = Arc::new(Mutex::new(Vec::new()));
    let note = Arc::clone(&errors);
    let options = QueueOptions { size: 64, ..QueueOptions::default() };
    let queue = client.gpu.create_queue(&options, move |status| note.lock().expect("no panic").push(status));
    (queue.expect("a queue"), errors)
}

fn first_error(errors: &Mutex<Vec<Status>>) -> Status {
    let start = Instant::now();
    loop {
        if let Some(status) = errors.lock().expect("no panic").first() {
            return *status;
        }
        assert!(start.elapsed() < Duration::from_secs(60), "no error");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_fault_stops_only_its_queue() {
    let client = Client::new();
    let Some(adder) = client.adder() else { return };
    let memory = client.memory(256);
    let expected = [("fault", Status::ERROR_MEMORY_FAULT), ("trap", Status::ERROR_EXCEPTION)];
    for (slot, (name, status)) in expected.into_iter().enumerate() {
        let (queue, errors) = recording_queue(&client);
        let done = client.signal(1);
        submit(&queue, &adder.packet(name, address(&memory), 1, 1, slot, &done), HEADER, 1);
        assert_eq!(first_error(&errors), status);
        assert_eq!(done.load(), 1, "it is not complete");
    }
    let fault = roci_emu_hsa::last_fault().expect("there was one");
    assert!(fault.contains("kernel trap") || fault.contains("kernel fault"), "{fault}");
    let (queue, done) = (client.queue(), client.signal(1));
    submit(&queue, &adder.packet("add", address(&memory), 3, 1, 5, &done), HEADER, 1);
    wait(&done);
    assert_eq!(words(&memory)[0].load(Ordering::Relaxed), 3);
}

#[test]
fn invalid_packets_stop_the_queue() {
    let client = Client::new();
    let Some(adder) = client.adder() else { return };
    let memory = client.memory(256);
    let right = adder.packet("add", address(&memory), 1, 1, 0, &client.signal(1));
    let agent = PacketHeader::new(PacketType::AGENT_DISPATCH, true, FenceScope::NONE, FenceScope::NONE);
    let cases = [
        (KernelDispatchPacket { kernel_object: 1, ..right }, HEADER, 1, Status::ERROR_INVALID_CODE_OBJECT),
        (right, HEADER, 0, Status::ERROR_INVALID_PACKET_FORMAT),
        (KernelDispatchPacket { workgroup_size_x: 2048, ..right }, HEADER, 1, Status::ERROR_INCOMPATIBLE_ARGUMENTS),
        (KernelDispatchPacket { workgroup_size_x: 0, ..right }, HEADER, 1, Status::ERROR_INVALID_ARGUMENT),
        (KernelDispatchPacket { group_segment_size: 1 << 20, ..right }, HEADER, 1, Status::ERROR_INVALID_ALLOCATION),
        (KernelDispatchPacket { private_segment_size: 1 << 30, ..right }, HEADER, 1, Status::ERROR_OUT_OF_RESOURCES),
        (right, agent, 1, Status::ERROR_INVALID_PACKET_FORMAT),
    ];
    for (packet, header, setup, status) in cases {
        let (queue, errors) = recording_queue(&client);
        submit(&queue, &packet, header, setup);
        assert_eq!(first_error(&errors), status, "{packet:?}");
    }
}

#[test]
fn an_empty_grid_completes_and_an_endless_kernel_is_stopped() {
    let client = Client::new();
    let Some(adder) = client.adder() else { return };
    let (queue, memory, done) = (client.queue(), client.memory(256), client.signal(1));
    let empty = KernelDispatchPacket { grid_size_x: 0, ..adder.packet("add", address(&memory), 1, 1, 0, &done) };
    submit(&queue, &empty, HEADER, 1);
    wait(&done);
    let never = client.signal(1);
    submit(&queue, &adder.packet("endless", address(&memory), 1, 1, 1, &never), HEADER, 1);
    std::thread::sleep(Duration::from_millis(5));
    let start = Instant::now();
    drop(queue);
    assert!(start.elapsed() < Duration::from_secs(60), "destroying a queue stops what it runs");
    assert_eq!(never.load(), 1);
}

#[test]
fn queues_and_runtimes_can_be_recreated() {
    let client = Client::new();
    for _ in 0..200 {
        drop(client.queue());
    }
    for _ in 0..50 {
        drop(Client::new());
    }
    let options = QueueOptions { size: 100, ..QueueOptions::default() };
    assert!(client.gpu.create_queue(&options, |_| {}).is_err(), "no power of two");
    assert!(client.cpu.create_queue(&QueueOptions::default(), |_| {}).is_err(), "a CPU has none");
}

#[test]
fn threads_share_queues() {
    let client = Client::new();
    let Some(adder) = client.adder() else { return };
    let queues = [client.queue(), client.queue()];
    let memory = client.memory(4 * 64 * 4);
    let failed = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..4usize {
            let (client, adder, queues, memory, failed) = (&client, &adder, &queues, &memory, &failed);
            scope.spawn(move || {
                let to = address(memory) + 256 * thread as u64;
                for round in 0..50 {
                    let done = client.signal(1);
                    let packet = adder.packet("add", to, 1, 1, thread, &done);
                    submit(&queues[(thread + round) % 2], &packet, HEADER, 1);
                    let value = done.wait(SignalCondition::LT, 1, 20 * 1_000_000_000, WaitState::BLOCKED);
                    failed.fetch_or(value != 0, Ordering::Relaxed);
                }
            });
        }
    });
    assert!(!failed.into_inner(), "a signal was lost");
    assert!(words(&memory).iter().all(|word| word.load(Ordering::Relaxed) == 50));
}
