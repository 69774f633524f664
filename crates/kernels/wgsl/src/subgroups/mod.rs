//! Emulates subgroups in workgroup memory, for devices that have none.
//!
//! Vulkan 1.1 guarantees only that subgroups exist, not their operations. The OpenCL C writer has
//! its own lowering, which works on source; this one works on naga's IR and serves SPIR-V. Three
//! steps:
//!
//! 1. Every subgroup operation becomes a call to a function that does the same with workgroup
//!    memory and barriers ([`helpers`] writes those functions in WGSL, `import` adds them to the
//!    module).
//! 2. Every entry point becomes a plain function.
//! 3. A new entry point of the same name computes the subgroup built-ins from the invocation's
//!    index in its workgroup, and calls that function with them.
//!
//! All invocations of the workgroup must reach a barrier. The kernel rules require that for
//! subgroup operations too, and they are checked again on the lowered module.

mod helpers;
mod import;

use std::collections::BTreeMap;

use naga::{
    Barrier, BinaryOperator, Binding, Block, BuiltIn, EntryPoint, Expression, Function, FunctionArgument,
    GlobalVariable, Handle, Literal, Module, Scalar, Span, Statement, Type, TypeInner,
};

use helpers::Helper;
use import::ImportedItems;

/// What cannot be lowered, and why. The caller adds the name of the kernel.
pub(crate) type Unsupported = String;

/// Lowers a module to subgroups of `size` invocations in workgroup memory. A module without
/// subgroups is returned unchanged.
pub(crate) fn lower(module: &Module, size: u32) -> Result<Module, Unsupported> {
    if !size.is_power_of_two() || size > 128 {
        return Err(format!("a subgroup size of {size} is not supported: it must be a power of two up to 128"));
    }
    if module.types.iter().any(|(_, ty)| matches!(ty.inner, TypeInner::CooperativeMatrix { .. })) {
        return Err("it uses cooperative matrices".to_owned());
    }
    let mut required = RequiredHelpers::default();
    for function in functions(module) {
        required.block(module, function, &function.body)?;
    }
    let arguments = module.entry_points.iter().flat_map(|entry_point| &entry_point.function.arguments);
    let mut asks = false;
    for argument in arguments {
        asks |= argument.binding.as_ref().is_some_and(is_subgroup);
        if let TypeInner::Struct { members, .. } = &module.types[argument.ty].inner
            && members.iter().any(|member| member.binding.as_ref().is_some_and(is_subgroup))
        {
            return Err("it has subgroup built-ins in a struct; make them separate arguments".to_owned());
        }
    }
    if !asks && !required.anything {
        return Ok(module.clone());
    }
    let invocations = module.entry_points.iter().map(invocations).max().unwrap_or(1);
    let text = helpers::text(required.helpers.values(), size, invocations);
    let parsed = naga::front::wgsl::parse_str(&text)
        .map_err(|error| format!("its helper functions are invalid: {}", error.emit_to_string(&text)))?;
    let mut lowered = module.clone();
    let imported = import::bring(&mut lowered, parsed)?;
    for (_, function) in lowered.functions.iter_mut() {
        replace(&module.types, function, &imported)?;
    }
    let entry_points = std::mem::take(&mut lowered.entry_points);
    for mut entry_point in entry_points {
        replace(&module.types, &mut entry_point.function, &imported)?;
        let entry_point = wrap(&mut lowered, entry_point, &imported, size);
        lowered.entry_points.push(entry_point);
    }
    Ok(lowered)
}

fn functions(module: &Module) -> impl Iterator<Item = &Function> {
    let plain = module.functions.iter().map(|(_, function)| function);
    plain.chain(module.entry_points.iter().map(|entry_point| &entry_point.function))
}

fn is_subgroup(binding: &Binding) -> bool {
    use BuiltIn as B;
    matches!(binding, Binding::BuiltIn(B::SubgroupId | B::SubgroupSize | B::SubgroupInvocationId | B::NumSubgroups))
}

fn invocations(entry_point: &EntryPoint) -> u32 {
    entry_point.workgroup_size.iter().product()
}

/// The helpers that a module needs.
#[derive(Default)]
struct RequiredHelpers {
    /// Helpers by name.
    helpers: BTreeMap<String, Helper>,
    /// Whether there is any subgroup operation; a subgroup barrier needs no function.
    anything: bool,
}

impl RequiredHelpers {
    fn block(&mut self, module: &Module, function: &Function, block: &Block) -> Result<(), Unsupported> {
        for statement in block {
            match statement {
                Statement::ControlBarrier(flags) | Statement::MemoryBarrier(flags) => {
                    self.anything |= flags.contains(Barrier::SUB_GROUP);
                }
                _ => {
                    if let Some(helper) = Helper::of(&module.types, &function.expressions, statement)? {
                        self.anything = true;
                        self.helpers.insert(helper.name(), helper);
                    }
                }
            }
            for inner in nested(statement) {
                self.block(module, function, inner)?;
            }
        }
        Ok(())
    }
}

fn nested(statement: &Statement) -> Vec<&Block> {
    match statement {
        Statement::Block(block) => vec![block],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Switch { cases, .. } => cases.iter().map(|case| &case.body).collect(),
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        _ => Vec::new(),
    }
}

pub(super) fn nested_mut(statement: &mut Statement) -> Vec<&mut Block> {
    match statement {
        Statement::Block(block) => vec![block],
        Statement::If { accept, reject, .. } => vec![accept, reject],
        Statement::Switch { cases, .. } => cases.iter_mut().map(|case| &mut case.body).collect(),
        Statement::Loop { body, continuing, .. } => vec![body, continuing],
        _ => Vec::new(),
    }
}

