//! Random statements. Every loop has its own counter, which bounds it.

use super::ast::{Expr, Kind, Lvalue, Scalar, Step, Stmt, Type, Value};
use super::generate::{Generator, binary, literal, load, local, word};

impl Generator {
    /// Statements whose declarations stay in scope.
    pub(super) fn block_in_scope(&mut self, count: usize, depth: usize) -> Vec<Stmt> {
        let mut body = Vec::new();
        for _ in 0..count {
            let statements = self.statement(depth);
            body.extend(statements);
        }
        body
    }

    fn block(&mut self, depth: usize) -> Vec<Stmt> {
        let scope = self.scope.len();
        let count = 1 + self.random.below(3);
        let mut body = self.block_in_scope(count, depth);
        let leave = match self.random.below(10) {
            0 if self.in_breakable => Some(Stmt::Break),
            1 if self.in_loop => Some(Stmt::Continue),
            2 => self.result.clone().map(|ty| Stmt::Return(Some(self.expr(&ty, 2)))),
            _ => None,
        };
        body.extend(leave);
        self.scope.truncate(scope);
        body
    }

    pub(super) fn variable(&mut self, ty: Type, depth: usize) -> Vec<Stmt> {
        let init = if self.random.one_in(6) { None } else { Some(self.expr(&ty, depth)) };
        let id = self.fresh();
        self.declare(local(id), ty.clone(), true);
        vec![Stmt::Var(id, ty, init)]
    }

    /// One random construct, of one or two statements.
    fn statement(&mut self, depth: usize) -> Vec<Stmt> {
        let nested = depth > 0;
        match self.random.below(20) {
            0 => {
                let ty = self.simple_type(false);
                self.variable(ty, 3)
            }
            1 => {
                let ty = self.simple_type(false);
                let value = self.runtime(&ty, 3);
                let id = self.fresh();
                self.declare(local(id), ty, false);
                vec![Stmt::Let(id, value)]
            }
            2..=4 => self.compound(),
            5 => self.step(),
            6..=8 if nested => {
                let condition = self.runtime(&Type::BOOL, 3);
                let accept = self.block(depth - 1);
                let reject = if self.random.one_in(2) { self.block(depth - 1) } else { Vec::new() };
                vec![Stmt::If(condition, accept, reject)]
            }
            9..=10 if nested => self.switch(depth - 1),
            11..=13 if nested => self.repeat(depth - 1),
            14 if nested => vec![Stmt::Block(self.block(depth - 1))],
            15 if self.callable > 0 => {
                let function = self.random.below(self.callable);
                self.arguments(function, 2).map(|arguments| Stmt::Call(function, arguments)).into_iter().collect()
            }
            _ => self.assignment(),
        }
    }

    /// A random writable reference of a random type in scope.
    fn target(&mut self) -> Option<(Lvalue, Type)> {
        let writable: Vec<usize> = (0..self.scope.len()).filter(|&index| self.scope[index].writable).collect();
        let index = *self.random.pick(if writable.is_empty() { return None } else { &writable });
        let (mut place, mut ty) = (self.scope[index].place.clone(), self.scope[index].ty.clone());
        while !self.random.one_in(3) {
            let (step, part) = match &ty {
                Type::Vector(scalar, size) if self.random.one_in(4) => {
                    (Step::Index(self.index(*size, 2)), Type::Scalar(*scalar))
                }
                Type::Vector(scalar, size) => (Step::Component(self.random.below(*size)), Type::Scalar(*scalar)),
                Type::Array(element, length) => (Step::Index(self.index(*length, 2)), (**element).clone()),
                Type::Struct(index) => {
                    let members = &self.program.structs[*index];
                    let field = self.random.below(members.len());
                    (Step::Field(field), members[field].clone())
                }
                Type::Scalar(_) | Type::Atomic(_) => break,
            };
            place.path.push(step);
            ty = part;
        }
        Some((place, ty))
    }

    fn assignment(&mut self) -> Vec<Stmt> {
        let Some((place, ty)) = self.target() else { return Vec::new() };
        vec![Stmt::Assign(place, self.expr(&ty, 4))]
    }

