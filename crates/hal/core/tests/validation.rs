//! Exact error messages of rejected calls. The null driver suffices, because drivers never receive
//! such calls.

use roci_base::Hint;
use roci_hal::null::NullDriver;
use roci_hal::{
    Access, Binding, BufferDesc, Code, CodeFormat, Device, EntryPoint, Error, ExecutableSource, Kernel, Registry,
    Submit,
};

fn device() -> Device {
    Registry::new().with(NullDriver::new(1)).open(&"null".parse().unwrap(), None).unwrap()
}

fn rejection<T>(result: Result<T, Error>) -> String {
    match result {
        Err(error @ Error::Invalid { .. }) => {
            let hint = error.hint().expect("every rejection has a hint");
            assert!(!hint.is_empty() && !hint.ends_with('.'), "{error}: {hint}");
            error.to_string()
        }
        Err(other) => panic!("rejected with {other:?}"),
        Ok(_) => panic!("accepted"),
    }
}

fn entry(name: &str) -> EntryPoint {
    EntryPoint {
        name: name.into(),
        workgroup_size: [64, 1, 1],
        bindings: vec![Access::Read, Access::ReadWrite],
        constants: 8,
        in_place: true,
    }
}

fn source(entry_points: Vec<EntryPoint>) -> ExecutableSource {
    ExecutableSource { label: "kernels".into(), entry_points, code: Code::Spirv(Vec::new()) }
}

fn kernel(device: &Device) -> Kernel {
    device.load(&source(vec![entry("add"), entry("mul")])).unwrap().kernel("add").unwrap()
}

#[test]
fn invalid_allocations_are_rejected() {
    let device = device();
    assert_eq!(rejection(device.allocate(BufferDesc::device(0))), "allocation on null: the size is zero");
    let Err(error) = device.allocate(BufferDesc::device(1 << 40)) else { panic!("granted") };
    assert_eq!(error.to_string(), "null cannot allocate 1099511627776 bytes (the limit is 1073741824 bytes)");
    assert_eq!(error.hint().as_deref(), Some("free memory on the device, or use a smaller model or batch"));
}

#[test]
fn ranges_outside_a_buffer_are_rejected() {
    let buffer = device().allocate(BufferDesc::device(100).label("weights")).unwrap();
    assert_eq!(rejection(buffer.range(90, 11)), "buffer \"weights\": bytes 90 to 90+11 are outside its 100 bytes");
    assert_eq!(
        rejection(buffer.range(50, 20).unwrap().range(u64::MAX, 2)),
        "buffer \"weights\": bytes 18446744073709551615 to 18446744073709551615+2 are outside a range of 20 bytes"
    );
}

#[test]
fn invalid_mappings_are_rejected() {
    let device = device();
    let shared = device.allocate(BufferDesc::shared(64).label("io")).unwrap();
    let mapping = shared.map().unwrap();
    assert_eq!(rejection(shared.map()), "buffer \"io\": already mapped");
    let mut recorder = device.record();
    recorder.fill(&shared, 0).unwrap();
    let done = device.semaphore(0);
    device.queue(0).unwrap().submit(&recorder.finish().unwrap(), Submit::new().signal(&done, 1)).unwrap();
    assert_eq!(rejection(done.query()), "buffer \"io\": mapped by the host while a submission that uses it starts");
    assert_eq!(rejection(device.read(&shared)), rejection(done.query()));
    drop(mapping);
    let far = device.allocate(BufferDesc::device(64).label("far")).unwrap();
    assert_eq!(rejection(far.map()), "buffer \"far\": device memory cannot be mapped");
    let hint = far.map().err().and_then(|error| error.hint());
    assert_eq!(hint.as_deref(), Some("use `MemoryType::Host` or `Shared`, or `Queue::read` and `write`"));
}

#[test]
fn invalid_executables_are_rejected() {
    let device = device();
    let long = EntryPoint { constants: 132, ..entry("long") };
    assert_eq!(
        rejection(device.load(&source(vec![long]))),
        "entry point \"long\": the constants block has 132 bytes; its size must be a multiple of 4 and at most 128"
    );
    let wide = EntryPoint { bindings: vec![Access::Read; 17], ..entry("wide") };
    assert_eq!(
        rejection(device.load(&source(vec![wide]))),
        "entry point \"wide\": it has 17 bindings; the device supports 16"
    );
    let executable = device.load(&source(vec![entry("add"), entry("mul")])).unwrap();
    assert_eq!(
        rejection(executable.kernel("sub")),
        "executable \"kernels\": there is no entry point \"sub\"; it has add, mul"
    );
    assert!(device.info().formats.contains(&CodeFormat::Spirv));
}

