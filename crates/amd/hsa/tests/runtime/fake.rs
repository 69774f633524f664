//! A fake runtime: three agents, one pool, signals, a queue that fails on demand, one kernel. Calls
//! are recorded in a log per thread, so tests do not see each other's calls.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use roci_hsa::Api;
use roci_hsa::abi::*;

thread_local! {
    static LOG: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static HANDLER: Cell<Option<(QueueErrorCallback, *mut c_void)>> = const { Cell::new(None) };
    static CODE: RefCell<HashMap<u64, bool>> = RefCell::new(HashMap::new());
}

/// Calls since the last time.
pub(crate) fn take_log() -> Vec<String> {
    LOG.take()
}

fn log(text: &str) {
    LOG.with_borrow_mut(|log| log.push(text.to_owned()));
}

/// Makes the queue of this thread fail.
pub(crate) fn fail_queue(status: Status) {
    let (callback, data) = HANDLER.get().expect("a queue was created");
    // SAFETY: the test keeps the queue alive.
    unsafe { callback(status, std::ptr::null_mut(), data) };
}

pub(crate) fn api() -> Api {
    Api {
        hsa_init: init,
        hsa_shut_down: shut_down,
        hsa_system_get_info: system_get_info,
        hsa_iterate_agents: iterate_agents,
        hsa_agent_get_info: agent_get_info,
        hsa_agent_iterate_isas: agent_iterate_isas,
        hsa_isa_get_info_alt: isa_get_info,
        hsa_amd_agent_iterate_memory_pools: iterate_pools,
        hsa_amd_memory_pool_get_info: pool_get_info,
        hsa_amd_memory_pool_allocate: allocate,
        hsa_amd_memory_pool_free: free,
        hsa_amd_agents_allow_access: allow_access,
        hsa_amd_signal_create: signal_create,
        hsa_signal_destroy: signal_destroy,
        hsa_signal_load_scacquire: signal_load,
        hsa_signal_store_screlease: signal_store,
        hsa_signal_wait_scacquire: signal_wait,
        hsa_amd_signal_wait_any: signal_wait_any,
        hsa_queue_create: queue_create,
        hsa_queue_destroy: queue_destroy,
        hsa_code_object_reader_create_from_memory: reader_create,
        hsa_code_object_reader_destroy: reader_destroy,
        hsa_executable_create_alt: executable_create,
        hsa_executable_destroy: executable_destroy,
        hsa_executable_load_agent_code_object: executable_load,
        hsa_executable_freeze: executable_freeze,
        hsa_executable_get_symbol_by_name: executable_symbol,
        hsa_executable_symbol_get_info: symbol_get_info,
        ..Api::unsupported()
    }
}

/// Writes an attribute.
unsafe fn put<T>(to: *mut c_void, value: T) -> Status {
    // SAFETY: the caller's buffer has the size of this attribute.
    unsafe { to.cast::<T>().write(value) };
    Status::SUCCESS
}

/// Writes an attribute of bytes.
unsafe fn put_bytes(to: *mut c_void, bytes: &[u8]) -> Status {
    // SAFETY: the caller's buffer has the size of this attribute and does not overlap.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    Status::SUCCESS
}

/// Calls the callback for each handle until it fails.
fn each<H>(handles: impl IntoIterator<Item = H>, mut call: impl FnMut(H) -> Status) -> Status {
    handles.into_iter().map(&mut call).find(|status| *status != Status::SUCCESS).unwrap_or(Status::SUCCESS)
}

unsafe extern "C" fn init() -> Status {
    log("init");
    Status::SUCCESS
}

unsafe extern "C" fn shut_down() -> Status {
    log("shut_down");
    Status::SUCCESS
}

unsafe extern "C" fn system_get_info(attribute: SystemInfo, value: *mut c_void) -> Status {
    match attribute {
        // SAFETY: the attribute has this type.
        SystemInfo::TIMESTAMP_FREQUENCY => unsafe { put(value, 100_000_000_u64) },
        _ => Status::ERROR_INVALID_ARGUMENT,
    }
}

unsafe extern "C" fn iterate_agents(callback: Option<AgentCallback>, data: *mut c_void) -> Status {
    let callback = callback.expect("a callback");
    // SAFETY: the data is that of the callback.
    let status = each([1, 2, 3], |handle| unsafe { callback(Agent { handle }, data) });
    if status != Status::SUCCESS {
        log(&format!("iteration ended with {status}"));
    }
    status
}