    fn compound(&mut self) -> Vec<Stmt> {
        let Some((place, ty)) = self.target() else { return Vec::new() };
        match ty.scalar() {
            Some(Scalar::Bool) => {
                let value = self.expr(&ty, 3);
                vec![Stmt::Compound(place, self.random.name(&["&", "|"]), value)]
            }
            Some(scalar) if scalar.is_integer() => {
                let op = self.random.name(&["+", "-", "*", "&", "|", "^", "/", "%", "<<", ">>"]);
                let value = match op {
                    "<<" | ">>" => self.varying(&ty.with(Scalar::U32), 3),
                    "/" | "%" => self.varying(&ty, 3),
                    _ => self.expr(&ty, 3),
                };
                vec![Stmt::Compound(place, op, value)]
            }
            // A compound assignment to a float could exceed the bounds.
            _ => vec![Stmt::Assign(place, self.expr(&ty, 3))],
        }
    }

    fn step(&mut self) -> Vec<Stmt> {
        let ty = self.random.pick(&[Type::U32, Type::I32]).clone();
        let place = self.some_place(&ty, true, 1);
        place.map(|place| Stmt::Step(place, self.random.name(&["++", "--"]))).into_iter().collect()
    }

    fn switch(&mut self, depth: usize) -> Vec<Stmt> {
        let signed = self.random.one_in(2);
        let ty = if signed { Type::I32 } else { Type::U32 };
        let mut selector = self.runtime(&ty, 3);
        if self.random.one_in(2) {
            let small = if signed { literal(Value::I32(3)) } else { word(3) };
            selector = binary("&", selector, small);
        }
        let outside = self.in_breakable;
        self.in_breakable = true;
        let mut free: Vec<Value> = [0u32, 1, 2, 3, 7, 0x7fff_ffff, 0x8000_0000, u32::MAX]
            .into_iter()
            .map(|value| if signed { Value::I32(value as i32) } else { Value::U32(value) })
            .collect();
        let mut cases = Vec::new();
        let count = 1 + self.random.below(4);
        let default = self.random.below(count);
        for number in 0..count {
            let mut selectors = Vec::new();
            for _ in 0..1 + self.random.below(2) {
                let at = self.random.below(free.len());
                selectors.push(Some(free.swap_remove(at)));
            }
            if number == default {
                match self.random.one_in(2) {
                    true => selectors = vec![None],
                    false => selectors.insert(self.random.below(2), None),
                }
            }
            cases.push((selectors, self.block(depth)));
        }
        self.in_breakable = outside;
        vec![Stmt::Switch(selector, cases)]
    }

    fn repeat(&mut self, depth: usize) -> Vec<Stmt> {
        let scope = self.scope.len();
        let outside = (self.in_loop, self.in_breakable);
        (self.in_loop, self.in_breakable) = (true, true);
        let counter = self.fresh();
        self.declare(local(counter), Type::U32, false);
        let limit = 1 + self.random.below(4);
        let start = Stmt::Var(counter, Type::U32, Some(word(0)));
        let count = || load(local(counter), Type::U32);
        let loop_statement = match self.random.below(3) {
            0 => {
                let params = Lvalue { root: super::ast::Root::Params, path: vec![Step::Field(0)] };
                let limit = match self.random.one_in(2) {
                    true => word(limit),
                    false => binary("%", load(params, Type::U32), word(5)),
                };
                vec![Stmt::For(counter, limit, self.block(depth))]
            }
            1 => {
                let more = binary("<", count(), word(limit));
                let condition = self.expr(&Type::BOOL, 2);
                let condition = Expr { ty: Type::BOOL, kind: Kind::Binary("&&", Box::new(more), Box::new(condition)) };
                let mut body = vec![Stmt::Step(local(counter), "++")];
                body.extend(self.block(depth));
                vec![start, Stmt::While(condition, body)]
            }
            _ => {
                let body = self.block(depth);
                // A continuing block may only be left by its own `break if`.
                let result = self.result.take();
                (self.in_loop, self.in_breakable) = (false, false);
                let mut continuing = vec![Stmt::Step(local(counter), "++")];
                if self.random.one_in(2) {
                    continuing.extend(self.assignment());
                }
                self.result = result;
                let enough = binary(">=", count(), word(limit));
                let condition = self.expr(&Type::BOOL, 2);
                vec![start, Stmt::Loop(body, continuing, binary("||", enough, condition))]
            }
        };
        (self.in_loop, self.in_breakable) = outside;
        self.scope.truncate(scope);
        loop_statement
    }
}
