//! Compares every kernel of the device library on every chip with the native kernels. No compiler
//! is needed. There is one test per kernel and code object, for the chip itself and for a generic
//! target that covers it.

#[path = "../../../../kernels/select/tests/pocl/native.rs"]
mod native;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use libtest_mimic::{Arguments, Failed, Trial};
use roci_codeobj::{CodeObject, Kernel, TargetId};
use roci_device_library::DeviceLibrary;
use roci_emu::{Access, Allocation, Chip, Dispatch, Emulator, Module};
use roci_families::cases::Case;
use roci_kernels::clc::{Argument, EntryInfo, Matrix, Options};
use roci_kernels::{KernelSpec, kernels, opencl_c};

const CHIPS: [Chip; 6] = [Chip::Gfx1010, Chip::Gfx1012, Chip::Gfx1013, Chip::Gfx1030, Chip::Gfx1100, Chip::Gfx1151];

/// Device memory with these bytes.
fn upload(emulator: &Emulator, bytes: &[u8]) -> Allocation {
    let mut memory = emulator.memory().allocate(bytes.len().max(4), Access::ReadWrite);
    memory.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
    memory
}

/// A dispatch packet with grid and workgroup sizes, from which kernels compute the number of
/// workgroups.
fn packet(grid: [u32; 3], block: [u32; 3]) -> [u8; 64] {
    let mut packet = [0; 64];
    for axis in 0..3 {
        packet[4 + 2 * axis..][..2].copy_from_slice(&(block[axis] as u16).to_le_bytes());
        packet[12 + 4 * axis..][..4].copy_from_slice(&grid[axis].to_le_bytes());
    }
    packet
}

/// The buffers of `case` after the kernel has run.
fn run(
    emulator: &Emulator,
    module: &Module,
    kernel: &Kernel,
    entry: &EntryInfo,
    case: &Case,
) -> Result<Vec<Vec<u32>>, Failed> {
    if case.grid.contains(&0) {
        return Ok(case.buffers.clone());
    }
    let memory: Vec<Allocation> =
        case.buffers.iter().map(|words| upload(emulator, bytemuck::cast_slice(words))).collect();
    let layout = &kernel.metadata.as_ref().ok_or("the kernel has no metadata")?.args;
    let mut arguments = vec![0; kernel.descriptor.kernarg_size.max(16) as usize];
    for (argument, parameter) in entry.arguments.iter().zip(layout) {
        let bytes = match *argument {
            Argument::Binding { binding, .. } => memory[binding as usize].address().to_le_bytes().to_vec(),
            Argument::Constants { .. } => case.constants.clone(),
            Argument::ArrayLength { .. } => return Err("kernels must not use `arrayLength`".into()),
        };
        if bytes.len() as u64 > parameter.size {
            return Err(format!("an argument has {} bytes; the kernel declares {}", bytes.len(), parameter.size).into());
        }
        arguments[parameter.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    let kernarg = upload(emulator, &arguments);
    let block = entry.workgroup_size;
    let grid = [0, 1, 2].map(|axis| case.grid[axis] * block[axis]);
    let packet = upload(emulator, &packet(grid, block));
    let dispatch =
        Dispatch { grid, block, kernarg: kernarg.address(), packet: packet.address(), ..Dispatch::default() };
    emulator.run(module.kernel(&kernel.name)?, &dispatch, &AtomicBool::new(false))?;
    let words =
        |(memory, before): (&Allocation, &Vec<u32>)| bytemuck::cast_slice(&memory.bytes()[..4 * before.len()]).to_vec();
    Ok(memory.iter().zip(&case.buffers).map(words).collect())
}

fn check_all(chip: Chip, bytes: &[u8], kernel: &KernelSpec) -> Result<(), Failed> {
    let object = CodeObject::parse(bytes)?;
    let emulator = Emulator::new(chip).with_threads(1);
    let module = emulator.load(&object)?;
    // The host's arguments are the same for every lowering.
    let written = opencl_c(kernel, &Options { matrix: Matrix::Wmma, ..Options::amdgcn() })?;
    let entry = written.entry_points.first().ok_or("no entry point was written")?;
    let found = object.kernel(kernel.name()).ok_or("the code object lacks it")?;
    native::check_cases(kernel.name(), |case| case.tolerance, |case| run(&emulator, &module, found, entry, case))
}

fn main() {
    let arguments = Arguments::from_args();
    let library = Arc::new(DeviceLibrary::embedded_whole().expect("the embedded library opens"));
    let mut trials = Vec::new();
    for chip in CHIPS {
        let device: TargetId = chip.name().parse().expect("chips are targets");
        for (index, object) in library.archive().objects.iter().enumerate() {
            if object.target.runs_on(&device).is_err() {
                continue;
            }
            let matrix = device.processor.generation() == 11;
            for kernel in kernels().iter().filter(|kernel| matrix || !kernel.needs_matrix()) {
                let name = format!("{chip}::{}::{}", object.target, kernel.name());
                let library = Arc::clone(&library);
                let test = move || check_all(chip, &library.archive().objects[index].bytes, kernel);
                trials.push(Trial::test(name, test));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}
