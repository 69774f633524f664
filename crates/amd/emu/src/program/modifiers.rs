//! Lowers modifiers: source preparation, result placement, and rejection of meaningless modifiers.

use roci_isa::{Encoding, LaneControl, Operand, SdwaPart, Valu};

use crate::fault::Fault;
use crate::lanes::{LaneFunction, LaneOp};
use crate::program::slow::{ResultPlacement, SourcePart, SourcePreparation};
use crate::row::OperandKind;

/// Preparation of each source.
pub(super) fn preparations(
    name: &str,
    op: &LaneOp,
    valu: &Valu,
    operands: &[Operand; 3],
) -> Result<[SourcePreparation; 3], Fault> {
    let mixed = name.starts_with("v_fma_mix") || name.starts_with("v_mad_mix");
    let mut all = op.sources.map(SourcePreparation::none);
    for (index, preparation) in all.iter_mut().enumerate() {
        let kind = preparation.kind;
        let bit = |bits: u8| bits >> index & 1 == 1;
        let (negated, absolute) = (bit(valu.neg), bit(valu.abs));
        if kind == OperandKind::None {
            continue;
        }
        if valu.encoding == Encoding::Vop3p && !mixed {
            packed_preparation(preparation, name, op, valu, index)?;
            continue;
        }
        let half = matches!(kind, OperandKind::F16 | OperandKind::B16 | OperandKind::Bf16);
        let sign = match kind {
            // Both halves: no modifier applies to only one.
            OperandKind::PackedF16 | OperandKind::PackedBf16 => 0x8000_8000,
            _ if half => 0x8000,
            _ => 0x8000_0000,
        };
        preparation.signs(sign, negated, absolute);
        if mixed {
            if bit(valu.op_sel_hi) {
                preparation.part = SourcePart::MixedHalf { high: bit(valu.op_sel) };
            }
            continue;
        }
        preparation.part = match (valu.lanes, operands[index]) {
            (LaneControl::Sdwa(sdwa), _) if index < 2 => {
                let part = sdwa.src[index];
                if part == SdwaPart::Dword { SourcePart::Whole } else { SourcePart::Sdwa(part, sdwa.sext[index]) }
            }
            (_, Operand::VgprHalf { high: true, .. }) => SourcePart::High,
            _ if half && bit(valu.op_sel) => SourcePart::High,
            _ => SourcePart::Whole,
        };
    }
    Ok(all)
}

/// Preparation of a VOP3P source, where `neg` is `neg_lo` and `abs` is `neg_hi`.
fn packed_preparation(
    preparation: &mut SourcePreparation,
    name: &str,
    op: &LaneOp,
    valu: &Valu,
    index: usize,
) -> Result<(), Fault> {
    let bit = |bits: u8| bits >> index & 1 == 1;
    let (low, high) = (bit(valu.neg), bit(valu.abs));
    let signs = u32::from(low) << 15 | u32::from(high) << 31;
    match preparation.kind {
        OperandKind::PackedB16 if signs != 0 => return Err(Fault::Unimplemented),
        OperandKind::PackedB16 | OperandKind::PackedF16 | OperandKind::PackedBf16 => {
            // The accumulator of a packed `fmac` has no modifiers.
            let named = index < 2 || !op.accumulates;
            if named && (bit(valu.op_sel) || !bit(valu.op_sel_hi)) {
                preparation.part = SourcePart::Packed { low: bit(valu.op_sel), high: bit(valu.op_sel_hi) };
            }
            preparation.flip = signs;
        }
        // An accumulator: `neg_hi` is its absolute value, and it has no halves.
        OperandKind::F32 if bit(valu.op_sel) || !bit(valu.op_sel_hi) => return Err(Fault::Unimplemented),
        OperandKind::F32 => preparation.signs(0x8000_0000, low, high),
        OperandKind::F16 | OperandKind::Bf16 => preparation.signs(0x8000, low, high),
        // Matrices support half selection only for C and D.
        OperandKind::Rows(_) if index < 2 && bit(valu.op_sel) || !bit(valu.op_sel_hi) => {
            return Err(Fault::Unimplemented);
        }
        OperandKind::Rows(_) => match name.strip_prefix("v_wmma_") {
            // Factors are two values per register.
            Some(types) if index < 2 && !types.starts_with("i32") => preparation.flip = signs,
            Some(types) if types.starts_with("f32") => preparation.signs(0x8000_0000, low, high),
            Some(types) if !types.starts_with("i32") => preparation.signs(0x8000_8000, low, high),
            // For integers, `neg_lo` marks a factor as signed.
            _ if high || low && index == 2 => return Err(Fault::Unimplemented),
            _ => {}
        },
        // 32-bit integers have neither signs nor halves to select; signedness of a factor is part
        // of its function.
        _ if high || bit(valu.op_sel) || !bit(valu.op_sel_hi) => return Err(Fault::Unimplemented),
        _ if low && (index == 2 || !name.contains("_iu")) => return Err(Fault::Unimplemented),
        _ => {}
    }
    Ok(())
}

/// Rejects modifiers that can be encoded but have no meaning for the operation: a fault is better
/// than a wrong result.
pub(super) fn reject(op: &LaneOp, valu: &Valu) -> Result<(), Fault> {
    let float = |kind: OperandKind| {
        matches!(
            kind,
            OperandKind::F16
                | OperandKind::F32
                | OperandKind::F64
                | OperandKind::Bf16
                | OperandKind::PackedF16
                | OperandKind::PackedBf16
        )
    };
    let half = |kind: OperandKind| matches!(kind, OperandKind::F16 | OperandKind::B16 | OperandKind::Bf16);
    let compares = matches!(op.function, LaneFunction::Compare(_));
    // The clamp bit of a comparison enables exceptions, which the emulator does not have.
    let clamps = !valu.clamp || compares || op.saturating.is_some() || float(op.result);
    let scales = valu.omod == 0 || float(op.result);
    let selects = valu.encoding != Encoding::Vop3
        || (valu.op_sel & 8 == 0 || half(op.result) || compares)
            && (0..3).all(|index| valu.op_sel >> index & 1 == 0 || half(op.sources[index]));
    if clamps && scales && selects { Ok(()) } else { Err(Fault::Unimplemented) }
}

pub(super) fn placement(op: &LaneOp, valu: &Valu, name: &str) -> ResultPlacement {
    if let LaneControl::Sdwa(sdwa) = valu.lanes
        && !matches!(op.function, LaneFunction::Compare(_))
    {
        return ResultPlacement::Sdwa(sdwa.dst, sdwa.dst_unused);
    }
    if name.ends_with("mixhi_f16") {
        return ResultPlacement::High;
    }
    if !matches!(op.result, OperandKind::F16 | OperandKind::B16 | OperandKind::Bf16) {
        return ResultPlacement::Whole;
    }
    match valu.dst {
        Operand::VgprHalf { high: true, .. } => ResultPlacement::High,
        Operand::VgprHalf { high: false, .. } => ResultPlacement::Low,
        _ if valu.encoding == Encoding::Vop3 && valu.op_sel & 8 != 0 => ResultPlacement::High,
        _ => ResultPlacement::Low,
    }
}
