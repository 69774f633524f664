//! The system as a whole.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use roci_hsa::abi::{Extension, LoaderTable1_03, Status, SystemInfo};

use crate::ask::{Client, ask, sizes};

fn info(client: &Client, attribute: SystemInfo) -> Result<Vec<u8>, Status> {
    // SAFETY: there is room for every answer.
    ask(|value| unsafe { (client.api.hsa_system_get_info)(attribute, value) })
}

fn big(answer: Result<Vec<u8>, Status>) -> u64 {
    u64::from_ne_bytes(answer.expect("an answer").try_into().expect("eight bytes"))
}

/// Text of which only the start is known.
fn text(start: *const c_char) -> String {
    assert!(!start.is_null());
    let at = |index| {
        // SAFETY: the text ends with a zero, where the look at it ends.
        unsafe { start.cast::<u8>().wrapping_add(index).read() }
    };
    let bytes: Vec<u8> = (0..).map(at).take_while(|byte| *byte != 0).collect();
    String::from_utf8(bytes).expect("text")
}

#[test]
fn every_attribute_is_answered_in_its_size() {
    let client = Client::new();
    sizes(SystemInfo::TABLE, &[], |attribute| info(&client, SystemInfo(attribute)));
    // SAFETY: nothing is written through null.
    let status = unsafe { (client.api.hsa_system_get_info)(SystemInfo::TIMESTAMP, null_mut()) };
    assert_eq!(status, Status::ERROR_INVALID_ARGUMENT);
}

#[test]
fn it_says_what_clients_insist_on() {
    let client = Client::new();
    assert_eq!(info(&client, SystemInfo::VERSION_MAJOR), Ok(1_u16.to_ne_bytes().to_vec()));
    assert_eq!(info(&client, SystemInfo::ENDIANNESS), Ok(vec![0; 4]));
    assert_eq!(info(&client, SystemInfo::MACHINE_MODEL), Ok(1_u32.to_ne_bytes().to_vec()));
    for (attribute, want) in [
        (SystemInfo::SVM_SUPPORTED, 1),
        (SystemInfo::VIRTUAL_MEM_API_SUPPORTED, 1),
        (SystemInfo::SVM_ACCESSIBLE_BY_DEFAULT, 0),
        (SystemInfo::XNACK_ENABLED, 0),
        (SystemInfo::DMABUF_SUPPORTED, 0),
    ] {
        assert_eq!(info(&client, attribute), Ok(vec![want]), "{attribute}");
    }
    let mut build: *const c_char = null();
    // SAFETY: the attribute answers with a pointer.
    let status = unsafe { (client.api.hsa_system_get_info)(SystemInfo::BUILD_VERSION, (&raw mut build).cast()) };
    assert_eq!(status, Status::SUCCESS);
    assert!(text(build).ends_with("(emulated)"));
}

#[test]
fn the_clock_goes_on() {
    let client = Client::new();
    let now = || big(info(&client, SystemInfo::TIMESTAMP));
    let (first, ticks) = (now(), big(info(&client, SystemInfo::TIMESTAMP_FREQUENCY)));
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert!(now() - first >= ticks / 500);
}

#[test]
fn statuses_have_texts() {
    let client = Client::new();
    let ask_text = |status| {
        let mut start: *const c_char = null();
        // SAFETY: there is room for a pointer.
        let answer = unsafe { (client.api.hsa_status_string)(status, &raw mut start) };
        (answer == Status::SUCCESS).then(|| text(start)).ok_or(answer)
    };
    for constant in Status::TABLE.constants {
        let text = ask_text(Status(constant.value as u32)).expect(constant.name);
        assert!(text.starts_with(constant.name) && text.len() > constant.name.len() + 4, "{text}");
    }
    assert_eq!(ask_text(Status(0x7777)), Err(Status::ERROR_INVALID_ARGUMENT));
    // SAFETY: nothing is written through null.
    let nowhere = unsafe { (client.api.hsa_status_string)(Status::SUCCESS, null_mut()) };
    assert_eq!(nowhere, Status::ERROR_INVALID_ARGUMENT);
}

#[test]
fn the_loaders_table_is_the_only_one() {
    let client = Client::new();
    let api = &client.api;
    for (extension, version, want) in [
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
        // SAFETY: there is room for the answer.
        let supported = ask(|value| unsafe { call(extension, version.0, version.1, value.cast()) });
        assert_eq!(supported, want, "{extension} {version:?}");
    }
    for (extension, major, want) in [
        (Extension::AMD_LOADER, 1, (true, 3)),
        (Extension::AMD_LOADER, 2, (false, 7)),
        (Extension::IMAGES, 1, (false, 7)),
    ] {
        let (mut minor, mut supported) = (7, !want.0);
        let call = api.hsa_system_major_extension_supported;
        // SAFETY: there is room for the answers.
        let status = unsafe { call(extension, major, &raw mut minor, &raw mut supported) };
        assert_eq!((status, supported, minor), (Status::SUCCESS, want.0, want.1), "{extension} {major}");
    }
}

#[test]
fn the_table_is_as_long_as_the_clients() {
    let client = Client::new();
    let table = |extension, major, length| {
        let call = client.api.hsa_system_get_major_extension_table;
        // SAFETY: there is room for more than the whole table.
        ask(|value| unsafe { call(extension, major, length, value) })
    };
    let whole = size_of::<LoaderTable1_03>();
    let slots = table(Extension::AMD_LOADER, 1, whole).expect("a table");
    assert!(slots.len() == whole && slots.chunks(8).all(|slot| slot != [0; 8]), "every slot is filled");
    // Versions 1.00 to 1.02, and one that is yet to come.
    for (length, want) in [(24, 24), (40, 40), (48, 48), (1000, whole)] {
        assert_eq!(table(Extension::AMD_LOADER, 1, length).as_deref(), Ok(&slots[..want]));
    }
    assert_eq!(table(Extension::AMD_LOADER, 1, 0), Err(Status::ERROR_INVALID_ARGUMENT));
    assert_eq!(table(Extension::AMD_LOADER, 2, whole), Err(Status::ERROR));
    assert_eq!(table(Extension::IMAGES, 1, whole), Err(Status::ERROR));
}

#[test]
fn a_handler_of_events_must_be_one() {
    let client = Client::new();
    // SAFETY: there is no handler to be called.
    let status = unsafe { (client.api.hsa_amd_register_system_event_handler)(None, null_mut::<c_void>()) };
    assert_eq!(status, Status::ERROR_INVALID_ARGUMENT);
}
