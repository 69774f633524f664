//! Statements and control flow.

use naga::{Barrier, Block, Expression, Function, Handle, Range, Span, Statement, SwitchCase, SwitchValue, TypeInner};

use super::error::{Error, OUTSIDE};
use super::functions::Body;
use super::types::Leaf;

impl Body<'_, '_> {
    pub(super) fn block(&mut self, block: &Block) -> Result<(), Error> {
        for (statement, &span) in block.span_iter() {
            self.statement(statement, span)?;
        }
        Ok(())
    }

    fn nested(&mut self, block: &Block) -> Result<(), Error> {
        self.depth += 1;
        self.block(block)?;
        self.depth -= 1;
        Ok(())
    }

    fn statement(&mut self, statement: &Statement, span: Span) -> Result<(), Error> {
        let refuse = |body: &Self, construct: &str| Err(body.writer.unsupported(construct, OUTSIDE, span));
        match *statement {
            Statement::Emit(ref range) => self.emit(range),
            Statement::Block(ref block) => {
                self.line("{");
                self.nested(block)?;
                self.line("}");
                Ok(())
            }
            Statement::If { condition, ref accept, ref reject } => self.branch(condition, accept, reject),
            Statement::Switch { selector, ref cases } => self.switch(selector, cases),
            Statement::Loop { ref body, ref continuing, break_if } => self.repeat(body, continuing, break_if),
            Statement::Break => {
                self.line("break;");
                Ok(())
            }
            Statement::Continue => {
                let text = match self.labels.last() {
                    Some(Some(label)) => format!("goto {label};"),
                    _ => "continue;".to_owned(),
                };
                self.line(&text);
                Ok(())
            }
            Statement::Return { value } => {
                let text = match value {
                    Some(value) => {
                        let text = self.expression(value)?;
                        format!("return {};", bare(&text))
                    }
                    None => "return;".to_owned(),
                };
                self.line(&text);
                Ok(())
            }
            Statement::ControlBarrier(barrier) => {
                self.barrier(barrier);
                Ok(())
            }
            Statement::MemoryBarrier(barrier) => {
                let name = barrier_suffix(barrier);
                self.line(&format!("roci_memory_barrier_{name}();"));
                Ok(())
            }
            Statement::Store { pointer, value } => self.store(pointer, value),
            Statement::Atomic { pointer, fun, value, result } => self.atomic(pointer, fun, value, result),
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.barrier(Barrier::WORK_GROUP);
                let text = self.load(pointer)?;
                self.declare(result, &text);
                self.barrier(Barrier::WORK_GROUP);
                Ok(())
            }
            Statement::Call { function, ref arguments, result } => self.call(function, arguments, result),
            Statement::SubgroupBallot { result, predicate } => self.subgroup_ballot(result, predicate),
            Statement::SubgroupGather { mode, argument, result } => self.subgroup_gather(mode, argument, result),
            Statement::SubgroupCollectiveOperation { op, collective_op, argument, result } => {
                self.subgroup_collective(op, collective_op, argument, result)
            }
            Statement::CooperativeStore { target, ref data } => self.cooperative_store(target, data, span),
            Statement::Kill => refuse(self, "discard"),
            Statement::ImageStore { .. } => refuse(self, "textureStore"),
            Statement::ImageAtomic { .. } => refuse(self, "textureAtomic"),
            Statement::RayQuery { .. } => refuse(self, "ray_query"),
            Statement::RayPipelineFunction(_) => refuse(self, "traceRay"),
        }
    }

    /// Assigns expressions to variables where they must be evaluated here: loads, `let`s, and
    /// expressions used more than once.
    fn emit(&mut self, range: &Range<Expression>) -> Result<(), Error> {
        for handle in range.clone() {
            if matches!(self.inner(handle), TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. }) {
                continue;
            }
            let uses = self.info[handle].ref_count;
            let named = self.function.named_expressions.contains_key(&handle);
            let needs_variable = match self.function.expressions[handle] {
                // A load must read memory at this point.
                Expression::Load { .. } | Expression::CooperativeLoad { .. } => uses >= 1,
                Expression::AccessIndex { base, .. } if !named => {
                    let cheap = Leaf::of(self.inner(base)).is_some();
                    uses >= 2 && !cheap
                }
                Expression::ArrayLength(_) if !named => false,
                _ => uses >= 2 || (named && uses >= 1),
            };
            if needs_variable {
                let text = self.inline_expression(handle)?;
                self.declare(handle, &text);
            }
        }
        Ok(())
    }

    /// Declares a constant that holds the expression from here on.
    pub(super) fn declare(&mut self, handle: Handle<Expression>, text: &str) {
        let name = self.fresh_name(handle);
        let ty = self.type_of(handle);
        self.line(&format!("const {ty} {name} = {};", bare(text)));
        self.variables.insert(handle, name);
    }

    pub(super) fn type_of(&mut self, handle: Handle<Expression>) -> String {
        self.writer.value_type(self.inner(handle), self.info[handle].ty.handle())
    }

    pub(super) fn fresh_name(&mut self, handle: Handle<Expression>) -> String {
        match self.function.named_expressions.get(&handle) {
            Some(name) => self.writer.namer.call(name),
            None => format!("_e{}", handle.index()),
        }
    }

    fn branch(&mut self, condition: Handle<Expression>, accept: &Block, reject: &Block) -> Result<(), Error> {
        let text = self.expression(condition)?;
        if accept.is_empty() && !reject.is_empty() {
            self.line(&format!("if (!{text}) {{"));
            self.nested(reject)?;
            self.line("}");
            return Ok(());
        }
        self.line(&format!("if ({}) {{", bare(&text)));
        self.nested(accept)?;
        if !reject.is_empty() {
            self.line("} else {");
            self.nested(reject)?;
        }
        self.line("}");
        Ok(())
    }

    fn switch(&mut self, selector: Handle<Expression>, cases: &[SwitchCase]) -> Result<(), Error> {
        let text = self.expression(selector)?;
        self.line(&format!("switch ({}) {{", bare(&text)));
        for case in cases {
            let label = match case.value {
                SwitchValue::I32(i32::MIN) => "case (-2147483647 - 1):".to_owned(),
                SwitchValue::I32(value) => format!("case {value}:"),
                SwitchValue::U32(value) => format!("case {value}u:"),
                SwitchValue::Default => "default:".to_owned(),
            };
            if case.fall_through && case.body.is_empty() {
                self.line(&label);
                continue;
            }
            self.line(&format!("{label} {{"));
            self.nested(&case.body)?;
            if !case.fall_through && !ends(&case.body) {
                self.depth += 1;
                self.line("break;");
                self.depth -= 1;
            }
            self.line("}");
            if case.fall_through {
                self.line("// falls through");
            }
        }
        self.line("}");
        Ok(())
    }

    /// A loop. The continuing block follows the body in the same scope, and `continue` jumps to it.
    fn repeat(&mut self, body: &Block, continuing: &Block, break_if: Option<Handle<Expression>>) -> Result<(), Error> {
        let has_tail = !continuing.is_empty() || break_if.is_some();
        let label = (has_tail && continues(body)).then(|| self.writer.namer.call("next"));
        self.line("while (true) {");
        self.labels.push(label.clone());
        self.nested(body)?;
        self.labels.pop();
        if let Some(label) = label {
            self.line(&format!("{label}:;"));
        }
        self.nested(continuing)?;
        if let Some(condition) = break_if {
            self.depth += 1;
            let text = self.expression(condition)?;
            self.line(&format!("if ({}) {{", bare(&text)));
            self.line("    break;");
            self.line("}");
            self.depth -= 1;
        }
        self.line("}");
        Ok(())
    }

    fn barrier(&mut self, barrier: Barrier) {
        if barrier == Barrier::SUB_GROUP {
            self.line("roci_subgroup_barrier();");
        } else if !barrier.is_empty() {
            self.line(&format!("roci_barrier_{}();", barrier_suffix(barrier)));
        }
    }

    fn store(&mut self, pointer: Handle<Expression>, value: Handle<Expression>) -> Result<(), Error> {
        let place = self.place(pointer)?;
        let (inner, space) = self.pointee(pointer)?;
        let text = self.expression(value)?;
        if let TypeInner::Atomic(scalar) = inner {
            let statement = self.atomic_store(scalar, space, &place, &text);
            self.line(&statement);
            return Ok(());
        }
        let component = self.is_component(pointer);
        let text = match Leaf::of(&inner) {
            Some(leaf) if component && leaf.is_bool() => format!("-(int){text}"),
            Some(leaf) => self.writer.stored(leaf, text),
            None => text,
        };
        let place = if component { self.component_place(pointer, place, space)? } else { place };
        self.line(&format!("{place} = {};", bare(&text)));
        Ok(())
    }

    fn call(
        &mut self,
        function: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Result<(), Error> {
        let mut passed = Vec::new();
        for &argument in arguments {
            passed.push(match self.inner(argument) {
                TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => {
                    let place = self.place(argument)?;
                    match place.strip_prefix("(*").and_then(|rest| rest.strip_suffix(')')) {
                        Some(pointer) if pointer.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') => {
                            pointer.to_owned()
                        }
                        _ => format!("&{place}"),
                    }
                }
                _ => {
                    let text = self.expression(argument)?;
                    bare(&text).to_owned()
                }
            });
        }
        let uses = self.writer.uses[function.index()].clone();
        passed.extend(self.writer.passed_on(&uses, self.owner));
        let name = self.writer.names[&naga::proc::NameKey::Function(function)].clone();
        let text = format!("{name}({})", passed.join(", "));
        match result {
            Some(result) => self.declare(result, &text),
            None => self.line(&format!("{text};")),
        }
        Ok(())
    }
}

