//! AMX: int8 products of sixteen tokens by sixteen rows in one instruction.
//!
//! Stable Rust has no AMX intrinsics, so the instructions are inline assembly. A thread configures
//! its tile registers ([`Amx::begin`]) and releases them ([`Tiles`] does when dropped): live tiles
//! are saved at every context switch.

use std::arch::asm;
use std::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::sync::OnceLock;

use crate::int8::{LINE, ROWS};

/// Token that proves that the CPU has AMX int8 and that the operating system lets this process use
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amx(());

/// Bytes of activations of one token in one product.
const WIDE: usize = 32;

/// The tile configuration: tiles 0 and 1 are sums; of 32 columns, tiles 2 and 3 are activations and
/// 4 and 5 weights; of 16 columns, tile 6 is activations and 7 weights.
#[repr(C, align(64))]
struct Shapes([u8; 64]);

/// Rows, and bytes of a row, of each tile.
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
    /// The token, if this CPU and operating system support AMX. The first call asks the kernel for
    /// permission.
    pub(crate) fn detect() -> Option<Amx> {
        static AVAILABLE: OnceLock<bool> = OnceLock::new();
        AVAILABLE.get_or_init(|| has_amx_int8() && os_saves_tiles() && request_permission()).then_some(Amx(()))
    }

    /// Configures this thread's tiles.
    pub(crate) fn begin(self) -> Tiles {
        // SAFETY: the token proves that the instruction is available and permitted; it reads the 64
        // bytes of `SHAPES`.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const SHAPES, options(nostack, preserves_flags)) };
        Tiles(())
    }
}

/// Whether CPUID reports the tile registers and their int8 products.
fn has_amx_int8() -> bool {
    let (tiles, bytes) = (1 << 24, 1 << 25);
    __cpuid(0).eax >= 7 && __cpuid_count(7, 0).edx & (tiles | bytes) == tiles | bytes
}

/// Whether the operating system saves the tile registers at context switches.
fn os_saves_tiles() -> bool {
    #[target_feature(enable = "xsave")]
    fn saved() -> u64 {
        // SAFETY: XCR0 exists on every CPU with `xgetbv`.
        unsafe { _xgetbv(0) }
    }
    let both = 3 << 17;
    // SAFETY: `xsave` was detected, so `xgetbv` is available and enabled.
    std::arch::is_x86_feature_detected!("xsave") && unsafe { saved() } & both == both
}

/// Asks Linux for permission to use the tiles: they enlarge the signal frame, so the kernel
/// requires an explicit request.
fn request_permission() -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    const ARCH_PRCTL: i64 = 158;
    const REQUEST: u64 = 0x1023;
    const TILE_DATA: u64 = 18;
    let mut result = ARCH_PRCTL;
    // SAFETY: `arch_prctl` takes two integers and touches no memory of this process; it clobbers
    // the registers named here.
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

/// Configured tiles of this thread.
pub(crate) struct Tiles(());

impl Tiles {
    /// Two products of sixteen tokens by sixteen rows, summed over a group of 32 columns, or over
    /// 16 of them with `HALF`. The second product hides the latency of the first. `target` gets one
    /// row per token of the first product, then of the second. Weights are signed here.
    ///
    /// # Safety
    /// Both pointers in `x` are valid for reading 16 rows that are 32 bytes apart, both in `lines`
    /// for reading eight lines (four with `HALF`), and `target` is valid for writing 512 values.
    #[inline(always)]
    pub(crate) unsafe fn products<const HALF: bool>(&self, x: [*const u8; 2], lines: [*const u8; 2], target: *mut i32) {
        if HALF {
            // SAFETY: `SHAPES` configured these tiles; the caller guarantees the memory.
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
        // SAFETY: the tiles are configured, so the instruction exists.
        unsafe { asm!("tilerelease", options(nostack, preserves_flags)) };
    }
}
