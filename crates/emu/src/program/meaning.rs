//! What each operation of the instruction set is to the engine.

use std::sync::LazyLock;

use roci_isa::Op;

use crate::engine::atomics::AtomicOp;
use crate::lanes::{self, LaneOp};
use crate::program::step::{Access, Condition, CrossLane, Half, Lds};
use crate::program::variants;
use crate::scalar::{self, ScalarMeaning};

/// What instructions are counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Branches, waits, barriers and what does nothing here.
    Control,
    /// Scalar computations.
    Scalar,
    /// Scalar loads.
    ScalarMemory,
    /// Vector computations.
    Vector,
    /// Global, flat, private and buffer memory.
    Memory,
    /// Shared memory, and lanes moved through its crossbar.
    Lds,
}

/// What an operation is.
#[derive(Clone)]
pub(crate) enum Meaning {
    /// It does nothing in an engine that runs one instruction after the other.
    Nothing,
    Control(Control),
    Scalar(ScalarMeaning),
    ScalarLoad {
        dwords: u8,
        buffer: bool,
    },
    ScalarWrite {
        access: Access,
        buffer: bool,
    },
    /// A computation lane by lane, with its name: some depend on more than operands.
    Lanes(LaneMeaning),
    CrossLane(CrossLane),
    Memory(Access),
    Lds(LdsMeaning),
    /// A barrier of the whole grid: setting its count, or taking part.
    GridSync {
        barrier: bool,
    },
    /// An instruction that the emulator lacks.
    Unknown,
}

/// A computation lane by lane.
#[derive(Clone, Copy)]
pub(crate) struct LaneMeaning {
    pub(crate) name: &'static str,
    /// `None`: it depends on the chip, the wave size or on modifiers; found when the instruction is known.
    pub(crate) op: Option<LaneOp>,
}

/// What changes where code goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    End,
    Barrier,
    Jump,
    Branch(Condition),
    Trap,
    /// `v_illegal`, which is there to be no instruction.
    Illegal,
    /// `s_sleep` and `s_sethalt`: others may run.
    Yield,
    Halt,
}

/// A DS instruction: what it does, and how its offsets are scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LdsMeaning {
    pub(crate) kind: Lds,
    /// Bytes that each of two offsets counts in; 0: there is one offset, in bytes.
    pub(crate) unit: u32,
    /// The data are in the order of gfx10's compare-and-store: what to compare with comes first.
    pub(crate) swapped: bool,
}

impl Meaning {
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Nothing | Self::Control(_) | Self::Unknown => Class::Control,
            Self::Scalar(_) => Class::Scalar,
            Self::ScalarLoad { .. } | Self::ScalarWrite { .. } => Class::ScalarMemory,
            Self::Lanes(_) | Self::CrossLane(_) => Class::Vector,
            Self::Memory(_) => Class::Memory,
            Self::Lds(_) | Self::GridSync { .. } => Class::Lds,
        }
    }
}

/// What an operation is.
pub(crate) fn of(op: Op) -> &'static Meaning {
    static ALL: LazyLock<Vec<Meaning>> = LazyLock::new(|| {
        let mut all = vec![Meaning::Unknown; Op::ALL.len()];
        for &op in Op::ALL {
            all[super::number(op)] = find(op.name());
        }
        all
    });
    &ALL[super::number(op)]
}

fn find(name: &'static str) -> Meaning {
    if let Some(kind) = name.strip_prefix("ds_gws_").filter(|kind| matches!(*kind, "init" | "barrier")) {
        return Meaning::GridSync { barrier: kind == "barrier" };
    }
    if let Some(meaning) = control(name) {
        return meaning;
    }
    if variants::depends(name) {
        return Meaning::Lanes(LaneMeaning { name, op: None });
    }
    if let Some(op) = lanes::find(name) {
        return Meaning::Lanes(LaneMeaning { name, op: Some(op) });
    }
    if let Some(scalar) = scalar::find(name) {
        return Meaning::Scalar(scalar);
    }
    if let Some(kind) = cross_lane(name) {
        return Meaning::CrossLane(kind);
    }
    let prefixes = ["global_", "flat_", "scratch_", "buffer_"];
    if let Some(rest) = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        return access(rest).map_or(Meaning::Unknown, Meaning::Memory);
    }
    if let Some(rest) = name.strip_prefix("ds_") {
        return lds(rest).map_or(Meaning::Unknown, Meaning::Lds);
    }
    let load = name.strip_prefix("s_load_b").map(|bits| (bits, false));
    let buffer = name.strip_prefix("s_buffer_load_b").map(|bits| (bits, true));
    if let Some((bits, buffer)) = load.or(buffer)
        && let Ok(bits) = bits.parse::<u32>()
    {
        return Meaning::ScalarLoad { dwords: (bits / 32) as u8, buffer };
    }
    let (rest, buffer) =
        name.strip_prefix("s_buffer_").map_or((name.strip_prefix("s_"), false), |rest| (Some(rest), true));
    match rest.and_then(scalar_write) {
        Some(access) => Meaning::ScalarWrite { access, buffer },
        None => Meaning::Unknown,
    }
}

