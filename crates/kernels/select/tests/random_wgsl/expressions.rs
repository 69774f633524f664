//! Random expressions of a requested type.
//!
//! Two rules apply. No operator has only constant operands, and no divisor or shift amount is an
//! arbitrary constant: WGSL evaluates such expressions at compile time and rejects overflow. No f32
//! exceeds [`TAME`](super::random::TAME) and no zero of unknown sign survives, so that every result
//! has one correct bit pattern.

use super::ast::{Arg, Expr, Kind, Lvalue, Root, Scalar, Step, Type, Value};
use super::generate::{Generator, WORDS, binary, bitcast, builtin, convert, literal, load, word};

/// A path step whose index is not chosen yet.
#[derive(Clone, Debug)]
enum PathStep {
    Field(usize),
    Component(usize),
    Any(usize),
}

pub(super) fn unary(op: &'static str, a: Expr) -> Expr {
    Expr { ty: a.ty.clone(), kind: Kind::Unary(op, Box::new(a)) }
}

/// Whether WGSL evaluates the expression at compile time.
fn is_constant(of: &Expr) -> bool {
    match &of.kind {
        Kind::Literal(_) => true,
        Kind::Load(_) | Kind::AtomicLoad(_) | Kind::Call(..) => false,
        Kind::Unary(_, a) | Kind::Member(_, _, a) | Kind::Splat(a) | Kind::Convert(a) | Kind::Bitcast(a) => {
            is_constant(a)
        }
        Kind::Swizzle(a, _) => is_constant(a),
        Kind::Part(a, step) => is_constant(a) && !matches!(&**step, Step::Index(index) if !is_constant(index)),
        Kind::Binary(_, a, b) => is_constant(a) && is_constant(b),
        Kind::Builtin(_, all) | Kind::Construct(all) => all.iter().all(is_constant),
    }
}

/// Whether a component of a vector is constant: naga checks each component for excessive shifts and
/// division by zero.
fn has_constant_part(of: &Expr) -> bool {
    match &of.kind {
        Kind::Construct(all) => all.iter().any(|part| is_constant(part) || has_constant_part(part)),
        Kind::Swizzle(a, _) | Kind::Splat(a) => has_constant_part(a),
        _ => false,
    }
}

impl Generator {
    /// An expression of type `ty`, at most `depth` levels deep.
    pub(super) fn expr(&mut self, ty: &Type, depth: usize) -> Expr {
        if depth == 0 || self.random.one_in(6) {
            return self.leaf(ty);
        }
        let inner = depth - 1;
        if self.random.one_in(9)
            && let Some(call) = self.call(ty, inner)
        {
            return call;
        }
        let Some(scalar) = ty.scalar() else { return self.composite(ty, inner) };
        if self.random.one_in(6) {
            return self.rearranged(ty, scalar, inner);
        }
        match scalar {
            Scalar::Bool => self.boolean(ty, inner),
            Scalar::F32 => self.float(ty, inner),
            Scalar::F16 => self.half(ty, inner),
            _ => self.integer(ty, scalar, inner),
        }
    }

    /// An expression that WGSL does not evaluate at compile time.
    pub(super) fn runtime(&mut self, ty: &Type, depth: usize) -> Expr {
        let expr = self.expr(ty, depth);
        if is_constant(&expr) { self.anchor(ty) } else { expr }
    }

    /// An expression without constant components, for divisors and shift amounts.
    pub(super) fn varying(&mut self, ty: &Type, depth: usize) -> Expr {
        let expr = self.runtime(ty, depth);
        if has_constant_part(&expr) { self.anchor(ty) } else { expr }
    }

    /// A short non-constant expression of a scalar or vector type.
    fn anchor(&mut self, ty: &Type) -> Expr {
        if let Some(place) = self.some_place(ty, false, 0) {
            return load(place, ty.clone());
        }
        let path = vec![Step::Index(self.index(32, 0))];
        let from = load(Lvalue { root: Root::Buffer(WORDS), path }, Type::U32);
        let Some(scalar) = ty.scalar() else { return self.composite(ty, 0) };
        let from = if scalar.is_float() { binary("&", from, word(1023)) } else { from };
        let from = if scalar == Scalar::U32 { from } else { convert(Type::Scalar(scalar), from) };
        self.shaped(ty, from)
    }

