//! Attributes and extensions of the system.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use roci_hsa::abi::{Extension, LoaderTable1_03, Status, SystemInfo};

use crate::query::{Client, ask, sizes};

fn info(client: &Client, attribute: SystemInfo) -> Result<Vec<u8>, Status> {
    // SAFETY: the buffer is larger than every attribute.
    ask(|value| unsafe { (client.api.hsa_system_get_info)(attribute, value) })
}

fn as_u64(value: Result<Vec<u8>, Status>) -> u64 {
    u64::from_ne_bytes(value.expect("a value").try_into().expect("eight bytes"))
}

/// String at an address.
fn text(start: *const c_char) -> String {
    assert!(!start.is_null());
    let at = |index| {
        // SAFETY: the string is NUL-terminated, and the loop ends there.
        unsafe { start.cast::<u8>().wrapping_add(index).read() }
    };
    let bytes: Vec<u8> = (0..).map(at).take_while(|byte| *byte != 0).collect();
    String::from_utf8(bytes).expect("text")
}

#[test]
fn system_attributes_have_the_documented_size() {
    let client = Client::new();
    sizes(SystemInfo::TABLE, &[], |attribute| info(&client, SystemInfo(attribute)));
    // SAFETY: null is an error.
    let status = unsafe { (client.api.hsa_system_get_info)(SystemInfo::TIMESTAMP, null_mut()) };
    assert_eq!(status, Status::ERROR_INVALID_ARGUMENT);
}

#[test]
fn attributes_that_clients_require_have_their_values() {
    let client = Client::new();
    assert_eq!(info(&client, SystemInfo::VERSION_MAJOR), Ok(1_u16.to_ne_bytes().to_vec()));
    assert_eq!(info(&client, SystemInfo::ENDIANNESS), Ok(vec![0; 4]));
    assert_eq!(info(&client, SystemInfo::MACHINE_MODEL), Ok(1_u32.to_ne_bytes().to_vec()));
    for (attribute, expected) in [
        (SystemInfo::SVM_SUPPORTED, 1),
        (SystemInfo::VIRTUAL_MEM_API_SUPPORTED, 1),
        (SystemInfo::SVM_ACCESSIBLE_BY_DEFAULT, 0),
        (SystemInfo::XNACK_ENABLED, 0),
        (SystemInfo::DMABUF_SUPPORTED, 0),
    ] {
        assert_eq!(info(&client, attribute), Ok(vec![expected]), "{attribute}");
    }
    let mut build: *const c_char = null();
    // SAFETY: the attribute is a pointer.
    let status = unsafe { (client.api.hsa_system_get_info)(SystemInfo::BUILD_VERSION, (&raw mut build).cast()) };
    assert_eq!(status, Status::SUCCESS);
    assert!(text(build).ends_with("(emulated)"));
}

#[test]
fn the_clock_advances() {
    let client = Client::new();
    let now = || as_u64(info(&client, SystemInfo::TIMESTAMP));
    let (first, ticks) = (now(), as_u64(info(&client, SystemInfo::TIMESTAMP_FREQUENCY)));
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert!(now() - first >= ticks / 500);
}

#[test]
fn statuses_have_strings() {
    let client = Client::new();
    let ask_text = |status| {
        let mut start: *const c_char = null();
        // SAFETY: the result is valid for the write.
        let answer = unsafe { (client.api.hsa_status_string)(status, &raw mut start) };
        (answer == Status::SUCCESS).then(|| text(start)).ok_or(answer)
    };
    for constant in Status::TABLE.constants {
        let text = ask_text(Status(constant.value as u32)).expect(constant.name);
        assert!(text.starts_with(constant.name) && text.len() > constant.name.len() + 4, "{text}");
    }
    assert_eq!(ask_text(Status(0x7777)), Err(Status::ERROR_INVALID_ARGUMENT));
    // SAFETY: null is an error.
    let nowhere = unsafe { (client.api.hsa_status_string)(Status::SUCCESS, null_mut()) };
    assert_eq!(nowhere, Status::ERROR_INVALID_ARGUMENT);
}

#[test]
fn only_the_loader_extension_has_a_table() {
    let client = Client::new();
    let api = &client.api;
    for (extension, version, expected) in [
        (Extension::AMD_LOADER, (1, 0), Ok(vec![1])),
        (Extension::AMD_LOADER, (1, 3), Ok(vec![1])),
        (Extension::AMD_LOADER, (1, 4), Ok(vec![0])),
        (Extension::AMD_LOADER, (2, 0), Ok(vec![0])),
        (Extension::IMAGES, (1, 0), Ok(vec![0])),
        (Extension::FINALIZER, (1, 0), Ok(vec![0])),
        (Extension::AMD_AQLPROFILE, (1, 0), Ok(vec![0])),
        (Extension(77), (1, 0), Err(Status::ERROR_INVALID_ARGUMENT)),
    ] {
        let call = api.hsa_system_extension_supported;
        // SAFETY: the result is valid for the write.
        let supported = ask(|value| unsafe { call(extension, version.0, version.1, value.cast()) });
        assert_eq!(supported, expected, "{extension} {version:?}");
    }
    for (extension, major, expected) in [
        (Extension::AMD_LOADER, 1, (true, 3)),
        (Extension::AMD_LOADER, 2, (false, 7)),
        (Extension::IMAGES, 1, (false, 7)),
    ] {
        let (mut minor, mut supported) = (7, !expected.0);
        let call = api.hsa_system_major_extension_supported;
        // SAFETY: both results are valid for the writes.
        let status = unsafe { call(extension, major, &raw mut minor, &raw mut supported) };
        assert_eq!((status, supported, minor), (Status::SUCCESS, expected.0, expected.1), "{extension} {major}");
    }
}

#[test]
fn the_table_is_truncated_to_the_clients_size() {
    let client = Client::new();
    let table = |extension, major, length| {
        let call = client.api.hsa_system_get_major_extension_table;
        // SAFETY: the buffer is larger than the table.
        ask(|value| unsafe { call(extension, major, length, value) })
    };
    let full_size = size_of::<LoaderTable1_03>();
    let slots = table(Extension::AMD_LOADER, 1, full_size).expect("a table");
    assert!(slots.len() == full_size && slots.chunks(8).all(|slot| slot != [0; 8]), "every slot is filled");
    // Versions 1.00 to 1.02, and a future one.
    for (length, expected) in [(24, 24), (40, 40), (48, 48), (1000, full_size)] {
        assert_eq!(table(Extension::AMD_LOADER, 1, length).as_deref(), Ok(&slots[..expected]));
    }
    assert_eq!(table(Extension::AMD_LOADER, 1, 0), Err(Status::ERROR_INVALID_ARGUMENT));
    assert_eq!(table(Extension::AMD_LOADER, 2, full_size), Err(Status::ERROR));
    assert_eq!(table(Extension::IMAGES, 1, full_size), Err(Status::ERROR));
}

#[test]
fn a_null_event_handler_is_rejected() {
    let client = Client::new();
    // SAFETY: a null handler is an error.
    let status = unsafe { (client.api.hsa_amd_register_system_event_handler)(None, null_mut::<c_void>()) };
    assert_eq!(status, Status::ERROR_INVALID_ARGUMENT);
}
