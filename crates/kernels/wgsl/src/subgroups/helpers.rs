//! WGSL functions that emulate subgroup operations.
//!
//! Each writes the invocation's value to workgroup memory, waits at a barrier, reads the values
//! that the operation needs, and waits again so that the next operation may write. Reading a
//! subgroup's values one by one takes two barriers for any size. A tree reduction would take one
//! barrier per level, and workgroup memory is fast enough for the extra reads.

use std::collections::BTreeSet;
use std::fmt::Write;

use naga::{
    Arena, CollectiveOperation, Direction, Expression, GatherMode, Handle, Scalar, ScalarKind, Statement,
    SubgroupOperation, Type, TypeInner, UniqueArena, VectorSize,
};

use super::Unsupported;

/// The invocation's index in its workgroup, and the workgroup's size. Entry points set them.
pub(super) const INVOCATION: &str = "roci_invocation";
pub(super) const INVOCATIONS: &str = "roci_invocations";

/// A subgroup operation on values of one type.
#[derive(Clone, Debug)]
pub(super) struct Helper {
    kind: Kind,
    /// The type as WGSL writes it.
    ty: String,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Ballot {
        always: bool,
    },
    Collective(SubgroupOperation, CollectiveOperation),
    /// Reads the value of one lane, given as a WGSL expression of `lane`, the caller's own lane,
    /// and `index`, the argument if there is one.
    Gather {
        name: &'static str,
        from: &'static str,
        has_index: bool,
    },
}

impl Helper {
    /// The helper that a statement needs; `None` if it is not a subgroup operation.
    pub(super) fn of(
        types: &UniqueArena<Type>,
        expressions: &Arena<Expression>,
        statement: &Statement,
    ) -> Result<Option<Self>, Unsupported> {
        let (kind, result) = match statement {
            Statement::SubgroupBallot { predicate, result } => (Kind::Ballot { always: predicate.is_none() }, *result),
            Statement::SubgroupCollectiveOperation { op, collective_op, result, .. } => {
                (Kind::Collective(*op, *collective_op), *result)
            }
            Statement::SubgroupGather { mode, result, .. } => (gather(*mode), *result),
            _ => return Ok(None),
        };
        let ty = match (kind, &expressions[result]) {
            (Kind::Ballot { .. }, _) => "bool".to_owned(),
            (_, Expression::SubgroupOperationResult { ty }) => name_of(&types[*ty].inner)?,
            (_, other) => return Err(format!("subgroup operations with a result of {other:?} are not supported")),
        };
        let is_vote = matches!(kind, Kind::Collective(SubgroupOperation::All | SubgroupOperation::Any, _));
        if ty == "bool" && !is_vote && !matches!(kind, Kind::Ballot { .. }) {
            return Err("subgroup operations on bool other than votes are not supported".to_owned());
        }
        Ok(Some(Self { kind, ty }))
    }

    /// Name of the WGSL function.
    pub(super) fn name(&self) -> String {
        let what = match self.kind {
            Kind::Ballot { always: false } => return "roci_subgroup_ballot".to_owned(),
            Kind::Ballot { always: true } => return "roci_subgroup_ballot_always".to_owned(),
            Kind::Collective(op, collective) => {
                let kind = match collective {
                    CollectiveOperation::Reduce => "",
                    CollectiveOperation::InclusiveScan => "inclusive_",
                    CollectiveOperation::ExclusiveScan => "exclusive_",
                };
                format!("{kind}{op:?}").to_lowercase()
            }
            Kind::Gather { name, .. } => name.to_owned(),
        };
        format!("roci_subgroup_{what}_{}", plain(&self.ty))
    }

    /// Type of the value in workgroup memory, which cannot hold bool.
    fn scratch(&self) -> &str {
        if self.ty == "bool" { "u32" } else { &self.ty }
    }

