//! Limits of a device: its memory, its timeout, and the accesses of native code.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roci_base::Hint;
use roci_hal::command::Recording;
use roci_hal::deadline::default_timeout;
use roci_hal::driver::{Batch, BufferBackend, CommandsBackend, DeviceBackend, ExecutableBackend};
use roci_hal::error::DeviceLoss;
use roci_hal::host_memory::HostMemory;
use roci_hal::native::{NativeEntry, NativeKernel, NativeLaunch};
use roci_hal::null::NullDriver;
use roci_hal::{Access, BufferDesc, Code, Device, DeviceInfo, EntryPoint, Error, ExecutableSource, Registry, Submit};

/// A device with little memory that never executes its batches.
struct SmallDevice {
    info: DeviceInfo,
    available: Arc<AtomicU64>,
    kept: Mutex<Vec<Batch>>,
}

struct Block {
    memory: HostMemory,
    size: u64,
    available: Arc<AtomicU64>,
}

struct Stub;

impl ExecutableBackend for Stub {}

impl CommandsBackend for Stub {}

// SAFETY: forwards to the memory it owns.
unsafe impl BufferBackend for Block {
    fn host_pointer(&self) -> Option<std::ptr::NonNull<u8>> {
        self.memory.host_pointer()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.available.fetch_add(self.size, Ordering::Relaxed);
    }
}

impl DeviceBackend for SmallDevice {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn allocate(&self, desc: &BufferDesc) -> Result<Arc<dyn BufferBackend>, Error> {
        assert!(desc.size <= self.info.max_allocation, "{} bytes exceed the device's `max_allocation`", desc.size);
        let none = |available| Error::OutOfMemory {
            device: "small_device".into(),
            requested: desc.size,
            limit: Some(available),
        };
        let take = |available: u64| available.checked_sub(desc.size);
        self.available.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map_err(none)?;
        let memory = HostMemory::new(desc.size).expect("the host has enough memory");
        Ok(Arc::new(Block { memory, size: desc.size, available: Arc::clone(&self.available) }))
    }

    fn load(&self, _source: &ExecutableSource) -> Result<Arc<dyn ExecutableBackend>, Error> {
        Ok(Arc::new(Stub))
    }

    fn prepare(&self, _recording: &Arc<Recording>) -> Result<Arc<dyn CommandsBackend>, Error> {
        Ok(Arc::new(Stub))
    }

    fn submit(&self, _queue: usize, batch: Batch) {
        self.kept.lock().unwrap().push(batch);
    }

    fn abandon(&self, _loss: &DeviceLoss) {}
}

const MEMORY: u64 = 1_000_000;

/// A device with a million bytes, all of which fit into one allocation.
fn small_device(timeout: Option<Duration>) -> Device {
    let null = Registry::new().with(NullDriver::new(1)).open(&"null".parse().unwrap(), None).unwrap();
    let info = DeviceInfo { max_allocation: MEMORY, ..null.info().clone() };
    Device::new(
        Arc::new(SmallDevice { info, available: Arc::new(AtomicU64::new(MEMORY)), kept: Mutex::default() }),
        timeout,
    )
}

#[test]
fn rounding_never_exceeds_the_largest_allocation() {
    let device = small_device(None);
    let queue = device.queue(0).unwrap();
    let done = device.semaphore(0);
    // Its size class would be 1,048,576 bytes.
    let all = queue.alloca(BufferDesc::host(MEMORY), Submit::new().signal(&done, 1)).unwrap();
    done.wait(1, Duration::from_secs(60)).unwrap();
    drop(all);
    assert_eq!(device.pooled_bytes(), MEMORY);
}

