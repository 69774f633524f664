//! The matrix units of x86: products of sixteen tokens with sixteen rows in one instruction.
//!
//! Their instructions are not in stable Rust, so they are written as assembly. A thread that uses them makes the registers ready
//! ([`Amx::begin`]) and gives them up ([`Tiles`] does when it is dropped): what they hold would be saved at every switch of threads.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::sync::OnceLock;

use super::codes::{LINE, ROWS};

/// Token of a CPU with matrix units for bytes, which the system lets this process use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amx(());

/// Bytes of activations of a token in one product.
const WIDE: usize = 32;

/// What registers are like: sums are 0 and 1; of 32 columns, activations are 2 and 3, weights 4 and 5; of 16 columns, they are 6 and 7.
#[repr(C, align(64))]
struct Shapes([u8; 64]);

/// Rows and bytes of a row for each register.
static SHAPES: Shapes = {
    let (sums, x, lines) = ((ROWS, LINE), (ROWS, WIDE), (WIDE / 4, LINE));
    let registers = [sums, sums, x, x, lines, lines, (ROWS, WIDE / 2), (WIDE / 8, LINE)];
    let mut bytes = [0; 64];
    bytes[0] = 1;
    let mut at = 0;
    while at < registers.len() {
        bytes[16 + 2 * at] = registers[at].1 as u8;
        bytes[48 + at] = registers[at].0 as u8;
        at += 1;
    }
    Shapes(bytes)
};

impl Amx {
    /// The token, if this CPU and operating system serve it; asks the system for leave the first time.
    pub(super) fn detect() -> Option<Amx> {
        static FOUND: OnceLock<bool> = OnceLock::new();
        FOUND.get_or_init(|| there() && state_is_saved() && may_use()).then_some(Amx(()))
    }

    /// Makes this thread's registers ready.
    pub(crate) fn begin(self) -> Tiles {
        // SAFETY: the token proves that the instruction is there and allowed; it reads 64 bytes, which are there.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const SHAPES, options(nostack, preserves_flags)) };
        Tiles(())
    }
}

/// Whether the CPU says that it has the registers and their products of bytes.
fn there() -> bool {
    let (tiles, bytes) = (1 << 24, 1 << 25);
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & (tiles | bytes) == tiles | bytes
}

/// Whether the system saves the registers when threads are switched.
fn state_is_saved() -> bool {
    #[target_feature(enable = "xsave")]
    fn saved() -> u64 {
        // SAFETY: register 0 is there wherever the instruction is.
        unsafe { _xgetbv(0) }
    }
    let both = 3 << 17;
    // SAFETY: systems without the feature bit below do not let programs execute it.
    std::arch::is_x86_feature_detected!("xsave") && unsafe { saved() } & both == both
}

/// Asks Linux for leave to use the registers, which it wants to be asked for since they make the stacks of signals larger.
fn may_use() -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    const ARCH_PRCTL: i64 = 158;
    const REQUEST: u64 = 0x1023;
    const TILE_DATA: u64 = 18;
    let mut result = ARCH_PRCTL;
    // SAFETY: a call that takes two numbers and touches no memory of this process; it changes the registers named here.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") result,
            in("rdi") REQUEST,
            in("rsi") TILE_DATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack)
        );
    }
    result == 0
}

/// Registers that are ready on this thread.
pub(crate) struct Tiles(());

impl Tiles {
    /// Sums of sixteen tokens by sixteen rows over a group of 32 columns, or over 16 of them where `HALF` is set; and the same for
    /// another one, since one alone would wait for itself. `target` gets a row for each token, of one and then of the other. Codes of
    /// weights are signed here.
    ///
    /// # Safety
    /// Both `x` are valid for reading 16 rows that lie 32 bytes apart, both `lines` for reading eight lines, four of them where `HALF`
    /// is set, and `target` for writing 512 numbers.
    #[inline(always)]
    pub(crate) unsafe fn products<const HALF: bool>(&self, x: [*const u8; 2], lines: [*const u8; 2], target: *mut i32) {
        if HALF {
            // SAFETY: these registers are ready and of that shape; the caller vouches for the memory.
            unsafe {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tileloadd tmm6, [{x} + {row}*1]",
                    "tileloadd tmm7, [{lines} + {line}*1]",
                    "tdpbssd tmm0, tmm6, tmm7",
                    "tileloadd tmm6, [{other_x} + {row}*1]",
                    "tileloadd tmm7, [{other_lines} + {line}*1]",
                    "tdpbssd tmm1, tmm6, tmm7",
                    "tilestored [{target} + {line}*1], tmm0",
                    "tilestored [{target} + {line}*1 + 1024], tmm1",
                    x = in(reg) x[0], other_x = in(reg) x[1], row = in(reg) WIDE,
                    lines = in(reg) lines[0], other_lines = in(reg) lines[1], line = in(reg) LINE,
                    target = in(reg) target,
                    options(nostack, preserves_flags)
                );
            }
        } else {
            // SAFETY: as above.
            unsafe {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tileloadd tmm2, [{x} + {row}*1]",
                    "tileloadd tmm4, [{lines} + {line}*1]",
                    "tdpbssd tmm0, tmm2, tmm4",
                    "tileloadd tmm3, [{other_x} + {row}*1]",
                    "tileloadd tmm5, [{other_lines} + {line}*1]",
                    "tdpbssd tmm1, tmm3, tmm5",
                    "tilestored [{target} + {line}*1], tmm0",
                    "tilestored [{target} + {line}*1 + 1024], tmm1",
                    x = in(reg) x[0], other_x = in(reg) x[1], row = in(reg) WIDE,
                    lines = in(reg) lines[0], other_lines = in(reg) lines[1], line = in(reg) LINE,
                    target = in(reg) target,
                    options(nostack, preserves_flags)
                );
            }
        }
    }
}

impl Drop for Tiles {
    fn drop(&mut self) {
        // SAFETY: registers are ready, so the instruction is there.
        unsafe { asm!("tilerelease", options(nostack, preserves_flags)) };
    }
}
