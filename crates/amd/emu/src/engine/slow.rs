//! Vector computations with modifiers, DPP or SDWA.

use half::f16;
use roci_isa::{Dpp16, LaneControl, SdwaPart};

use crate::engine::vector::blend;
use crate::engine::{Machine, rows};
use crate::lanes::rounding::{FloatMode, mul16, mul32, mul64};
use crate::mode::Mode;
use crate::program::micro_op::NO_MASK;
use crate::program::slow::{ResultPlacement, SlowFunction, SlowOp, SourcePart, SourcePreparation};
use crate::row::{LANES, OperandKind, Row, Rows};

impl Machine<'_> {
    pub(super) fn slow(&mut self, uop: &SlowOp) {
        self.slow_halves(uop, 0..self.wave.halves);
    }

    /// Executes in some of the halves. A micro-op for a single half has no masks.
    #[inline(never)]
    pub(super) fn slow_halves(&mut self, uop: &SlowOp, halves: std::ops::Range<usize>) {
        self.splat(&uop.sources);
        let function = if uop.modes & self.wave.special_modes == 0 { uop.function } else { uop.special_mode };
        let mut masks = [0; 2];
        for half in halves {
            let exec = self.wave.exec(half);
            let mut sources = self.rows(&uop.sources, half);
            let mut write = exec;
            // Move lanes first: modifiers also apply to the zero that replaces a missing lane.
            if uop.lanes_move() {
                write &= self.move_lanes(uop, half, exec, &mut sources[0]);
            }
            for (index, preparation) in uop.preparations.iter().enumerate() {
                if let Some(prepared) = self.prepare(index, sources[index], preparation) {
                    sources[index] = prepared;
                }
            }
            self.keep_parts(half, uop.dst, uop.result.rows());
            let [a, b, c] = sources;
            let mode = self.wave.mode;
            let mask = if uop.mask == NO_MASK { 0 } else { self.wave.scalars[usize::from(uop.mask) + half] };
            let result = match function {
                SlowFunction::Map(function) => {
                    // SAFETY: the operands have the rows of their kinds, prepared or not, and the
                    // host supports the function's level.
                    unsafe { function(mode, self.results(), a, b, c) };
                    0
                }
                // SAFETY: as above.
                SlowFunction::Compare(function) => unsafe { function(mode, a, b) },
                // SAFETY: as above.
                SlowFunction::Mask(function) => unsafe { function(mode, self.results(), a, b, c, mask) },
            };
            masks[half] = result & write;
            if !matches!(function, SlowFunction::Compare(_)) && write != 0 {
                self.finish(uop, half, write);
            }
        }
        match function {
            SlowFunction::Compare(_) => self.set_masks(uop.dst as u8, masks),
            SlowFunction::Mask(_) => self.set_masks(uop.dst_mask, masks),
            SlowFunction::Map(_) => {}
        }
    }

    /// Temporary rows for a prepared source.
    fn prepared(&self, source: usize) -> &[Row] {
        &self.worker.rows[rows::PREPARED + source * rows::PREPARED_EACH..][..rows::PREPARED_EACH]
    }

    /// Applies the source modifiers; `None` if there are none.
    fn prepare(&self, index: usize, source: Rows<'_>, preparation: &SourcePreparation) -> Option<Rows<'_>> {
        if preparation.is_nothing() || preparation.kind == OperandKind::None {
            return None;
        }
        let target = self.prepared(index);
        for row in 0..preparation.kind.rows().max(1) {
            // SAFETY: the source has as many rows as its kind, and `row` is one of them.
            let from = unsafe { source.row(row) }.array();
            target[row].assign(&from);
        }
        if preparation.part != SourcePart::Whole {
            select(&target[0], preparation.part);
        }
        let rows = preparation.kind.rows().max(1);
        let first = if matches!(preparation.kind, OperandKind::Rows(_)) { 0 } else { rows - 1 };
        for row in &target[first..rows] {
            for lane in 0..LANES {
                row.set(lane, row.get(lane) & !preparation.clear ^ preparation.flip);
            }
        }
        // SAFETY: the rows of the kind were prepared.
        Some(unsafe { Rows::new(target.as_ptr()) })
    }

    /// Applies DPP to source 0; returns the lanes that are written.
    fn move_lanes<'a>(&'a self, uop: &SlowOp, half: usize, exec: u32, source: &mut Rows<'a>) -> u32 {
        let target = self.prepared(0);
        let mut write = 0;
        for row in 0..uop.preparations[0].kind.rows().max(1) {
            // SAFETY: the source has as many rows as its kind, and `row` is one of them.
            let from = unsafe { source.row(row) }.array();
            let mut values = [0; LANES];
            write = 0;
            for lane in 0..LANES {
                let (other, written) = lane_source(&uop.lanes, half, lane, exec);
                values[lane] = other.map_or(0, |other| from[other]);
                if written {
                    write |= 1 << lane;
                }
            }
            target[row].assign(&values);
        }
        // SAFETY: the rows of the kind were prepared.
        *source = unsafe { Rows::new(target.as_ptr()) };
        write
    }

    /// Applies the result modifiers and merges the results.
    fn finish(&self, uop: &SlowOp, half: usize, write: u32) {
        let results = &self.worker.rows[rows::RESULTS..];
        if uop.omod != 0 || uop.clamp {
            modify(results, uop, self.wave.mode);
        }
        let dst = usize::from(uop.dst);
        match uop.placement {
            ResultPlacement::Whole => {
                for row in 0..uop.result.rows() {
                    blend(self.wave.row(half, dst + row), &results[row], write);
                }
            }
            placement => {
                let target = self.wave.row(half, dst);
                for lane in 0..LANES {
                    let (old, new) = (target.get(lane), results[0].get(lane));
                    results[0].set(lane, put(placement, old, new));
                }
                blend(target, &results[0], write);
            }
        }
    }
}