    /// Splats a scalar to the shape of `ty`.
    pub(super) fn shaped(&mut self, ty: &Type, scalar: Expr) -> Expr {
        match ty {
            Type::Vector(..) => Expr { ty: ty.clone(), kind: Kind::Splat(Box::new(scalar)) },
            _ => scalar,
        }
    }

    pub(super) fn constant(&mut self, ty: &Type) -> Expr {
        let scalar = ty.scalar().unwrap_or(Scalar::U32);
        let lanes: Vec<Expr> = (0..ty.lanes()).map(|_| literal(self.scalar_value(scalar))).collect();
        match (ty, lanes) {
            (Type::Vector(..), lanes) => Expr { ty: ty.clone(), kind: Kind::Construct(lanes) },
            (_, mut lanes) => lanes.remove(0),
        }
    }

    pub(super) fn zero(&mut self, ty: &Type) -> Expr {
        let zero = literal(Value::from_bits(ty.scalar().unwrap_or(Scalar::U32), 0));
        self.shaped(ty, zero)
    }

    pub(super) fn leaf(&mut self, ty: &Type) -> Expr {
        if !self.random.one_in(4)
            && let Some(place) = self.some_place(ty, false, 0)
        {
            return load(place, ty.clone());
        }
        match ty {
            Type::Scalar(_) | Type::Vector(..) => self.constant(ty),
            _ => self.composite(ty, 0),
        }
    }

    fn composite(&mut self, ty: &Type, depth: usize) -> Expr {
        let parts: Vec<Type> = match ty {
            Type::Array(element, length) => vec![(**element).clone(); *length],
            Type::Struct(index) => self.program.structs[*index].clone(),
            _ => Vec::new(),
        };
        let parts = parts.iter().map(|part| self.expr(part, depth.min(2))).collect();
        Expr { ty: ty.clone(), kind: Kind::Construct(parts) }
    }

    /// An index below `length`.
    pub(super) fn index(&mut self, length: usize, depth: usize) -> Expr {
        if depth == 0 && self.random.one_in(3) {
            return word(self.random.below(length));
        }
        let index = if depth == 0 { self.simple_word() } else { self.runtime(&Type::U32, depth - 1) };
        if !length.is_power_of_two() {
            return binary("%", index, word(length));
        }
        if self.random.one_in(3) {
            let index = bitcast(Type::I32, index);
            return binary("&", index, literal(Value::I32(length as i32 - 1)));
        }
        binary("&", index, word(length - 1))
    }

    /// A `u32` expression without indexing, so that indices do not nest without bound.
    fn simple_word(&mut self) -> Expr {
        let is_word = |var: &&super::generate::Var| var.ty == Type::U32 && var.place.path.is_empty();
        let mut all: Vec<Lvalue> = self.scope.iter().filter(is_word).map(|var| var.place.clone()).collect();
        all.push(Lvalue { root: Root::Params, path: vec![Step::Field(0)] });
        load(self.random.pick(&all).clone(), Type::U32)
    }

    /// A random reference of exactly this type.
    pub(super) fn some_place(&mut self, ty: &Type, writable: bool, depth: usize) -> Option<Lvalue> {
        let mut found = Vec::new();
        for (number, var) in self.scope.iter().enumerate() {
            if var.writable || !writable {
                self.paths(&var.ty, ty, &mut Vec::new(), &mut |path| found.push((number, path)));
            }
        }
        if found.is_empty() {
            return None;
        }
        let (number, hops) = self.random.pick(&found).clone();
        let mut place = self.scope[number].place.clone();
        for hop in hops {
            place.path.push(match hop {
                PathStep::Field(index) => Step::Field(index),
                PathStep::Component(index) if self.random.one_in(4) && !writable => {
                    // At most `index`, computed so that the compiler cannot fold it.
                    Step::Index(self.index(index + 1, depth))
                }
                PathStep::Component(index) => Step::Component(index),
                PathStep::Any(length) => Step::Index(self.index(length, depth)),
            });
        }
        Some(place)
    }