    fn write(&self, text: &mut String, size: u32) -> std::fmt::Result {
        let (name, ty) = (self.name(), &self.ty);
        let scratch = format!("roci_scratch_{}", plain(self.scratch()));
        let first = format!("{INVOCATION} & {}u", !(size - 1));
        // One past the last lane of the subgroup. The last subgroup of a workgroup may be
        // partial.
        let end = format!("min(first + {size}u, {INVOCATIONS})");
        let put = if ty == "bool" { "select(0u, 1u, value)" } else { "value" };
        match self.kind {
            Kind::Ballot { always: true } => {
                writeln!(text, "fn {name}() -> vec4<u32> {{ return roci_subgroup_ballot(true); }}")
            }
            Kind::Ballot { always: false } => writeln!(
                text,
                "fn {name}(value: bool) -> vec4<u32> {{
                    {scratch}[{INVOCATION}] = {put};
                    workgroupBarrier();
                    let first = {first};
                    let end = {end};
                    var votes = vec4<u32>();
                    for (var at = first; at < end; at += 1u) {{
                        votes[(at - first) / 32u] |= {scratch}[at] << ((at - first) % 32u);
                    }}
                    workgroupBarrier();
                    return votes;
                }}"
            ),
            Kind::Collective(op, collective) => {
                let combined = match op {
                    SubgroupOperation::Add => "result + other",
                    SubgroupOperation::Mul => "result * other",
                    SubgroupOperation::Min => "min(result, other)",
                    SubgroupOperation::Max => "max(result, other)",
                    SubgroupOperation::All | SubgroupOperation::And => "result & other",
                    SubgroupOperation::Any | SubgroupOperation::Or => "result | other",
                    SubgroupOperation::Xor => "result ^ other",
                };
                let of_type = self.scratch();
                let (start, next, end) = match collective {
                    CollectiveOperation::Reduce => (format!("{scratch}[first]"), "first + 1u", end),
                    CollectiveOperation::InclusiveScan => {
                        (format!("{scratch}[first]"), "first + 1u", format!("{INVOCATION} + 1u"))
                    }
                    CollectiveOperation::ExclusiveScan => {
                        let unit = u32::from(op == SubgroupOperation::Mul);
                        (format!("{of_type}({unit})"), "first", INVOCATION.to_owned())
                    }
                };
                let back = if ty == "bool" { "result != 0u" } else { "result" };
                writeln!(
                    text,
                    "fn {name}(value: {ty}) -> {ty} {{
                        {scratch}[{INVOCATION}] = {put};
                        workgroupBarrier();
                        let first = {first};
                        let end = {end};
                        var result = {start};
                        for (var at = {next}; at < end; at += 1u) {{
                            let other = {scratch}[at];
                            result = {combined};
                        }}
                        workgroupBarrier();
                        return {back};
                    }}"
                )
            }
            Kind::Gather { from, has_index, .. } => {
                let parameter = if has_index { ", index: u32" } else { "" };
                writeln!(
                    text,
                    "fn {name}(value: {ty}{parameter}) -> {ty} {{
                        {scratch}[{INVOCATION}] = value;
                        workgroupBarrier();
                        let lane = {INVOCATION} & {}u;
                        let expected = {from};
                        let at = {INVOCATION} - lane + expected;
                        var result = value;
                        if expected < {size}u && at < {INVOCATIONS} {{
                            result = {scratch}[at];
                        }}
                        workgroupBarrier();
                        return result;
                    }}",
                    size - 1
                )
            }
        }
    }
}

fn gather(mode: GatherMode) -> Kind {
    let (name, from, has_index) = match mode {
        GatherMode::BroadcastFirst => ("broadcast_first", "0u", false),
        GatherMode::Broadcast(_) => ("broadcast", "index", true),
        GatherMode::Shuffle(_) => ("shuffle", "index", true),
        GatherMode::ShuffleDown(_) => ("shuffle_down", "lane + index", true),
        GatherMode::ShuffleUp(_) => ("shuffle_up", "lane - index", true),
        GatherMode::ShuffleXor(_) => ("shuffle_xor", "lane ^ index", true),
        GatherMode::QuadBroadcast(_) => ("quad_broadcast", "(lane & 0xfffffffcu) | index", true),
        GatherMode::QuadSwap(Direction::X) => ("quad_swap_x", "lane ^ 1u", false),
        GatherMode::QuadSwap(Direction::Y) => ("quad_swap_y", "lane ^ 2u", false),
        GatherMode::QuadSwap(Direction::Diagonal) => ("quad_swap_diagonal", "lane ^ 3u", false),
    };
    Kind::Gather { name, from, has_index }
}

