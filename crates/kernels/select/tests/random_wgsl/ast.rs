//! Programs as values: the subset of WGSL that the generator emits.

/// Scalar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Bool,
    I32,
    U32,
    F32,
    I64,
    U64,
    F16,
}

impl Scalar {
    pub(crate) fn is_integer(self) -> bool {
        matches!(self, Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64)
    }

    pub(crate) fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F16)
    }

    /// Size in memory in bytes; a bool is not host-shareable.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Scalar::F16 => 2,
            Scalar::Bool | Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 => 8,
        }
    }

    pub(crate) fn bits(self) -> u32 {
        self.bytes() as u32 * 8
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    Scalar(Scalar),
    Vector(Scalar, usize),
    Array(Box<Type>, usize),
    /// Index into [`Program::structs`].
    Struct(usize),
    /// `atomic<…>`; only in arrays in buffers and in workgroup memory.
    Atomic(Scalar),
}

impl Type {
    pub(crate) const U32: Type = Type::Scalar(Scalar::U32);
    pub(crate) const I32: Type = Type::Scalar(Scalar::I32);
    pub(crate) const F32: Type = Type::Scalar(Scalar::F32);
    pub(crate) const BOOL: Type = Type::Scalar(Scalar::Bool);

    pub(crate) fn array(of: Type, length: usize) -> Type {
        Type::Array(Box::new(of), length)
    }

    /// The scalar type of a scalar or vector.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        match *self {
            Type::Scalar(scalar) | Type::Vector(scalar, _) => Some(scalar),
            _ => None,
        }
    }

    /// The same shape with another scalar type.
    pub(crate) fn with(&self, scalar: Scalar) -> Type {
        match *self {
            Type::Vector(_, size) => Type::Vector(scalar, size),
            _ => Type::Scalar(scalar),
        }
    }

    /// Components of a vector; one for every other type.
    pub(crate) fn lanes(&self) -> usize {
        match *self {
            Type::Vector(_, size) => size,
            _ => 1,
        }
    }
}

/// The base of a memory reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Root {
    /// A variable, constant or parameter of the function.
    Local(usize),
    /// The pointee of a pointer parameter.
    Deref(usize),
    Private(usize),
    Workgroup(usize),
    Buffer(usize),
    /// The constants block.
    Params,
}

#[derive(Clone, Debug)]
pub(crate) enum Step {
    Field(usize),
    Component(usize),
    Index(Expr),
}

/// A reference to a variable or a part of one.
#[derive(Clone, Debug)]
pub(crate) struct Lvalue {
    pub(crate) root: Root,
    pub(crate) path: Vec<Step>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    Bool(bool),
    I32(i32),
    U32(u32),
    F32(f32),
    I64(i64),
    U64(u64),
    F16(half::f16),
}

#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) ty: Type,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Literal(Value),
    Load(Lvalue),
    AtomicLoad(Lvalue),
    /// `-`, `!` or `~`.
    Unary(&'static str, Box<Expr>),
    /// A binary operator; `&&` and `||` short-circuit.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// A call of a built-in function.
    Builtin(&'static str, Vec<Expr>),
    /// One member of the result of a built-in function.
    Member(&'static str, &'static str, Box<Expr>),
    /// A constructor with all components or members.
    Construct(Vec<Expr>),
    /// A vector constructor from one scalar.
    Splat(Box<Expr>),
    Convert(Box<Expr>),
    Bitcast(Box<Expr>),
    Swizzle(Box<Expr>, Vec<usize>),
    /// A part of a value that is not in a variable.
    Part(Box<Expr>, Box<Step>),
    Call(usize, Vec<Arg>),
}

#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Value(Expr),
    /// A pointer to a whole variable, or a forwarded pointer parameter.
    Pointer(Root),
}

#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Let(usize, Expr),
    Var(usize, Type, Option<Expr>),
    Assign(Lvalue, Expr),
    /// `place op= value`.
    Compound(Lvalue, &'static str, Expr),
    /// `place++` or `place--`.
    Step(Lvalue, &'static str),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Cases: selectors, where `None` is `default`, and a body.
    Switch(Expr, Vec<(Vec<Option<Value>>, Vec<Stmt>)>),
    /// `for (var v = 0u; v < limit; v++)`.
    For(usize, Expr, Vec<Stmt>),
    While(Expr, Vec<Stmt>),
    Loop(Vec<Stmt>, Vec<Stmt>, Expr),
    Block(Vec<Stmt>),
    Break,
    Continue,
    Return(Option<Expr>),
    Call(usize, Vec<Arg>),
    /// An atomic operation whose result is discarded, because it depends on the order of execution.
    Atomic(&'static str, Lvalue, Expr),
    /// `workgroupBarrier` or `storageBarrier`.
    Barrier(&'static str),
    /// A subgroup operation; its result is a new constant.
    Subgroup(usize, &'static str, Vec<Expr>),
}

#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) id: usize,
    pub(crate) ty: Type,
    pub(crate) pointer: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) params: Vec<Param>,
    pub(crate) result: Type,
    pub(crate) body: Vec<Stmt>,
}

/// A storage buffer with an array.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) element: Type,
    pub(crate) length: usize,
    pub(crate) writable: bool,
    /// Whether the array is runtime-sized.
    pub(crate) runtime: bool,
    pub(crate) data: Vec<u8>,
}

/// The inputs of the entry point; they are the first locals, in this order.
pub(crate) const BUILTINS: [(&str, Type); 7] = [
    ("local_invocation_index", Type::U32),
    ("workgroup_id", Type::Vector(Scalar::U32, 3)),
    ("num_workgroups", Type::Vector(Scalar::U32, 3)),
    ("local_invocation_id", Type::Vector(Scalar::U32, 3)),
    ("global_invocation_id", Type::Vector(Scalar::U32, 3)),
    ("subgroup_invocation_id", Type::U32),
    ("subgroup_size", Type::U32),
];

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) structs: Vec<Vec<Type>>,
    /// The struct of the constants block, and its bytes.
    pub(crate) params: (usize, Vec<u8>),
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) workgroup: Vec<Type>,
    pub(crate) privates: Vec<(Type, Option<Expr>)>,
    pub(crate) functions: Vec<Function>,
    pub(crate) workgroup_size: [u32; 3],
    pub(crate) groups: u32,
    pub(crate) body: Vec<Stmt>,
    /// Whether it reads workgroup memory before writing it, where WGSL guarantees zeros.
    pub(crate) reads_fresh_workgroup: bool,
    pub(crate) uses_f16: bool,
    pub(crate) uses_64_bits: bool,
}