    fn paths(&self, from: &Type, expected: &Type, path: &mut Vec<PathStep>, found: &mut impl FnMut(Vec<PathStep>)) {
        if from == expected {
            found(path.clone());
        }
        let mut inside = |hop: PathStep, part: &Type| {
            path.push(hop);
            self.paths(part, expected, path, found);
            path.pop();
        };
        match from {
            Type::Vector(scalar, size) => {
                (0..*size).for_each(|lane| inside(PathStep::Component(lane), &Type::Scalar(*scalar)));
            }
            Type::Array(element, length) => inside(PathStep::Any(*length), element),
            Type::Struct(index) => {
                for (number, member) in self.program.structs[*index].iter().enumerate() {
                    inside(PathStep::Field(number), member);
                }
            }
            Type::Scalar(_) | Type::Atomic(_) => {}
        }
    }

    fn call(&mut self, ty: &Type, depth: usize) -> Option<Expr> {
        let fits: Vec<usize> =
            (0..self.callable).filter(|&index| self.program.functions[index].result == *ty).collect();
        let function = *self.random.pick(if fits.is_empty() { return None } else { &fits });
        let arguments: Vec<Arg> = self.arguments(function, depth)?;
        Some(Expr { ty: ty.clone(), kind: Kind::Call(function, arguments) })
    }

    /// Constructs a value from parts of other values.
    fn rearranged(&mut self, ty: &Type, scalar: Scalar, depth: usize) -> Expr {
        let condition = |generator: &mut Self, ty: &Type| {
            let wide = if generator.random.one_in(2) { ty.with(Scalar::Bool) } else { Type::BOOL };
            generator.runtime(&wide, depth)
        };
        let size = 2 + self.random.below(3);
        match (self.random.below(4), ty) {
            (0, _) => {
                let condition = condition(self, ty);
                builtin("select", ty.clone(), vec![self.expr(ty, depth), self.expr(ty, depth), condition])
            }
            (1, Type::Vector(_, lanes)) => {
                let picks = (0..*lanes).map(|_| self.random.below(size)).collect();
                let from = self.runtime(&Type::Vector(scalar, size), depth);
                Expr { ty: ty.clone(), kind: Kind::Swizzle(Box::new(from), picks) }
            }
            (2, Type::Vector(_, lanes)) if *lanes > 2 => {
                let mut parts = vec![self.expr(&Type::Vector(scalar, 2), depth)];
                parts.extend((2..*lanes).map(|_| self.expr(&Type::Scalar(scalar), depth)));
                if self.random.one_in(2) {
                    parts.reverse();
                }
                Expr { ty: ty.clone(), kind: Kind::Construct(parts) }
            }
            (_, Type::Vector(_, lanes)) => {
                let parts = (0..*lanes).map(|_| self.expr(&Type::Scalar(scalar), depth)).collect();
                Expr { ty: ty.clone(), kind: Kind::Construct(parts) }
            }
            (1, _) => {
                let from = self.runtime(&Type::Vector(scalar, size), depth);
                let index = self.index(size, depth);
                Expr { ty: ty.clone(), kind: Kind::Part(Box::new(from), Box::new(Step::Index(index))) }
            }
            (_, _) => {
                let from = self.runtime(&Type::Vector(scalar, size), depth);
                let step = Step::Component(self.random.below(size));
                Expr { ty: ty.clone(), kind: Kind::Part(Box::new(from), Box::new(step)) }
            }
        }
    }

    /// Two operands, at least one of them not constant.
    pub(super) fn pair(&mut self, ty: &Type, depth: usize) -> (Expr, Expr) {
        let (a, b) = (self.runtime(ty, depth), self.expr(ty, depth));
        if self.random.one_in(2) { (a, b) } else { (b, a) }
    }