#[test]
fn the_pool_is_emptied_before_an_allocation_fails() {
    let device = small_device(None);
    let queue = device.queue(0).unwrap();
    let (small, large) = (1 << 18, 3 << 18);
    drop(queue.alloca(BufferDesc::host(small), Submit::new()).unwrap());
    assert_eq!(device.pooled_bytes(), small);
    let done = device.semaphore(0);
    let streamed = queue.alloca(BufferDesc::host(large), Submit::new().signal(&done, 1)).unwrap();
    done.wait(1, Duration::from_secs(60)).unwrap();
    assert_eq!(device.pooled_bytes(), 0);
    drop(streamed);
    assert_eq!(device.pooled_bytes(), large);
    let plain = device.allocate(BufferDesc::host(small)).unwrap();
    assert_eq!(device.pooled_bytes(), 0);
    let error = device.allocate(BufferDesc::host(large)).err();
    assert!(matches!(error, Some(Error::OutOfMemory { .. })), "{error:?}");
    drop(plain);
}

#[test]
fn reads_and_writes_use_the_device_timeout() {
    let device = small_device(Some(Duration::from_millis(20)));
    let buffer = device.allocate(BufferDesc::device(64)).unwrap();
    for error in [device.write(&buffer, &[0; 64]).err(), device.read(&buffer).err()] {
        let Some(Error::Timeout { waited, .. }) = error else { panic!("{error:?}") };
        assert!(waited < default_timeout(), "waited {waited:?}, as if the device had set no limit");
    }
}

#[test]
fn bindings_longer_than_the_limit_are_rejected() {
    let narrow = DeviceInfo { max_binding: 100, ..small_device(None).info().clone() };
    let available = Arc::new(AtomicU64::new(MEMORY));
    let device = Device::new(Arc::new(SmallDevice { info: narrow, available, kept: Mutex::default() }), None);
    let entry = EntryPoint {
        name: "sum".into(),
        workgroup_size: [1; 3],
        bindings: vec![Access::Read],
        constants: 0,
        in_place: false,
    };
    let source = ExecutableSource { label: "sum".into(), entry_points: vec![entry], code: Code::Spirv(Vec::new()) };
    let kernel = device.load(&source).unwrap().kernel("sum").unwrap();
    let buffer = device.allocate(BufferDesc::device(1000)).unwrap();
    let dispatch = |length| {
        let bindings = [buffer.range(0, length).unwrap().into()];
        device.record().dispatch(&kernel, [1; 3], &bindings, &[]).map(drop)
    };
    dispatch(100).unwrap();
    let error = dispatch(101).unwrap_err();
    assert_eq!(error.to_string(), "dispatch of \"sum\": binding 0 has 101 bytes, the device supports 100");
    assert!(error.hint().is_some_and(|hint| hint.contains("part of the buffer")));
}

/// A kernel that accesses nothing but reports these accesses.
struct NoopKernel(&'static [Access]);

// SAFETY: it accesses no memory.
unsafe impl NativeKernel for NoopKernel {
    fn accesses(&self) -> &[Access] {
        self.0
    }

    fn prepare(&self, _launch: &NativeLaunch<'_>) -> Result<usize, String> {
        Ok(0)
    }

    unsafe fn run(&self, _launch: &NativeLaunch<'_>, _part: usize, _parts: usize) {}
}

#[test]
fn native_code_must_use_its_bindings_as_its_entry_point_declares() {
    let device = small_device(None);
    let load = |declared: &[Access], used: &'static [Access]| {
        let entry = EntryPoint {
            name: "add".into(),
            workgroup_size: [1; 3],
            bindings: declared.to_vec(),
            constants: 0,
            in_place: false,
        };
        let native = NativeEntry { name: "add".into(), kernel: Arc::new(NoopKernel(used)) };
        let code = Code::Native(vec![native]);
        device.load(&ExecutableSource { label: "add".into(), entry_points: vec![entry], code }).map(drop)
    };
    load(&[Access::Read, Access::ReadWrite], &[Access::Read, Access::ReadWrite]).unwrap();
    let error = load(&[Access::Read, Access::Read], &[Access::Read, Access::ReadWrite]).unwrap_err();
    assert!(matches!(error, Error::BindingMismatch { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        "entry point \"add\" declares its bindings as [Read, Read], but its native code uses them as [Read, ReadWrite]"
    );
    assert!(error.hint().is_some());
    load(&[Access::Read], &[Access::Read, Access::Read]).unwrap_err();
}
