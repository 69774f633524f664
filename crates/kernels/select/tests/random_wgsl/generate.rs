//! A random program from a seed: globals, functions, phases between barriers, and a final store of
//! every variable.

use super::ast::{
    Arg, BUILTINS, Buffer, Expr, Function, Kind, Lvalue, Param, Program, Root, Scalar, Step, Stmt, Type, Value,
};
use super::random::Random;

/// A readable variable or part of one.
#[derive(Clone, Debug)]
pub(super) struct Var {
    pub(super) place: Lvalue,
    pub(super) ty: Type,
    pub(super) writable: bool,
}

pub(crate) struct Generator {
    pub(super) random: Random,
    pub(super) program: Program,
    pub(super) scope: Vec<Var>,
    /// Index of the next local.
    pub(super) next: usize,
    /// Functions with a lower index may be called.
    pub(super) callable: usize,
    /// The enclosing constructs: loop, loop or switch, and the return type of the function.
    pub(super) in_loop: bool,
    pub(super) in_breakable: bool,
    pub(super) result: Option<Type>,
    /// The scalar types of this program.
    pub(super) scalars: Vec<Scalar>,
}

pub(super) const WORDS: usize = 0;
pub(super) const WILD: usize = 1;
const INPUT: usize = 2;
const RECORDS: usize = 3;
const ATOMICS: usize = 4;
const OUTPUT: usize = 5;
const HALVES: usize = 6;

/// One operation per word: mixed operations would depend on the order of execution.
pub(super) const ATOMIC_OPS: [&str; 6] = ["atomicAdd", "atomicMax", "atomicMin", "atomicAnd", "atomicOr", "atomicXor"];

/// Members of the constants block: 32-bit only, as the kernel rules require.
const PARAMS: [Type; 4] = [Type::U32, Type::I32, Type::F32, Type::U32];

pub(crate) fn program(seed: u64) -> Program {
    let mut random = Random::new(seed);
    let mut scalars = vec![Scalar::U32, Scalar::I32, Scalar::F32, Scalar::Bool];
    let uses_64_bits = random.one_in(2);
    if uses_64_bits {
        scalars.extend([Scalar::I64, Scalar::U64]);
    }
    let uses_f16 = random.one_in(3);
    if uses_f16 {
        scalars.push(Scalar::F16);
    }
    let sizes = [[32, 1, 1], [64, 1, 1], [8, 4, 1], [4, 2, 4], [16, 1, 1], [40, 1, 1], [3, 8, 1]];
    let program = Program {
        structs: Vec::new(),
        params: (0, Vec::new()),
        buffers: Vec::new(),
        workgroup: Vec::new(),
        privates: Vec::new(),
        functions: Vec::new(),
        workgroup_size: *random.pick(&sizes),
        groups: 1 + random.below(3) as u32,
        body: Vec::new(),
        reads_fresh_workgroup: random.one_in(3),
        uses_f16,
        uses_64_bits,
    };
    let mut generator = Generator {
        random,
        program,
        scope: Vec::new(),
        next: 0,
        callable: 0,
        in_loop: false,
        in_breakable: false,
        result: None,
        scalars,
    };
    generator.globals();
    for _ in 0..1 + generator.random.below(2) {
        generator.function();
    }
    generator.main();
    generator.program
}

pub(super) fn literal(value: Value) -> Expr {
    Expr { ty: Type::Scalar(value.scalar()), kind: Kind::Literal(value) }
}

pub(super) fn word(value: usize) -> Expr {
    literal(Value::U32(value as u32))
}

pub(super) fn binary(op: &'static str, a: Expr, b: Expr) -> Expr {
    let ty = if a.ty.lanes() > 1 { a.ty.clone() } else { b.ty.clone() };
    let ty = match op {
        "==" | "!=" | "<" | "<=" | ">" | ">=" => ty.with(Scalar::Bool),
        "<<" | ">>" => a.ty.clone(),
        _ => ty,
    };
    Expr { ty, kind: Kind::Binary(op, Box::new(a), Box::new(b)) }
}

pub(super) fn builtin(name: &'static str, ty: Type, arguments: Vec<Expr>) -> Expr {
    Expr { ty, kind: Kind::Builtin(name, arguments) }
}

pub(super) fn convert(ty: Type, a: Expr) -> Expr {
    Expr { ty, kind: Kind::Convert(Box::new(a)) }
}

pub(super) fn bitcast(ty: Type, a: Expr) -> Expr {
    Expr { ty, kind: Kind::Bitcast(Box::new(a)) }
}

