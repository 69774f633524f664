//! Imports the functions of one module into another.

use std::collections::{BTreeMap, HashMap};

use naga::{Arena, Block, Expression, Function, GlobalVariable, Handle, Module, Statement, Type, TypeInner};

use super::helpers::{INVOCATION, INVOCATIONS};
use super::{Unsupported, nested_mut};

/// The imported items.
pub(super) struct ImportedItems {
    /// Functions by name.
    pub(super) functions: BTreeMap<String, Handle<Function>>,
    pub(super) invocation: Handle<GlobalVariable>,
    pub(super) invocations: Handle<GlobalVariable>,
}

/// Maps old handles to new ones.
#[derive(Default)]
struct HandleMap {
    types: HashMap<Handle<Type>, Handle<Type>>,
    variables: HashMap<Handle<GlobalVariable>, Handle<GlobalVariable>>,
    functions: HashMap<Handle<Function>, Handle<Function>>,
}

/// Imports the functions of `from` into `module`, before its own: naga requires callees before
/// callers.
pub(super) fn bring(module: &mut Module, from: Module) -> Result<ImportedItems, Unsupported> {
    if !from.constants.is_empty() {
        return Err("its helper functions have constants, which cannot be imported".to_owned());
    }
    let mut places = HandleMap::default();
    for (handle, ty) in from.types.iter() {
        let mut ty = ty.clone();
        if let TypeInner::Array { base, .. } | TypeInner::Pointer { base, .. } = &mut ty.inner {
            *base = places.types[base];
        }
        let place = module.types.insert(ty, from.types.get_span(handle));
        places.types.insert(handle, place);
    }
    let mut variables = BTreeMap::new();
    for (handle, variable) in from.global_variables.iter() {
        let variable = GlobalVariable { ty: places.types[&variable.ty], ..variable.clone() };
        let name = variable.name.clone();
        let place = module.global_variables.append(variable, naga::Span::UNDEFINED);
        places.variables.insert(handle, place);
        variables.extend(name.map(|name| (name, place)));
    }
    let own = std::mem::take(&mut module.functions);
    let mut functions = BTreeMap::new();
    for (handle, function) in from.functions.iter() {
        let mut function = function.clone();
        function.arguments.iter_mut().for_each(|argument| argument.ty = places.types[&argument.ty]);
        function.result.iter_mut().for_each(|result| result.ty = places.types[&result.ty]);
        function.local_variables.iter_mut().for_each(|(_, local)| local.ty = places.types[&local.ty]);
        for (_, expression) in function.expressions.iter_mut() {
            match expression {
                Expression::ZeroValue(ty) | Expression::Compose { ty, .. } => *ty = places.types[ty],
                Expression::GlobalVariable(variable) => *variable = places.variables[variable],
                _ => {}
            }
        }
        move_calls(&mut function, &places.functions);
        let name = function.name.clone();
        let place = module.functions.append(function, naga::Span::UNDEFINED);
        places.functions.insert(handle, place);
        functions.extend(name.map(|name| (name, place)));
    }
    move_own(module, own);
    let variable =
        |name: &str| variables.get(name).copied().ok_or_else(|| format!("its helper functions have no {name}"));
    Ok(ImportedItems { functions, invocation: variable(INVOCATION)?, invocations: variable(INVOCATIONS)? })
}

/// Appends the module's own functions after the imported ones.
fn move_own(module: &mut Module, mut own: Arena<Function>) {
    let mut places = HashMap::new();
    for (handle, mut function, span) in own.drain() {
        move_calls(&mut function, &places);
        places.insert(handle, module.functions.append(function, span));
    }
    for entry_point in &mut module.entry_points {
        move_calls(&mut entry_point.function, &places);
    }
}

/// Updates calls to the new function handles.
fn move_calls(function: &mut Function, places: &HashMap<Handle<Function>, Handle<Function>>) {
    for (_, expression) in function.expressions.iter_mut() {
        if let Expression::CallResult(callee) = expression {
            *callee = places[callee];
        }
    }
    move_block(&mut function.body, places);
}

fn move_block(block: &mut Block, places: &HashMap<Handle<Function>, Handle<Function>>) {
    for statement in block.iter_mut() {
        if let Statement::Call { function, .. } = statement {
            *function = places[function];
        }
        nested_mut(statement).into_iter().for_each(|inner| move_block(inner, places));
    }
}