/// The memory a barrier orders, as a suffix of the prelude's barrier functions.
fn barrier_suffix(barrier: Barrier) -> &'static str {
    match (barrier.contains(Barrier::STORAGE), barrier.contains(Barrier::WORK_GROUP)) {
        (true, true) => "all",
        (true, false) => "storage",
        _ => "workgroup",
    }
}

/// Whether a block contains a `continue` of its own loop.
fn continues(block: &Block) -> bool {
    block.iter().any(|statement| match statement {
        Statement::Continue => true,
        Statement::Block(block) => continues(block),
        Statement::If { accept, reject, .. } => continues(accept) || continues(reject),
        Statement::Switch { cases, .. } => cases.iter().any(|case| continues(&case.body)),
        _ => false,
    })
}

/// Whether control never reaches the end of a block.
fn ends(block: &Block) -> bool {
    matches!(block.last(), Some(Statement::Break | Statement::Continue | Statement::Return { .. } | Statement::Kill))
}

/// Removes parentheses that enclose the whole text.
pub(super) fn bare(text: &str) -> &str {
    let Some(within) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) else { return text };
    let mut depth = 0i32;
    for character in within.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth < 0 {
            return text;
        }
    }
    within
}

/// Adds parentheses unless the text can be an operand as it is.
pub(super) fn closed(text: &str) -> String {
    let is_name = text.chars().all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '.'));
    if is_name || bare(text) != text { text.to_owned() } else { format!("({text})") }
}

#[cfg(test)]
mod tests {
    use super::{bare, closed};

    #[test]
    fn closed_expressions_are_unchanged() {
        assert_eq!(closed("a.x"), "a.x");
        assert_eq!(closed("(a + b)"), "(a + b)");
        assert_eq!(closed("a + b"), "(a + b)");
        assert_eq!(closed("(a) + (b)"), "((a) + (b))");
    }

    #[test]
    fn only_outer_parentheses_are_removed() {
        assert_eq!(bare("(a + b)"), "a + b");
        assert_eq!(bare("(a) + (b)"), "(a) + (b)");
        assert_eq!(bare("((a) + (b))"), "(a) + (b)");
        assert_eq!(bare("f(a)"), "f(a)");
    }
}
