//! The emulator's checks: each detects the bug planted for it, and none reports clang's output.

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

/// Compiles a code object with clang.
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

/// Runs a kernel with zeroed buffers and scalar arguments of 16: two workgroups of its required
/// size, or of 128 work-items.
fn run(chip: Chip, bytes: &[u8], kernel: &str, checks: Checks) -> Result<(), FaultReport> {
    let object = CodeObject::parse(bytes).expect("clang writes code objects");
    let emulator = Emulator::new(chip).with_checks(checks);
    let module = emulator.load(&object).expect("the code runs on this chip");
    let described = object.kernel(kernel).expect("the kernel exists");
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
        let target = &mut kernarg.bytes_mut()[offset..offset + size];
        match argument.value_kind {
            // Every field of a structure.
            ValueKind::ByValue if size > 8 => {
                target.chunks_exact_mut(4).for_each(|number| number[0] = size_for(kernel))
            }
            _ => target.copy_from_slice(&value.to_le_bytes()[..size]),
        }
    }
    // Code object version 5 and older reads workgroup and grid sizes from the packet.
    let mut packet = emulator.memory().allocate(64, Access::Read);
    let grid = [2 * block[0], block[1], block[2]];
    for axis in 0..3 {
        packet.bytes_mut()[4 + 2 * axis..][..2].copy_from_slice(&(block[axis] as u16).to_le_bytes());
        packet.bytes_mut()[12 + 4 * axis..][..4].copy_from_slice(&grid[axis].to_le_bytes());
    }
    let addresses = (kernarg.address(), packet.address());
    let dispatch = Dispatch { grid, block, kernarg: addresses.0, packet: addresses.1, ..Dispatch::default() };
    match emulator.run(module.kernel(kernel).expect("the kernel exists"), &dispatch, &AtomicBool::new(false)) {
        Ok(_) => Ok(()),
        Err(Error::Dispatch(DispatchError::Fault(report))) => Err(*report),
        Err(other) => panic!("{kernel} on {chip}: {other}"),
    }
}

/// A scalar argument that keeps a kernel's accesses inside its buffers: windowed kernels use its
/// fifth power, and bytes with a scale for each 32 come in whole groups.
fn size_for(kernel: &str) -> u8 {
    match kernel {
        _ if kernel.starts_with("conv") || kernel.starts_with("pool") => 4,
        _ if kernel.starts_with("lm_matvec_i8") => 32,
        _ => 16,
    }
}

/// The finding for a kernel, if any.
fn finding(chip: Chip, bytes: &[u8], kernel: &str, checks: Checks) -> Option<(String, String)> {
    run(chip, bytes, kernel, checks).err().map(|report| match report.fault {
        Fault::Check(message) => (message, report.instruction),
        other => panic!("{kernel} on {chip}: {other} at {}", report.instruction),
    })
}

#[test]
fn registers_used_before_their_load_completes_are_reported() {
    let Some(clang) = require("clang", tools::clang()) else { return };
    for chip in [Chip::Gfx1010, Chip::Gfx1100] {
        let bytes = compile(&clang, &source("checks/waits.s"), chip, &[]);
        let report = |kernel: &str| finding(chip, &bytes, kernel, WAITS);
        let (message, at) = report("no_wait_vector").expect("the load of v2 is not waited for");
        assert!(message.starts_with("v2 is read") && message.contains("s_waitcnt vmcnt(0)"), "{message}");
        assert!(at.starts_with("v_add_"), "{at}");
        let (message, _) = report("no_wait_scalar").expect("the load of s2 is not waited for");
        assert!(message.starts_with("s2 is read") && message.contains("lgkmcnt(0)"), "{message}");
        let (message, _) = report("scalar_out_of_order").expect("one of two scalar loads may be the other");
        assert!(message.starts_with("s2 is read"), "{message}");
        let (message, _) = report("no_wait_lds").expect("the load from LDS is not waited for");
        assert!(message.starts_with("v2 is read") && message.contains("lgkmcnt(0)"), "{message}");
        let (message, _) = report("overwritten").expect("the load comes after the move");
        assert!(message.starts_with("v2 is overwritten"), "{message}");
        let (message, _) = report("newest_of_two").expect("vmcnt(1) covers the first load only");
        assert!(message.starts_with("v3 is read"), "{message}");
        assert_eq!(report("oldest_of_two"), None, "vmcnt(1) covers the first load");
        assert_eq!(report("stores_do_not_count"), None, "a store is not counted by vmcnt");
        for kernel in ["no_wait_vector", "no_wait_scalar", "no_wait_lds", "overwritten", "newest_of_two"] {
            assert_eq!(run(chip, &bytes, kernel, NOTHING), Ok(()), "without the check there is no finding");
        }
    }
}

