//! Proves that barriers and subgroup operations are in uniform control flow of the workgroup.
//!
//! naga's own analysis ignores local variables and accepts loops. This one is needed because a
//! subgroup operation may be lowered to workgroup memory and barriers, and a barrier that some
//! invocations do not reach is undefined behavior. It is conservative: function results and
//! writable memory count as non-uniform.

use std::collections::HashSet;

use naga::{
    AddressSpace, Arena, Binding, Block, BuiltIn, Expression, Function, Handle, LocalVariable, Module, Span, Statement,
    StorageAccess,
};

use crate::rules::{Rule, Violation};

/// Checks every entry point and its callees.
pub(crate) fn check(module: &Module) -> Result<(), Violation> {
    for entry_point in &module.entry_points {
        // naga stores callees before callers, so reverse order visits every caller first.
        let mut callers: Vec<Option<Caller>> = module.functions.iter().map(|_| None).collect();
        let arguments =
            entry_point.function.arguments.iter().map(|argument| is_uniform_input(argument.binding.as_ref()));
        let start = Caller { arguments: arguments.collect(), together: true };
        check_function(module, &entry_point.function, &start, &mut callers)?;
        let functions: Vec<_> = module.functions.iter().collect();
        for (handle, function) in functions.into_iter().rev() {
            if let Some(caller) = callers[handle.index()].take() {
                check_function(module, function, &caller, &mut callers)?;
            }
        }
    }
    Ok(())
}

fn is_uniform_input(binding: Option<&Binding>) -> bool {
    use BuiltIn as B;
    let uniform = [B::WorkGroupId, B::WorkGroupSize, B::NumWorkGroups, B::NumSubgroups, B::SubgroupSize];
    matches!(binding, Some(Binding::BuiltIn(builtin)) if uniform.contains(builtin))
}

/// What holds for all callers of a function.
struct Caller {
    /// Per argument: whether it is uniform.
    arguments: Vec<bool>,
    /// Whether all invocations make the call together.
    together: bool,
}

/// Divergent exits of a statement: those that only some invocations take.
#[derive(Clone, Copy, Default)]
struct DivergentExits {
    breaks: bool,
    continues: bool,
    returns: bool,
}

impl DivergentExits {
    fn any(self) -> bool {
        self.breaks || self.continues || self.returns
    }

    fn or(self, other: Self) -> Self {
        Self {
            breaks: self.breaks || other.breaks,
            continues: self.continues || other.continues,
            returns: self.returns || other.returns,
        }
    }
}

struct Analysis<'a> {
    module: &'a Module,
    expressions: &'a Arena<Expression>,
    caller: &'a Caller,
    /// Locals that may differ between invocations. Grows until a fixed point.
    varying: HashSet<Handle<LocalVariable>>,
    /// Cached results of `uniform` by expression. Stale only in a pass in which `varying` grew, and
    /// that pass is repeated.
    known: Vec<Option<bool>>,
    calls: Vec<(Handle<Function>, Caller)>,
    violation: Option<Violation>,
}

fn check_function(
    module: &Module,
    function: &Function,
    caller: &Caller,
    seen: &mut [Option<Caller>],
) -> Result<(), Violation> {
    let mut varying = HashSet::new();
    loop {
        let varied = varying.len();
        let mut analysis = Analysis {
            module,
            expressions: &function.expressions,
            caller,
            varying,
            known: vec![None; function.expressions.len()],
            calls: Vec::new(),
            violation: None,
        };
        analysis.block(&function.body, caller.together);
        if analysis.varying.len() > varied {
            varying = analysis.varying;
            continue;
        }
        for (callee, call) in analysis.calls {
            let merged = seen[callee.index()]
                .get_or_insert_with(|| Caller { arguments: vec![true; call.arguments.len()], together: true });
            merged.together &= call.together;
            merged.arguments.iter_mut().zip(&call.arguments).for_each(|(all, &one)| *all &= one);
        }
        return analysis.violation.map_or(Ok(()), Err);
    }
}

