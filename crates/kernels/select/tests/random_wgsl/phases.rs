//! Collective operations of a workgroup: exchanges through workgroup memory, subgroup operations,
//! and uniform control flow around them.

use super::ast::{Expr, Kind, Lvalue, Root, Scalar, Step, Stmt, Type, Value};
use super::generate::{ATOMIC_OPS, Generator, binary, builtin, literal, load, local, word};
use super::random::Random;

impl Generator {
    /// A phase of the entry point: plain statements or a collective operation.
    pub(super) fn phase(&mut self, depth: usize) -> Vec<Stmt> {
        match self.random.below(8) {
            0..=2 => {
                let count = 1 + self.random.below(3);
                self.block_in_scope(count, 2)
            }
            3 => self.exchange(),
            4 => self.scatter(),
            5 => self.subgroup(),
            6 if self.program.reads_fresh_workgroup => self.count_together(),
            _ if depth == 0 => self.subgroup(),
            7 => {
                // A uniform loop.
                let id = self.fresh();
                let limit = Lvalue { root: Root::Params, path: vec![Step::Field(0)] };
                let limit = binary("%", load(limit, Type::U32), word(4));
                let scope = self.scope.len();
                self.declare(local(id), Type::U32, false);
                let body = self.phase(depth - 1);
                self.scope.truncate(scope);
                vec![Stmt::For(id, limit, body)]
            }
            _ => {
                let value = load(Lvalue { root: Root::Params, path: vec![Step::Field(3)] }, Type::U32);
                let condition = binary(
                    ">",
                    value,
                    load(Lvalue { root: Root::Local(1), path: vec![Step::Component(0)] }, Type::U32),
                );
                let scope = self.scope.len();
                let accept = self.phase(depth - 1);
                self.scope.truncate(scope);
                let reject = self.phase(depth - 1);
                self.scope.truncate(scope);
                vec![Stmt::If(condition, accept, reject)]
            }
        }
    }

    /// Every invocation writes its own element, then reads another invocation's.
    fn exchange(&mut self) -> Vec<Stmt> {
        let Type::Array(element, length) = self.program.workgroup[1].clone() else { return Vec::new() };
        let mut body = Vec::new();
        if self.program.reads_fresh_workgroup && self.random.one_in(2) {
            body.extend(self.read_shared(1, &element, length));
            body.push(Stmt::Barrier("workgroupBarrier"));
        }
        let own = Lvalue { root: Root::Workgroup(1), path: vec![Step::Index(load(local(0), Type::U32))] };
        body.push(Stmt::Assign(own.clone(), self.expr(&element, 3)));
        if self.random.one_in(2) {
            let scope = self.scope.len();
            self.declare(own, (*element).clone(), true);
            let count = 1 + self.random.below(2);
            body.push(Stmt::Block(self.block_in_scope(count, 2)));
            self.scope.truncate(scope);
        }
        body.push(Stmt::Barrier("workgroupBarrier"));
        body.extend(self.read_shared(1, &element, length));
        body.push(Stmt::Barrier("workgroupBarrier"));
        body
    }

    fn read_shared(&mut self, variable: usize, element: &Type, length: usize) -> Vec<Stmt> {
        let index = self.index(length, 2);
        let from = load(Lvalue { root: Root::Workgroup(variable), path: vec![Step::Index(index)] }, element.clone());
        let id = self.fresh();
        self.declare(local(id), element.clone(), true);
        vec![Stmt::Var(id, element.clone(), Some(from))]
    }

    /// Four invocations each write one component of a vector.
    fn scatter(&mut self) -> Vec<Stmt> {
        let Type::Array(element, length) = self.program.workgroup[2].clone() else { return Vec::new() };
        let scalar = Type::Scalar(element.scalar().unwrap_or(Scalar::U32));
        let own = || load(local(0), Type::U32);
        let path = vec![Step::Index(binary(">>", own(), word(2))), Step::Index(binary("&", own(), word(3)))];
        let value = self.expr(&scalar, 3);
        // The last vector may be incomplete.
        let full = self.invocations() / 4;
        let mut body =
            vec![Stmt::Assign(Lvalue { root: Root::Workgroup(2), path }, value), Stmt::Barrier("workgroupBarrier")];
        body.extend(self.read_shared(2, &element, full.min(length)));
        body.push(Stmt::Barrier("workgroupBarrier"));
        body
    }