    fn boolean(&mut self, ty: &Type, depth: usize) -> Expr {
        match self.random.below(8) {
            0 => unary("!", self.runtime(ty, depth)),
            1 if ty.lanes() == 1 => {
                let op = self.random.name(&["&&", "||"]);
                binary(op, self.runtime(ty, depth), self.expr(ty, depth))
            }
            2 => {
                let (a, b) = self.pair(ty, depth);
                binary(self.random.name(&["&", "|", "==", "!="]), a, b)
            }
            3 if ty.lanes() == 1 => {
                let size = 2 + self.random.below(3);
                let from = self.runtime(&Type::Vector(Scalar::Bool, size), depth);
                builtin(self.random.name(&["any", "all"]), Type::BOOL, vec![from])
            }
            4 => {
                let scalar = *self.random.pick(&[Scalar::U32, Scalar::I32, Scalar::F32]);
                convert(ty.clone(), self.runtime(&ty.with(scalar), depth))
            }
            _ => {
                let scalar = loop {
                    let scalar = *self.random.pick(&self.scalars);
                    if scalar != Scalar::Bool {
                        break scalar;
                    }
                };
                let op = self.random.name(&["==", "!=", "<", "<=", ">", ">="]);
                let of = ty.with(scalar);
                if scalar == Scalar::F32 && self.random.one_in(3) {
                    return binary(op, self.wild(&of, depth), self.expr(&of, depth));
                }
                let (a, b) = self.pair(&of, depth);
                binary(op, a, b)
            }
        }
    }

    fn integer(&mut self, ty: &Type, scalar: Scalar, depth: usize) -> Expr {
        let signed = matches!(scalar, Scalar::I32 | Scalar::I64);
        let narrow = scalar.bits() == 32;
        match self.random.below(14) {
            0..=2 => {
                let (a, b) = self.pair(ty, depth);
                binary(self.random.name(&["+", "-", "*", "&", "|", "^"]), a, b)
            }
            3 => binary(self.random.name(&["/", "%"]), self.expr(ty, depth), self.divisor(ty, depth)),
            4 => {
                let op = self.random.name(&["<<", ">>"]);
                let amount = ty.with(Scalar::U32);
                if self.random.one_in(3) {
                    let small = word(self.random.below(scalar.bits() as usize));
                    let small = self.shaped(&amount, small);
                    return binary(op, self.runtime(ty, depth), small);
                }
                binary(op, self.expr(ty, depth), self.varying(&amount, depth))
            }
            5 if ty.lanes() > 1 => {
                let (a, b) = (self.varying(ty, depth), self.runtime(&Type::Scalar(scalar), depth));
                let (a, b) = if self.random.one_in(2) { (a, b) } else { (b, a) };
                binary(self.random.name(&["+", "-", "*", "/", "%"]), a, b)
            }
            5 => {
                let size = 2 + self.random.below(3);
                let (a, b) = self.pair(&Type::Vector(scalar, size), depth);
                builtin("dot", ty.clone(), vec![a, b])
            }
            6 => unary(if signed && self.random.one_in(2) { "-" } else { "~" }, self.runtime(ty, depth)),
            7 => {
                let (a, b) = self.pair(ty, depth);
                match self.random.below(4) {
                    0 => builtin("abs", ty.clone(), vec![self.runtime(ty, depth)]),
                    1 if signed => builtin("sign", ty.clone(), vec![self.runtime(ty, depth)]),
                    2 => builtin("clamp", ty.clone(), vec![a, b, self.runtime(ty, depth)]),
                    _ => builtin(self.random.name(&["min", "max"]), ty.clone(), vec![a, b]),
                }
            }
            8 => {
                let names = [
                    "countOneBits",
                    "countLeadingZeros",
                    "countTrailingZeros",
                    "reverseBits",
                    "firstLeadingBit",
                    "firstTrailingBit",
                ];
                builtin(self.random.name(&names), ty.clone(), vec![self.runtime(ty, depth)])
            }
            9 if narrow => {
                let (a, b) = self.pair(ty, depth);
                let range = [self.runtime(&Type::U32, depth), self.runtime(&Type::U32, depth)];
                let [offset, count] = match self.random.one_in(2) {
                    true => range.map(|one| binary("%", one, word(34))),
                    false => range,
                };
                match self.random.one_in(2) {
                    true => builtin("extractBits", ty.clone(), vec![self.runtime(ty, depth), offset, count]),
                    false => builtin("insertBits", ty.clone(), vec![a, b, offset, count]),
                }
            }
            10 | 11 => self.converted(ty, scalar, depth),
            12 if narrow => {
                let other = *self.random.pick(match scalar {
                    Scalar::I32 => &[Scalar::U32, Scalar::F32],
                    _ => &[Scalar::I32, Scalar::F32],
                });
                bitcast(ty.clone(), self.runtime(&ty.with(other), depth))
            }
            12 => {
                let other = if scalar == Scalar::I64 { Scalar::U64 } else { Scalar::I64 };
                bitcast(ty.clone(), self.runtime(&ty.with(other), depth))
            }
            _ => self.packed(ty, scalar, depth),
        }
    }

