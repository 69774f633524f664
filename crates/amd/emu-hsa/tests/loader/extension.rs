//! The loader extension.

use std::os::fd::AsRawFd;

use roci_emu::Chip;
use roci_hsa::abi::{ExecutableSymbolInfo as Info, LoadedCodeObjectInfo as LoadedInfo, *};

use crate::clang::Clang;
use crate::session::{Session, check, collect, out};
use crate::sources::PLAIN;

unsafe extern "C" fn collect_loaded(executable: Executable, loaded: LoadedCodeObject, data: *mut c_void) -> Status {
    // SAFETY: the list outlives the call.
    unsafe { collect((executable, loaded), data) }
}

unsafe extern "C" fn stop_loaded(_: Executable, _: LoadedCodeObject, _: *mut c_void) -> Status {
    Status::INFO_BREAK
}

#[test]
fn debuggers_find_loaded_code() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let table = session.loader;
    let gpu = session.gpu(Chip::Gfx1100);
    let bytes = clang.compile(PLAIN, "gfx1100");
    assert!(session.descriptors().is_empty());
    let executable = session.executable();
    let loaded = session.load(executable, gpu, &bytes).expect("the code runs on this chip");
    let symbol = session.symbol(executable, Some(gpu), "plain.kd").expect("it exists");
    let object: u64 = session.info(symbol, Info::KERNEL_OBJECT).expect("the code is loaded");
    let device = std::ptr::with_exposed_provenance::<c_void>(object as usize);

    // Loaded code is readable at its host address: the kernel object is the address of the
    // descriptor.
    let function = table.query_host_address.expect("the table has the function");
    // SAFETY: the result is valid for the write.
    let host = out(|to| unsafe { function(device, to) }).expect("an address in loaded code");
    // SAFETY: the image is loaded and not written.
    let group = unsafe { host.cast::<u32>().read() };
    assert_eq!(Ok(group), session.info(symbol, Info::KERNEL_GROUP_SEGMENT_SIZE));
    // SAFETY: the result is valid for the write.
    let nowhere = out(|to| unsafe { function(std::ptr::from_ref(&session).cast(), to) });
    assert_eq!(nowhere, Err(Status::ERROR_INVALID_ARGUMENT));
    // SAFETY: the result is valid for the write.
    let owner = out(|to| unsafe { table.query_executable.expect("the table has the function")(device, to) });
    assert_eq!(owner, Ok(executable));

    let wide = |attribute| session.loaded_info::<u64>(loaded, attribute);
    assert_eq!(session.loaded_info(loaded, LoadedInfo::EXECUTABLE), Ok(executable));
    assert_eq!(session.loaded_info(loaded, LoadedInfo::KIND), Ok(LoadedCodeObjectKind::AGENT));
    assert_eq!(session.loaded_info(loaded, LoadedInfo::AGENT), Ok(gpu));
    let storage = session.loaded_info(loaded, LoadedInfo::CODE_OBJECT_STORAGE_TYPE);
    assert_eq!(storage, Ok(CodeObjectStorageType::MEMORY));
    assert_eq!(wide(LoadedInfo::CODE_OBJECT_STORAGE_MEMORY_BASE), Ok(bytes.as_ptr().addr() as u64));
    assert_eq!(wide(LoadedInfo::CODE_OBJECT_STORAGE_MEMORY_SIZE), Ok(bytes.len() as u64));
    assert_eq!(wide(LoadedInfo::CODE_OBJECT_STORAGE_FILE), Err(Status::ERROR_INVALID_ARGUMENT));
    assert_eq!(wide(LoadedInfo::LOAD_DELTA), wide(LoadedInfo::LOAD_BASE));
    let expected = format!("memory://{}#offset={:#x}&size={}", std::process::id(), bytes.as_ptr().addr(), bytes.len());
    assert_eq!(session.uri(loaded), expected);

    let descriptors = session.descriptors();
    let [only] = descriptors.as_slice() else { panic!("{descriptors:?}") };
    assert_eq!((only.agent, only.executable), (gpu, executable));
    assert_eq!((only.code_object_storage_base.addr(), only.code_object_storage_offset), (bytes.as_ptr().addr(), 0));
    assert_eq!(Ok(only.segment_base.addr() as u64), wide(LoadedInfo::LOAD_BASE));
    assert_eq!(Ok(only.segment_size as u64), wide(LoadedInfo::LOAD_SIZE));
    let function = table.query_segment_descriptors.expect("the table has the function");
    let mut space = vec![*only; 2];
    let mut count = 2;
    // SAFETY: the array has two elements.
    let refused = unsafe { function(space.as_mut_ptr(), &raw mut count) };
    assert_eq!(refused, Status::ERROR_INCOMPATIBLE_ARGUMENTS);
    // SAFETY: a null array is allowed.
    assert_eq!(unsafe { function(std::ptr::null_mut(), &raw mut count) }, Status::ERROR_INVALID_ARGUMENT);
}

