//! The checks of the emulator: each finds the bug planted for it, and says nothing about what clang writes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use roci_codeobj::{CodeObject, ValueKind};
use roci_device_library::DeviceLibrary;
use roci_emu::{Access, Checks, Chip, Dispatch, DispatchError, Emulator, Error, Fault, FaultReport};
use roci_testkit::require;
use roci_testkit::tools::{self, Tool};

const NOTHING: Checks = Checks { waits: false, uninit: false, races: false };
const WAITS: Checks = Checks { waits: true, ..NOTHING };
const UNINIT: Checks = Checks { uninit: true, ..NOTHING };
const RACES: Checks = Checks { races: true, ..NOTHING };

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// A code object made by clang.
fn compile(clang: &Tool, source: &Path, chip: Chip, options: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("temporary files can be written");
    let output = folder.path().join("code.co");
    let mut command = Command::new(clang.path());
    command.args(["-target", "amdgcn-amd-amdhsa", "-nogpulib", "-Wno-everything"]).arg(format!("-mcpu={chip}"));
    if source.extension().is_some_and(|extension| extension == "cl") {
        command.args(["-x", "cl", "-cl-std=CL2.0"]);
    }
    let ran = command.args(options).arg(source).arg("-o").arg(&output).output().expect("clang starts");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    std::fs::read(output).expect("clang wrote its output")
}

/// Runs a kernel whose buffers are zeros and whose numbers are 16: two groups of its size, of 128 if it has none.
fn run(chip: Chip, bytes: &[u8], kernel: &str, checks: Checks) -> Result<(), FaultReport> {
    let object = CodeObject::parse(bytes).expect("clang writes code objects");
    let emulator = Emulator::new(chip).with_checks(checks);
    let module = emulator.load(&object).expect("it is for this chip");
    let described = object.kernel(kernel).expect("the kernel is there");
    let metadata = described.metadata.as_ref().expect("clang describes kernels");
    let block = metadata.reqd_workgroup_size.unwrap_or([128, 1, 1]);
    let mut buffers = Vec::new();
    let mut kernarg =
        emulator.memory().allocate((described.kernarg_size() as usize).next_multiple_of(64).max(64), Access::Read);
    for argument in &metadata.args {
        let value: u64 = match argument.value_kind {
            ValueKind::GlobalBuffer => {
                buffers.push(emulator.memory().allocate(1 << 20, Access::ReadWrite));
                buffers.last().map_or(0, |buffer| buffer.address())
            }
            ValueKind::ByValue => 16,
            ValueKind::HiddenGroupSize(axis) => u64::from(block[usize::from(axis)]),
            ValueKind::HiddenBlockCount(0) => 2,
            ValueKind::HiddenBlockCount(_) => 1,
            ValueKind::HiddenGridDims => 1,
            _ => 0,
        };
        let (offset, size) = (argument.offset as usize, argument.size as usize);
        let place = &mut kernarg.bytes_mut()[offset..offset + size];
        match argument.value_kind {
            // Of a structure every number.
            ValueKind::ByValue if size > 8 => place.chunks_exact_mut(4).for_each(|number| number[0] = size_for(kernel)),
            _ => place.copy_from_slice(&value.to_le_bytes()[..size]),
        }
    }
    // What kernels of code object version 5 and before ask the packet for: sizes of groups and of the grid.
    let mut packet = emulator.memory().allocate(64, Access::Read);
    let grid = [2 * block[0], block[1], block[2]];
    for axis in 0..3 {
        packet.bytes_mut()[4 + 2 * axis..][..2].copy_from_slice(&(block[axis] as u16).to_le_bytes());
        packet.bytes_mut()[12 + 4 * axis..][..4].copy_from_slice(&grid[axis].to_le_bytes());
    }
    let addresses = (kernarg.address(), packet.address());
    let dispatch = Dispatch { grid, block, kernarg: addresses.0, packet: addresses.1, ..Dispatch::default() };
    match emulator.run(module.kernel(kernel).expect("it was found before"), &dispatch, &AtomicBool::new(false)) {
        Ok(_) => Ok(()),
        Err(Error::Dispatch(DispatchError::Fault(report))) => Err(*report),
        Err(other) => panic!("{kernel} on {chip}: {other}"),
    }
}