unsafe extern "C" fn agent_get_info(_agent: Agent, attribute: AgentInfo, value: *mut c_void) -> Status {
    /// A string in an array of `size` bytes.
    fn text(size: usize, text: &str) -> Vec<u8> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.resize(size, 0);
        bytes
    }
    let bytes = match attribute {
        AgentInfo::NAME => text(64, "gfx1010"),
        AgentInfo::UUID => text(21, "GPU-0123456789abcdef"),
        AgentInfo::DEVICE => DeviceType::GPU.0.to_ne_bytes().into(),
        AgentInfo::COMPUTE_UNIT_COUNT => 36_u32.to_ne_bytes().into(),
        AgentInfo::GRID_MAX_DIM => [7_u32, 8, 9].map(u32::to_ne_bytes).concat(),
        AgentInfo::PROFILE => Profile::BASE.0.to_ne_bytes().into(),
        AgentInfo::DEFAULT_FLOAT_ROUNDING_MODE => FloatRoundingMode::NEAR.0.to_ne_bytes().into(),
        _ => return Status::ERROR_INVALID_ARGUMENT,
    };
    // SAFETY: the caller's buffer has the size of this attribute.
    unsafe { put_bytes(value, &bytes) }
}

unsafe extern "C" fn agent_iterate_isas(_: Agent, callback: Option<IsaCallback>, data: *mut c_void) -> Status {
    // SAFETY: the data is that of the callback.
    unsafe { callback.expect("a callback")(Isa { handle: 1 }, data) }
}

unsafe extern "C" fn isa_get_info(_: Isa, attribute: IsaInfo, value: *mut c_void) -> Status {
    let name = *b"amdgcn-amd-amdhsa--gfx1010:xnack-\0";
    match attribute {
        // SAFETY: the attribute has this type.
        IsaInfo::NAME_LENGTH => unsafe { put(value, name.len() as u32) },
        // SAFETY: the caller has queried the length.
        IsaInfo::NAME => unsafe { put(value, name) },
        _ => Status::ERROR_INVALID_ARGUMENT,
    }
}

unsafe extern "C" fn iterate_pools(agent: Agent, callback: Option<MemoryPoolCallback>, data: *mut c_void) -> Status {
    if agent.handle == 2 {
        return Status::ERROR_INVALID_AGENT;
    }
    // SAFETY: the data is that of the callback.
    unsafe { callback.expect("a callback")(MemoryPool { handle: 1 }, data) }
}

unsafe extern "C" fn pool_get_info(_: MemoryPool, attribute: MemoryPoolInfo, value: *mut c_void) -> Status {
    let bytes: Vec<u8> = match attribute {
        MemoryPoolInfo::SEGMENT => Segment::GLOBAL.0.to_ne_bytes().into(),
        MemoryPoolInfo::GLOBAL_FLAGS => MemoryPoolGlobalFlag::COARSE_GRAINED.0.to_ne_bytes().into(),
        MemoryPoolInfo::RUNTIME_ALLOC_GRANULE => 4096_usize.to_ne_bytes().into(),
        _ => return Status::ERROR_INVALID_ARGUMENT,
    };
    // SAFETY: the caller's buffer has the size of this attribute.
    unsafe { put_bytes(value, &bytes) }
}

unsafe extern "C" fn allocate(_: MemoryPool, size: usize, _: MemoryPoolFlag, address: *mut *mut c_void) -> Status {
    if size > 1 << 20 {
        return Status::ERROR_OUT_OF_RESOURCES;
    }
    let memory = Box::into_raw(Box::new([0_u64; 1]));
    // SAFETY: the result is valid for the write.
    unsafe { put(address.cast(), memory) }
}

unsafe extern "C" fn free(address: *mut c_void) -> Status {
    log("free");
    // SAFETY: the address came from `allocate`.
    drop(unsafe { Box::from_raw(address.cast::<[u64; 1]>()) });
    Status::SUCCESS
}

unsafe extern "C" fn allow_access(count: u32, agents: *const Agent, _: *const u32, _: *const c_void) -> Status {
    // SAFETY: the length is that of the list.
    let agents = unsafe { std::slice::from_raw_parts(agents, count as usize) };
    if agents.iter().all(|agent| (1..=3).contains(&agent.handle)) {
        Status::SUCCESS
    } else {
        Status::ERROR_INVALID_AGENT
    }
}