#[test]
fn invalid_dispatches_are_rejected() {
    let device = device();
    let kernel = kernel(&device);
    let (a, b) = (device.allocate(BufferDesc::device(256)).unwrap(), device.allocate(BufferDesc::device(256)).unwrap());
    let dispatch = |grid, bindings: &[Binding], constants: usize| {
        rejection(device.record().dispatch(&kernel, grid, bindings, &vec![0; constants]).map(drop))
    };
    let both = [Binding::from(&a), Binding::from(&b)];
    assert_eq!(dispatch([1; 3], &both[..1], 8), "dispatch of \"add\": 1 bindings given, the kernel takes 2");
    assert_eq!(dispatch([1; 3], &both, 4), "dispatch of \"add\": 4 bytes of constants given, the kernel takes 8");
    assert_eq!(
        dispatch([1, 65_536, 1], &both, 8),
        "dispatch of \"add\": the grid of [1, 65536, 1] workgroups exceeds the device's limit of [65535, 65535, 65535]"
    );
    let range = |offset, length| Binding::from(a.range(offset, length).unwrap());
    assert_eq!(dispatch([1; 3], &[range(0, 0), range(16, 16)], 8), "dispatch of \"add\": binding 0 is empty");
    assert_eq!(
        dispatch([1; 3], &[range(8, 16), Binding::from(&b)], 8),
        "dispatch of \"add\": a range has offset 8, which is not a multiple of 16"
    );
    assert_eq!(
        dispatch([1; 3], &[range(0, 64), range(32, 64)], 8),
        "dispatch of \"add\": a range that is written overlaps another range of the same command"
    );
    // An elementwise kernel may bind exactly the same range twice.
    device.record().dispatch(&kernel, [1; 3], &[range(0, 64), range(0, 64)], &[0; 8]).unwrap();
}

#[test]
fn invalid_commands_are_rejected() {
    let device = device();
    let (a, b) = (device.allocate(BufferDesc::device(64)).unwrap(), device.allocate(BufferDesc::device(64)).unwrap());
    let part = |offset, length| a.range(offset, length).unwrap();
    assert_eq!(
        rejection(device.record().fill(part(2, 8), 0).map(drop)),
        "fill: offset 2 and length 8 must be multiples of 4"
    );
    assert_eq!(
        rejection(device.record().update(&[0; 8], part(0, 4)).map(drop)),
        "update: 8 bytes for a range of 4 bytes"
    );
    assert_eq!(
        rejection(device.record().copy(part(0, 8), &b).map(drop)),
        "copy: the source has 8 bytes, the target 64"
    );
    assert_eq!(
        rejection(device.record().copy(part(0, 8), part(7, 8)).map(drop)),
        "copy: a range that is written overlaps another range of the same command"
    );
    let queue = device.queue(0).unwrap();
    assert_eq!(rejection(queue.write(&a, vec![0; 3], Submit::new())), "write: 3 bytes for a range of 64 bytes");
    assert_eq!(rejection(device.queue(2).map(drop)), "queue 2 of null: it has 2 queues");
}

#[test]
fn invalid_slot_bindings_are_rejected() {
    let device = device();
    let mut recorder = device.record();
    recorder.label("step").copy(Binding::slot(0, 32), Binding::slot(1, 32)).unwrap();
    let commands = recorder.finish().unwrap();
    assert_eq!((commands.commands(), commands.slots()), (1, 2));
    let buffer = device.allocate(BufferDesc::device(64)).unwrap();
    let queue = device.queue(0).unwrap();
    let range = |offset, length| buffer.range(offset, length).unwrap();
    let bind = |a, b| rejection(queue.submit(&commands, Submit::new().bind(a).bind(b)));
    assert_eq!(
        rejection(queue.submit(&commands, Submit::new())),
        "replay of \"step\": 0 ranges bound, but 2 slots recorded"
    );
    assert_eq!(bind(range(0, 32), range(32, 31)), "replay of \"step\": slot 1 is bound to 31 bytes, but 32 are used");
    assert_eq!(
        bind(range(4, 32), range(0, 64)),
        "replay of \"step\": slot 0 is bound at offset 4, which is not a multiple of 16"
    );
    assert_eq!(
        bind(range(0, 32), range(16, 32)),
        "copy: a range that is written overlaps another range of the same command"
    );
    assert_eq!(
        rejection(queue.barrier(Submit::new().bind(&buffer))),
        "barrier: slots are bound, but there is no command buffer"
    );
    queue.submit(&commands, Submit::new().bind(range(0, 32)).bind(range(32, 32))).unwrap();
}

#[test]
fn handles_of_another_device_are_rejected() {
    let (own, other) = (device(), device());
    let buffer = other.allocate(BufferDesc::device(64)).unwrap();
    assert_eq!(rejection(own.record().fill(&buffer, 0).map(drop)), "fill: the buffer belongs to another device");
    assert_eq!(rejection(own.read(&buffer)), "read: the buffer belongs to another device");
    let commands = other.record().finish().unwrap();
    assert_eq!(
        rejection(own.queue(0).unwrap().submit(&commands, Submit::new())),
        "submit: the commands were recorded on another device"
    );
    let bindings = [Binding::slot(0, 64), Binding::slot(1, 64)];
    assert_eq!(
        rejection(own.record().dispatch(&kernel(&other), [1; 3], &bindings, &[0; 8]).map(drop)),
        "dispatch of \"add\": the kernel was loaded on another device"
    );
}

#[test]
fn signals_that_do_not_increase_are_rejected() {
    let time = device().semaphore(7);
    assert_eq!(rejection(time.signal(7)), "semaphore: signaled with 7, but its value is already 7");
    time.signal(u64::MAX).unwrap();
    assert_eq!(time.query().unwrap(), u64::MAX);
    let failed = device().semaphore(0);
    failed.fail(Error::invalid("upstream", "went wrong"));
    assert_eq!(rejection(failed.signal(1)), "upstream: went wrong");
}
