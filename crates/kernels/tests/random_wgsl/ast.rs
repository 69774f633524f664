//! Programs as values: the part of WGSL that the generator knows, with every choice made.

/// What a scalar is.
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

    /// Bytes in memory; a bool has none that the host could see.
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
    /// One of [`Program::structs`].
    Struct(usize),
    /// `atomic<…>`, in arrays of buffers and work-group memory alone.
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

    /// The scalar of a scalar or vector.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        match *self {
            Type::Scalar(scalar) | Type::Vector(scalar, _) => Some(scalar),
            _ => None,
        }
    }

    /// A scalar or vector of the same size with another scalar.
    pub(crate) fn with(&self, scalar: Scalar) -> Type {
        match *self {
            Type::Vector(_, size) => Type::Vector(scalar, size),
            _ => Type::Scalar(scalar),
        }
    }

    /// Components of a vector, one for all else.
    pub(crate) fn lanes(&self) -> usize {
        match *self {
            Type::Vector(_, size) => size,
            _ => 1,
        }
    }
}

/// Where a place starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Root {
    /// A variable, constant or parameter of the function.
    Local(usize),
    /// What a pointer parameter points to.
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

/// A part of a variable.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) root: Root,
    pub(crate) path: Vec<Step>,
}

/// A scalar's value.
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
    Load(Place),
    AtomicLoad(Place),
    /// `-`, `!` or `~`.
    Unary(&'static str, Box<Expr>),
    /// Any operator between two, `&&` and `||` with their short circuit.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// A built-in function.
    Builtin(&'static str, Vec<Expr>),
    /// A built-in function of which one member of the result is taken.
    Member(&'static str, &'static str, Box<Expr>),
    /// All components or members one by one.
    Construct(Vec<Expr>),
    /// A vector of one scalar.
    Splat(Box<Expr>),
    Convert(Box<Expr>),
    Bitcast(Box<Expr>),
    Swizzle(Box<Expr>, Vec<usize>),
    /// A part of a value that is in no variable.
    Part(Box<Expr>, Box<Step>),
    Call(usize, Vec<Arg>),
}

#[derive(Clone, Debug)]
pub(crate) enum Arg {
    Value(Expr),
    /// A pointer to a whole variable of the caller, or one it was given itself.
    Pointer(Root),
}

#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    Let(usize, Expr),
    Var(usize, Type, Option<Expr>),
    Assign(Place, Expr),
    /// `place op= value`.
    Compound(Place, &'static str, Expr),
    /// `place++` or `place--`.
    Step(Place, &'static str),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// Selectors, `None` being `default`, and what they select.
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
    /// An atomic operation whose result nobody looks at, since it depends on the order.
    Atomic(&'static str, Place, Expr),
    /// `workgroupBarrier` or `storageBarrier`.
    Barrier(&'static str),
    /// A sub-group operation, its result in a new constant.
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

/// A storage buffer of an array.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    pub(crate) element: Type,
    pub(crate) length: usize,
    pub(crate) writable: bool,
    /// Whether the WGSL type leaves the length to the host.
    pub(crate) runtime: bool,
    pub(crate) data: Vec<u8>,
}

/// The inputs of an entry point, as locals with these numbers in this order.
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
    /// Whether it reads work-group memory before it writes it, where WGSL has zeros.
    pub(crate) reads_fresh_workgroup: bool,
    pub(crate) uses_f16: bool,
    pub(crate) uses_64_bits: bool,
}
