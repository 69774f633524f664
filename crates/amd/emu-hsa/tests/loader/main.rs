//! Code objects through the C interface: readers, executables, symbols, and the loader extension.

#![expect(unsafe_code, reason = "calls the C interface")]

#[path = "../clang/mod.rs"]
mod clang;
mod extension;
mod session;
mod sources;
mod symbols;

use roci_emu::Chip;
use roci_hsa::abi::{ExecutableSymbolInfo as Info, LoadedCodeObjectInfo as LoadedInfo, *};

use crate::clang::Clang;
use crate::session::{Session, out};
use crate::sources::{PLAIN, VARIABLES};

#[test]
fn only_compatible_targets_are_loaded() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let cases = [
        ("gfx1010", Chip::Gfx1010, true),
        ("gfx1100", Chip::Gfx1100, true),
        ("gfx10-1-generic", Chip::Gfx1013, true),
        ("gfx11-generic", Chip::Gfx1100, true),
        ("gfx1010:xnack-", Chip::Gfx1010, true),
        ("gfx1010:xnack+", Chip::Gfx1010, false),
        ("gfx1010", Chip::Gfx1013, false),
        ("gfx1030", Chip::Gfx1010, false),
        ("gfx10-1-generic", Chip::Gfx1100, false),
        ("gfx90a", Chip::Gfx1100, false),
    ];
    for (target, chip, runs) in cases {
        let executable = session.executable();
        let loaded = session.load(executable, session.gpu(chip), &clang.compile("__kernel void k() {}", target));
        let expected = if runs { Ok(()) } else { Err(Status::ERROR_INCOMPATIBLE_ARGUMENTS) };
        assert_eq!(loaded.map(drop), expected, "{target} on {chip}");
        let symbol = session.symbol(executable, Some(session.gpu(chip)), "k.kd");
        assert_eq!(symbol.is_ok(), runs, "{target} on {chip}");
        session.destroy(executable).expect("the handle is live");
    }
    let (executable, bytes) = (session.executable(), clang.compile(PLAIN, "gfx1010"));
    let refused = session.load(executable, session.agents[0], &bytes);
    assert_eq!(refused, Err(Status::ERROR_INCOMPATIBLE_ARGUMENTS), "the CPU");
    let refused = session.load(executable, Agent { handle: 0x777 }, &bytes);
    assert_eq!(refused, Err(Status::ERROR_INVALID_AGENT));
}

#[test]
fn damaged_code_is_rejected() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let (gpu, intact) = (session.gpu(Chip::Gfx1100), clang.compile(VARIABLES, "gfx1100"));
    let executable = session.executable();
    session.define(executable, gpu, "outside", 0x1000).expect("the name is not defined yet");
    for bytes in [&b"\x7fELF"[..], b"no ELF file at all", &intact[..200], &intact[..intact.len() / 2]] {
        let refused = session.load(executable, gpu, bytes);
        assert_eq!(refused, Err(Status::ERROR_INVALID_CODE_OBJECT), "{} bytes", bytes.len());
    }
    // Any byte may be wrong: a status is returned, and loaded code can be unloaded.
    let refusals = [
        Status::ERROR_INVALID_CODE_OBJECT,
        Status::ERROR_INCOMPATIBLE_ARGUMENTS,
        Status::ERROR_VARIABLE_UNDEFINED,
        Status::ERROR_OUT_OF_RESOURCES,
    ];
    for at in (0..intact.len().min(0x900)).step_by(7) {
        let mut bytes = intact.clone();
        bytes[at] ^= 0x55;
        let executable = session.executable();
        session.define(executable, gpu, "outside", 0x1000).expect("the name is not defined yet");
        if let Err(status) = session.load(executable, gpu, &bytes) {
            assert!(refusals.contains(&status), "byte {at}: {status}");
        }
        session.destroy(executable).expect("the handle is live");
    }
    session.load(executable, gpu, &intact).expect("it is intact");
    assert_eq!(session.reader(&[]), Err(Status::ERROR_INVALID_ARGUMENT));
}