#[test]
fn barriers_do_not_wait_for_lds_writes() {
    let Some(clang) = require("clang", tools::clang()) else { return };
    for chip in [Chip::Gfx1010, Chip::Gfx1100] {
        let bytes = compile(&clang, &source("checks/waits.s"), chip, &[]);
        let (message, at) = finding(chip, &bytes, "no_wait_before_barrier", RACES).expect("the write may end later");
        assert!(message.starts_with("LDS race") && message.contains("s_waitcnt lgkmcnt(0)"), "{message}");
        assert!(at.starts_with("ds_"), "{at}");
        assert_eq!(finding(chip, &bytes, "wait_before_barrier", RACES), None);
        assert_eq!(
            run(chip, &bytes, "no_wait_before_barrier", NOTHING),
            Ok(()),
            "without the check there is no finding"
        );
    }
}

#[test]
fn uninitialized_values_are_reported_where_they_matter() {
    let Some(clang) = require("clang", tools::clang()) else { return };
    for chip in [Chip::Gfx1010, Chip::Gfx1100] {
        // With optimization the compiler may replace undefined values by any value.
        let bytes = compile(&clang, &source("checks/planted.cl"), chip, &["-O0"]);
        for (kernel, subject) in [
            ("stores_undefined", "stored to global memory"),
            ("branches_on_undefined", "exec"),
            ("addresses_by_undefined", "an address"),
            ("stores_undefined_lds", "stored to global memory"),
            ("stores_a_vector_without_its_first", "stored to global memory"),
            ("stores_a_vector_without_its_third", "stored to global memory"),
        ] {
            let (message, _) = finding(chip, &bytes, kernel, UNINIT).expect(kernel);
            assert!(message.starts_with("undefined value") && message.contains(subject), "{kernel}: {message}");
            assert_eq!(run(chip, &bytes, kernel, NOTHING), Ok(()), "without the check there is no finding");
        }
        for kernel in ["copies_a_structure_with_holes", "copies_a_structure_with_a_word_of_padding", "stores_three"] {
            assert_eq!(finding(chip, &bytes, kernel, UNINIT), None, "{kernel}");
        }
    }
}

#[test]
fn missing_barriers_are_reported() {
    let Some(clang) = require("clang", tools::clang()) else { return };
    for chip in [Chip::Gfx1010, Chip::Gfx1100] {
        for level in ["-O0", "-O3"] {
            let bytes = compile(&clang, &source("checks/planted.cl"), chip, &[level]);
            for kernel in ["no_barrier", "no_second_barrier", "atomic_and_plain"] {
                let (message, _) = finding(chip, &bytes, kernel, RACES).expect(kernel);
                assert!(message.starts_with("LDS race"), "{kernel}: {message}");
                assert_eq!(run(chip, &bytes, kernel, NOTHING), Ok(()), "without the check there is no finding");
            }
            for kernel in ["barriers", "atomics_alone"] {
                assert_eq!(finding(chip, &bytes, kernel, RACES), None, "{kernel} {level}");
            }
        }
    }
}

/// No check reports any kernel that clang compiled, at every optimization level, in wave32 and
/// wave64.
fn clang_output(chip: Chip) {
    let Some(clang) = require("clang", tools::clang()) else { return };
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        for wave in ["-mno-wavefrontsize64", "-mwavefrontsize64"] {
            let bytes = compile(&clang, &source("checks/clean.cl"), chip, &[level, wave]);
            let object = CodeObject::parse(&bytes).expect("clang writes code objects");
            for kernel in object.kernels() {
                let found = finding(chip, &bytes, &kernel.name, Checks::ALL);
                assert_eq!(found, None, "{} on {chip} {level} {wave}", kernel.name);
            }
        }
    }
}

fn device_library(chip: Chip) {
    let library = DeviceLibrary::embedded_whole().expect("it is embedded");
    let device = chip.name().parse().expect("a target");
    let bytes = library.find(&device).expect("it has code for every chip").bytes;
    let object = CodeObject::parse(bytes).expect("the library contains code objects");
    assert!(object.kernels().len() > 20);
    // The common constants are invalid for these kernels: they would rotate more than a head has.
    let rotates = |name: &str| name.starts_with("lm_rope_kv_store") || name.starts_with("lm_decode_attention");
    for kernel in object.kernels().iter().filter(|kernel| !rotates(&kernel.name)) {
        let found = finding(chip, bytes, &kernel.name, Checks::ALL);
        assert_eq!(found, None, "{} on {chip}", kernel.name);
    }
}

/// One test per chip, so that a run can select chips.
macro_rules! no_findings {
    ($($name:ident: $chip:ident;)*) => {
        #[test]
        fn every_chip_has_its_tests() {
            assert_eq!(Chip::ALL, [$(Chip::$chip),*]);
        }

        mod clang_output_has_no_findings {
            $(#[test]
            fn $name() {
                super::clang_output(super::Chip::$chip);
            })*
        }

        mod the_device_library_has_no_findings {
            $(#[test]
            fn $name() {
                super::device_library(super::Chip::$chip);
            })*
        }
    };
}

no_findings! {
    gfx1010: Gfx1010;
    gfx1012: Gfx1012;
    gfx1013: Gfx1013;
    gfx1030: Gfx1030;
    gfx1100: Gfx1100;
    gfx1151: Gfx1151;
}
