//! The state of one wave.

use roci_isa::WaveSize;

use crate::grid_sync::Waiting;
use crate::mode::Mode;
use crate::row::Row;

/// Scalar registers by number: `s0` to `s105`, `vcc` (106), `ttmp` (108), `null` (124), `m0` (125), `exec` (126).
pub(crate) mod scalar {
    /// The low half of `vcc`.
    pub(crate) const VCC: u8 = 106;
    /// `m0`.
    pub(crate) const M0: u8 = 125;
    /// The low half of `exec`.
    pub(crate) const EXEC: u8 = 126;
    /// Where what is written to `null` goes: room for the widest load.
    pub(crate) const SINK: u8 = 128;
    /// A mask of all lanes, which nothing changes.
    pub(crate) const ONES: u8 = 144;
    /// Registers, the sink and the mask.
    pub(crate) const COUNT: usize = 146;

    /// All zero.
    pub(crate) const fn zero() -> [u32; COUNT] {
        let mut scalars = [0; COUNT];
        scalars[ONES as usize] = !0;
        scalars[ONES as usize + 1] = !0;
        scalars
    }
}

/// Why a wave is not running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It can go on.
    Ready,
    /// It waits for the others of its group.
    AtBarrier,
    /// It has ended.
    Ended,
}

/// A wave.
pub(crate) struct Wave {
    /// The vector registers: those of lanes 0 to 31, then those of lanes 32 to 63.
    pub(crate) bank: Box<[Row]>,
    /// Vector registers of each half.
    pub(crate) registers: usize,
    /// The scalar registers.
    pub(crate) scalars: [u32; scalar::COUNT],
    /// The scalar condition code.
    pub(crate) scc: bool,
    /// Floating-point mode.
    pub(crate) mode: Mode,
    /// Bit 0: f32 does not round to nearest with denormals kept; bit 1: f16 and f64 do not, or f16 saturates.
    pub(crate) special_modes: u8,
    /// The other hardware registers that code may write and read back.
    pub(crate) hardware: [u32; 64],
    /// Halves of 32 lanes: one or two.
    pub(crate) halves: usize,
    /// The step to run next.
    pub(crate) next: u32,
    /// The first step of the straight run that the wave is in.
    pub(crate) run: u32,
    /// Steps it may still run before others get their turn.
    pub(crate) budget: i64,
    /// Whether it can go on.
    pub(crate) status: Status,
    /// The barrier of the whole grid that it waits at.
    pub(crate) waiting: Option<Waiting>,
    /// Its number in the group.
    pub(crate) number: u32,
    /// Where its private memory begins.
    pub(crate) scratch: u64,
    /// Bytes of private memory of each lane.
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
            status: Status::Ready,
            waiting: None,
            number: 0,
            scratch: 0,
            scratch_per_lane: 0,
        }
    }

    /// Sets the floating-point mode.
    pub(crate) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.special_modes = u8::from(!mode.plain32()) | u8::from(!mode.plain16_64()) << 1;
    }

    /// The execution mask of a half.
    #[inline(always)]
    pub(crate) fn exec(&self, half: usize) -> u32 {
        self.scalars[usize::from(scalar::EXEC) + half]
    }

    /// The execution mask of all lanes.
    #[inline(always)]
    pub(crate) fn exec64(&self) -> u64 {
        self.mask(scalar::EXEC)
    }

    /// A mask of all lanes in scalar registers: one of a wave of 32 lanes, two of one of 64.
    #[inline(always)]
    pub(crate) fn mask(&self, register: u8) -> u64 {
        let low = u64::from(self.scalars[usize::from(register)]);
        if self.halves == 1 { low } else { low | u64::from(self.scalars[usize::from(register) + 1]) << 32 }
    }

    /// A pair of scalar registers.
    #[inline(always)]
    pub(crate) fn pair(&self, register: u8) -> u64 {
        let first = usize::from(register);
        u64::from(self.scalars[first]) | u64::from(self.scalars[first + 1]) << 32
    }

    /// Sets a pair of scalar registers.
    #[inline(always)]
    pub(crate) fn set_pair(&mut self, register: u8, value: u64) {
        let first = usize::from(register);
        self.scalars[first] = value as u32;
        self.scalars[first + 1] = (value >> 32) as u32;
    }

    /// A vector register of a half.
    #[inline(always)]
    pub(crate) fn row(&self, half: usize, register: usize) -> &Row {
        &self.bank[half * self.registers + register]
    }

    /// Vector registers of a half from one on.
    #[inline(always)]
    pub(crate) fn rows_from(&self, half: usize, register: usize, count: usize) -> &[Row] {
        &self.bank[half * self.registers + register..][..count]
    }
}
