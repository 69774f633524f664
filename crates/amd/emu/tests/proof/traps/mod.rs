//! Known pitfalls of emulators, one test each. Hand-written assembly where C cannot express them.

mod arithmetic;
mod buffers;
mod control;
mod faults;
mod lanes;
mod launch;
mod matrix;
mod memory;
mod modes;
mod operands;
mod scalars;

use libtest_mimic::{Failed, Trial};
use roci_emu::{Chip, DispatchError, Error, Fault, FaultReport};

use crate::device::{self, Device};
use crate::toolchain::Toolchain;

/// Name and function of a test.
type Trap = (&'static str, fn(&Bench) -> Result<(), Failed>);

/// Chips of both families.
const BOTH: [Chip; 2] = [Chip::Gfx1010, Chip::Gfx1100];
/// One chip of every generation.
const GENERATIONS: [Chip; 4] = [Chip::Gfx1010, Chip::Gfx1030, Chip::Gfx1100, Chip::Gfx1151];

/// Descriptor directives of a gfx10 kernel with private memory.
const PRIVATE_BUFFER: &str = ".amdhsa_private_segment_fixed_size 64\n\
                              .amdhsa_system_sgpr_private_segment_wavefront_offset 1\n\
                              .amdhsa_user_sgpr_private_segment_buffer 1";
/// Prologue of such a kernel: `s[20:23]` and `s24` then describe its private memory.
const TAKE_PRIVATE_BUFFER: &str = "s_mov_b32 s20, s0\ns_mov_b32 s21, s1\ns_mov_b32 s22, s2\ns_mov_b32 s23, s3\n\
                                   s_mov_b32 s24, s7\ns_mov_b32 s0, s4\ns_mov_b32 s1, s5\ns_mov_b32 s2, s6";

/// Assembles and runs kernels.
pub(crate) struct Bench {
    pub(crate) toolchain: Toolchain,
}

/// A kernel in assembly.
///
/// It starts with the kernarg address in `s[0:1]`, the workgroup ID in `s2`, the address of the
/// results in `s[4:5]` and of the input in `s[6:7]`, the lane's input word in `v9`, the lane index
/// in `v8`, and zero in `v4` to `v7`, which are its result. `s3`, `s8` to `s11` and `v3` are
/// reserved; the body may use `s12` to `s90` and `v10` on.
#[derive(Clone)]
pub(crate) struct Kernel<'a> {
    pub(crate) chip: Chip,
    pub(crate) body: &'a str,
    pub(crate) wave64: bool,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Directives of the kernel descriptor.
    pub(crate) descriptor: &'a str,
    pub(crate) registers: u32,
    /// One word per lane.
    pub(crate) input: &'a [u32],
    /// Use the first work-item ID as the lane index rather than the position in the wave; for
    /// one-dimensional workgroups.
    pub(crate) by_item: bool,
    /// Runs before anything else.
    pub(crate) first: &'a str,
}

/// The default kernel: a single wave.
pub(crate) fn kernel(chip: Chip, body: &str) -> Kernel<'_> {
    Kernel {
        chip,
        body,
        wave64: false,
        grid: [32, 1, 1],
        block: [32, 1, 1],
        descriptor: "",
        registers: 32,
        input: &[],
        by_item: true,
        first: "",
    }
}

impl Kernel<'_> {
    fn text(&self) -> String {
        let exec = if self.wave64 { "s_mov_b64 s[8:9], exec" } else { "s_mov_b32 s8, exec_lo" };
        let back = if self.wave64 { "s_mov_b64 exec, s[8:9]" } else { "s_mov_b32 exec_lo, s8" };
        let number = match (self.by_item, self.wave64) {
            (true, _) => "v_and_b32 v8, 0x3ff, v0",
            (false, false) => "v_mbcnt_lo_u32_b32 v8, -1, 0",
            (false, true) => "v_mbcnt_lo_u32_b32 v8, -1, 0\nv_mbcnt_hi_u32_b32 v8, -1, v8",
        };
        let size = self.block.iter().product::<u32>();
        let (first, body, descriptor) = (self.first, self.body, self.descriptor);
        // clang's default; the assembler's default flushes f32 denormals.
        let denormals = ".amdhsa_float_denorm_mode_32 3";
        let denormals = if descriptor.contains("denorm_mode_32") { "" } else { denormals };
        let (wave32, registers) = (u32::from(!self.wave64), self.registers);
        format!(
            ".text\n.globl trap\n.p2align 8\n.type trap,@function\ntrap:\n{first}\n{exec}\n{number}\n\
             s_load_dwordx4 s[4:7], s[0:1], 0x0\n\
             v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\n\
             s_mul_i32 s3, s2, {size}\nv_add_nc_u32 v3, s3, v8\nv_lshlrev_b32 v9, 2, v3\nv_lshlrev_b32 v3, 4, v3\n\
             s_waitcnt lgkmcnt(0)\nglobal_load_dword v9, v9, s[6:7]\ns_waitcnt vmcnt(0)\n\
             {body}\n\
             finish:\n{back}\nglobal_store_dwordx4 v3, v[4:7], s[4:5]\ns_endpgm\n\
             .rodata\n.p2align 6\n.amdhsa_kernel trap\n.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\
             .amdhsa_next_free_vgpr {registers}\n.amdhsa_next_free_sgpr 96\n.amdhsa_wavefront_size32 {wave32}\n\
             .amdhsa_kernarg_size 16\n{descriptor}\n{denormals}\n.end_amdhsa_kernel\n"
        )
    }
}

