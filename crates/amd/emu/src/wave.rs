//! State of a wave.

use roci_isa::WaveSize;

use crate::grid_sync::GridSyncWait;
use crate::mode::Mode;
use crate::row::Row;

/// SGPR numbers: `s0` to `s105`, `vcc` (106), `ttmp` (108), `null` (124), `m0` (125), `exec` (126).
pub(crate) mod scalar {
    /// Low half of `vcc`.
    pub(crate) const VCC: u8 = 106;
    /// `m0`.
    pub(crate) const M0: u8 = 125;
    /// Low half of `exec`.
    pub(crate) const EXEC: u8 = 126;
    /// Target of writes to `null`; with room for the widest load.
    pub(crate) const SINK: u8 = 128;
    /// A constant mask with all lanes set.
    pub(crate) const ONES: u8 = 144;
    /// Number of registers including the sink and the mask.
    pub(crate) const COUNT: usize = 146;

    /// All zero.
    pub(crate) const fn zero() -> [u32; COUNT] {
        let mut scalars = [0; COUNT];
        scalars[ONES as usize] = !0;
        scalars[ONES as usize + 1] = !0;
        scalars
    }
}

/// Execution status of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaveStatus {
    /// Can run.
    Ready,
    /// Waits at a workgroup barrier.
    AtBarrier,
    /// Has ended.
    Ended,
}

/// A wave of 32 or 64 lanes.
pub(crate) struct Wave {
    /// VGPRs: those of lanes 0 to 31, then those of lanes 32 to 63.
    pub(crate) bank: Box<[Row]>,
    /// VGPRs per half.
    pub(crate) registers: usize,
    /// SGPRs.
    pub(crate) scalars: [u32; scalar::COUNT],
    /// Scalar condition code.
    pub(crate) scc: bool,
    /// Floating-point mode.
    pub(crate) mode: Mode,
    /// Bit 0: f32 does not round to nearest with denormals preserved. Bit 1: f16 and f64 do not, or
    /// f16 saturates.
    pub(crate) special_modes: u8,
    /// Other hardware registers that code may write and read back.
    pub(crate) hardware: [u32; 64],
    /// Halves of 32 lanes: one or two.
    pub(crate) halves: usize,
    /// Index of the next micro-op.
    pub(crate) next: u32,
    /// First micro-op of the current straight-line run.
    pub(crate) run: u32,
    /// Micro-ops left in the time slice.
    pub(crate) budget: i64,
    /// Execution status.
    pub(crate) status: WaveStatus,
    /// The grid-wide barrier that the wave waits at.
    pub(crate) waiting: Option<GridSyncWait>,
    /// Index of the wave in its workgroup.
    pub(crate) number: u32,
    /// Address of its scratch memory.
    pub(crate) scratch: u64,
    /// Scratch memory per lane in bytes.
    pub(crate) scratch_per_lane: u32,
}

impl Wave {
    /// A wave with all registers zero.
    pub(crate) fn new(size: WaveSize, registers: usize) -> Self {
        let halves = match size {
            WaveSize::Wave32 => 1,
            WaveSize::Wave64 => 2,
        };
        Self {
            bank: (0..registers * halves).map(|_| Row::zero()).collect(),
            registers,
            scalars: scalar::zero(),
            scc: false,
            mode: Mode(0),
            special_modes: 0,
            hardware: [0; 64],
            halves,
            next: 0,
            run: 0,
            budget: 0,
            status: WaveStatus::Ready,
            waiting: None,
            number: 0,
            scratch: 0,
            scratch_per_lane: 0,
        }
    }

    /// Sets the MODE register.
    pub(crate) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.special_modes = u8::from(!mode.plain32()) | u8::from(!mode.plain16_64()) << 1;
    }

    /// EXEC mask of a half.
    #[inline(always)]
    pub(crate) fn exec(&self, half: usize) -> u32 {
        self.scalars[usize::from(scalar::EXEC) + half]
    }

    /// EXEC mask of the whole wave.
    #[inline(always)]
    pub(crate) fn exec64(&self) -> u64 {
        self.mask(scalar::EXEC)
    }

    /// A lane mask in SGPRs: one register in wave32, two in wave64.
    #[inline(always)]
    pub(crate) fn mask(&self, register: u8) -> u64 {
        let low = u64::from(self.scalars[usize::from(register)]);
        if self.halves == 1 { low } else { low | u64::from(self.scalars[usize::from(register) + 1]) << 32 }
    }

    /// Reads an SGPR pair.
    #[inline(always)]
    pub(crate) fn pair(&self, register: u8) -> u64 {
        let first = usize::from(register);
        u64::from(self.scalars[first]) | u64::from(self.scalars[first + 1]) << 32
    }

    /// Writes an SGPR pair.
    #[inline(always)]
    pub(crate) fn set_pair(&mut self, register: u8, value: u64) {
        let first = usize::from(register);
        self.scalars[first] = value as u32;
        self.scalars[first + 1] = (value >> 32) as u32;
    }

    /// A VGPR of a half.
    #[inline(always)]
    pub(crate) fn row(&self, half: usize, register: usize) -> &Row {
        &self.bank[half * self.registers + register]
    }

    /// Consecutive VGPRs of a half.
    #[inline(always)]
    pub(crate) fn rows_from(&self, half: usize, register: usize, count: usize) -> &[Row] {
        &self.bank[half * self.registers + register..][..count]
    }
}
