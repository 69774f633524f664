//! What modifiers ask for: how sources are prepared, where results go, and which modifiers make no sense.

use roci_isa::{Encoding, LaneControl, Operand, SdwaPart, Valu};

use crate::fault::Fault;
use crate::lanes::{Function, LaneOp};
use crate::program::slow::{Part, Placement, Preparation};
use crate::row::Kind;

/// What is done to the sources.
pub(super) fn preparations(
    name: &str,
    op: &LaneOp,
    valu: &Valu,
    operands: &[Operand; 3],
) -> Result<[Preparation; 3], Fault> {
    let mixed = name.starts_with("v_fma_mix") || name.starts_with("v_mad_mix");
    let mut all = op.sources.map(Preparation::none);
    for (index, preparation) in all.iter_mut().enumerate() {
        let kind = preparation.kind;
        let bit = |bits: u8| bits >> index & 1 == 1;
        let (negated, absolute) = (bit(valu.neg), bit(valu.abs));
        if kind == Kind::None {
            continue;
        }
        if valu.encoding == Encoding::Vop3p && !mixed {
            packed_preparation(preparation, name, op, valu, index)?;
            continue;
        }
        let half = matches!(kind, Kind::F16 | Kind::B16 | Kind::Bf16);
        let sign = match kind {
            // Both numbers: there is no modifier for one of them.
            Kind::PackedF16 | Kind::PackedBf16 => 0x8000_8000,
            _ if half => 0x8000,
            _ => 0x8000_0000,
        };
        preparation.signs(sign, negated, absolute);
        if mixed {
            if bit(valu.op_sel_hi) {
                preparation.part = Part::MixedHalf { high: bit(valu.op_sel) };
            }
            continue;
        }
        preparation.part = match (valu.lanes, operands[index]) {
            (LaneControl::Sdwa(sdwa), _) if index < 2 => {
                let part = sdwa.src[index];
                if part == SdwaPart::Dword { Part::Whole } else { Part::Sdwa(part, sdwa.sext[index]) }
            }
            (_, Operand::VgprHalf { high: true, .. }) => Part::High,
            _ if half && bit(valu.op_sel) => Part::High,
            _ => Part::Whole,
        };
    }
    Ok(all)
}

/// What is done to a source of a VOP3P instruction, where `neg` is `neg_lo` and `abs` is `neg_hi`.
fn packed_preparation(
    preparation: &mut Preparation,
    name: &str,
    op: &LaneOp,
    valu: &Valu,
    index: usize,
) -> Result<(), Fault> {
    let bit = |bits: u8| bits >> index & 1 == 1;
    let (low, high) = (bit(valu.neg), bit(valu.abs));
    let signs = u32::from(low) << 15 | u32::from(high) << 31;
    match preparation.kind {
        Kind::PackedB16 if signs != 0 => return Err(Fault::Unimplemented),
        Kind::PackedB16 | Kind::PackedF16 | Kind::PackedBf16 => {
            // The accumulator of a packed `fmac` is taken as it is.
            let named = index < 2 || !op.accumulates;
            if named && (bit(valu.op_sel) || !bit(valu.op_sel_hi)) {
                preparation.part = Part::Packed { low: bit(valu.op_sel), high: bit(valu.op_sel_hi) };
            }
            preparation.flip = signs;
        }
        // What sums start with: `neg_hi` is its absolute value, and it has no halves.
        Kind::F32 if bit(valu.op_sel) || !bit(valu.op_sel_hi) => return Err(Fault::Unimplemented),
        Kind::F32 => preparation.signs(0x8000_0000, low, high),
        Kind::F16 | Kind::Bf16 => preparation.signs(0x8000, low, high),
        // Of the selections matrices have that of the half of C and D alone.
        Kind::Rows(_) if index < 2 && bit(valu.op_sel) || !bit(valu.op_sel_hi) => return Err(Fault::Unimplemented),
        Kind::Rows(_) => match name.strip_prefix("v_wmma_") {
            // The factors are two numbers a register.
            Some(types) if index < 2 && !types.starts_with("i32") => preparation.flip = signs,
            Some(types) if types.starts_with("f32") => preparation.signs(0x8000_0000, low, high),
            Some(types) if !types.starts_with("i32") => preparation.signs(0x8000_8000, low, high),
            // Of integers, `neg_lo` says that a factor is signed.
            _ if high || low && index == 2 => return Err(Fault::Unimplemented),
            _ => {}
        },
        // Whole integers have neither signs nor halves; that a factor is signed is another matter, which its function knows.
        _ if high || bit(valu.op_sel) || !bit(valu.op_sel_hi) => return Err(Fault::Unimplemented),
        _ if low && (index == 2 || !name.contains("_iu")) => return Err(Fault::Unimplemented),
        _ => {}
    }
    Ok(())
}

/// Refuses what the encoding has room for and the operation makes no sense of: rather a fault than a result without it.
pub(super) fn refuse(op: &LaneOp, valu: &Valu) -> Result<(), Fault> {
    let float = |kind: Kind| {
        matches!(kind, Kind::F16 | Kind::F32 | Kind::F64 | Kind::Bf16 | Kind::PackedF16 | Kind::PackedBf16)
    };
    let half = |kind: Kind| matches!(kind, Kind::F16 | Kind::B16 | Kind::Bf16);
    let compares = matches!(op.function, Function::Compare(_));
    // The clamp of a comparison asks for exceptions, of which there are none here.
    let clamps = !valu.clamp || compares || op.saturating.is_some() || float(op.result);
    let scales = valu.omod == 0 || float(op.result);
    let selects = valu.encoding != Encoding::Vop3
        || (valu.op_sel & 8 == 0 || half(op.result) || compares)
            && (0..3).all(|index| valu.op_sel >> index & 1 == 0 || half(op.sources[index]));
    if clamps && scales && selects { Ok(()) } else { Err(Fault::Unimplemented) }
}

/// Where the result goes.
pub(super) fn placement(op: &LaneOp, valu: &Valu, name: &str) -> Placement {
    if let LaneControl::Sdwa(sdwa) = valu.lanes
        && !matches!(op.function, Function::Compare(_))
    {
        return Placement::Sdwa(sdwa.dst, sdwa.dst_unused);
    }
    if name.ends_with("mixhi_f16") {
        return Placement::High;
    }
    if !matches!(op.result, Kind::F16 | Kind::B16 | Kind::Bf16) {
        return Placement::Whole;
    }
    match valu.dst {
        Operand::VgprHalf { high: true, .. } => Placement::High,
        Operand::VgprHalf { high: false, .. } => Placement::Low,
        _ if valu.encoding == Encoding::Vop3 && valu.op_sel & 8 != 0 => Placement::High,
        _ => Placement::Low,
    }
}
