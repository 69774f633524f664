//! Loaded code runs and accesses its variables.

#![expect(unsafe_code, reason = "variables are read by address")]

#[path = "../../tests/clang/mod.rs"]
mod clang;
#[path = "../../tests/loader/sources.rs"]
mod sources;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use roci_emu::{Access, Allocation, Chip, Dispatch};
use roci_hsa::abi::{ExecutableSymbolInfo, FloatRoundingMode, Profile, Status, VariableSegment};

use self::clang::Clang;
use self::sources::{PLAIN, VARIABLES};
use super::{Executable, Loader, Reader};
use crate::config::Config;
use crate::gpu::Gpu;

fn gpu(chip: Chip) -> Arc<Gpu> {
    Arc::new(Gpu::new(chip, 0, &Config { threads: Some(1), ..Config::new(vec![chip]) }))
}

fn words(gpu: &Gpu, words: &[u32]) -> Allocation {
    let mut allocation = gpu.emulator.memory().allocate(4 * words.len(), Access::ReadWrite);
    for (bytes, word) in allocation.bytes_mut().as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    allocation
}

fn contents(allocation: &Allocation) -> Vec<u32> {
    allocation.bytes().as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
}

fn executable(loader: &Loader) -> Arc<Executable> {
    loader.executable(loader.add_executable(Profile::BASE, FloatRoundingMode::DEFAULT)).expect("just created")
}

fn load(loader: &Loader, executable: &Executable, gpu: &Arc<Gpu>, bytes: &[u8]) -> Result<(), Status> {
    let reader = Arc::new(Reader::from_memory(bytes)?);
    executable.load(loader, gpu, &reader).map(drop)
}

fn address(executable: &Executable, gpu: &Gpu, name: &str) -> u64 {
    let symbol = executable.symbol(gpu.agent, name).expect(name);
    let value = symbol.info(ExecutableSymbolInfo::KERNEL_OBJECT).expect(name);
    u64::from_ne_bytes(*value.bytes().first_chunk().expect(name))
}

/// Runs the kernel `touch` with 8 work-items and returns its output.
fn touch(executable: &Executable, gpu: &Gpu, by: u32) -> Vec<u32> {
    let out = words(gpu, &[0; 8]);
    let kernarg = words(gpu, &[&[out.address() as u32, (out.address() >> 32) as u32, by][..], &[0; 64]].concat());
    let kernel = gpu.kernel(address(executable, gpu, "touch.kd")).expect("the kernel is registered");
    let dispatch = Dispatch { grid: [8, 1, 1], block: [8, 1, 1], kernarg: kernarg.address(), ..Dispatch::default() };
    gpu.emulator.run(&kernel, &dispatch, &AtomicBool::new(false)).expect("it runs");
    contents(&out)
}

/// Reads a variable of 8 words.
fn eight(address: u64) -> [u32; 8] {
    // SAFETY: a variable of that size in a loaded code object, and no kernel is running.
    unsafe { std::ptr::with_exposed_provenance::<[u32; 8]>(address as usize).read() }
}

#[test]
fn kernels_access_their_own_and_defined_variables() {
    let Some(clang) = Clang::find() else { return };
    for (chip, target) in [(Chip::Gfx1010, "gfx1010"), (Chip::Gfx1013, "gfx10-1-generic"), (Chip::Gfx1100, "gfx1100")] {
        let (gpu, loader) = (gpu(chip), Loader::default());
        let executable = executable(&loader);
        let outside = words(&gpu, &[100]);
        executable
            .define(&loader, gpu.agent, "outside", VariableSegment::GLOBAL, outside.address())
            .expect("the name is not defined yet");
        load(&loader, &executable, &gpu, &clang.compile(VARIABLES, target)).expect(target);
        executable.freeze().expect("not frozen yet");
        assert_eq!(touch(&executable, &gpu, 9), [106, 107, 108, 109, 106, 107, 108, 109], "{target}");
        assert_eq!(contents(&outside), [9], "{target}");
        assert_eq!(eight(address(&executable, &gpu, "zeros")), [9; 8], "{target}");
        assert_eq!(touch(&executable, &gpu, 1)[0], 15, "{target}");
    }
}

#[test]
fn code_uses_variables_of_earlier_code() {
    let Some(clang) = Clang::find() else { return };
    let (gpu, loader) = (gpu(Chip::Gfx1010), Loader::default());
    let (user, definer) = (clang.compile(VARIABLES, "gfx1010"), clang.compile("__global int outside = 40;", "gfx1010"));
    let executable = executable(&loader);
    assert_eq!(load(&loader, &executable, &gpu, &user), Err(Status::ERROR_VARIABLE_UNDEFINED));
    assert_eq!(load(&loader, &executable, &gpu, &definer), Ok(()));
    assert_eq!(load(&loader, &executable, &gpu, &user), Ok(()));
    assert_eq!(touch(&executable, &gpu, 1)[3], 49);
}

#[test]
fn unloading_frees_memory_kernels_and_symbols() {
    let Some(clang) = Clang::find() else { return };
    let (gpu, loader) = (gpu(Chip::Gfx1100), Loader::default());
    let bytes = clang.compile(PLAIN, "gfx1100");
    let free = gpu.available();
    let executable = executable(&loader);
    load(&loader, &executable, &gpu, &bytes).expect("the code runs on this chip");
    let object = address(&executable, &gpu, "plain.kd");
    assert!(gpu.available() < free && gpu.kernel(object).is_some() && loader.loaded_at(object).is_some());
    loader.remove_executable(executable.handle()).expect("the handle is live");
    assert!(gpu.available() == free && gpu.kernel(object).is_none() && loader.loaded_at(object).is_none());
    // `executable` still refers to the destroyed object.
    assert_eq!(load(&loader, &executable, &gpu, &bytes), Err(Status::ERROR_INVALID_EXECUTABLE));
    assert_eq!((gpu.available(), loader.symbols.all().len()), (free, 0));
}

#[test]
fn code_larger_than_device_memory_is_rejected() {
    let Some(clang) = Clang::find() else { return };
    let config = Config { memory: Some(8192), ..Config::new(vec![Chip::Gfx1100]) };
    let gpu = Arc::new(Gpu::new(Chip::Gfx1100, 0, &config));
    let loader = Loader::default();
    let bytes = clang.compile("__global int large[1 << 20];", "gfx1100");
    assert_eq!(load(&loader, &executable(&loader), &gpu, &bytes), Err(Status::ERROR_OUT_OF_RESOURCES));
    assert_eq!(gpu.available(), 8192);
}
