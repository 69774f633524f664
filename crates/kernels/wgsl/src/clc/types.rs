//! C types for naga types, and the register and memory forms of scalars and vectors.

use naga::{ArraySize, Handle, Scalar, ScalarKind, Type, TypeInner, VectorSize};

use super::statements::bare;
use super::writer::Writer;

/// A scalar or vector type: a value that fits in a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf {
    pub(super) scalar: Scalar,
    pub(super) size: Option<VectorSize>,
}

impl Leaf {
    pub(super) fn of(inner: &TypeInner) -> Option<Leaf> {
        match *inner {
            TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => Some(Leaf { scalar, size: None }),
            TypeInner::Vector { size, scalar } => Some(Leaf { scalar, size: Some(size) }),
            _ => None,
        }
    }

    /// The same shape with another scalar type.
    pub(super) fn with(self, scalar: Scalar) -> Leaf {
        Leaf { scalar, ..self }
    }

    /// The type of one component.
    pub(super) fn component(self) -> Leaf {
        Leaf { size: None, ..self }
    }

    /// Number of components; 1 for a scalar.
    pub(super) fn lanes(self) -> usize {
        self.size.map_or(1, |size| size as usize)
    }

    pub(super) fn is_vector(self) -> bool {
        self.size.is_some()
    }

    pub(super) fn is_bool(self) -> bool {
        self.scalar.kind == ScalarKind::Bool
    }

    pub(super) fn is_float(self) -> bool {
        self.scalar.kind == ScalarKind::Float
    }

    pub(super) fn is_signed(self) -> bool {
        self.scalar.kind == ScalarKind::Sint
    }

    /// `2`, `3`, `4` or empty: the suffix of a vector type's name.
    pub(super) fn lane_suffix(self) -> &'static str {
        lane_suffix(self.size)
    }

    fn is_three(self) -> bool {
        self.size == Some(VectorSize::Tri)
    }
}

pub(super) fn lane_suffix(size: Option<VectorSize>) -> &'static str {
    match size {
        None => "",
        Some(VectorSize::Bi) => "2",
        Some(VectorSize::Tri) => "3",
        Some(VectorSize::Quad) => "4",
    }
}

/// Vector components by name.
pub(super) const LANES: [&str; 4] = ["x", "y", "z", "w"];

/// C name of a scalar type.
pub(super) fn c_scalar(scalar: Scalar) -> &'static str {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => "bool",
        (ScalarKind::Sint, 2) => "short",
        (ScalarKind::Uint, 2) => "ushort",
        (ScalarKind::Sint, 8) => "long",
        (ScalarKind::Uint, 8) => "ulong",
        (ScalarKind::Sint | ScalarKind::AbstractInt, _) => "int",
        (ScalarKind::Uint, _) => "uint",
        (ScalarKind::Float, 2) => "half",
        (ScalarKind::Float, 8) => "double",
        (ScalarKind::Float | ScalarKind::AbstractFloat, _) => "float",
    }
}

/// WGSL name of a scalar type, as used in the prelude's function names.
pub(super) fn wgsl_scalar(scalar: Scalar) -> &'static str {
    match (scalar.kind, scalar.width) {
        (ScalarKind::Bool, _) => "bool",
        (ScalarKind::Sint, 2) => "i16",
        (ScalarKind::Uint, 2) => "u16",
        (ScalarKind::Sint, 8) => "i64",
        (ScalarKind::Uint, 8) => "u64",
        (ScalarKind::Sint | ScalarKind::AbstractInt, _) => "i32",
        (ScalarKind::Uint, _) => "u32",
        (ScalarKind::Float, 2) => "f16",
        (ScalarKind::Float, 8) => "f64",
        (ScalarKind::Float | ScalarKind::AbstractFloat, _) => "f32",
    }
}

/// The unsigned integer type of the same width.
pub(super) fn unsigned(scalar: Scalar) -> Scalar {
    Scalar { kind: ScalarKind::Uint, width: scalar.width }
}

impl<'a> Writer<'a> {
    /// The type that arithmetic uses: lowered f16 becomes f32.
    pub(super) fn computed(&self, leaf: Leaf) -> Leaf {
        if leaf.scalar == Scalar::F16 && self.options.lowers_f16() { leaf.with(Scalar::F32) } else { leaf }
    }

    /// The C type of a leaf in register form.
    pub(super) fn register(&self, leaf: Leaf) -> String {
        let leaf = self.computed(leaf);
        if leaf.is_bool() && leaf.is_vector() {
            // Vector comparisons yield integers, 0 and -1.
            return format!("int{}", leaf.lane_suffix());
        }
        format!("{}{}", c_scalar(leaf.scalar), leaf.lane_suffix())
    }