#[test]
fn frozen_executables_do_not_change() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let (gpu, bytes) = (session.gpu(Chip::Gfx1010), clang.compile(PLAIN, "gfx1010"));
    let executable = session.executable();
    assert_eq!(session.freeze(executable), Ok(()));
    assert_eq!(session.freeze(executable), Err(Status::ERROR_FROZEN_EXECUTABLE));
    assert_eq!(session.load(executable, gpu, &bytes), Err(Status::ERROR_FROZEN_EXECUTABLE));
    assert_eq!(session.define(executable, gpu, "x", 1), Err(Status::ERROR_FROZEN_EXECUTABLE));
    // SAFETY: the result is valid for the write.
    let valid = out(|to| unsafe { (session.api.hsa_executable_validate_alt)(executable, std::ptr::null(), to) });
    assert_eq!(valid, Ok(0));
}

#[test]
fn variables_are_defined_once() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let (gpu, other) = (session.gpu(Chip::Gfx1010), session.gpu(Chip::Gfx1013));
    let bytes = clang.compile(VARIABLES, "gfx10-1-generic");
    let executable = session.executable();
    assert_eq!(session.load(executable, gpu, &bytes), Err(Status::ERROR_VARIABLE_UNDEFINED));
    assert_eq!(session.define(executable, gpu, "outside", 0x1000), Ok(()));
    assert_eq!(session.define(executable, gpu, "outside", 0x2000), Err(Status::ERROR_VARIABLE_ALREADY_DEFINED));
    assert_eq!(session.load(executable, gpu, &bytes).map(drop), Ok(()));
    assert_eq!(session.load(executable, gpu, &bytes), Err(Status::ERROR_VARIABLE_ALREADY_DEFINED));
    assert_eq!(session.define(executable, gpu, "counter", 0x1000), Err(Status::ERROR_VARIABLE_ALREADY_DEFINED));
    // Each agent has its own symbols.
    assert_eq!(session.load(executable, other, &bytes), Err(Status::ERROR_VARIABLE_UNDEFINED));
    assert_eq!(session.define(executable, other, "outside", 0x1000), Ok(()));
    assert_eq!(session.load(executable, other, &bytes).map(drop), Ok(()));
    let address = |agent| {
        let symbol = session.symbol(executable, Some(agent), "counter").expect("it exists");
        session.info::<u64>(symbol, Info::VARIABLE_ADDRESS).expect("it has an address")
    };
    assert_ne!(address(gpu), address(other));
    assert_eq!(session.define(executable, Agent { handle: 0x777 }, "x", 1), Err(Status::ERROR_INVALID_AGENT));
}

#[test]
fn invalid_handles_are_rejected() {
    let Some(clang) = Clang::find() else { return };
    let session = Session::new();
    let (gpu, bytes) = (session.gpu(Chip::Gfx1010), clang.compile(PLAIN, "gfx1010"));
    let (reader, executable) = (session.reader(&bytes).expect("bytes"), session.executable());
    let loaded = session.load_from(executable, gpu, reader).expect("the code runs on this chip");
    let symbol = session.symbol(executable, Some(gpu), "plain.kd").expect("it exists");
    // A handle of one kind is invalid for another kind.
    let wrong = session.load_from(Executable { handle: reader.handle }, gpu, reader);
    assert_eq!(wrong, Err(Status::ERROR_INVALID_EXECUTABLE));
    let wrong = session.load_from(executable, gpu, CodeObjectReader { handle: executable.handle });
    assert_eq!(wrong, Err(Status::ERROR_INVALID_CODE_OBJECT_READER));
    // Loaded code outlives its reader.
    assert_eq!(session.destroy_reader(reader), Ok(()));
    assert_eq!(session.destroy_reader(reader), Err(Status::ERROR_INVALID_CODE_OBJECT_READER));
    assert!(session.info::<u64>(symbol, Info::KERNEL_OBJECT).is_ok());
    assert_eq!(session.destroy(executable), Ok(()));
    assert_eq!(session.destroy(executable), Err(Status::ERROR_INVALID_EXECUTABLE));
    assert_eq!(session.freeze(executable), Err(Status::ERROR_INVALID_EXECUTABLE));
    assert_eq!(session.symbol(executable, Some(gpu), "plain.kd"), Err(Status::ERROR_INVALID_EXECUTABLE));
    let after_destroy = session.info::<u64>(symbol, Info::KERNEL_OBJECT);
    assert_eq!(after_destroy, Err(Status::ERROR_INVALID_EXECUTABLE_SYMBOL));
    let after_destroy = session.loaded_info::<u64>(loaded, LoadedInfo::LOAD_BASE);
    assert_eq!(after_destroy, Err(Status::ERROR_INVALID_CODE_OBJECT));
    assert_ne!(session.executable(), executable, "numbers are not used twice");
}
