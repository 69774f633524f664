//! Maps each operation of the instruction set to what the engine does.

use std::sync::LazyLock;

use roci_isa::Op;

use crate::engine::atomics::AtomicOp;
use crate::lanes::{self, LaneOp};
use crate::program::micro_op::{AccessKind, BranchCondition, CrossLaneKind, LdsOpKind, RegisterHalf};
use crate::program::variants;
use crate::scalar::{self, ScalarSemantics};

/// Instruction classes for statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum InstructionClass {
    /// Branches, waits, barriers, and instructions without effect in the emulator.
    Control,
    /// Scalar ALU.
    Scalar,
    ScalarMemory,
    /// Vector ALU.
    Vector,
    /// Global, FLAT, private and buffer memory.
    Memory,
    /// LDS, including lane permutations through its crossbar.
    Lds,
}

/// What an operation does.
#[derive(Clone)]
pub(crate) enum Semantics {
    /// No effect in an in-order interpreter.
    Nothing,
    Control(ControlOp),
    Scalar(ScalarSemantics),
    ScalarLoad {
        dwords: u8,
        buffer: bool,
    },
    ScalarWrite {
        access: AccessKind,
        buffer: bool,
    },
    /// A lane-by-lane computation.
    Lanes(LaneSemantics),
    CrossLane(CrossLaneKind),
    Memory(AccessKind),
    Lds(LdsSemantics),
    /// A grid-wide barrier: sets its count or arrives at it.
    GridSync {
        barrier: bool,
    },
    /// Not implemented.
    Unknown,
}

/// A lane-by-lane computation.
#[derive(Clone, Copy)]
pub(crate) struct LaneSemantics {
    pub(crate) name: &'static str,
    /// `None` if it depends on the chip, the wave size or modifiers, and must be looked up per
    /// instruction.
    pub(crate) op: Option<LaneOp>,
}

/// Control flow operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ControlOp {
    End,
    Barrier,
    Jump,
    Branch(BranchCondition),
    Trap,
    /// `v_illegal`, which is an illegal instruction by definition.
    Illegal,
    /// `s_sleep` and `s_sethalt`: other waves may run.
    Yield,
    Halt,
}

/// A DS operation and the scale of its offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LdsSemantics {
    pub(crate) kind: LdsOpKind,
    /// Unit of each of two offsets in bytes; 0 if there is a single offset, in bytes.
    pub(crate) unit: u32,
    /// Operands in the order of gfx10's compare-and-store: the comparand comes first.
    pub(crate) swapped: bool,
}

impl Semantics {
    pub(crate) fn class(&self) -> InstructionClass {
        match self {
            Self::Nothing | Self::Control(_) | Self::Unknown => InstructionClass::Control,
            Self::Scalar(_) => InstructionClass::Scalar,
            Self::ScalarLoad { .. } | Self::ScalarWrite { .. } => InstructionClass::ScalarMemory,
            Self::Lanes(_) | Self::CrossLane(_) => InstructionClass::Vector,
            Self::Memory(_) => InstructionClass::Memory,
            Self::Lds(_) | Self::GridSync { .. } => InstructionClass::Lds,
        }
    }
}

/// The semantics of an operation.
pub(crate) fn of(op: Op) -> &'static Semantics {
    static ALL: LazyLock<Vec<Semantics>> = LazyLock::new(|| {
        let mut all = vec![Semantics::Unknown; Op::ALL.len()];
        for &op in Op::ALL {
            all[super::number(op)] = find(op.name());
        }
        all
    });
    &ALL[super::number(op)]
}

fn find(name: &'static str) -> Semantics {
    if let Some(kind) = name.strip_prefix("ds_gws_").filter(|kind| matches!(*kind, "init" | "barrier")) {
        return Semantics::GridSync { barrier: kind == "barrier" };
    }
    if let Some(semantics) = control(name) {
        return semantics;
    }
    if variants::depends(name) {
        return Semantics::Lanes(LaneSemantics { name, op: None });
    }
    if let Some(op) = lanes::find(name) {
        return Semantics::Lanes(LaneSemantics { name, op: Some(op) });
    }
    if let Some(scalar) = scalar::find(name) {
        return Semantics::Scalar(scalar);
    }
    if let Some(kind) = cross_lane(name) {
        return Semantics::CrossLane(kind);
    }
    let prefixes = ["global_", "flat_", "scratch_", "buffer_"];
    if let Some(rest) = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        return access(rest).map_or(Semantics::Unknown, Semantics::Memory);
    }
    if let Some(rest) = name.strip_prefix("ds_") {
        return lds(rest).map_or(Semantics::Unknown, Semantics::Lds);
    }
    let load = name.strip_prefix("s_load_b").map(|bits| (bits, false));
    let buffer = name.strip_prefix("s_buffer_load_b").map(|bits| (bits, true));
    if let Some((bits, buffer)) = load.or(buffer)
        && let Ok(bits) = bits.parse::<u32>()
    {
        return Semantics::ScalarLoad { dwords: (bits / 32) as u8, buffer };
    }
    let (rest, buffer) =
        name.strip_prefix("s_buffer_").map_or((name.strip_prefix("s_"), false), |rest| (Some(rest), true));
    match rest.and_then(scalar_write) {
        Some(access) => Semantics::ScalarWrite { access, buffer },
        None => Semantics::Unknown,
    }
}

