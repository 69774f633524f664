//! Removes branches that override constants have decided.
//!
//! One WGSL file holds all variants of a kernel behind `if` and `switch` on overrides. naga turns
//! the overrides into constants but keeps every branch. A variant should contain only its own code,
//! in golden files and on the device.

use std::collections::HashSet;

use naga::{Arena, Block, Expression, Function, Handle, Literal, Module, Statement, SwitchValue};

/// Prunes every function of `module`. Items that only dead branches used are left for compaction.
pub(crate) fn run(module: &mut Module) {
    let mut functions = std::mem::take(&mut module.functions);
    for (_, function) in functions.iter_mut() {
        prune_function(module, function);
    }
    module.functions = functions;
    let mut entry_points = std::mem::take(&mut module.entry_points);
    for entry_point in &mut entry_points {
        prune_function(module, &mut entry_point.function);
    }
    module.entry_points = entry_points;
}

fn prune_function(module: &Module, function: &mut Function) {
    let body = std::mem::take(&mut function.body);
    function.body = prune_block(module, &function.expressions, body);
    // A named expression stays alive; it must not outlive the branch that computed it.
    let mut computed = HashSet::new();
    collect(&function.body, &mut computed);
    let expressions = &function.expressions;
    function.named_expressions.retain(|handle, _| expressions[*handle].needs_pre_emit() || computed.contains(handle));
}

/// Collects the expressions that a block computes.
fn collect(block: &Block, found: &mut HashSet<Handle<Expression>>) {
    for statement in block.iter() {
        match statement {
            Statement::Emit(range) => found.extend(range.clone()),
            Statement::Call { result, .. } | Statement::Atomic { result, .. } => found.extend(*result),
            Statement::WorkGroupUniformLoad { result, .. }
            | Statement::SubgroupBallot { result, .. }
            | Statement::SubgroupGather { result, .. }
            | Statement::SubgroupCollectiveOperation { result, .. } => {
                found.insert(*result);
            }
            Statement::Block(inner) => collect(inner, found),
            Statement::If { accept, reject, .. } => {
                collect(accept, found);
                collect(reject, found);
            }
            Statement::Switch { cases, .. } => cases.iter().for_each(|case| collect(&case.body, found)),
            Statement::Loop { body, continuing, .. } => {
                collect(body, found);
                collect(continuing, found);
            }
            _ => {}
        }
    }
}

fn prune_block(module: &Module, expressions: &Arena<Expression>, block: Block) -> Block {
    let mut pruned = Block::with_capacity(block.len());
    for (mut statement, span) in block.span_into_iter() {
        if let Some(taken) = take_decided(module, expressions, &mut statement) {
            pruned.extend_block(prune_block(module, expressions, taken));
        } else {
            prune_nested(module, expressions, &mut statement);
            pruned.push(statement, span);
        }
        // The rest of this block is unreachable, which naga rejects.
        if matches!(pruned.last(), Some(Statement::Return { .. } | Statement::Break | Statement::Continue)) {
            break;
        }
    }
    pruned
}

/// The branch that `statement` always takes, if a constant decides it.
fn take_decided(module: &Module, expressions: &Arena<Expression>, statement: &mut Statement) -> Option<Block> {
    match statement {
        Statement::If { condition, accept, reject } => match literal(module, expressions, *condition)? {
            Literal::Bool(true) => Some(std::mem::take(accept)),
            Literal::Bool(false) => Some(std::mem::take(reject)),
            _ => None,
        },
        Statement::Switch { selector, cases } => {
            let expected = match literal(module, expressions, *selector)? {
                Literal::U32(value) => SwitchValue::U32(value),
                Literal::I32(value) => SwitchValue::I32(value),
                _ => return None,
            };
            let find = |value| cases.iter().position(|case| case.value == value);
            let at = find(expected).or_else(|| find(SwitchValue::Default))?;
            // A case without a body falls through to the next one.
            let case = cases[at..].iter_mut().find(|case| !case.fall_through || !case.body.is_empty())?;
            // Outside the switch, a `break` would leave the enclosing loop.
            let plain = !case.fall_through && !breaks(&case.body);
            plain.then(|| std::mem::take(&mut case.body))
        }
        _ => None,
    }
}

fn prune_nested(module: &Module, expressions: &Arena<Expression>, statement: &mut Statement) {
    let prune = |block: &mut Block| *block = prune_block(module, expressions, std::mem::take(block));
    match statement {
        Statement::Block(block) => prune(block),
        Statement::If { accept, reject, .. } => {
            prune(accept);
            prune(reject);
        }
        Statement::Switch { cases, .. } => cases.iter_mut().for_each(|case| prune(&mut case.body)),
        Statement::Loop { body, continuing, .. } => {
            prune(body);
            prune(continuing);
        }
        _ => {}
    }
}

/// Whether a `break` in `block` would leave the enclosing statement.
fn breaks(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Break => true,
        Statement::Block(inner) => breaks(inner),
        Statement::If { accept, reject, .. } => breaks(accept) || breaks(reject),
        _ => false,
    })
}

fn literal(module: &Module, expressions: &Arena<Expression>, handle: Handle<Expression>) -> Option<Literal> {
    match expressions[handle] {
        Expression::Literal(literal) => Some(literal),
        Expression::Constant(constant) => match module.global_expressions[module.constants[constant].init] {
            Expression::Literal(literal) => Some(literal),
            _ => None,
        },
        _ => None,
    }
}
