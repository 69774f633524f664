//! The writer features that a source uses.
//!
//! A feature is an IR construct of naga in one target language, a function of the prelude, an
//! extension, or a lowering. Scalar types are separate features. A prelude function is one feature
//! for all types.

use std::collections::BTreeSet;
use std::fmt::{self, Debug, Write as _};

use naga::{AddressSpace, Binding, Block, Expression, Function, Module, Scalar, Statement, TypeInner};

use crate::source::{Code, Id};

/// An IR construct: its category and its name.
type Construct = (&'static str, String);

/// All IR constructs of a module.
pub(crate) fn constructs(module: &Module) -> BTreeSet<Construct> {
    let mut all = BTreeSet::new();
    all.extend(module.types.iter().flat_map(|(_, ty)| of_type(&ty.inner)));
    all.extend(module.global_variables.iter().map(|(_, variable)| ("address space", of_space(variable.space))));
    for entry_point in &module.entry_points {
        let bindings = entry_point.function.arguments.iter().filter_map(|argument| argument.binding.as_ref());
        all.extend(bindings.map(|binding| match binding {
            Binding::BuiltIn(value) => ("built-in value", variant(value)),
            Binding::Location { .. } => ("binding", variant(binding)),
        }));
    }
    let entry_points = module.entry_points.iter().map(|entry_point| &entry_point.function);
    for function in entry_points.chain(module.functions.iter().map(|(_, function)| function)) {
        of_function(function, &mut all);
    }
    all
}

/// The features of a source whose module has these constructs.
pub(crate) fn of_source(id: &Id, code: &Code, constructs: &BTreeSet<Construct>) -> BTreeSet<String> {
    let Id { target, lowering, .. } = id;
    let mut features = BTreeSet::from([format!("lowering {target} {lowering}")]);
    match code {
        Code::Spirv(_) => features.extend(constructs.iter().map(|(kind, which)| match *kind {
            // naga tests these itself, so one feature per category is enough here.
            "conversion" | "function" | "literal" | "operator" => format!("SPIR-V: {kind}"),
            _ => format!("SPIR-V: {kind} {which}"),
        })),
        Code::C(source) => {
            features.extend(constructs.iter().map(|(kind, which)| format!("OpenCL C: {kind} {which}")));
            let extensions = source.lines().filter_map(|line| line.strip_prefix("#pragma OPENCL EXTENSION "));
            features.extend(extensions.map(|extension| format!("{target}: extension {extension}")));
            let is_emulated = source.contains("roci_sg_scratch");
            for name in prelude_names(source) {
                let scope = match name.starts_with("roci_subgroup") {
                    true if is_emulated => "emulated",
                    false if !OPENCL_PRELUDE.contains(&format!("//: {name}")) => "OpenCL C",
                    _ => target,
                };
                features.insert(format!("{scope}: {name}"));
            }
        }
    }
    features
}

/// The names in this file have a different definition for `amdgcn`. All other names have the same
/// definition in both dialects or exist in only one.
const OPENCL_PRELUDE: &str = include_str!("../../../wgsl/src/clc/prelude/opencl.cl");

fn of_function(function: &Function, all: &mut BTreeSet<Construct>) {
    all.extend(function.expressions.iter().map(|(_, expression)| of_expression(expression)));
    of_block(&function.body, all);
}

fn of_expression(expression: &Expression) -> Construct {
    match expression {
        Expression::Literal(literal) => ("literal", variant(literal)),
        Expression::Unary { op, .. } => ("operator", variant(op)),
        Expression::Binary { op, .. } => ("operator", variant(op)),
        Expression::Math { fun, .. } => ("function", variant(fun)),
        Expression::Relational { fun, .. } => ("function", variant(fun)),
        Expression::As { kind, convert, .. } => {
            ("conversion", format!("to {kind:?}{}", if convert.is_some() { "" } else { ", bits kept" }))
        }
        other => ("expression", variant(other)),
    }
}

fn of_block(block: &Block, all: &mut BTreeSet<Construct>) {
    for statement in block {
        all.insert(("statement", of_statement(statement)));
        match statement {
            Statement::Block(block) => of_block(block, all),
            Statement::If { accept, reject, .. } => [accept, reject].into_iter().for_each(|block| of_block(block, all)),
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| of_block(&case.body, all)),
            Statement::Loop { body, continuing, .. } => {
                [body, continuing].into_iter().for_each(|block| of_block(block, all));
            }
            _ => {}
        }
    }
}