/// Replaces subgroup operations by calls. Result expressions keep their handles and become call
/// results.
fn replace(
    types: &naga::UniqueArena<Type>,
    function: &mut Function,
    imported: &ImportedItems,
) -> Result<(), Unsupported> {
    let mut body = std::mem::take(&mut function.body);
    let replaced = replace_block(types, function, &mut body, imported);
    function.body = body;
    replaced
}

fn replace_block(
    types: &naga::UniqueArena<Type>,
    function: &mut Function,
    block: &mut Block,
    imported: &ImportedItems,
) -> Result<(), Unsupported> {
    for statement in block.iter_mut() {
        if let Some(helper) = Helper::of(types, &function.expressions, statement)? {
            let name = helper.name();
            let callee = *imported.functions.get(&name).ok_or_else(|| format!("there is no {name}"))?;
            let (arguments, result) = helpers::operands(statement);
            function.expressions[result] = Expression::CallResult(callee);
            *statement = Statement::Call { function: callee, arguments, result: Some(result) };
            continue;
        }
        if let Statement::ControlBarrier(flags) | Statement::MemoryBarrier(flags) = statement
            && flags.contains(Barrier::SUB_GROUP)
        {
            *flags = (*flags - Barrier::SUB_GROUP) | Barrier::WORK_GROUP | Barrier::STORAGE;
        }
        for inner in nested_mut(statement) {
            replace_block(types, function, inner, imported)?;
        }
    }
    Ok(())
}

/// Turns an entry point into a plain function, and returns an entry point that calls it.
fn wrap(module: &mut Module, mut entry_point: EntryPoint, imported: &ImportedItems, size: u32) -> EntryPoint {
    let word = module.types.insert(Type { name: None, inner: TypeInner::Scalar(Scalar::U32) }, Span::UNDEFINED);
    let count = invocations(&entry_point);
    let mut wrapper = WrapperBuilder::default();

    let old = &mut entry_point.function;
    let is_index =
        |argument: &FunctionArgument| matches!(argument.binding, Some(Binding::BuiltIn(BuiltIn::LocalInvocationIndex)));
    let remaining = old.arguments.iter().filter(|argument| !argument.binding.as_ref().is_some_and(is_subgroup));
    wrapper.function.arguments = remaining.cloned().collect();
    let index = wrapper.function.arguments.iter().position(is_index).unwrap_or_else(|| {
        wrapper.function.arguments.push(FunctionArgument {
            name: Some("roci_index".to_owned()),
            ty: word,
            binding: Some(Binding::BuiltIn(BuiltIn::LocalInvocationIndex)),
        });
        wrapper.function.arguments.len() - 1
    });
    let index = wrapper.add(Expression::FunctionArgument(index as u32));
    let all = wrapper.add(Expression::Literal(Literal::U32(count)));
    wrapper.store(imported.invocation, index);
    wrapper.store(imported.invocations, all);

    let mut next = 0;
    let mut arguments = Vec::new();
    for argument in &old.arguments {
        let value = match argument.binding {
            Some(Binding::BuiltIn(BuiltIn::SubgroupSize)) => wrapper.add(Expression::Literal(Literal::U32(size))),
            Some(Binding::BuiltIn(BuiltIn::NumSubgroups)) => {
                wrapper.add(Expression::Literal(Literal::U32(count.div_ceil(size))))
            }
            Some(Binding::BuiltIn(BuiltIn::SubgroupId)) => {
                wrapper.binary(BinaryOperator::ShiftRight, index, size.trailing_zeros())
            }
            Some(Binding::BuiltIn(BuiltIn::SubgroupInvocationId)) => {
                wrapper.binary(BinaryOperator::And, index, size - 1)
            }
            _ => {
                next += 1;
                wrapper.add(Expression::FunctionArgument(next - 1))
            }
        };
        arguments.push(value);
    }
    // Only entry points may have built-ins.
    old.arguments.iter_mut().for_each(|argument| argument.binding = None);
    old.name = Some(format!("{}_with_subgroups", entry_point.name));
    let function = module.functions.append(std::mem::take(old), Span::UNDEFINED);
    wrapper.function.body.push(Statement::Call { function, arguments, result: None }, Span::UNDEFINED);
    wrapper.function.body.push(Statement::Return { value: None }, Span::UNDEFINED);
    EntryPoint { function: wrapper.function, ..entry_point }
}

/// An entry point under construction.
#[derive(Default)]
struct WrapperBuilder {
    function: Function,
}

impl WrapperBuilder {
    fn add(&mut self, expression: Expression) -> Handle<Expression> {
        self.function.expressions.append(expression, Span::UNDEFINED)
    }

    fn binary(&mut self, op: BinaryOperator, left: Handle<Expression>, right: u32) -> Handle<Expression> {
        let right = self.add(Expression::Literal(Literal::U32(right)));
        let start = self.function.expressions.len();
        let value = self.add(Expression::Binary { op, left, right });
        let range = self.function.expressions.range_from(start);
        self.function.body.push(Statement::Emit(range), Span::UNDEFINED);
        value
    }

    fn store(&mut self, variable: Handle<GlobalVariable>, value: Handle<Expression>) {
        let pointer = self.add(Expression::GlobalVariable(variable));
        self.function.body.push(Statement::Store { pointer, value }, Span::UNDEFINED);
    }
}