pub(super) fn load(place: Lvalue, ty: Type) -> Expr {
    Expr { ty, kind: Kind::Load(place) }
}

pub(super) fn local(id: usize) -> Lvalue {
    Lvalue { root: Root::Local(id), path: Vec::new() }
}

impl Generator {
    pub(super) fn invocations(&self) -> usize {
        self.program.workgroup_size.iter().product::<u32>() as usize
    }

    pub(super) fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }

    pub(super) fn declare(&mut self, place: Lvalue, ty: Type, writable: bool) {
        self.scope.push(Var { place, ty, writable });
    }

    /// A scalar or vector type; `shared` excludes types that are not host-shareable.
    pub(super) fn simple_type(&mut self, shared: bool) -> Type {
        let scalar = loop {
            let scalar = *self.random.pick(&self.scalars);
            if !(shared && scalar == Scalar::Bool) {
                break scalar;
            }
        };
        match self.random.below(6) {
            0..=2 => Type::Scalar(scalar),
            size => Type::Vector(scalar, size - 1),
        }
    }

    fn member_type(&mut self, shared: bool) -> Type {
        let simple = self.simple_type(shared);
        if self.random.one_in(4) { Type::array(simple, 2 + self.random.below(3)) } else { simple }
    }

    fn globals(&mut self) {
        let inner = (0..2 + self.random.below(2)).map(|_| self.member_type(true)).collect();
        let mut outer: Vec<Type> = (0..1 + self.random.below(3)).map(|_| self.member_type(true)).collect();
        outer.insert(self.random.below(outer.len() + 1), Type::Vector(Scalar::F32, 3));
        outer.insert(self.random.below(outer.len() + 1), Type::Struct(1));
        let private = vec![Type::BOOL, self.member_type(false), Type::Vector(Scalar::Bool, 3), self.member_type(false)];
        self.program.structs = vec![PARAMS.to_vec(), inner, outer, private];
        self.program.params.1 = self.random_bytes(&Type::Struct(0), 1);
        let total = self.invocations() * self.program.groups as usize;
        let record = if self.random.one_in(3) { self.simple_type(true) } else { Type::Struct(2) };
        self.buffer(Type::U32, 32, false, true);
        self.buffer(Type::F32, 16, false, false);
        self.buffer(Type::Struct(2), total, false, true);
        self.buffer(record, total, true, true);
        self.buffer(Type::Atomic(Scalar::U32), ATOMIC_OPS.len(), true, false);
        self.buffer(Type::U32, 0, true, true);
        if self.program.uses_f16 {
            let element = self.random.pick(&[1, 2, 3, 4]);
            let element = if *element == 1 { Type::Scalar(Scalar::F16) } else { Type::Vector(Scalar::F16, *element) };
            self.buffer(element, total, true, true);
        }
        let wild: Vec<u8> = (0..16).flat_map(|_| self.random.wild().to_le_bytes()).collect();
        self.program.buffers[WILD].data = wild;
        let element =
            if self.random.one_in(2) { self.simple_type(false) } else { Type::Struct(1 + self.random.below(3)) };
        let quarter = self.invocations().div_ceil(4);
        self.program.workgroup = vec![
            Type::array(Type::Atomic(Scalar::I32), ATOMIC_OPS.len()),
            Type::array(element, self.invocations()),
            Type::array(Type::Vector(*self.random.pick(&[Scalar::U32, Scalar::F32, Scalar::I32]), 4), quarter),
        ];
        for _ in 0..self.random.below(3) {
            let ty = self.member_type(false);
            let init = if ty.scalar().is_some() && self.random.one_in(2) { Some(self.constant(&ty)) } else { None };
            self.program.privates.push((ty, init));
        }
    }

    fn buffer(&mut self, element: Type, length: usize, writable: bool, runtime: bool) {
        let data = self.random_bytes(&element, length);
        self.program.buffers.push(Buffer { element, length, writable, runtime, data });
    }

    /// Bytes of an array including padding; floats are tame.
    fn random_bytes(&mut self, element: &Type, length: usize) -> Vec<u8> {
        let stride = self.program.stride_of(element);
        let mut bytes = vec![0xa5; stride * length];
        let mut places = Vec::new();
        (0..length).for_each(|index| {
            self.program.each_scalar(element, index * stride, &mut |scalar, at| places.push((scalar, at)));
        });
        for (scalar, at) in places {
            let bits = self.scalar_value(scalar).bits().to_le_bytes();
            bytes[at..at + scalar.bytes()].copy_from_slice(&bits[..scalar.bytes()]);
        }
        bytes
    }

    pub(super) fn scalar_value(&mut self, scalar: Scalar) -> Value {
        match scalar {
            Scalar::F32 => Value::F32(self.random.tame()),
            Scalar::F16 => Value::F16(half::f16::from_f32((self.random.below(4096) as f32 - 2048.0) * 0.25)),
            Scalar::Bool => Value::Bool(self.random.one_in(2)),
            _ => Value::from_bits(scalar, self.random.hostile_bits(scalar.bits())),
        }
    }

    /// The globals that every function can read.
    fn global_scope(&mut self) {
        self.scope.clear();
        self.declare(Lvalue { root: Root::Params, path: Vec::new() }, Type::Struct(0), false);
        self.declare(Lvalue { root: Root::Buffer(WORDS), path: Vec::new() }, Type::array(Type::U32, 32), false);
        for (index, (ty, _)) in self.program.privates.clone().into_iter().enumerate() {
            self.declare(Lvalue { root: Root::Private(index), path: Vec::new() }, ty, true);
        }
    }

    fn function(&mut self) {
        self.global_scope();
        self.next = 0;
        let mut params = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let id = self.fresh();
            let pointer = self.random.one_in(3);
            let ty = match self.random.below(5) {
                0 => Type::Struct(1 + self.random.below(3)),
                1 => Type::array(self.simple_type(false), 4),
                _ => self.simple_type(false),
            };
            let root = if pointer { Root::Deref(id) } else { Root::Local(id) };
            self.declare(Lvalue { root, path: Vec::new() }, ty.clone(), pointer);
            params.push(Param { id, ty, pointer });
        }
        let result =
            if self.random.one_in(5) { Type::Struct(1 + self.random.below(3)) } else { self.simple_type(false) };
        self.result = Some(result.clone());
        let statements = 1 + self.random.below(3);
        let mut body = self.block_in_scope(statements, 1);
        body.push(Stmt::Return(Some(self.expr(&result, 3))));
        self.program.functions.push(Function { params, result, body });
        self.callable = self.program.functions.len();
    }

    fn main(&mut self) {
        self.global_scope();
        self.result = None;
        self.next = 0;
        for (_, ty) in BUILTINS {
            let id = self.fresh();
            self.declare(local(id), ty, false);
        }
        let size = self.invocations();
        let group = load(Lvalue { root: Root::Local(1), path: vec![Step::Component(0)] }, Type::U32);
        let at = binary("+", binary("*", group, word(size)), load(local(0), Type::U32));
        let at_id = self.fresh();
        let mut body = vec![Stmt::Let(at_id, at)];
        self.declare(local(at_id), Type::U32, false);
        let own = |buffer: usize| {
            let index = load(local(at_id), Type::U32);
            Lvalue { root: Root::Buffer(buffer), path: vec![Step::Index(index)] }
        };
        self.declare(own(INPUT), Type::Struct(2), false);
        self.declare(own(RECORDS), self.program.buffers[RECORDS].element.clone(), true);
        if self.program.uses_f16 {
            self.declare(own(HALVES), self.program.buffers[HALVES].element.clone(), true);
        }
        for index in 0..2 + self.random.below(2) {
            let ty = if index == 0 { Type::Struct(2) } else { self.member_type(false) };
            body.extend(self.variable(ty, 2));
        }
        // Types that functions take pointers to.
        let expected: Vec<Type> = self
            .program
            .functions
            .iter()
            .flat_map(|function| &function.params)
            .filter(|param| param.pointer)
            .map(|param| param.ty.clone())
            .collect();
        for ty in expected {
            body.extend(self.variable(ty, 1));
        }
        for _ in 0..1 + self.random.below(3) {
            body.extend(self.phase(1));
        }
        for (op, name) in ATOMIC_OPS.into_iter().enumerate() {
            if op == 0 || self.random.one_in(2) {
                let place = Lvalue { root: Root::Buffer(ATOMICS), path: vec![Step::Index(word(op))] };
                body.push(Stmt::Atomic(name, place, self.expr(&Type::U32, 2)));
            }
        }
        body.extend(self.store_all(at_id));
        self.program.body = body;
    }

    /// Stores every scalar of every local and private variable to words that belong to the
    /// invocation.
    fn store_all(&mut self, at: usize) -> Vec<Stmt> {
        let mut values = Vec::new();
        let variables = self.scope.clone();
        let is_uniform = |root: Root| matches!(root, Root::Local(id) if id > at) || matches!(root, Root::Private(_));
        for variable in variables.into_iter().filter(|variable| is_uniform(variable.place.root)) {
            self.scalars_of(variable.place, &variable.ty, &mut values);
        }
        // Members of the constants block and wild floats, so that every buffer is used.
        values.push(bitcast(Type::U32, load(Lvalue { root: Root::Params, path: vec![Step::Field(2)] }, Type::F32)));
        for buffer in [WORDS, WILD] {
            let path = vec![Step::Index(binary("&", load(local(0), Type::U32), word(15)))];
            let ty = self.program.buffers[buffer].element.clone();
            values.push(bitcast(Type::U32, load(Lvalue { root: Root::Buffer(buffer), path }, ty)));
        }
        let nested = self.program.structs[2].iter().position(|member| *member == Type::Struct(1)).unwrap_or(0);
        let path = vec![Step::Index(load(local(at), Type::U32)), Step::Field(nested), Step::Field(0)];
        let member = self.program.structs[1][0].clone();
        self.scalars_of(Lvalue { root: Root::Buffer(INPUT), path }, &member, &mut values);
        let count = values.len();
        let total = self.invocations() * self.program.groups as usize * count;
        self.program.buffers[OUTPUT].length = total;
        self.program.buffers[OUTPUT].data = vec![0x5a; total * 4];
        let slot = |offset: usize| {
            let base = binary("*", load(local(at), Type::U32), word(count));
            Lvalue { root: Root::Buffer(OUTPUT), path: vec![Step::Index(binary("+", base, word(offset)))] }
        };
        let mut body: Vec<Stmt> =
            values.into_iter().enumerate().map(|(offset, value)| Stmt::Assign(slot(offset), value)).collect();
        // Every buffer is written, even if no statement does so.
        let written = if self.program.uses_f16 { &[RECORDS, HALVES][..] } else { &[RECORDS] };
        for &buffer in written {
            let ty = self.program.buffers[buffer].element.clone();
            let place = Lvalue { root: Root::Buffer(buffer), path: vec![Step::Index(load(local(at), Type::U32))] };
            body.push(Stmt::Assign(place, self.expr(&ty, 2)));
        }
        body
    }

    /// All scalars of a reference, as words.
    fn scalars_of(&self, place: Lvalue, ty: &Type, words: &mut Vec<Expr>) {
        let part = |step| {
            let mut place = place.clone();
            place.path.push(step);
            place
        };
        match ty {
            Type::Scalar(scalar) => {
                let value = load(place, ty.clone());
                match scalar {
                    Scalar::U32 => words.push(value),
                    Scalar::I32 | Scalar::F32 => words.push(bitcast(Type::U32, value)),
                    Scalar::Bool => words.push(builtin("select", Type::U32, vec![word(0), word(1), value])),
                    Scalar::F16 => words.push(bitcast(Type::U32, convert(Type::F32, value))),
                    Scalar::I64 | Scalar::U64 => {
                        words.push(convert(Type::U32, value.clone()));
                        words.push(convert(Type::U32, binary(">>", value, word(32))));
                    }
                }
            }
            Type::Vector(scalar, size) => {
                (0..*size).for_each(|lane| self.scalars_of(part(Step::Component(lane)), &Type::Scalar(*scalar), words));
            }
            Type::Array(element, length) => {
                (0..*length).for_each(|index| self.scalars_of(part(Step::Index(word(index))), element, words));
            }
            Type::Struct(index) => {
                for (number, member) in self.program.structs[*index].iter().enumerate() {
                    self.scalars_of(part(Step::Field(number)), member, words);
                }
            }
            Type::Atomic(_) => {}
        }
    }

    /// Arguments for a function; `None` if there is no variable for one of its pointers.
    pub(super) fn arguments(&mut self, function: usize, depth: usize) -> Option<Vec<Arg>> {
        let params = self.program.functions[function].params.clone();
        let mut taken: Vec<Root> = Vec::new();
        let mut arguments = Vec::new();
        for param in params {
            if !param.pointer {
                arguments.push(Arg::Value(self.expr(&param.ty, depth.saturating_sub(1))));
                continue;
            }
            // Two pointers to one variable would alias, which WGSL forbids.
            let fits = |var: &&Var| {
                let whole = var.place.path.is_empty() && matches!(var.place.root, Root::Local(_) | Root::Deref(_));
                whole && var.writable && var.ty == param.ty && !taken.contains(&var.place.root)
            };
            let all: Vec<Root> = self.scope.iter().filter(fits).map(|var| var.place.root).collect();
            let root = *self.random.pick(if all.is_empty() { return None } else { &all });
            taken.push(root);
            arguments.push(Arg::Pointer(root));
        }
        Some(arguments)
    }
}