/// `store_dwordx2`, `atomic_smin_x2` and so on. Only gfx10.1 has them, under these names.
fn scalar_write(name: &str) -> Option<AccessKind> {
    match name {
        "store_dword" => return Some(AccessKind::Store(1)),
        "store_dwordx2" => return Some(AccessKind::Store(2)),
        "store_dwordx4" => return Some(AccessKind::Store(4)),
        _ => {}
    }
    let op = name.strip_prefix("atomic_")?;
    let (op, bits) = op.strip_suffix("_x2").map_or((op, "32"), |op| (op, "64"));
    let (op, class) = match op {
        "smin" => ("min", "i"),
        "smax" => ("max", "i"),
        "umin" => ("min", "u"),
        "umax" => ("max", "u"),
        op => (op, "u"),
    };
    atomic(op, &format!("{class}{bits}"), true)
}

fn control(name: &str) -> Option<Semantics> {
    let branch = |condition| Semantics::Control(ControlOp::Branch(condition));
    Some(match name {
        "s_endpgm" | "s_endpgm_saved" | "s_endpgm_ordered_ps_done" => Semantics::Control(ControlOp::End),
        "s_barrier" => Semantics::Control(ControlOp::Barrier),
        "s_branch" => Semantics::Control(ControlOp::Jump),
        "s_cbranch_scc0" => branch(BranchCondition::Scc0),
        "s_cbranch_scc1" => branch(BranchCondition::Scc1),
        "s_cbranch_vccz" => branch(BranchCondition::Vccz),
        "s_cbranch_vccnz" => branch(BranchCondition::Vccnz),
        "s_cbranch_execz" => branch(BranchCondition::Execz),
        "s_cbranch_execnz" => branch(BranchCondition::Execnz),
        "s_cbranch_cdbgsys" | "s_cbranch_cdbguser" | "s_cbranch_cdbgsys_or_user" | "s_cbranch_cdbgsys_and_user" => {
            branch(BranchCondition::Never)
        }
        "s_trap" => Semantics::Control(ControlOp::Trap),
        "s_sethalt" | "s_sendmsghalt" => Semantics::Control(ControlOp::Halt),
        "s_sleep" => Semantics::Control(ControlOp::Yield),
        "s_nop"
        | "s_waitcnt"
        | "s_waitcnt_vscnt"
        | "s_waitcnt_vmcnt"
        | "s_waitcnt_expcnt"
        | "s_waitcnt_lgkmcnt"
        | "s_waitcnt_depctr"
        | "s_delay_alu"
        | "s_clause"
        | "s_set_inst_prefetch_distance"
        | "s_icache_inv"
        | "s_setprio"
        | "s_setkill"
        | "s_incperflevel"
        | "s_decperflevel"
        | "s_ttracedata"
        | "s_ttracedata_imm"
        | "s_wait_idle"
        | "s_wait_event"
        | "s_wakeup"
        | "s_sendmsg"
        | "s_version"
        | "s_code_end"
        | "s_dcache_inv"
        | "s_dcache_wb"
        | "s_gl1_inv"
        | "buffer_gl0_inv"
        | "buffer_gl1_inv"
        | "ds_nop"
        | "v_nop"
        | "v_pipeflush"
        | "v_clrexcp"
        | "s_dcache_discard"
        | "s_dcache_discard_x2" => Semantics::Nothing,
        "v_illegal" => Semantics::Control(ControlOp::Illegal),
        _ => return None,
    })
}

fn cross_lane(name: &str) -> Option<CrossLaneKind> {
    Some(match name {
        "v_readfirstlane_b32" => CrossLaneKind::ReadFirst,
        "v_readlane_b32" => CrossLaneKind::Read,
        "v_writelane_b32" => CrossLaneKind::Write,
        "v_permlane16_b32" => CrossLaneKind::Permute16,
        "v_permlanex16_b32" => CrossLaneKind::PermuteX16,
        "v_permlane64_b32" => CrossLaneKind::Permute64,
        "v_swap_b32" | "v_swap_b16" => CrossLaneKind::Swap,
        "v_movrels_b32" => CrossLaneKind::MovRelSource,
        "v_movreld_b32" => CrossLaneKind::MovRelDestination,
        "v_movrelsd_b32" => CrossLaneKind::MovRelBoth,
        "v_movrelsd_2_b32" => CrossLaneKind::MovRelTwo,
        "v_swaprel_b32" => CrossLaneKind::SwapRel,
        _ => return None,
    })
}