fn of_statement(statement: &Statement) -> String {
    let form = match statement {
        Statement::If { reject, .. } if reject.is_empty() => String::new(),
        Statement::If { accept, .. } => if accept.is_empty() { "not" } else { "else" }.to_owned(),
        Statement::Switch { cases, .. } if cases.iter().any(|case| case.fall_through) => "fall through".to_owned(),
        Statement::Loop { break_if: Some(_), .. } => "break if".to_owned(),
        Statement::Return { value: Some(_) } => "value".to_owned(),
        Statement::Call { result: None, .. } => "without result".to_owned(),
        Statement::ControlBarrier(barrier) | Statement::MemoryBarrier(barrier) => format!("{barrier:?}"),
        Statement::Atomic { fun, result: None, .. } => format!("{} without result", variant(fun)),
        Statement::Atomic { fun, .. } => variant(fun),
        Statement::SubgroupGather { mode, .. } => variant(mode),
        Statement::SubgroupCollectiveOperation { op, collective_op, .. } => format!("{collective_op:?} {op:?}"),
        _ => String::new(),
    };
    format!("{} {form}", variant(statement)).trim_end().to_owned()
}

fn of_space(space: AddressSpace) -> String {
    match space {
        AddressSpace::Storage { access } => format!("Storage {access:?}"),
        other => variant(&other),
    }
}

fn of_type(inner: &TypeInner) -> Vec<Construct> {
    let of_scalar = |Scalar { kind, width }: Scalar| ("type", format!("{kind:?}{}", u32::from(width) * 8));
    match *inner {
        TypeInner::Scalar(scalar) => vec![of_scalar(scalar)],
        TypeInner::Vector { size, scalar } => vec![("type", format!("Vector {size:?}")), of_scalar(scalar)],
        TypeInner::Atomic(scalar) => vec![("type", format!("Atomic {}", of_scalar(scalar).1))],
        TypeInner::CooperativeMatrix { scalar, role, .. } => {
            vec![("type", format!("CooperativeMatrix {role:?} {}", of_scalar(scalar).1))]
        }
        ref other => vec![("type", variant(other))],
    }
}

/// The names of prelude functions in a source, without type suffixes.
fn prelude_names(source: &str) -> BTreeSet<&str> {
    let words = source.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("roci_")).map(without_type).collect()
}

/// Strips the type suffix: `roci_dot_float4` gives `roci_dot`, `roci_subgroup_add_f32x4` gives
/// `roci_subgroup_add`.
fn without_type(name: &str) -> &str {
    const TYPES: &[&str] = &[
        "f16", "f32", "i16", "i32", "i64", "u16", "u32", "u64", "half", "float", "short", "ushort", "int", "uint",
        "long", "ulong",
    ];
    let is_type = |word: &str| {
        let scalar = ["x2", "x3", "x4", "2", "3", "4"].iter().find_map(|lanes| word.strip_suffix(lanes));
        TYPES.contains(&word) || scalar.is_some_and(|scalar| TYPES.contains(&scalar))
    };
    match name.rsplit_once('_') {
        Some((rest, last)) if is_type(last) => rest,
        _ => name,
    }
}

/// The name of an enum variant.
fn variant(value: &impl Debug) -> String {
    /// Captures the name and then stops formatting, because a statement may contain a whole
    /// function.
    struct Name(String);
    impl fmt::Write for Name {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            let name = text.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
            self.0.push_str(name);
            if name == text { Ok(()) } else { Err(fmt::Error) }
        }
    }
    let mut name = Name(String::new());
    // An error means that there was more output than the name.
    let _ = write!(name, "{value:?}");
    name.0
}

#[test]
fn a_prelude_name_is_one_feature_for_all_types() {
    assert_eq!(without_type("roci_dot_float4"), "roci_dot");
    assert_eq!(without_type("roci_subgroup_add_f32x4"), "roci_subgroup_add");
    assert_eq!(without_type("roci_f32_to_u32"), "roci_f32_to");
    assert_eq!(without_type("roci_barrier_workgroup"), "roci_barrier_workgroup");
}

#[test]
fn constructs_are_found_in_nested_blocks_and_called_functions() {
    let wgsl = "
        @group(0) @binding(0) var<storage, read_write> y: array<u32>;
        fn halve(a: u32) -> u32 { return a >> 1; }
        @compute @workgroup_size(1)
        fn main() { loop { if y[0] == 0 { workgroupBarrier(); } else { break; } continuing { y[0] = halve(y[0]); } } }
    ";
    let module = naga::front::wgsl::parse_str(wgsl).expect("the source is WGSL");
    let all = constructs(&module);
    let has = |kind, which: &str| all.contains(&(kind, which.to_owned()));
    assert!(has("operator", "ShiftRight") && has("operator", "Equal"), "{all:?}");
    assert!(has("statement", "If else") && has("statement", "Break") && has("statement", "Loop"), "{all:?}");
    assert!(has("statement", "ControlBarrier Barrier(WORK_GROUP)") && has("type", "Uint32"), "{all:?}");
    assert!(!has("operator", "Add") && !has("statement", "Switch"), "{all:?}");
}