#[test]
fn executables_and_their_code_are_listed() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let table = session.loader;
    let (first, second) = (session.executable(), session.executable());
    let bytes = clang.compile(PLAIN, "gfx10-1-generic");
    let on = [Chip::Gfx1010, Chip::Gfx1013].map(|chip| {
        let loaded = session.load(second, session.gpu(chip), &bytes).expect("the code runs on these chips");
        (second, loaded)
    });
    let mut executables: Vec<Executable> = Vec::new();
    let function = table.iterate_executables.expect("the table has the function");
    // SAFETY: the list outlives the call.
    let status = unsafe { function(Some(collect::<Executable>), (&raw mut executables).cast()) };
    assert_eq!((status, executables), (Status::SUCCESS, vec![first, second]));
    // SAFETY: a null callback is an error.
    assert_eq!(unsafe { function(None, std::ptr::null_mut()) }, Status::ERROR_INVALID_ARGUMENT);

    let function = table.executable_iterate_loaded_code_objects.expect("the table has the function");
    let list = |executable| {
        let mut loaded: Vec<(Executable, LoadedCodeObject)> = Vec::new();
        // SAFETY: the list outlives the call.
        let status = unsafe { function(executable, Some(collect_loaded), (&raw mut loaded).cast()) };
        check(status).map(|()| loaded)
    };
    assert_eq!(list(first), Ok(Vec::new()));
    assert_eq!(list(second), Ok(on.to_vec()));
    assert_eq!(list(Executable { handle: 0 }), Err(Status::ERROR_INVALID_EXECUTABLE));
    // SAFETY: the callback does not use its data.
    assert_eq!(unsafe { function(second, Some(stop_loaded), std::ptr::null_mut()) }, Status::INFO_BREAK);
}

#[test]
fn code_is_loaded_from_file_ranges() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let (gpu, bytes) = (session.gpu(Chip::Gfx1010), clang.compile(PLAIN, "gfx1010"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("bundle.bin");
    std::fs::write(&path, [&[0xee; 100][..], &bytes, &[0xee; 50]].concat()).expect("the file is writable");
    let file = std::fs::File::open(&path).expect("it exists");
    let function =
        session.loader.code_object_reader_create_from_file_with_offset_size.expect("the table has the function");
    // SAFETY: the result is valid for the write.
    let read = |descriptor, offset, size| out(|to| unsafe { function(descriptor, offset, size, to) });
    let reader = read(file.as_raw_fd(), 100, bytes.len()).expect("it exists");
    let executable = session.executable();
    let loaded = session.load_from(executable, gpu, reader).expect("it is a code object");
    session.destroy_reader(reader).expect("the handle is live");
    assert!(session.symbol(executable, Some(gpu), "plain.kd").is_ok());
    let uri = session.uri(loaded);
    assert!(uri.starts_with("file:///"), "{uri}");
    assert!(uri.ends_with(&format!("/bundle.bin#offset=100&size={}", bytes.len())), "{uri}");

    assert_eq!(read(file.as_raw_fd(), 100, 0), Err(Status::ERROR_INVALID_CODE_OBJECT));
    assert_eq!(read(file.as_raw_fd(), 100, bytes.len() + 51), Err(Status::ERROR_INVALID_CODE_OBJECT));
    assert_eq!(read(-1, 0, 1), Err(Status::ERROR_INVALID_ARGUMENT));
    assert_eq!(read(1 << 20, 0, 1), Err(Status::ERROR_INVALID_FILE));
}
