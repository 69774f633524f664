//! Evaluates a program directly: one invocation after the other, in lockstep at barriers.

use super::ast::{Arg, BUILTINS, Expr, Kind, Lvalue, Program, Root, Step, Stmt, Type, Value};
use super::semantics::{self, Undefined};
use super::subgroups;
use super::values::Data;

/// Limit on executed statements, for loops nested across function calls; the generator then makes
/// another program.
const MAX_STEPS: usize = 3_000_000;
/// Error of a program that exceeds the limit.
pub(crate) const TOO_LONG: &str = "it runs for too long";

/// The value of a local.
#[derive(Clone, Debug)]
enum Slot {
    Empty,
    Data(Data),
    /// Points to a variable: frame index and variable index.
    Pointer(usize, usize),
}

/// One invocation of the entry point.
struct Invocation {
    frames: Vec<Vec<Slot>>,
    privates: Vec<Data>,
}

enum Flow {
    Next,
    Break,
    Continue,
    Return(Data),
}

struct Machine<'a> {
    program: &'a Program,
    params: Data,
    buffers: Vec<Data>,
    workgroup: Vec<Data>,
    steps: usize,
}

/// Runs the program and returns the bytes of all buffers.
pub(crate) fn run(program: &Program, subgroup_size: u32) -> Result<Vec<Vec<u8>>, Undefined> {
    let whole = |index: usize| {
        let buffer = &program.buffers[index];
        Type::array(buffer.element.clone(), buffer.length)
    };
    let buffers =
        program.buffers.iter().enumerate().map(|(index, buffer)| program.decode(&whole(index), &buffer.data)).collect();
    let params = program.decode(&Type::Struct(program.params.0), &program.params.1);
    let mut machine = Machine { program, params, buffers, workgroup: Vec::new(), steps: 0 };
    for group in 0..program.groups {
        machine.group(group, subgroup_size)?;
    }
    let mut bytes: Vec<Vec<u8>> = program.buffers.iter().map(|buffer| buffer.data.clone()).collect();
    for (index, bytes) in bytes.iter_mut().enumerate() {
        program.encode(&whole(index), &machine.buffers[index], bytes);
    }
    Ok(bytes)
}