impl Analysis<'_> {
    /// Analyzes `block`; `together` says whether all invocations enter it.
    fn block(&mut self, block: &Block, mut together: bool) -> DivergentExits {
        let mut exits = DivergentExits::default();
        for (statement, &span) in block.span_iter() {
            let out = self.statement(statement, span, together);
            exits = exits.or(out);
            together &= !out.any();
        }
        exits
    }

    fn statement(&mut self, statement: &Statement, span: Span, together: bool) -> DivergentExits {
        let mut exits = DivergentExits::default();
        match statement {
            Statement::Block(block) => exits = self.block(block, together),
            Statement::If { condition, accept, reject } => {
                let inside = together && self.uniform(*condition);
                exits = self.block(accept, inside).or(self.block(reject, inside));
            }
            Statement::Switch { selector, cases } => {
                let inside = together && self.uniform(*selector);
                for case in cases {
                    exits = exits.or(self.block(&case.body, inside));
                }
                // A `break` in a switch leads to its end, where the invocations reconverge.
                exits.breaks = false;
            }
            Statement::Loop { body, continuing, break_if } => {
                exits = self.iteration(body, continuing, *break_if, together);
                if together && (exits.breaks || exits.returns) {
                    // Some invocations leave early, so control flow is divergent from the second
                    // iteration on.
                    exits = exits.or(self.iteration(body, continuing, *break_if, false));
                }
                exits = DivergentExits { returns: exits.returns, ..DivergentExits::default() };
            }
            Statement::Break => exits.breaks = !together,
            Statement::Continue => exits.continues = !together,
            Statement::Return { .. } => exits.returns = !together,
            Statement::Store { pointer, value } => self.store(*pointer, *value, together),
            Statement::Call { function, arguments, .. } => {
                // The callee may write anything through a pointer.
                arguments.iter().for_each(|&argument| self.vary(argument));
                let arguments = arguments.iter().map(|&argument| self.uniform(argument)).collect();
                self.calls.push((*function, Caller { arguments, together }));
            }
            Statement::ControlBarrier(_) => self.need(together, span, "a barrier"),
            Statement::WorkGroupUniformLoad { .. } => self.need(together, span, "workgroupUniformLoad"),
            Statement::SubgroupBallot { .. }
            | Statement::SubgroupGather { .. }
            | Statement::SubgroupCollectiveOperation { .. } => self.need(together, span, "a subgroup operation"),
            Statement::CooperativeStore { .. } => self.need(together, span, "a cooperative matrix operation"),
            _ => {}
        }
        exits
    }

    fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>, together: bool) {
        if !(together && self.uniform(value) && self.uniform(pointer)) {
            self.vary(pointer);
        }
    }

    fn iteration(
        &mut self,
        body: &Block,
        continuing: &Block,
        break_if: Option<Handle<Expression>>,
        together: bool,
    ) -> DivergentExits {
        let mut exits = self.block(body, together);
        // All invocations that stay in the loop reconverge before `continuing`.
        let stay = together && !exits.breaks && !exits.returns;
        exits = exits.or(self.block(continuing, stay));
        if let Some(condition) = break_if {
            exits.breaks |= !(stay && self.uniform(condition));
        }
        exits
    }

    fn need(&mut self, together: bool, span: Span, what: &str) {
        if !together && self.violation.is_none() {
            let message = format!(
                "{what} stands where only some invocations of the workgroup may come; \
                 make the branches and loops around it depend on constants, `params` or workgroup ids alone"
            );
            self.violation = Some((Rule::UniformControlFlow, Some(span), message));
        }
    }

    /// The local variable that a pointer expression refers to.
    fn local(&self, pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        match self.expressions[pointer] {
            Expression::LocalVariable(local) => Some(local),
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => self.local(base),
            _ => None,
        }
    }

    fn vary(&mut self, pointer: Handle<Expression>) {
        if let Some(local) = self.local(pointer) {
            self.varying.insert(local);
        }
    }

    /// Whether an expression has the same value in all invocations. For a pointer: whether it has
    /// the same address.
    fn uniform(&mut self, handle: Handle<Expression>) -> bool {
        if let Some(known) = self.known[handle.index()] {
            return known;
        }
        let answer = self.find_uniform(handle);
        self.known[handle.index()] = Some(answer);
        answer
    }

    fn find_uniform(&mut self, handle: Handle<Expression>) -> bool {
        use Expression as E;
        let expressions = self.expressions;
        match expressions[handle] {
            E::Literal(_) | E::Constant(_) | E::ZeroValue(_) | E::ArrayLength(_) => true,
            E::GlobalVariable(_) | E::LocalVariable(_) | E::WorkGroupUniformLoadResult { .. } => true,
            E::FunctionArgument(index) => self.caller.arguments.get(index as usize).copied().unwrap_or(false),
            E::Compose { ref components, .. } => components.iter().all(|&component| self.uniform(component)),
            E::Access { base, index } => self.uniform(base) && self.uniform(index),
            E::AccessIndex { base: one, .. }
            | E::Splat { value: one, .. }
            | E::Swizzle { vector: one, .. }
            | E::Unary { expr: one, .. }
            | E::Relational { argument: one, .. }
            | E::As { expr: one, .. } => self.uniform(one),
            E::Binary { left, right, .. } => self.uniform(left) && self.uniform(right),
            E::Select { condition, accept, reject } => {
                self.uniform(condition) && self.uniform(accept) && self.uniform(reject)
            }
            E::Math { arg, arg1, arg2, arg3, .. } => {
                [Some(arg), arg1, arg2, arg3].into_iter().flatten().all(|argument| self.uniform(argument))
            }
            E::Load { pointer } => self.uniform(pointer) && self.uniform_memory(pointer),
            _ => false,
        }
    }

    /// Whether the pointee has the same value for all invocations.
    fn uniform_memory(&self, pointer: Handle<Expression>) -> bool {
        match self.expressions[pointer] {
            Expression::LocalVariable(local) => !self.varying.contains(&local),
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => self.uniform_memory(base),
            Expression::GlobalVariable(global) => match self.module.global_variables[global].space {
                AddressSpace::Immediate => true,
                AddressSpace::Storage { access } => !access.contains(StorageAccess::STORE),
                _ => false,
            },
            _ => false,
        }
    }
}