    /// The C scalar type of a leaf in memory form.
    pub(super) fn memory_scalar(&self, leaf: Leaf) -> &'static str {
        if leaf.scalar == Scalar::F16 && self.options.lowers_f16() {
            "ushort"
        } else if leaf.is_bool() && leaf.is_vector() {
            "int"
        } else {
            c_scalar(leaf.scalar)
        }
    }

    /// The C type of a leaf in memory form.
    pub(super) fn memory(&mut self, leaf: Leaf) -> String {
        let scalar = self.memory_scalar(leaf);
        if leaf.is_three() {
            self.packed.insert(scalar);
            format!("roci_{scalar}3")
        } else {
            format!("{scalar}{}", leaf.lane_suffix())
        }
    }

    /// Converts `text` from memory form to register form.
    pub(super) fn loaded(&mut self, leaf: Leaf, text: String) -> String {
        let mut text = text;
        if leaf.is_three() {
            let scalar = self.memory_scalar(leaf);
            self.packed.insert(scalar);
            let name = format!("roci_load_{scalar}3");
            let body = format!("{{\n    return ({scalar}3)(v.x, v.y, v.z);\n}}\n");
            self.generate(&name, format!("ROCI_FN {scalar}3 {name}(roci_{scalar}3 v) {body}"));
            text = format!("{name}({})", bare(&text));
        }
        if leaf.scalar == Scalar::F16 && self.options.lowers_f16() { self.cast_f16_to_f32(leaf, text) } else { text }
    }

    /// Converts `text` from register form to memory form.
    pub(super) fn stored(&mut self, leaf: Leaf, text: String) -> String {
        let mut text = text;
        if leaf.scalar == Scalar::F16 && self.options.lowers_f16() {
            text = self.cast_f32_to_f16(leaf, text);
        }
        if leaf.is_three() {
            let scalar = self.memory_scalar(leaf);
            self.packed.insert(scalar);
            let name = format!("roci_store_{scalar}3");
            let body = format!("{{\n    return (roci_{scalar}3){{v.x, v.y, v.z}};\n}}\n");
            self.generate(&name, format!("ROCI_FN roci_{scalar}3 {name}({scalar}3 v) {body}"));
            text = format!("{name}({})", bare(&text));
        }
        text
    }

    /// The C type of a value in a register. Only leaves have a register form; other types use their
    /// memory form.
    pub(super) fn value_type(&mut self, inner: &TypeInner, handle: Option<Handle<Type>>) -> String {
        match (Leaf::of(inner), handle) {
            (Some(leaf), _) => self.register(leaf),
            (None, Some(handle)) => self.memory_type(handle),
            (None, None) => self.unnamed_type(inner),
        }
    }

    /// The C type of a variable, member or element.
    pub(super) fn memory_type(&mut self, handle: Handle<Type>) -> String {
        let inner = &self.module.types[handle].inner;
        if let Some(leaf) = Leaf::of(inner) {
            return self.memory(leaf);
        }
        match *inner {
            TypeInner::Struct { ref members, .. } => {
                if self.types.insert(handle) {
                    for member in members {
                        if !self.is_runtime_array(member.ty) {
                            self.memory_type(member.ty);
                        }
                    }
                }
                self.names[&naga::proc::NameKey::Type(handle)].clone()
            }
            TypeInner::Array { base, size, .. } => self.array_type(handle, base, size),
            _ => self.unnamed_type(inner),
        }
    }

    fn array_type(&mut self, handle: Handle<Type>, base: Handle<Type>, size: ArraySize) -> String {
        if let Some(name) = self.array_names.get(&handle) {
            return name.clone();
        }
        let element = self.memory_type(base);
        let element = element.trim_start_matches("roci_");
        let count = match size {
            ArraySize::Constant(count) => count.get().to_string(),
            ArraySize::Pending(_) | ArraySize::Dynamic => String::new(),
        };
        let name = self.namer.call(&format!("array{count}_{element}"));
        self.types.insert(handle);
        self.array_names.insert(handle, name.clone());
        name
    }

    /// The C type of an array element: three-component vectors are padded to four.
    pub(super) fn element_type(&mut self, base: Handle<Type>) -> String {
        let name = self.memory_type(base);
        match Leaf::of(&self.module.types[base].inner) {
            Some(leaf) if leaf.is_three() => self.padded(leaf),
            _ => name,
        }
    }

    pub(super) fn padded(&mut self, leaf: Leaf) -> String {
        let scalar = self.memory_scalar(leaf);
        self.packed.insert(scalar);
        self.padded.insert(scalar);
        format!("roci_{scalar}3_padded")
    }

    /// The member access to the vector in an element of [`Self::element_type`].
    pub(super) fn element_suffix(&self, inner: &TypeInner) -> &'static str {
        match Leaf::of(inner) {
            Some(leaf) if leaf.is_three() => ".v",
            _ => "",
        }
    }

    fn unnamed_type(&mut self, inner: &TypeInner) -> String {
        match *inner {
            TypeInner::Matrix { columns, rows, scalar } => self.matrix_type(columns, rows, scalar),
            TypeInner::CooperativeMatrix { scalar, role, .. } => self.cooperative_type(scalar, role),
            // Unreachable: `check` has rejected all other types.
            _ => "void".to_owned(),
        }
    }

    pub(super) fn is_runtime_array(&self, handle: Handle<Type>) -> bool {
        matches!(self.module.types[handle].inner, TypeInner::Array { size: ArraySize::Dynamic, .. })
    }
}
