//! What is refused, in its exact words. The null driver carries these, since drivers never see such calls.

use roci_hal::null::NullDriver;
use roci_hal::{
    Access, Binding, BufferDesc, Code, CodeFormat, Device, EntryPoint, Error, ExecutableSource, Hint, Kernel, Registry,
    Submit,
};

fn device() -> Device {
    Registry::new().with(NullDriver::new(1)).open(&"null".parse().unwrap(), None).unwrap()
}

fn refusal<T>(result: Result<T, Error>) -> String {
    match result {
        Err(error @ Error::Invalid { .. }) => {
            let hint = error.hint().expect("every refusal says what to do instead");
            assert!(!hint.is_empty() && !hint.ends_with('.'), "{error}: {hint}");
            error.to_string()
        }
        Err(other) => panic!("refused as {other:?}"),
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
fn allocations() {
    let device = device();
    assert_eq!(refusal(device.allocate(BufferDesc::device(0))), "allocation on null: zero bytes");
    let Err(error) = device.allocate(BufferDesc::device(1 << 40)) else { panic!("granted") };
    assert_eq!(error.to_string(), "null cannot allocate 1099511627776 bytes (the limit is 1073741824 bytes)");
    assert_eq!(error.hint().as_deref(), Some("free memory on the device, or use a smaller model or batch"));
}

#[test]
fn ranges() {
    let buffer = device().allocate(BufferDesc::device(100).label("weights")).unwrap();
    assert_eq!(refusal(buffer.range(90, 11)), "buffer \"weights\": bytes 90 to 90+11 are outside its 100 bytes");
    assert_eq!(
        refusal(buffer.range(50, 20).unwrap().range(u64::MAX, 2)),
        "buffer \"weights\": bytes 18446744073709551615 to 18446744073709551615+2 are outside a range of 20 bytes"
    );
}

#[test]
fn mappings() {
    let device = device();
    let shared = device.allocate(BufferDesc::shared(64).label("io")).unwrap();
    let mapping = shared.map().unwrap();
    assert_eq!(refusal(shared.map()), "buffer \"io\": mapped already");
    let mut recorder = device.record();
    recorder.fill(&shared, 0).unwrap();
    let done = device.semaphore(0);
    device.queue(0).unwrap().submit(&recorder.finish().unwrap(), Submit::new().signal(&done, 1)).unwrap();
    assert_eq!(refusal(done.query()), "buffer \"io\": mapped by the host while a submission that uses it starts");
    assert_eq!(refusal(device.read(&shared)), refusal(done.query()));
    drop(mapping);
    let far = device.allocate(BufferDesc::device(64).label("far")).unwrap();
    assert_eq!(refusal(far.map()), "buffer \"far\": device memory cannot be mapped");
    let hint = far.map().err().and_then(|error| error.hint());
    assert_eq!(hint.as_deref(), Some("use `MemoryType::Host` or `Shared`, or `Queue::read` and `write`"));
}

#[test]
fn executables() {
    let device = device();
    let long = EntryPoint { constants: 132, ..entry("long") };
    assert_eq!(
        refusal(device.load(&source(vec![long]))),
        "entry point \"long\": a constants block of 132 bytes; it must be a multiple of 4 and at most 128"
    );
    let wide = EntryPoint { bindings: vec![Access::Read; 17], ..entry("wide") };
    assert_eq!(refusal(device.load(&source(vec![wide]))), "entry point \"wide\": 17 bindings; the device takes 16");
    let executable = device.load(&source(vec![entry("add"), entry("mul")])).unwrap();
    assert_eq!(
        refusal(executable.kernel("sub")),
        "executable \"kernels\": there is no entry point \"sub\"; it has add, mul"
    );
    assert!(device.info().formats.contains(&CodeFormat::Spirv));
}

#[test]
fn dispatches() {
    let device = device();
    let kernel = kernel(&device);
    let (a, b) = (device.allocate(BufferDesc::device(256)).unwrap(), device.allocate(BufferDesc::device(256)).unwrap());
    let dispatch = |grid, bindings: &[Binding], constants: usize| {
        refusal(device.record().dispatch(&kernel, grid, bindings, &vec![0; constants]).map(drop))
    };
    let both = [Binding::from(&a), Binding::from(&b)];
    assert_eq!(dispatch([1; 3], &both[..1], 8), "dispatch of \"add\": 1 bindings given, it takes 2");
    assert_eq!(dispatch([1; 3], &both, 4), "dispatch of \"add\": 4 bytes of constants given, it takes 8");
    assert_eq!(
        dispatch([1, 65_536, 1], &both, 8),
        "dispatch of \"add\": a grid of [1, 65536, 1] workgroups, the device takes [65535, 65535, 65535]"
    );
    let range = |offset, length| Binding::from(a.range(offset, length).unwrap());
    assert_eq!(dispatch([1; 3], &[range(0, 0), range(16, 16)], 8), "dispatch of \"add\": binding 0 is empty");
    assert_eq!(
        dispatch([1; 3], &[range(8, 16), Binding::from(&b)], 8),
        "dispatch of \"add\": a range at offset 8, which is no multiple of 16"
    );
    assert_eq!(
        dispatch([1; 3], &[range(0, 64), range(32, 64)], 8),
        "dispatch of \"add\": a range that is written overlaps another one of the same command"
    );
    // The very same range is what an element-wise kernel allows.
    device.record().dispatch(&kernel, [1; 3], &[range(0, 64), range(0, 64)], &[0; 8]).unwrap();
}

#[test]
fn commands() {
    let device = device();
    let (a, b) = (device.allocate(BufferDesc::device(64)).unwrap(), device.allocate(BufferDesc::device(64)).unwrap());
    let part = |offset, length| a.range(offset, length).unwrap();
    assert_eq!(
        refusal(device.record().fill(part(2, 8), 0).map(drop)),
        "fill: offset 2 and length 8 must be multiples of 4"
    );
    assert_eq!(refusal(device.record().update(&[0; 8], part(0, 4)).map(drop)), "update: 8 bytes into a range of 4");
    assert_eq!(refusal(device.record().copy(part(0, 8), &b).map(drop)), "copy: from a range of 8 bytes to one of 64");
    assert_eq!(
        refusal(device.record().copy(part(0, 8), part(7, 8)).map(drop)),
        "copy: a range that is written overlaps another one of the same command"
    );
    let queue = device.queue(0).unwrap();
    assert_eq!(refusal(queue.write(&a, vec![0; 3], Submit::new())), "write: 3 bytes into a range of 64");
    assert_eq!(refusal(device.queue(2).map(drop)), "queue 2 of null: it has 2");
}

#[test]
fn replays() {
    let device = device();
    let mut recorder = device.record();
    recorder.label("step").copy(Binding::slot(0, 32), Binding::slot(1, 32)).unwrap();
    let commands = recorder.finish().unwrap();
    assert_eq!((commands.commands(), commands.slots()), (1, 2));
    let buffer = device.allocate(BufferDesc::device(64)).unwrap();
    let queue = device.queue(0).unwrap();
    let range = |offset, length| buffer.range(offset, length).unwrap();
    let bind = |a, b| refusal(queue.submit(&commands, Submit::new().bind(a).bind(b)));
    assert_eq!(refusal(queue.submit(&commands, Submit::new())), "replay of \"step\": 0 ranges bound, 2 slots recorded");
    assert_eq!(bind(range(0, 32), range(32, 31)), "replay of \"step\": slot 1 is bound to 31 bytes, 32 are used");
    assert_eq!(
        bind(range(4, 32), range(0, 64)),
        "replay of \"step\": slot 0 is bound at offset 4, which is no multiple of 16"
    );
    assert_eq!(
        bind(range(0, 32), range(16, 32)),
        "copy: a range that is written overlaps another one of the same command"
    );
    assert_eq!(
        refusal(queue.barrier(Submit::new().bind(&buffer))),
        "barrier: only submissions of command buffers bind slots"
    );
    queue.submit(&commands, Submit::new().bind(range(0, 32)).bind(range(32, 32))).unwrap();
}

#[test]
fn things_of_another_device() {
    let (own, other) = (device(), device());
    let buffer = other.allocate(BufferDesc::device(64)).unwrap();
    assert_eq!(refusal(own.record().fill(&buffer, 0).map(drop)), "fill: the buffer belongs to another device");
    assert_eq!(refusal(own.read(&buffer)), "read: the buffer belongs to another device");
    let commands = other.record().finish().unwrap();
    assert_eq!(
        refusal(own.queue(0).unwrap().submit(&commands, Submit::new())),
        "submit: the commands were recorded on another device"
    );
    let bindings = [Binding::slot(0, 64), Binding::slot(1, 64)];
    assert_eq!(
        refusal(own.record().dispatch(&kernel(&other), [1; 3], &bindings, &[0; 8]).map(drop)),
        "dispatch of \"add\": the kernel was loaded on another device"
    );
}

#[test]
fn semaphores() {
    let time = device().semaphore(7);
    assert_eq!(refusal(time.signal(7)), "semaphore: signalled to 7, which is not above its value 7");
    time.signal(u64::MAX).unwrap();
    assert_eq!(time.query().unwrap(), u64::MAX);
    let failed = device().semaphore(0);
    failed.fail(Error::invalid("upstream", "went wrong"));
    assert_eq!(refusal(failed.signal(1)), "upstream: went wrong");
}