/// A size that keeps what a kernel touches within its buffers: windows have it to the power of five. Bytes with a scale for each 32 of them come
/// in whole groups.
fn size_for(kernel: &str) -> u8 {
    match kernel {
        _ if kernel.starts_with("conv") || kernel.starts_with("pool") => 4,
        _ if kernel.starts_with("lm_dot") => 32,
        _ => 16,
    }
}

/// What a check says of a kernel, if anything.
fn complaint(chip: Chip, bytes: &[u8], kernel: &str, checks: Checks) -> Option<(String, String)> {
    run(chip, bytes, kernel, checks).err().map(|report| match report.fault {
        Fault::Check(message) => (message, report.instruction),
        other => panic!("{kernel} on {chip}: {other} at {}", report.instruction),
    })
}

#[test]
fn a_register_that_is_used_before_its_load_has_ended_is_found() {
    let Some(clang) = require("clang", tools::clang()) else { return };
    for chip in [Chip::Gfx1010, Chip::Gfx1100] {
        let bytes = compile(&clang, &source("checks/waits.s"), chip, &[]);
        let said = |kernel: &str| complaint(chip, &bytes, kernel, WAITS);
        let (message, at) = said("no_wait_vector").expect("the load of v2 is not waited for");
        assert!(message.starts_with("v2 is read") && message.contains("s_waitcnt vmcnt(0)"), "{message}");
        assert!(at.starts_with("v_add_"), "{at}");
        let (message, _) = said("no_wait_scalar").expect("the load of s2 is not waited for");
        assert!(message.starts_with("s2 is read") && message.contains("lgkmcnt(0)"), "{message}");
        let (message, _) = said("scalar_out_of_order").expect("one of two scalar loads may be the other");
        assert!(message.starts_with("s2 is read"), "{message}");
        let (message, _) = said("no_wait_lds").expect("the load from LDS is not waited for");
        assert!(message.starts_with("v2 is read") && message.contains("lgkmcnt(0)"), "{message}");
        let (message, _) = said("overwritten").expect("the load comes after the move");
        assert!(message.starts_with("v2 is overwritten"), "{message}");
        let (message, _) = said("newest_of_two").expect("vmcnt(1) covers the first load only");
        assert!(message.starts_with("v3 is read"), "{message}");
        assert_eq!(said("oldest_of_two"), None, "vmcnt(1) covers the first load");
        assert_eq!(said("stores_do_not_count"), None, "a store is not counted by vmcnt");
        for kernel in ["no_wait_vector", "no_wait_scalar", "no_wait_lds", "overwritten", "newest_of_two"] {
            assert_eq!(run(chip, &bytes, kernel, NOTHING), Ok(()), "without the check nothing is said");
        }
    }
}

#[test]
fn a_barrier_does_not_wait_for_writes_to_lds() {
    let Some(clang) = require("clang", tools::clang()) else { return };
    for chip in [Chip::Gfx1010, Chip::Gfx1100] {
        let bytes = compile(&clang, &source("checks/waits.s"), chip, &[]);
        let (message, at) = complaint(chip, &bytes, "no_wait_before_barrier", RACES).expect("the write may end later");
        assert!(message.starts_with("LDS race") && message.contains("s_waitcnt lgkmcnt(0)"), "{message}");
        assert!(at.starts_with("ds_"), "{at}");
        assert_eq!(complaint(chip, &bytes, "wait_before_barrier", RACES), None);
        assert_eq!(run(chip, &bytes, "no_wait_before_barrier", NOTHING), Ok(()), "without the check nothing is said");
    }
}