/// `load_u8`, `store_d16_hi_b16`, `atomic_add_u32` and so on.
fn access(name: &str) -> Option<AccessKind> {
    match name {
        "load_addtid_b32" => return Some(AccessKind::Load(1)),
        "store_addtid_b32" => return Some(AccessKind::Store(1)),
        _ => {}
    }
    if let Some(rest) = name.strip_prefix("load_") {
        let (rest, half) = d16(rest);
        return load(rest, half);
    }
    if let Some(rest) = name.strip_prefix("store_") {
        let (rest, half) = d16(rest);
        return store(rest, half == RegisterHalf::High);
    }
    let (op, kind) = name.strip_prefix("atomic_")?.rsplit_once('_')?;
    atomic(op, kind, true)
}

/// Removes `d16_` or `d16_hi_` from a name.
fn d16(name: &str) -> (&str, RegisterHalf) {
    if let Some(rest) = name.strip_prefix("d16_hi_") {
        return (rest, RegisterHalf::High);
    }
    name.strip_prefix("d16_").map_or((name, RegisterHalf::Both), |rest| (rest, RegisterHalf::Low))
}

fn load(kind: &str, half: RegisterHalf) -> Option<AccessKind> {
    let small = |bytes, signed| Some(AccessKind::LoadSmall { bytes, signed, half });
    match kind {
        "u8" => small(1, false),
        "i8" => small(1, true),
        "u16" | "b16" => small(2, false),
        "i16" => small(2, true),
        "b32" => Some(AccessKind::Load(1)),
        "b64" => Some(AccessKind::Load(2)),
        "b96" => Some(AccessKind::Load(3)),
        "b128" => Some(AccessKind::Load(4)),
        _ => None,
    }
}

fn store(kind: &str, high: bool) -> Option<AccessKind> {
    match kind {
        "b8" => Some(AccessKind::StoreSmall { bytes: 1, high }),
        "b16" => Some(AccessKind::StoreSmall { bytes: 2, high }),
        "b32" => Some(AccessKind::Store(1)),
        "b64" => Some(AccessKind::Store(2)),
        "b96" => Some(AccessKind::Store(3)),
        "b128" => Some(AccessKind::Store(4)),
        _ => None,
    }
}

fn atomic(op: &str, kind: &str, returns: bool) -> Option<AccessKind> {
    let (class, bits) = kind.split_at_checked(1)?;
    let wide = match bits {
        "32" => false,
        "64" => true,
        "f16" | "16" => false,
        _ => return None,
    };
    let op = match (op, class) {
        ("swap" | "storexchg", _) => AtomicOp::Swap,
        ("cmpswap" | "cmpst" | "cmpstore", "f") => AtomicOp::CompareSwapFloat,
        ("cmpswap" | "cmpst" | "cmpstore", _) => AtomicOp::CompareSwap,
        ("add", "f") => AtomicOp::AddFloat,
        ("add", _) => AtomicOp::Add,
        ("sub", _) => AtomicOp::Sub,
        ("rsub", _) => AtomicOp::ReverseSub,
        ("csub", _) => AtomicOp::SubClamp,
        ("min", "f") => AtomicOp::MinFloat,
        ("min", "i") => AtomicOp::MinSigned,
        ("min", _) => AtomicOp::MinUnsigned,
        ("max", "f") => AtomicOp::MaxFloat,
        ("max", "i") => AtomicOp::MaxSigned,
        ("max", _) => AtomicOp::MaxUnsigned,
        ("and", _) => AtomicOp::And,
        ("or", _) => AtomicOp::Or,
        ("xor", _) => AtomicOp::Xor,
        ("inc", _) => AtomicOp::Increment,
        ("dec", _) => AtomicOp::Decrement,
        ("mskor", _) => AtomicOp::MaskedOr,
        ("wrap", _) => AtomicOp::Wrap,
        _ => return None,
    };
    Some(AccessKind::Atomic { op, wide, returns })
}