impl SlowOp {
    fn lanes_move(&self) -> bool {
        matches!(self.lanes, LaneControl::Dpp16(_) | LaneControl::Dpp8 { .. })
    }
}

/// Extracts the selected part of each lane.
fn select(row: &Row, part: SourcePart) {
    for lane in 0..LANES {
        row.set(lane, selected(row.get(lane), part));
    }
}

/// Extracts the selected part of a register.
pub(crate) fn selected(bits: u32, part: SourcePart) -> u32 {
    match part {
        SourcePart::Whole => bits,
        SourcePart::High => bits >> 16,
        SourcePart::Sdwa(part, signed) => sdwa_part(bits, part, signed),
        SourcePart::Packed { low, high } => {
            let half = |high: bool| if high { bits >> 16 } else { bits & 0xffff };
            half(low) | half(high) << 16
        }
        SourcePart::MixedHalf { high } => {
            half::f16::from_bits(if high { (bits >> 16) as u16 } else { bits as u16 }).to_f32().to_bits()
        }
    }
}

fn sdwa_part(bits: u32, part: SdwaPart, signed: bool) -> u32 {
    match (part, signed) {
        (SdwaPart::Byte(index), false) => bits >> (8 * index) & 0xff,
        (SdwaPart::Byte(index), true) => i32::from((bits >> (8 * index)) as i8).cast_unsigned(),
        (SdwaPart::Word(index), false) => bits >> (16 * index) & 0xffff,
        (SdwaPart::Word(index), true) => i32::from((bits >> (16 * index)) as i16).cast_unsigned(),
        (SdwaPart::Dword, _) => bits,
    }
}

/// Inserts a result into the old value of the register.
pub(crate) fn put(placement: ResultPlacement, old: u32, new: u32) -> u32 {
    match placement {
        ResultPlacement::Whole => new,
        ResultPlacement::Low => old & 0xffff_0000 | new & 0xffff,
        ResultPlacement::High => old & 0xffff | new << 16,
        ResultPlacement::Sdwa(part, unused) => {
            let (shift, bits) = match part {
                SdwaPart::Byte(index) => (8 * u32::from(index), 8),
                SdwaPart::Word(index) => (16 * u32::from(index), 16),
                SdwaPart::Dword => return new,
            };
            let field = ((1u32 << bits) - 1) << shift;
            let placed = new << shift & field;
            match unused {
                0 => placed,
                1 => {
                    let top = new >> (bits - 1) & 1 == 1;
                    let above = if top { !((field >> shift) << shift | ((1u32 << shift) - 1)) } else { 0 };
                    placed | above
                }
                _ => old & !field | placed,
            }
        }
    }
}