    /// Atomics in workgroup memory, read after a barrier.
    fn count_together(&mut self) -> Vec<Stmt> {
        let op = self.random.below(ATOMIC_OPS.len());
        let place = || Lvalue { root: Root::Workgroup(0), path: vec![Step::Index(word(op))] };
        let id = self.fresh();
        let body = vec![
            Stmt::Atomic(ATOMIC_OPS[op], place(), self.expr(&Type::I32, 3)),
            Stmt::Barrier("workgroupBarrier"),
            Stmt::Let(id, Expr { ty: Type::I32, kind: Kind::AtomicLoad(place()) }),
            Stmt::Barrier("workgroupBarrier"),
        ];
        self.declare(local(id), Type::I32, false);
        body
    }

    fn subgroup(&mut self) -> Vec<Stmt> {
        const COMBINING: [&str; 11] = [
            "subgroupAdd",
            "subgroupMul",
            "subgroupMin",
            "subgroupMax",
            "subgroupAnd",
            "subgroupOr",
            "subgroupXor",
            "subgroupInclusiveAdd",
            "subgroupExclusiveAdd",
            "subgroupInclusiveMul",
            "subgroupExclusiveMul",
        ];
        const MOVING: [&str; 10] = [
            "subgroupBroadcastFirst",
            "subgroupBroadcast",
            "subgroupShuffle",
            "subgroupShuffleXor",
            "subgroupShuffleUp",
            "subgroupShuffleDown",
            "quadBroadcast",
            "quadSwapX",
            "quadSwapY",
            "quadSwapDiagonal",
        ];
        let id = self.fresh();
        let scalar = *self.random.pick(&[Scalar::U32, Scalar::I32]);
        let shape = |random: &mut Random, scalar| match random.below(4) {
            0..=1 => Type::Scalar(scalar),
            size => Type::Vector(scalar, size),
        };
        // Lane indices that are valid for every subgroup size.
        let partial = !self.invocations().is_multiple_of(32);
        let size = if partial { word(8) } else { load(local(6), Type::U32) };
        let uniform = load(Lvalue { root: Root::Params, path: vec![Step::Field(3)] }, Type::U32);
        let (name, arguments, ty): (&str, Vec<Expr>, Type) = match self.random.below(7) {
            0..=2 => {
                let name = self.random.name(&COMBINING);
                let ty = shape(&mut self.random, scalar);
                (name, vec![self.runtime(&ty, 3)], ty)
            }
            3 => ("subgroupBallot", vec![self.runtime(&Type::BOOL, 3)], Type::Vector(Scalar::U32, 4)),
            4 => (self.random.name(&["subgroupAny", "subgroupAll"]), vec![self.runtime(&Type::BOOL, 3)], Type::BOOL),
            _ => {
                let name = self.random.name(&MOVING);
                let scalar = *self.random.pick(&[Scalar::U32, Scalar::I32, Scalar::F32]);
                let ty = shape(&mut self.random, scalar);
                let value = self.runtime(&ty, 2);
                let arguments = match name {
                    "subgroupBroadcast" => vec![value, word(self.random.below(8))],
                    "quadBroadcast" => vec![value, word(self.random.below(4))],
                    "subgroupShuffle" => vec![value, binary("%", self.expr(&Type::U32, 2), size.clone())],
                    "subgroupShuffleXor" | "subgroupShuffleUp" | "subgroupShuffleDown" => {
                        vec![value, binary("%", uniform.clone(), size.clone())]
                    }
                    _ => vec![value],
                };
                (name, arguments, ty)
            }
        };
        let mut body = vec![Stmt::Subgroup(id, name, arguments)];
        let lane = || load(local(5), Type::U32);
        let inside = match name {
            "subgroupShuffleUp" => Some(binary(">=", lane(), binary("%", uniform, size))),
            // The last subgroup may be partial; lanes beyond its end are as undefined as lanes
            // beyond a full subgroup.
            "subgroupShuffleDown" if partial => Some(literal(Value::Bool(false))),
            "subgroupShuffleDown" => Some(binary("<", binary("+", lane(), binary("%", uniform, size.clone())), size)),
            _ => None,
        };
        match inside {
            Some(inside) => {
                let selected = self.fresh();
                let zero = self.zero(&ty);
                let value = builtin("select", ty.clone(), vec![zero, load(local(id), ty.clone()), inside]);
                body.push(Stmt::Let(selected, value));
                self.declare(local(selected), ty, false);
            }
            None => self.declare(local(id), ty, false),
        }
        body
    }
}