impl Machine<'_> {
    fn group(&mut self, group: u32, subgroup_size: u32) -> Result<(), Undefined> {
        let program = self.program;
        self.workgroup = program.workgroup.iter().map(|ty| program.zero(ty)).collect();
        let [x, y, z] = program.workgroup_size;
        let triple = |a: u32, b: u32, c: u32| Data::Many([a, b, c].map(|one| Data::One(Value::U32(one))).to_vec());
        let word = |value: u32| Data::One(Value::U32(value));
        let mut all = Vec::new();
        for index in 0..x * y * z {
            let local = [index % x, index / x % y, index / x / y];
            let inputs: [Data; BUILTINS.len()] = [
                word(index),
                triple(group, 0, 0),
                triple(program.groups, 1, 1),
                triple(local[0], local[1], local[2]),
                triple(group * x + local[0], local[1], local[2]),
                word(index % subgroup_size),
                word(subgroup_size),
            ];
            let mut one =
                Invocation { frames: vec![inputs.into_iter().map(Slot::Data).collect()], privates: Vec::new() };
            for (ty, init) in &program.privates {
                let value = match init {
                    Some(init) => self.expr(&mut one, init)?,
                    None => program.zero(ty),
                };
                one.privates.push(value);
            }
            all.push(one);
        }
        self.together(&mut all, &program.body, subgroup_size as usize)
    }

    /// Executes statements that all invocations of a workgroup reach together.
    fn together(&mut self, all: &mut [Invocation], body: &[Stmt], size: usize) -> Result<(), Undefined> {
        for statement in body {
            match statement {
                // All invocations execute one statement before the next: their effects on shared
                // memory between barriers commute.
                Stmt::Barrier(_) => {}
                Stmt::Subgroup(id, name, arguments) => {
                    let mut given = Vec::new();
                    for one in all.iter_mut() {
                        let values: Result<Vec<Data>, _> =
                            arguments.iter().map(|argument| self.expr(one, argument)).collect();
                        given.push(values?);
                    }
                    for (part, given) in all.chunks_mut(size).zip(given.chunks(size)) {
                        let results = subgroups::apply(name, given)?;
                        for (one, result) in part.iter_mut().zip(results) {
                            declare(one, *id, result);
                        }
                    }
                }
                Stmt::If(condition, accept, reject) if meets(accept) || meets(reject) => {
                    let taken = self.uniform(all, condition)? == Data::One(Value::Bool(true));
                    self.together(all, if taken { accept } else { reject }, size)?;
                }
                Stmt::For(id, limit, body) if meets(body) => {
                    let Data::One(Value::U32(limit)) = self.uniform(all, limit)? else {
                        return Err("a loop limit that is not a u32".to_owned());
                    };
                    for count in 0..limit {
                        all.iter_mut().for_each(|one| declare(one, *id, Data::One(Value::U32(count))));
                        self.together(all, body, size)?;
                    }
                }
                _ => {
                    for one in all.iter_mut() {
                        self.stmt(one, statement)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn uniform(&mut self, all: &mut [Invocation], value: &Expr) -> Result<Data, Undefined> {
        let first = self.expr(&mut all[0], value)?;
        for one in all.iter_mut() {
            if self.expr(one, value)? != first {
                return Err("a non-uniform branch around a barrier".to_owned());
            }
        }
        Ok(first)
    }

    fn block(&mut self, at: &mut Invocation, body: &[Stmt]) -> Result<Flow, Undefined> {
        for statement in body {
            match self.stmt(at, statement)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, at: &mut Invocation, statement: &Stmt) -> Result<Flow, Undefined> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(TOO_LONG.to_owned());
        }
        match statement {
            Stmt::Let(id, value) => {
                let value = self.expr(at, value)?;
                declare(at, *id, value);
            }
            Stmt::Var(id, ty, init) => {
                let value = match init {
                    Some(init) => self.expr(at, init)?,
                    None => self.program.zero(ty),
                };
                declare(at, *id, value);
            }
            Stmt::Assign(place, value) => {
                let path = self.path(at, place)?;
                let value = self.expr(at, value)?;
                *self.memory(at, place.root, &path)? = value;
            }
            Stmt::Compound(place, op, value) => {
                let path = self.path(at, place)?;
                let old = self.memory(at, place.root, &path)?.clone();
                let value = self.expr(at, value)?;
                let new = zip(&[old, value], &mut |pair| semantics::binary(op, pair[0], pair[1]))?;
                *self.memory(at, place.root, &path)? = new;
            }
            Stmt::Step(place, op) => {
                let path = self.path(at, place)?;
                let target = self.memory(at, place.root, &path)?;
                let one = |value: Value| Value::from_bits(value.scalar(), 1);
                *target =
                    zip(std::slice::from_ref(target), &mut |old| semantics::binary(&op[..1], old[0], one(old[0])))?;
            }
            Stmt::Atomic(name, place, value) => {
                let path = self.path(at, place)?;
                let value = self.expr(at, value)?;
                let target = self.memory(at, place.root, &path)?;
                *target = zip(&[target.clone(), value], &mut |pair| subgroups::combine(name, pair[0], pair[1]))?;
            }
            Stmt::If(condition, accept, reject) => {
                let taken = if self.truth(at, condition)? { accept } else { reject };
                return self.block(at, taken);
            }
            Stmt::Switch(selector, cases) => {
                let selector = self.expr(at, selector)?;
                let find = |expected: &dyn Fn(&Option<Value>) -> bool| {
                    cases.iter().find(|(selectors, _)| selectors.iter().any(expected))
                };
                let case = find(&|one| one.is_some_and(|one| Data::One(one) == selector))
                    .or_else(|| find(&Option::is_none))
                    .ok_or("a switch without a default")?;
                return Ok(match self.block(at, &case.1)? {
                    Flow::Break => Flow::Next,
                    other => other,
                });
            }
            Stmt::For(id, limit, body) => {
                let zero = Data::One(Value::U32(0));
                declare(at, *id, zero);
                loop {
                    let count = self.local(at, *id)?.clone();
                    if !(less(&count, &self.expr(at, limit)?)) {
                        break;
                    }
                    match self.block(at, body)? {
                        Flow::Break => break,
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                        Flow::Next | Flow::Continue => {}
                    }
                    let next = zip(&[count], &mut |old| semantics::binary("+", old[0], Value::U32(1)))?;
                    declare(at, *id, next);
                }
            }
            Stmt::While(condition, body) => {
                while self.truth(at, condition)? {
                    match self.block(at, body)? {
                        Flow::Break => break,
                        Flow::Return(value) => return Ok(Flow::Return(value)),
                        Flow::Next | Flow::Continue => {}
                    }
                }
            }
            Stmt::Loop(body, continuing, break_if) => loop {
                match self.block(at, body)? {
                    Flow::Break => break,
                    Flow::Return(value) => return Ok(Flow::Return(value)),
                    Flow::Next | Flow::Continue => {}
                }
                self.block(at, continuing)?;
                if self.truth(at, break_if)? {
                    break;
                }
            },
            Stmt::Block(body) => return self.block(at, body),
            Stmt::Break => return Ok(Flow::Break),
            Stmt::Continue => return Ok(Flow::Continue),
            Stmt::Return(Some(value)) => return Ok(Flow::Return(self.expr(at, value)?)),
            Stmt::Return(None) => return Ok(Flow::Return(Data::Many(Vec::new()))),
            Stmt::Call(function, arguments) => {
                self.call(at, *function, arguments)?;
            }
            Stmt::Barrier(_) | Stmt::Subgroup(..) => return Err("a barrier in divergent control flow".to_owned()),
        }
        Ok(Flow::Next)
    }

    fn truth(&mut self, at: &mut Invocation, condition: &Expr) -> Result<bool, Undefined> {
        Ok(self.expr(at, condition)? == Data::One(Value::Bool(true)))
    }

    fn call(&mut self, at: &mut Invocation, function: usize, arguments: &[Arg]) -> Result<Data, Undefined> {
        let callee = self.program.functions.get(function).ok_or("no such function")?;
        let caller = at.frames.len() - 1;
        let mut given = Vec::new();
        for argument in arguments {
            given.push(match argument {
                Arg::Value(value) => Slot::Data(self.expr(at, value)?),
                Arg::Pointer(Root::Local(id)) => Slot::Pointer(caller, *id),
                Arg::Pointer(Root::Deref(id)) => at.frames[caller].get(*id).cloned().ok_or("no such pointer")?,
                Arg::Pointer(_) => return Err("a pointer that does not refer to a local".to_owned()),
            });
        }
        let mut frame = Vec::new();
        for (param, slot) in callee.params.iter().zip(given) {
            frame.resize(frame.len().max(param.id + 1), Slot::Empty);
            frame[param.id] = slot;
        }
        at.frames.push(frame);
        let flow = self.block(at, &callee.body)?;
        at.frames.pop();
        match flow {
            Flow::Return(value) => Ok(value),
            _ => Err("a function that returns nothing".to_owned()),
        }
    }

    fn path(&mut self, at: &mut Invocation, place: &Lvalue) -> Result<Vec<usize>, Undefined> {
        let mut path = Vec::with_capacity(place.path.len());
        for step in &place.path {
            path.push(self.index(at, step)?);
        }
        Ok(path)
    }

    fn index(&mut self, at: &mut Invocation, step: &Step) -> Result<usize, Undefined> {
        match step {
            Step::Field(index) | Step::Component(index) => Ok(*index),
            Step::Index(index) => match self.expr(at, index)? {
                Data::One(value) => usize::try_from(value.integer()).map_err(|_| "a negative index".to_owned()),
                Data::Many(_) => Err("an index that is not a scalar".to_owned()),
            },
        }
    }

    fn local<'s>(&'s self, at: &'s Invocation, id: usize) -> Result<&'s Data, Undefined> {
        match at.frames.last().and_then(|frame| frame.get(id)) {
            Some(Slot::Data(data)) => Ok(data),
            _ => Err(format!("v{id} is not declared")),
        }
    }

    fn memory<'s>(&'s mut self, at: &'s mut Invocation, root: Root, path: &[usize]) -> Result<&'s mut Data, Undefined> {
        let last = at.frames.len() - 1;
        let mut data = match root {
            Root::Local(id) => in_frame(at, last, id),
            Root::Deref(id) => match at.frames[last].get(id) {
                Some(&Slot::Pointer(frame, id)) => in_frame(at, frame, id),
                _ => None,
            },
            Root::Private(index) => at.privates.get_mut(index),
            Root::Workgroup(index) => self.workgroup.get_mut(index),
            Root::Buffer(index) => self.buffers.get_mut(index),
            Root::Params => Some(&mut self.params),
        }
        .ok_or_else(|| format!("{root:?} is not declared"))?;
        for &index in path {
            data = match data {
                Data::Many(parts) => parts.get_mut(index).ok_or("an index out of bounds")?,
                Data::One(_) => return Err("a part of a scalar".to_owned()),
            };
        }
        Ok(data)
    }

    fn expr(&mut self, at: &mut Invocation, of: &Expr) -> Result<Data, Undefined> {
        self.steps += 1;
        match &of.kind {
            Kind::Literal(value) => Ok(Data::One(*value)),
            Kind::Load(place) | Kind::AtomicLoad(place) => {
                let path = self.path(at, place)?;
                Ok(self.memory(at, place.root, &path)?.clone())
            }
            Kind::Unary(op, a) => zip(&[self.expr(at, a)?], &mut |a| semantics::unary(op, a[0])),
            Kind::Binary(op @ ("&&" | "||"), a, b) => {
                let first = self.truth(at, a)?;
                let decided = first == (*op == "||");
                Ok(Data::One(Value::Bool(if decided { first } else { self.truth(at, b)? })))
            }
            Kind::Binary(op, a, b) => {
                let pair = [self.expr(at, a)?, self.expr(at, b)?];
                zip(&pair, &mut |pair| semantics::binary(op, pair[0], pair[1]))
            }
            Kind::Builtin(name, arguments) => {
                let values: Result<Vec<Data>, _> = arguments.iter().map(|one| self.expr(at, one)).collect();
                let values = values?;
                semantics::whole(name, &values)
                    .unwrap_or_else(|| zip(&values, &mut |lanes| semantics::by_component(name, lanes)))
            }
            Kind::Member(name, member, a) => {
                let name = format!("{name}.{member}");
                zip(&[self.expr(at, a)?], &mut |lanes| semantics::by_component(&name, lanes))
            }
            Kind::Construct(parts) => {
                let mut values = Vec::new();
                for part in parts {
                    // A vector may be constructed from smaller vectors.
                    match (self.expr(at, part)?, &of.ty) {
                        (Data::Many(lanes), Type::Vector(..)) => values.extend(lanes),
                        (value, _) => values.push(value),
                    }
                }
                Ok(Data::Many(values))
            }
            Kind::Splat(a) => Ok(Data::Many(vec![self.expr(at, a)?; of.ty.lanes()])),
            Kind::Convert(a) => {
                let to = of.ty.scalar().ok_or("a conversion to no scalar")?;
                zip(&[self.expr(at, a)?], &mut |a| semantics::convert(to, a[0]))
            }
            Kind::Bitcast(a) => {
                let to = of.ty.scalar().ok_or("a bit cast to no scalar")?;
                zip(&[self.expr(at, a)?], &mut |a| Ok(Value::from_bits(to, a[0].bits())))
            }
            Kind::Swizzle(a, lanes) => match self.expr(at, a)? {
                Data::Many(parts) => Ok(Data::Many(lanes.iter().map(|&lane| parts[lane].clone()).collect())),
                Data::One(_) => Err("a component of a scalar".to_owned()),
            },
            Kind::Part(a, step) => {
                let value = self.expr(at, a)?;
                let index = self.index(at, step)?;
                match value {
                    Data::Many(parts) => parts.into_iter().nth(index).ok_or("an index out of bounds".to_owned()),
                    Data::One(_) => Err("a part of a scalar".to_owned()),
                }
            }
            Kind::Call(function, arguments) => self.call(at, *function, arguments),
        }
    }
}

fn in_frame(at: &mut Invocation, frame: usize, id: usize) -> Option<&mut Data> {
    match at.frames.get_mut(frame)?.get_mut(id)? {
        Slot::Data(data) => Some(data),
        _ => None,
    }
}

fn declare(at: &mut Invocation, id: usize, value: Data) {
    if let Some(frame) = at.frames.last_mut() {
        frame.resize(frame.len().max(id + 1), Slot::Empty);
        frame[id] = Slot::Data(value);
    }
}

fn less(a: &Data, b: &Data) -> bool {
    matches!((a, b), (Data::One(Value::U32(a)), Data::One(Value::U32(b))) if a < b)
}

/// Whether statements contain an operation that requires uniform control flow.
fn meets(body: &[Stmt]) -> bool {
    body.iter().any(|statement| match statement {
        Stmt::Barrier(_) | Stmt::Subgroup(..) => true,
        Stmt::If(_, accept, reject) => meets(accept) || meets(reject),
        Stmt::For(_, _, body) => meets(body),
        _ => false,
    })
}

/// Applies a function per component; a scalar is broadcast to every component of a vector.
pub(crate) fn zip(
    values: &[Data],
    function: &mut impl FnMut(&[Value]) -> Result<Value, Undefined>,
) -> Result<Data, Undefined> {
    let lanes = values.iter().find_map(|value| match value {
        Data::Many(parts) => Some(parts.len()),
        Data::One(_) => None,
    });
    let mut lane = |index: usize| {
        let scalars: Result<Vec<Value>, Undefined> = values
            .iter()
            .map(|value| match value {
                Data::One(value) => Ok(*value),
                Data::Many(parts) => match parts.get(index) {
                    Some(Data::One(value)) => Ok(*value),
                    _ => Err("vectors of different sizes".to_owned()),
                },
            })
            .collect();
        function(&scalars?)
    };
    match lanes {
        None => lane(0).map(Data::One),
        Some(count) => (0..count).map(|index| lane(index).map(Data::One)).collect::<Result<_, _>>().map(Data::Many),
    }
}