/// The lane that `lane` reads (`None`: it reads zero), and whether its result is written.
pub(crate) fn lane_source(lanes: &LaneControl, half: usize, lane: usize, exec: u32) -> (Option<usize>, bool) {
    let (other, zero, fetch_inactive, enabled) = match lanes {
        LaneControl::Dpp16(dpp) => dpp_source(dpp, half, lane),
        LaneControl::Dpp8 { lanes, fetch_inactive } => {
            (Some(lane & !7 | (lanes >> (3 * (lane & 7)) & 7) as usize), true, *fetch_inactive, true)
        }
        _ => (Some(lane), false, true, true),
    };
    let valid = other.filter(|&other| fetch_inactive || exec >> other & 1 == 1);
    (valid, enabled && (valid.is_some() || zero))
}

/// The lane that `lane` reads (`None`: outside the row), whether it then reads zero, whether it
/// reads inactive lanes, and whether its result is written.
fn dpp_source(dpp: &Dpp16, half: usize, lane: usize) -> (Option<usize>, bool, bool, bool) {
    let (row, at) = (lane & !15, lane & 15);
    let amount = usize::from(dpp.control & 15);
    let source = match dpp.control {
        0..=0xff => Some(at & !3 | usize::from(dpp.control >> (2 * (at & 3)) & 3)),
        0x101..=0x10f => Some(at + amount).filter(|&source| source < 16),
        0x111..=0x11f => at.checked_sub(amount),
        0x121..=0x12f => Some((at + 16 - amount) & 15),
        0x140 => Some(15 - at),
        0x141 => Some(at & 8 | (7 - (at & 7))),
        0x150..=0x15f => Some(amount),
        0x160..=0x16f => Some(at ^ amount),
        _ => Some(at),
    };
    let rows_on = dpp.row_mask >> (2 * half + lane / 16) & 1 == 1;
    let banks_on = dpp.bank_mask >> (at / 4) & 1 == 1;
    (source.map(|source| row | source), dpp.bound_control, dpp.fetch_inactive, rows_on && banks_on)
}

/// Applies output modifier and clamp.
fn modify(results: &[Row], uop: &SlowOp, mode: Mode) {
    // The output modifier has an effect only without denormal results and IEEE mode. Adding zero
    // turns -0 into +0, as the hardware does.
    let scale = |flushes: bool| if flushes && !mode.ieee() { scale(uop.omod) } else { None };
    let (scale32, scale16_64) = (scale(mode.flush_out32()), scale(mode.flush_out16_64()));
    let (rules32, rules16_64) = (FloatMode::of_32(mode), FloatMode::of_16_64(mode));
    let half = |bits: u32| {
        let mut value = f16::from_bits(bits as u16);
        if let Some(scale) = scale16_64 {
            value = mul16(rules16_64, value, f16::from_f64(scale)) + f16::ZERO;
        }
        if uop.clamp {
            value = clamp(value.to_f64(), mode).map_or(value, f16::from_f64);
        }
        u32::from(value.to_bits())
    };
    for lane in 0..LANES {
        let bits = results[0].get(lane);
        match uop.result {
            OperandKind::F32 => {
                let mut value = f32::from_bits(bits);
                if let Some(scale) = scale32 {
                    value = mul32(rules32, value, scale as f32) + 0.0;
                }
                if uop.clamp {
                    value = clamp(f64::from(value), mode).map_or(value, |value| value as f32);
                }
                results[0].set(lane, value.to_bits());
            }
            OperandKind::F64 => {
                let mut value = f64::from_bits(u64::from(bits) | u64::from(results[1].get(lane)) << 32);
                if let Some(scale) = scale16_64 {
                    value = mul64(rules16_64, value, scale) + 0.0;
                }
                if uop.clamp {
                    value = clamp(value, mode).unwrap_or(value);
                }
                results[0].set(lane, value.to_bits() as u32);
                results[1].set(lane, (value.to_bits() >> 32) as u32);
            }
            OperandKind::F16 => results[0].set(lane, half(bits)),
            OperandKind::PackedF16 => results[0].set(lane, half(bits) | half(bits >> 16) << 16),
            _ => {}
        }
    }
}

/// The factor of an output modifier.
fn scale(omod: u8) -> Option<f64> {
    match omod {
        1 => Some(2.0),
        2 => Some(4.0),
        3 => Some(0.5),
        _ => None,
    }
}

/// Clamps to [0, 1]; `None` if the value does not change.
fn clamp(value: f64, mode: Mode) -> Option<f64> {
    if value.is_nan() {
        return mode.dx10_clamp().then_some(0.0);
    }
    // Not `f64::clamp`: -0 becomes +0.
    if value <= 0.0 {
        Some(0.0)
    } else if value > 1.0 {
        Some(1.0)
    } else {
        None
    }
}