#[test]
fn what_was_never_set_is_found_where_it_decides_something() {
    let Some(clang) = require("clang", tools::clang()) else { return };
    for chip in [Chip::Gfx1010, Chip::Gfx1100] {
        // Optimised, the compiler takes undefined values for whatever suits it.
        let bytes = compile(&clang, &source("checks/planted.cl"), chip, &["-O0"]);
        for (kernel, decides) in [
            ("stores_undefined", "stored to global memory"),
            ("branches_on_undefined", "exec"),
            ("addresses_by_undefined", "an address"),
            ("stores_undefined_lds", "stored to global memory"),
            ("stores_a_vector_without_its_first", "stored to global memory"),
            ("stores_a_vector_without_its_third", "stored to global memory"),
        ] {
            let (message, _) = complaint(chip, &bytes, kernel, UNINIT).expect(kernel);
            assert!(message.starts_with("undefined value") && message.contains(decides), "{kernel}: {message}");
            assert_eq!(run(chip, &bytes, kernel, NOTHING), Ok(()), "without the check nothing is said");
        }
        for kernel in ["copies_a_structure_with_holes", "copies_a_structure_with_a_word_of_padding", "stores_three"] {
            assert_eq!(complaint(chip, &bytes, kernel, UNINIT), None, "{kernel}");
        }
    }
}

#[test]
fn a_missing_barrier_is_found() {
    let Some(clang) = require("clang", tools::clang()) else { return };
    for chip in [Chip::Gfx1010, Chip::Gfx1100] {
        for level in ["-O0", "-O3"] {
            let bytes = compile(&clang, &source("checks/planted.cl"), chip, &[level]);
            for kernel in ["no_barrier", "no_second_barrier", "atomic_and_plain"] {
                let (message, _) = complaint(chip, &bytes, kernel, RACES).expect(kernel);
                assert!(message.starts_with("LDS race"), "{kernel}: {message}");
                assert_eq!(run(chip, &bytes, kernel, NOTHING), Ok(()), "without the check nothing is said");
            }
            for kernel in ["barriers", "atomics_alone"] {
                assert_eq!(complaint(chip, &bytes, kernel, RACES), None, "{kernel} {level}");
            }
        }
    }
}

/// Every kernel of a source at every level, in waves of 32 and 64 lanes.
fn silent(clang: &Tool, source: &Path, options: &[&str]) {
    for chip in Chip::ALL {
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            for wave in ["-mno-wavefrontsize64", "-mwavefrontsize64"] {
                let mut all = vec![level, wave];
                all.extend(options);
                let bytes = compile(clang, source, chip, &all);
                let object = CodeObject::parse(&bytes).expect("clang writes code objects");
                for kernel in object.kernels() {
                    let said = complaint(chip, &bytes, &kernel.name, Checks::ALL);
                    assert_eq!(said, None, "{} of {} on {chip} {level} {wave}", kernel.name, source.display());
                }
            }
        }
    }
}

#[test]
fn nothing_is_said_about_the_kernels_of_the_device_library() {
    let library = DeviceLibrary::embedded_whole().expect("it is embedded");
    for chip in Chip::ALL {
        let device = chip.name().parse().expect("a target");
        let bytes = library.find(&device).expect("it has code for every chip").bytes;
        let object = CodeObject::parse(bytes).expect("it holds code objects");
        assert!(object.kernels().len() > 20);
        // The constants that all kernels get here are none that these may have: they would turn more than a head has.
        let turns = |name: &str| name.starts_with("lm_heads") || name.starts_with("lm_attend");
        for kernel in object.kernels().iter().filter(|kernel| !turns(&kernel.name)) {
            let said = complaint(chip, bytes, &kernel.name, Checks::ALL);
            assert_eq!(said, None, "{} on {chip}", kernel.name);
        }
    }
}

#[test]
fn nothing_is_said_about_what_clang_writes() {
    let Some(clang) = require("clang", tools::clang()) else { return };
    silent(&clang, &source("checks/clean.cl"), &[]);
}