/// The operands of a subgroup operation, in the order of its function's parameters, and its
/// result.
pub(super) fn operands(statement: &Statement) -> (Vec<Handle<Expression>>, Handle<Expression>) {
    match *statement {
        Statement::SubgroupBallot { predicate, result } => (predicate.into_iter().collect(), result),
        Statement::SubgroupCollectiveOperation { argument, result, .. } => (vec![argument], result),
        Statement::SubgroupGather { mode, argument, result } => {
            let index = match mode {
                GatherMode::Broadcast(index)
                | GatherMode::Shuffle(index)
                | GatherMode::ShuffleDown(index)
                | GatherMode::ShuffleUp(index)
                | GatherMode::ShuffleXor(index)
                | GatherMode::QuadBroadcast(index) => Some(index),
                GatherMode::BroadcastFirst | GatherMode::QuadSwap(_) => None,
            };
            (std::iter::once(argument).chain(index).collect(), result)
        }
        _ => unreachable!("only subgroup operations have a helper"),
    }
}

/// A type as WGSL writes it.
fn name_of(inner: &TypeInner) -> Result<String, Unsupported> {
    let scalar = |scalar: Scalar| match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => Ok("bool"),
        (ScalarKind::Float, 2) => Ok("f16"),
        (ScalarKind::Float, 4) => Ok("f32"),
        (ScalarKind::Sint, 4) => Ok("i32"),
        (ScalarKind::Uint, 4) => Ok("u32"),
        (ScalarKind::Sint, 8) => Ok("i64"),
        (ScalarKind::Uint, 8) => Ok("u64"),
        _ => Err(format!("subgroup operations on {scalar:?} are not supported")),
    };
    match *inner {
        TypeInner::Scalar(one) => Ok(scalar(one)?.to_owned()),
        TypeInner::Vector { size, scalar: one } => {
            let size = match size {
                VectorSize::Bi => 2,
                VectorSize::Tri => 3,
                VectorSize::Quad => 4,
            };
            let of = scalar(one)?;
            if of == "bool" {
                Err("subgroup operations on vectors of bool are not supported".to_owned())
            } else {
                Ok(format!("vec{size}<{of}>"))
            }
        }
        ref other => Err(format!("subgroup operations on {other:?} are not supported")),
    }
}

/// A type's name as part of an identifier.
fn plain(ty: &str) -> String {
    ty.replace('<', "_").replace('>', "")
}

/// WGSL source of the functions, their scratch memory, and the variables that entry points set.
pub(super) fn text<'a>(helpers: impl Iterator<Item = &'a Helper>, size: u32, invocations: u32) -> String {
    let mut text = String::new();
    let mut scratches = BTreeSet::new();
    let mut functions = String::new();
    let mut has_ballot = false;
    let mut needs_ballot = false;
    for helper in helpers {
        match helper.kind {
            Kind::Ballot { always } => {
                needs_ballot |= always;
                has_ballot |= !always;
            }
            Kind::Collective(..) | Kind::Gather { .. } => {}
        }
        scratches.insert(helper.scratch().to_owned());
        // Writing to a string cannot fail.
        let _ = helper.write(&mut functions, size);
    }
    if needs_ballot && !has_ballot {
        let ballot = Helper { kind: Kind::Ballot { always: false }, ty: "bool".to_owned() };
        let _ = ballot.write(&mut functions, size);
    }
    if scratches.iter().any(|ty| ty.contains("f16")) {
        text.push_str("enable f16;\n");
    }
    for variable in [INVOCATION, INVOCATIONS] {
        let _ = writeln!(text, "var<private> {variable}: u32;");
    }
    for ty in &scratches {
        let _ = writeln!(text, "var<workgroup> roci_scratch_{}: array<{ty}, {invocations}>;", plain(ty));
    }
    text + &functions
}