unsafe extern "C" fn signal_create(
    initial: SignalValue,
    _: u32,
    _: *const Agent,
    _: SignalAttribute,
    to: *mut Signal,
) -> Status {
    let signal = AmdSignal { kind: SignalKind::USER, value: AtomicI64::new(initial), ..AmdSignal::default() };
    let handle = Box::into_raw(Box::new(signal)).expose_provenance() as u64;
    // SAFETY: the result is valid for the write.
    unsafe { put(to.cast(), Signal { handle }) }
}

fn in_memory<'a>(signal: Signal) -> &'a AmdSignal {
    // SAFETY: the signal came from `signal_create`, and the test keeps it alive.
    unsafe { &*std::ptr::with_exposed_provenance(signal.handle as usize) }
}

unsafe extern "C" fn signal_destroy(signal: Signal) -> Status {
    log("signal_destroy");
    // SAFETY: the signal came from `signal_create`.
    drop(unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<AmdSignal>(signal.handle as usize)) });
    Status::SUCCESS
}

unsafe extern "C" fn signal_load(signal: Signal) -> SignalValue {
    in_memory(signal).value.load(Ordering::Acquire)
}

unsafe extern "C" fn signal_store(signal: Signal, value: SignalValue) {
    in_memory(signal).value.store(value, Ordering::Release);
}

unsafe extern "C" fn signal_wait(
    signal: Signal,
    _: SignalCondition,
    _: SignalValue,
    _: u64,
    _: WaitState,
) -> SignalValue {
    in_memory(signal).value.load(Ordering::Acquire)
}

unsafe extern "C" fn signal_wait_any(
    count: u32,
    signals: *mut Signal,
    conditions: *mut SignalCondition,
    values: *mut SignalValue,
    _: u64,
    _: WaitState,
    met: *mut SignalValue,
) -> u32 {
    let count = count as usize;
    // SAFETY: the length is that of the list.
    let signals = unsafe { std::slice::from_raw_parts(signals, count) };
    // SAFETY: as above.
    let conditions = unsafe { std::slice::from_raw_parts(conditions, count) };
    // SAFETY: as above.
    let values = unsafe { std::slice::from_raw_parts(values, count) };
    for index in 0..count {
        let (signal, condition, value) = (signals[index], conditions[index], values[index]);
        let now = in_memory(signal).value.load(Ordering::Acquire);
        if condition.holds(now, value) {
            // SAFETY: the result is valid for the write.
            unsafe { met.write(now) };
            return index as u32;
        }
    }
    u32::MAX
}

unsafe extern "C" fn queue_create(
    _: Agent,
    size: u32,
    queue_type: QueueType,
    callback: Option<QueueErrorCallback>,
    data: *mut c_void,
    _: u32,
    _: u32,
    to: *mut *mut Queue,
) -> Status {
    if !size.is_power_of_two() {
        return Status::ERROR_INVALID_ARGUMENT;
    }
    HANDLER.set(callback.map(|callback| (callback, data)));
    // Ring buffer and doorbell are leaked.
    let bell: &'static AtomicU64 = Box::leak(Box::new(AtomicU64::new(u64::MAX)));
    let doorbell = AmdSignal {
        kind: SignalKind::DOORBELL,
        value: AtomicI64::new(std::ptr::from_ref(bell).expose_provenance() as i64),
        ..AmdSignal::default()
    };
    let ring = Box::leak(vec![0_u64; size as usize * PACKET_SIZE / 8].into_boxed_slice());
    let queue = AmdQueue {
        hsa_queue: Queue {
            queue_type,
            features: QueueFeature::KERNEL_DISPATCH,
            base_address: ring.as_mut_ptr().cast(),
            doorbell_signal: Signal { handle: Box::into_raw(Box::new(doorbell)).expose_provenance() as u64 },
            size,
            reserved1: 0,
            id: 1,
        },
        caps: 0,
        reserved1: [0; 3],
        write_dispatch_id: AtomicU64::new(0),
        group_segment_aperture_base_hi: 0,
        private_segment_aperture_base_hi: 0,
        max_cu_id: 0,
        max_wave_id: 0,
        max_legacy_doorbell_dispatch_id_plus_1: AtomicU64::new(0),
        legacy_doorbell_lock: AtomicU32::new(0),
        reserved2: [0; 9],
        read_dispatch_id: AtomicU64::new(0),
        read_dispatch_id_field_base_byte_offset: 0,
        compute_tmpring_size: 0,
        scratch_resource_descriptor: [0; 4],
        scratch_backing_memory_location: 0,
        scratch_backing_memory_byte_size: 0,
        scratch_wave64_lane_byte_size: 0,
        queue_properties: QueueProperties::IS_PTR64,
        reserved3: [0; 2],
        queue_inactive_signal: Signal::NULL,
        reserved4: [0; 14],
    };
    // SAFETY: the result is valid for the write.
    unsafe { put(to.cast(), Box::into_raw(Box::new(queue))) }
}