/// `store_dwordx2`, `atomic_smin_x2` and so on: those of gfx10.1 alone, under its names.
fn scalar_write(name: &str) -> Option<Access> {
    match name {
        "store_dword" => return Some(Access::Store(1)),
        "store_dwordx2" => return Some(Access::Store(2)),
        "store_dwordx4" => return Some(Access::Store(4)),
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

fn control(name: &str) -> Option<Meaning> {
    let branch = |condition| Meaning::Control(Control::Branch(condition));
    Some(match name {
        "s_endpgm" | "s_endpgm_saved" | "s_endpgm_ordered_ps_done" => Meaning::Control(Control::End),
        "s_barrier" => Meaning::Control(Control::Barrier),
        "s_branch" => Meaning::Control(Control::Jump),
        "s_cbranch_scc0" => branch(Condition::Scc0),
        "s_cbranch_scc1" => branch(Condition::Scc1),
        "s_cbranch_vccz" => branch(Condition::Vccz),
        "s_cbranch_vccnz" => branch(Condition::Vccnz),
        "s_cbranch_execz" => branch(Condition::Execz),
        "s_cbranch_execnz" => branch(Condition::Execnz),
        "s_cbranch_cdbgsys" | "s_cbranch_cdbguser" | "s_cbranch_cdbgsys_or_user" | "s_cbranch_cdbgsys_and_user" => {
            branch(Condition::Never)
        }
        "s_trap" => Meaning::Control(Control::Trap),
        "s_sethalt" | "s_sendmsghalt" => Meaning::Control(Control::Halt),
        "s_sleep" => Meaning::Control(Control::Yield),
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
        | "s_dcache_discard_x2" => Meaning::Nothing,
        "v_illegal" => Meaning::Control(Control::Illegal),
        _ => return None,
    })
}

fn cross_lane(name: &str) -> Option<CrossLane> {
    Some(match name {
        "v_readfirstlane_b32" => CrossLane::ReadFirst,
        "v_readlane_b32" => CrossLane::Read,
        "v_writelane_b32" => CrossLane::Write,
        "v_permlane16_b32" => CrossLane::Permute16,
        "v_permlanex16_b32" => CrossLane::PermuteX16,
        "v_permlane64_b32" => CrossLane::Permute64,
        "v_swap_b32" | "v_swap_b16" => CrossLane::Swap,
        "v_movrels_b32" => CrossLane::MovRelSource,
        "v_movreld_b32" => CrossLane::MovRelDestination,
        "v_movrelsd_b32" => CrossLane::MovRelBoth,
        "v_movrelsd_2_b32" => CrossLane::MovRelTwo,
        "v_swaprel_b32" => CrossLane::SwapRel,
        _ => return None,
    })
}

/// `load_u8`, `store_d16_hi_b16`, `atomic_add_u32` and so on.
fn access(name: &str) -> Option<Access> {
    match name {
        "load_addtid_b32" => return Some(Access::Load(1)),
        "store_addtid_b32" => return Some(Access::Store(1)),
        _ => {}
    }
    if let Some(rest) = name.strip_prefix("load_") {
        let (rest, half) = d16(rest);
        return load(rest, half);
    }
    if let Some(rest) = name.strip_prefix("store_") {
        let (rest, half) = d16(rest);
        return store(rest, half == Half::High);
    }
    let (op, kind) = name.strip_prefix("atomic_")?.rsplit_once('_')?;
    atomic(op, kind, true)
}

/// Takes `d16_` and `d16_hi_` off a name.
fn d16(name: &str) -> (&str, Half) {
    if let Some(rest) = name.strip_prefix("d16_hi_") {
        return (rest, Half::High);
    }
    name.strip_prefix("d16_").map_or((name, Half::Both), |rest| (rest, Half::Low))
}

fn load(kind: &str, half: Half) -> Option<Access> {
    let small = |bytes, signed| Some(Access::LoadSmall { bytes, signed, half });
    match kind {
        "u8" => small(1, false),
        "i8" => small(1, true),
        "u16" | "b16" => small(2, false),
        "i16" => small(2, true),
        "b32" => Some(Access::Load(1)),
        "b64" => Some(Access::Load(2)),
        "b96" => Some(Access::Load(3)),
        "b128" => Some(Access::Load(4)),
        _ => None,
    }
}

fn store(kind: &str, high: bool) -> Option<Access> {
    match kind {
        "b8" => Some(Access::StoreSmall { bytes: 1, high }),
        "b16" => Some(Access::StoreSmall { bytes: 2, high }),
        "b32" => Some(Access::Store(1)),
        "b64" => Some(Access::Store(2)),
        "b96" => Some(Access::Store(3)),
        "b128" => Some(Access::Store(4)),
        _ => None,
    }
}

fn atomic(op: &str, kind: &str, returns: bool) -> Option<Access> {
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
    Some(Access::Atomic { op, wide, returns })
}

fn lds(name: &str) -> Option<LdsMeaning> {
    let one = |kind| Some(LdsMeaning { kind, unit: 0, swapped: false });
    let two = |kind, unit| Some(LdsMeaning { kind, unit, swapped: false });
    match name {
        "swizzle_b32" => return one(Lds::Swizzle(0)),
        "permute_b32" => return one(Lds::Permute),
        "bpermute_b32" => return one(Lds::BackPermute),
        "append" => return one(Lds::Count { add: true }),
        "consume" => return one(Lds::Count { add: false }),
        "load_addtid_b32" => return one(Lds::LoadThread),
        "store_addtid_b32" => return one(Lds::StoreThread),
        "load_2addr_b32" => return two(Lds::Load2 { wide: false }, 4),
        "load_2addr_b64" => return two(Lds::Load2 { wide: true }, 8),
        "load_2addr_stride64_b32" => return two(Lds::Load2 { wide: false }, 256),
        "load_2addr_stride64_b64" => return two(Lds::Load2 { wide: true }, 512),
        "store_2addr_b32" => return two(Lds::Store2 { wide: false }, 4),
        "store_2addr_b64" => return two(Lds::Store2 { wide: true }, 8),
        "store_2addr_stride64_b32" => return two(Lds::Store2 { wide: false }, 256),
        "store_2addr_stride64_b64" => return two(Lds::Store2 { wide: true }, 512),
        "storexchg_2addr_rtn_b32" => return two(Lds::Exchange2 { wide: false }, 4),
        "storexchg_2addr_rtn_b64" => return two(Lds::Exchange2 { wide: true }, 8),
        "storexchg_2addr_stride64_rtn_b32" => return two(Lds::Exchange2 { wide: false }, 256),
        "storexchg_2addr_stride64_rtn_b64" => return two(Lds::Exchange2 { wide: true }, 512),
        _ => {}
    }
    let (base, half) = match (name.strip_suffix("_d16_hi"), name.strip_suffix("_d16")) {
        (Some(base), _) => (base, Half::High),
        (_, Some(base)) => (base, Half::Low),
        _ => (name, Half::Both),
    };
    if let Some(kind) = base.strip_prefix("load_") {
        return load(kind, half).and_then(|access| one(Lds::One(access)));
    }
    if let Some(kind) = base.strip_prefix("store_") {
        return store(kind, half == Half::High).and_then(|access| one(Lds::One(access)));
    }
    let (op, kind) = name.rsplit_once('_')?;
    let (op, returns) = op.strip_suffix("_rtn").map_or((op, false), |op| (op, true));
    let access = atomic(op, kind, returns)?;
    Some(LdsMeaning { kind: Lds::One(access), unit: 0, swapped: op == "cmpst" })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has no meaning here, by the beginning of its name, and why.
    const LEFT_OUT: &[(&str, &str)] = &[
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

    /// Why an operation is left out.
    fn reason(name: &str) -> Option<&'static str> {
        // Of two addresses in LDS, one relative to the other: gfx10 has them, no compiler emits them.
        if name.starts_with("ds_") && name.contains("_src2_") {
            return Some("no compiler emits it");
        }
        LEFT_OUT.iter().find(|(start, _)| name.starts_with(start)).map(|(_, reason)| *reason)
    }

    #[test]
    fn every_operation_that_compute_code_can_meet_has_a_meaning() {
        let unknown = |op: Op| matches!(of(op), Meaning::Unknown);
        let missing: Vec<&str> =
            Op::ALL.iter().filter(|&&op| unknown(op) && reason(op.name()).is_none()).map(|op| op.name()).collect();
        assert_eq!(missing, Vec::<&str>::new());
        let page = include_str!("../../../../docs/emulator.md");
        for (start, _) in LEFT_OUT {
            assert!(page.contains(&format!("`{start}")), "docs/emulator.md does not list {start}");
            let left_out = |op: &Op| op.name().starts_with(start) && unknown(*op);
            assert!(Op::ALL.iter().any(left_out), "{start} is no longer left out");
        }
    }
}