    /// A divisor that is never a constant zero, but often zero at run time.
    fn divisor(&mut self, ty: &Type, depth: usize) -> Expr {
        if self.random.one_in(4) {
            let scalar = ty.scalar().unwrap_or(Scalar::U32);
            let small = literal(Value::from_bits(scalar, 1 + self.random.below(20) as u64));
            return self.shaped(ty, small);
        }
        self.varying(ty, depth)
    }

    fn converted(&mut self, ty: &Type, scalar: Scalar, depth: usize) -> Expr {
        let from = loop {
            let from = *self.random.pick(&self.scalars);
            if from != scalar {
                break from;
            }
        };
        let of = ty.with(from);
        let wild = from == Scalar::F32 && self.random.one_in(2);
        convert(ty.clone(), if wild { self.wild(&of, depth) } else { self.runtime(&of, depth) })
    }

    /// Packing functions and other rarely used ones.
    fn packed(&mut self, ty: &Type, scalar: Scalar, depth: usize) -> Expr {
        match (ty, self.random.below(6)) {
            (&Type::U32, 0..=1) => {
                let limit = literal(Value::F32(60000.0));
                let of = Type::Vector(Scalar::F32, 2);
                let limit = self.shaped(&of, limit);
                let low = unary("-", limit.clone());
                let value = builtin("clamp", of.clone(), vec![self.runtime(&of, depth), low, limit]);
                builtin("pack2x16float", ty.clone(), vec![value])
            }
            (&Type::U32, 2..=3) => {
                let name = self.random.name(&["pack4xU8", "pack4xI8", "pack4xU8Clamp", "pack4xI8Clamp"]);
                let of = Type::Vector(if name.contains('U') { Scalar::U32 } else { Scalar::I32 }, 4);
                builtin(name, ty.clone(), vec![self.runtime(&of, depth)])
            }
            (&Type::U32, _) => {
                let (a, b) = self.pair(&Type::U32, depth);
                builtin("dot4U8Packed", ty.clone(), vec![a, b])
            }
            (&Type::I32, 0..=2) => {
                let (a, b) = self.pair(&Type::U32, depth);
                builtin("dot4I8Packed", ty.clone(), vec![a, b])
            }
            (Type::Scalar(Scalar::I32) | Type::Vector(Scalar::I32, _), 3..=4) => {
                let from = self.runtime(&ty.with(Scalar::F32), depth);
                Expr { ty: ty.clone(), kind: Kind::Member("frexp", "exp", Box::new(from)) }
            }
            (Type::Vector(Scalar::U32 | Scalar::I32, 4), _) => {
                let name = if scalar == Scalar::U32 { "unpack4xU8" } else { "unpack4xI8" };
                builtin(name, ty.clone(), vec![self.runtime(&Type::U32, depth)])
            }
            _ => self.converted(ty, scalar, depth),
        }
    }
}