unsafe extern "C" fn queue_destroy(queue: *mut Queue) -> Status {
    log("queue_destroy");
    HANDLER.set(None);
    // SAFETY: the queue came from `queue_create`.
    drop(unsafe { Box::from_raw(queue.cast::<AmdQueue>()) });
    Status::SUCCESS
}

unsafe extern "C" fn reader_create(code: *const c_void, size: usize, reader: *mut CodeObjectReader) -> Status {
    log("reader_create");
    // SAFETY: the length is that of the bytes.
    let code = unsafe { std::slice::from_raw_parts(code.cast::<u8>(), size) };
    CODE.with_borrow_mut(|readers| readers.insert(1, code.starts_with(b"\x7fELF")));
    // SAFETY: the result is valid for the write.
    unsafe { put(reader.cast(), CodeObjectReader { handle: 1 }) }
}

unsafe extern "C" fn reader_destroy(_: CodeObjectReader) -> Status {
    log("reader_destroy");
    Status::SUCCESS
}

unsafe extern "C" fn executable_create(
    _: Profile,
    _: FloatRoundingMode,
    _: *const c_char,
    to: *mut Executable,
) -> Status {
    // SAFETY: the result is valid for the write.
    unsafe { put(to.cast(), Executable { handle: 1 }) }
}

unsafe extern "C" fn executable_destroy(_: Executable) -> Status {
    log("executable_destroy");
    Status::SUCCESS
}

unsafe extern "C" fn executable_load(
    _: Executable,
    _: Agent,
    reader: CodeObjectReader,
    _: *const c_char,
    _: *mut LoadedCodeObject,
) -> Status {
    if !CODE.with_borrow(|readers| readers[&reader.handle]) {
        return Status::ERROR_INVALID_CODE_OBJECT;
    }
    log("load");
    Status::SUCCESS
}

unsafe extern "C" fn executable_freeze(_: Executable, _: *const c_char) -> Status {
    log("freeze");
    Status::SUCCESS
}

unsafe extern "C" fn executable_symbol(
    _: Executable,
    name: *const c_char,
    _: *const Agent,
    symbol: *mut ExecutableSymbol,
) -> Status {
    // SAFETY: names in these tests have at least seven bytes with the NUL.
    let name = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), 7) };
    if name != b"add.kd\0" {
        return Status::ERROR_INVALID_SYMBOL_NAME;
    }
    // SAFETY: the result is valid for the write.
    unsafe { put(symbol.cast(), ExecutableSymbol { handle: 1 }) }
}

unsafe extern "C" fn symbol_get_info(
    _: ExecutableSymbol,
    attribute: ExecutableSymbolInfo,
    value: *mut c_void,
) -> Status {
    let bytes: Vec<u8> = match attribute {
        ExecutableSymbolInfo::KERNEL_OBJECT => 0x1234_5678_9abc_u64.to_ne_bytes().into(),
        ExecutableSymbolInfo::KERNEL_KERNARG_SEGMENT_SIZE => 40_u32.to_ne_bytes().into(),
        ExecutableSymbolInfo::KERNEL_KERNARG_SEGMENT_ALIGNMENT => 8_u32.to_ne_bytes().into(),
        ExecutableSymbolInfo::KERNEL_GROUP_SEGMENT_SIZE => 256_u32.to_ne_bytes().into(),
        ExecutableSymbolInfo::KERNEL_PRIVATE_SEGMENT_SIZE => 0_u32.to_ne_bytes().into(),
        _ => return Status::ERROR_INVALID_ARGUMENT,
    };
    // SAFETY: the caller's buffer has the size of this attribute.
    unsafe { put_bytes(value, &bytes) }
}