impl Bench {
    /// Assembles and loads a kernel for its chip.
    pub(crate) fn load(&self, kernel: &Kernel<'_>) -> Result<Device, String> {
        let wave = if kernel.wave64 { "-mwavefrontsize64" } else { "-mno-wavefrontsize64" };
        let object = self.toolchain.assembly(&kernel.text(), kernel.chip, &[wave])?;
        Device::load(kernel.chip, &object)
    }

    /// Runs a kernel: four words per lane, or the reason why it ended.
    pub(crate) fn run(&self, kernel: &Kernel<'_>) -> Result<Vec<[u32; 4]>, String> {
        self.try_run(kernel)?.map_err(|error| format!("{}: {error}", kernel.chip))
    }

    fn try_run(&self, kernel: &Kernel<'_>) -> Result<Result<Vec<[u32; 4]>, Error>, String> {
        let device = self.load(kernel)?;
        let lanes = kernel.grid.iter().product::<u32>().next_multiple_of(64) as usize;
        let mut input = kernel.input.to_vec();
        input.resize(lanes.max(kernel.input.len()), 0);
        let (output, input) = (device.words(&vec![0; 4 * lanes]), device.words(&input));
        let run = device.run("trap", kernel.grid, kernel.block, &[output.address(), input.address()]);
        Ok(run.map(|_| device::words(&output).as_chunks().0.to_vec()))
    }

    /// Runs a kernel that must fault.
    pub(crate) fn fault(&self, kernel: &Kernel<'_>) -> Result<FaultReport, String> {
        match self.try_run(kernel)? {
            Err(Error::Dispatch(DispatchError::Fault(report))) => Ok(*report),
            Err(error) => Err(format!("{}: no fault, but: {error}", kernel.chip)),
            Ok(_) => Err(format!("{}: it ran to its end", kernel.chip)),
        }
    }

    /// Runs a body on one wave and compares the first `WORDS` words of the result, lane by lane.
    pub(crate) fn expect<const WORDS: usize>(
        &self,
        kernel: &Kernel<'_>,
        want: impl Fn(u32) -> [u32; WORDS],
    ) -> Result<(), Failed> {
        let got = self.run(kernel)?;
        for lane in 0..kernel.grid.iter().product::<u32>() {
            let (got, want) = (&got[lane as usize][..WORDS], want(lane));
            if got != want {
                let message = format!("{}: lane {lane}: got {got:x?}, want {want:x?}\n{}", kernel.chip, kernel.body);
                return Err(message.into());
            }
        }
        Ok(())
    }

    /// A result that does not depend on the lane.
    pub(crate) fn same<const WORDS: usize>(
        &self,
        chips: &[Chip],
        body: &str,
        want: [u32; WORDS],
    ) -> Result<(), Failed> {
        for &chip in chips {
            self.expect(&kernel(chip, body), |_| want)?;
        }
        Ok(())
    }
}

/// Compares two values.
fn equal<T: PartialEq + std::fmt::Debug>(got: T, want: T) -> Result<(), Failed> {
    if got == want { Ok(()) } else { Err(format!("got {got:x?}, want {want:x?}").into()) }
}

fn is_fault(report: &FaultReport, expected: impl Fn(&Fault) -> bool) -> Result<(), Failed> {
    if expected(&report.fault) { Ok(()) } else { Err(format!("another fault: {report}").into()) }
}

pub(crate) fn trials(toolchain: &Toolchain) -> Vec<Trial> {
    let files: [(&str, &[Trap]); 11] = [
        ("arithmetic", arithmetic::ALL),
        ("buffers", buffers::ALL),
        ("control", control::ALL),
        ("faults", faults::ALL),
        ("lanes", lanes::ALL),
        ("launch", launch::ALL),
        ("matrix", matrix::ALL),
        ("memory", memory::ALL),
        ("modes", modes::ALL),
        ("operands", operands::ALL),
        ("scalars", scalars::ALL),
    ];
    let mut trials = Vec::new();
    for (file, traps) in files {
        for &(name, test) in traps {
            let bench = Bench { toolchain: toolchain.clone() };
            trials.push(Trial::test(format!("trap::{file}::{name}"), move || test(&bench)));
        }
    }
    trials
}