fn lds(name: &str) -> Option<LdsSemantics> {
    let one = |kind| Some(LdsSemantics { kind, unit: 0, swapped: false });
    let two = |kind, unit| Some(LdsSemantics { kind, unit, swapped: false });
    match name {
        "swizzle_b32" => return one(LdsOpKind::Swizzle(0)),
        "permute_b32" => return one(LdsOpKind::Permute),
        "bpermute_b32" => return one(LdsOpKind::BackPermute),
        "append" => return one(LdsOpKind::Count { add: true }),
        "consume" => return one(LdsOpKind::Count { add: false }),
        "load_addtid_b32" => return one(LdsOpKind::LoadThread),
        "store_addtid_b32" => return one(LdsOpKind::StoreThread),
        "load_2addr_b32" => return two(LdsOpKind::Load2 { wide: false }, 4),
        "load_2addr_b64" => return two(LdsOpKind::Load2 { wide: true }, 8),
        "load_2addr_stride64_b32" => return two(LdsOpKind::Load2 { wide: false }, 256),
        "load_2addr_stride64_b64" => return two(LdsOpKind::Load2 { wide: true }, 512),
        "store_2addr_b32" => return two(LdsOpKind::Store2 { wide: false }, 4),
        "store_2addr_b64" => return two(LdsOpKind::Store2 { wide: true }, 8),
        "store_2addr_stride64_b32" => return two(LdsOpKind::Store2 { wide: false }, 256),
        "store_2addr_stride64_b64" => return two(LdsOpKind::Store2 { wide: true }, 512),
        "storexchg_2addr_rtn_b32" => return two(LdsOpKind::Exchange2 { wide: false }, 4),
        "storexchg_2addr_rtn_b64" => return two(LdsOpKind::Exchange2 { wide: true }, 8),
        "storexchg_2addr_stride64_rtn_b32" => return two(LdsOpKind::Exchange2 { wide: false }, 256),
        "storexchg_2addr_stride64_rtn_b64" => return two(LdsOpKind::Exchange2 { wide: true }, 512),
        _ => {}
    }
    let (base, half) = match (name.strip_suffix("_d16_hi"), name.strip_suffix("_d16")) {
        (Some(base), _) => (base, RegisterHalf::High),
        (_, Some(base)) => (base, RegisterHalf::Low),
        _ => (name, RegisterHalf::Both),
    };
    if let Some(kind) = base.strip_prefix("load_") {
        return load(kind, half).and_then(|access| one(LdsOpKind::One(access)));
    }
    if let Some(kind) = base.strip_prefix("store_") {
        return store(kind, half == RegisterHalf::High).and_then(|access| one(LdsOpKind::One(access)));
    }
    let (op, kind) = name.rsplit_once('_')?;
    let (op, returns) = op.strip_suffix("_rtn").map_or((op, false), |op| (op, true));
    let access = atomic(op, kind, returns)?;
    Some(LdsSemantics { kind: LdsOpKind::One(access), unit: 0, swapped: op == "cmpst" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations that are not implemented, by name prefix, with the reason.
    const UNIMPLEMENTED: &[(&str, &str)] = &[
        ("buffer_load_d16_format_", "converts by a format of the descriptor: for images and vertices"),
        ("buffer_load_d16_hi_format_", "the same"),
        ("buffer_load_format_", "the same"),
        ("buffer_store_d16_format_", "the same"),
        ("buffer_store_d16_hi_format_", "the same"),
        ("buffer_store_format_", "the same"),
        ("ds_gws_sema_", "semaphores of the whole GPU, which no compiler emits"),
        ("ds_ordered_count", "ordered append of pixel shaders"),
        ("ds_add_gs_reg_rtn", "counters of geometry shaders"),
        ("ds_sub_gs_reg_rtn", "counters of geometry shaders"),
        ("ds_bvh_stack_rtn_b32", "ray tracing"),
        ("ds_condxchg32_rtn_b64", "no compiler emits it"),
        ("s_atc_probe", "asks for a translation; no compiler emits it"),
        ("s_scratch_", "scalar access to private memory of gfx10; no compiler emits it"),
        ("s_rfe_b64", "return of a trap handler"),
        ("s_subvector_loop_", "no compiler emits it"),
    ];

    /// Why an operation is not implemented.
    fn reason(name: &str) -> Option<&'static str> {
        // Two LDS addresses, one relative to the other (gfx10).
        if name.starts_with("ds_") && name.contains("_src2_") {
            return Some("no compiler emits it");
        }
        UNIMPLEMENTED.iter().find(|(start, _)| name.starts_with(start)).map(|(_, reason)| *reason)
    }

    #[test]
    fn every_compute_operation_has_semantics() {
        let unknown = |op: Op| matches!(of(op), Semantics::Unknown);
        let missing: Vec<&str> =
            Op::ALL.iter().filter(|&&op| unknown(op) && reason(op.name()).is_none()).map(|op| op.name()).collect();
        assert_eq!(missing, Vec::<&str>::new());
        let page = include_str!("../../../../../docs/reference/emulator.md");
        for (start, _) in UNIMPLEMENTED {
            assert!(page.contains(&format!("`{start}")), "docs/reference/emulator.md does not list {start}");
            let left_out = |op: &Op| op.name().starts_with(start) && unknown(*op);
            assert!(Op::ALL.iter().any(left_out), "{start} is no longer left out");
        }
    }
}
