//! Literals, constants and constant expressions.

use std::fmt::Write as _;

use naga::proc::{NameKey, flatten_compose};
use naga::{Arena, ArraySize, Constant, Expression, Handle, Literal, Scalar, Span, Type, TypeInner};

use super::error::{Error, OUTSIDE};
use super::types::Leaf;
use super::writer::Writer;

impl Writer<'_> {
    pub(super) fn literal(&self, literal: Literal, span: Span) -> Result<String, Error> {
        Ok(match literal {
            Literal::F32(value) => float(value),
            Literal::F16(value) if self.options.lowers_f16() => float(value.to_f32()),
            Literal::F16(value) => format!("(half){}", float(value.to_f32())),
            Literal::U16(value) => format!("(ushort){value}u"),
            Literal::I16(value) => format!("(short)({value})"),
            Literal::U32(value) => format!("{value}u"),
            Literal::I32(i32::MIN) => "(-2147483647 - 1)".to_owned(),
            Literal::I32(value) if value < 0 => format!("({value})"),
            Literal::I32(value) => value.to_string(),
            Literal::U64(value) => format!("{value}ul"),
            Literal::I64(i64::MIN) => "(-9223372036854775807l - 1l)".to_owned(),
            Literal::I64(value) if value < 0 => format!("({value}l)"),
            Literal::I64(value) => format!("{value}l"),
            Literal::Bool(value) => value.to_string(),
            Literal::F64(_) => return Err(self.unsupported("f64", OUTSIDE, span)),
            Literal::AbstractInt(_) | Literal::AbstractFloat(_) => {
                return Err(Error::Invalid("an abstract literal remains".to_owned()));
            }
        })
    }

    /// The zero value in register form.
    pub(super) fn zero(&mut self, handle: Handle<Type>) -> String {
        match Leaf::of(&self.module.types[handle].inner) {
            Some(leaf) => self.zero_leaf(leaf),
            // Each work-item holds its part of the matrix as a vector, and vectors take no braces.
            None if matches!(self.module.types[handle].inner, TypeInner::CooperativeMatrix { .. }) => {
                format!("({})(0)", self.memory_type(handle))
            }
            None => format!("({}){{0}}", self.memory_type(handle)),
        }
    }

    pub(super) fn zero_leaf(&self, leaf: Leaf) -> String {
        self.splat_number(leaf, "0")
    }

    /// The zero value as an initializer in memory form.
    pub(super) fn zero_initializer(&self, inner: &TypeInner) -> String {
        match Leaf::of(inner) {
            // C requires every component of a vector in the braces. Three-component vectors are
            // structs in memory.
            Some(leaf) if leaf.lanes() != 3 => match self.computed(leaf) == leaf {
                true => self.zero_leaf(leaf),
                false => "0".to_owned(),
            },
            _ => "{0}".to_owned(),
        }
    }

    /// A small integer in every component of a leaf.
    pub(super) fn splat_number(&self, leaf: Leaf, number: &str) -> String {
        let computed = self.computed(leaf);
        let scalar = match computed.scalar {
            _ if computed.is_bool() && !computed.is_vector() => return "false".to_owned(),
            Scalar::F32 => format!("{number}.0f"),
            Scalar::F16 => format!("(half){number}.0f"),
            Scalar::U32 => format!("{number}u"),
            // An `int` literal would make calls of `min` and `max` ambiguous.
            Scalar::I64 => format!("{number}l"),
            Scalar::U64 => format!("{number}ul"),
            Scalar::I16 => format!("(short){number}"),
            Scalar::U16 => format!("(ushort){number}"),
            _ => number.to_owned(),
        };
        if leaf.is_vector() { format!("({})({scalar})", self.register(leaf)) } else { scalar }
    }

    /// The value of a constant: leaves are written inline, composites are variables in constant
    /// memory.
    pub(super) fn constant(&mut self, handle: Handle<Constant>) -> Result<String, Error> {
        let constant = &self.module.constants[handle];
        if Leaf::of(&self.module.types[constant.ty].inner).is_some() {
            return self.constant_value(constant.init);
        }
        self.memory_type(constant.ty);
        self.constants.insert(handle);
        Ok(self.names[&NameKey::Constant(handle)].clone())
    }

    pub(super) fn constant_definitions(&mut self) -> Result<String, Error> {
        let mut text = String::new();
        let mut done = 0;
        // Writing a constant may add others, but only ones that come earlier in the arena.
        while done < self.constants.len() {
            text.clear();
            let all: Vec<_> = self.constants.iter().copied().collect();
            done = all.len();
            for handle in all {
                let constant = &self.module.constants[handle];
                let ty = self.memory_type(constant.ty);
                let value = self.constant_initializer(constant.init)?;
                let name = &self.names[&NameKey::Constant(handle)];
                let _ = writeln!(text, "constant {ty} {name} = {value};");
            }
        }
        Ok(text)
    }

    /// A constant expression in register form.
    pub(super) fn constant_value(&mut self, handle: Handle<Expression>) -> Result<String, Error> {
        let arena: &Arena<Expression> = &self.module.global_expressions;
        let span = arena.get_span(handle);
        match arena[handle] {
            Expression::Literal(literal) => self.literal(literal, span),
            Expression::Constant(constant) => self.constant(constant),
            Expression::ZeroValue(ty) => Ok(self.zero(ty)),
            Expression::Splat { size, value } => {
                let inner = self.info[value].inner_with(&self.module.types);
                let leaf = Leaf::of(inner)
                    .ok_or_else(|| Error::Invalid("a splat of a value that is not scalar".to_owned()))?;
                let text = self.constant_value(value)?;
                Ok(self.splat(leaf, size, text))
            }
            Expression::Compose { ty, ref components } => {
                let inner = &self.module.types[ty].inner;
                match Leaf::of(inner) {
                    Some(leaf) => {
                        let mut parts = Vec::new();
                        for &component in components {
                            let inner = self.info[component].inner_with(&self.module.types);
                            let text = self.constant_value(component)?;
                            parts.push((Leaf::of(inner), text));
                        }
                        Ok(self.compose_vector(leaf, parts))
                    }
                    None => {
                        let name = self.memory_type(ty);
                        Ok(format!("({name}){}", self.constant_initializer(handle)?))
                    }
                }
            }
            _ => Err(self.unsupported("const", "is not evaluated to a literal", span)),
        }
    }

    /// A constant expression as an initializer in memory form, with braces for composites.
    fn constant_initializer(&mut self, handle: Handle<Expression>) -> Result<String, Error> {
        let arena: &Arena<Expression> = &self.module.global_expressions;
        let inner = self.info[handle].inner_with(&self.module.types);
        if let Some(leaf) = Leaf::of(inner) {
            return self.leaf_initializer(leaf, handle);
        }
        match arena[handle] {
            Expression::ZeroValue(_) => Ok("{0}".to_owned()),
            Expression::Constant(constant) => self.constant_initializer(self.module.constants[constant].init),
            Expression::Compose { ty, ref components } => {
                let parts = components.iter().map(|&component| self.constant_initializer(component)).collect::<Result<
                    Vec<_>,
                    _,
                >>(
                )?;
                Ok(self.braces(ty, &parts))
            }
            _ => Err(self.unsupported("const", "is not evaluated to a literal", arena.get_span(handle))),
        }
    }

    /// A leaf in memory form without a function call: initializers in constant memory may not
    /// contain one.
    fn leaf_initializer(&mut self, leaf: Leaf, handle: Handle<Expression>) -> Result<String, Error> {
        let arena: &Arena<Expression> = &self.module.global_expressions;
        let lowered = leaf.scalar == Scalar::F16 && self.options.lowers_f16();
        if !lowered && leaf.lanes() != 3 {
            return self.constant_value(handle);
        }
        match arena[handle] {
            Expression::Literal(Literal::F16(value)) if lowered => Ok(format!("0x{:04x}", value.to_bits())),
            Expression::Literal(_) => self.constant_value(handle),
            Expression::Constant(constant) => self.leaf_initializer(leaf, self.module.constants[constant].init),
            Expression::ZeroValue(_) if leaf.is_vector() => Ok("{0}".to_owned()),
            Expression::ZeroValue(_) => Ok("0".to_owned()),
            Expression::Splat { value, .. } => {
                let part = self.leaf_initializer(leaf.component(), value)?;
                Ok(format!("{{{}}}", vec![part; leaf.lanes()].join(", ")))
            }
            Expression::Compose { ty, ref components } => {
                let parts = flatten_compose(ty, components, arena, &self.module.types)
                    .map(|component| self.leaf_initializer(leaf.component(), component))
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(format!("{{{}}}", parts.join(", ")))
            }
            _ => Err(self.unsupported("const", "is not evaluated to a literal", arena.get_span(handle))),
        }
    }

    /// The initializer of a struct, array or matrix from its elements in memory form.
    pub(super) fn braces(&mut self, ty: Handle<Type>, parts: &[String]) -> String {
        match self.module.types[ty].inner {
            TypeInner::Struct { .. } => {
                let named: Vec<String> = (0u32..)
                    .zip(parts)
                    .map(|(index, part)| format!(".{} = {part}", self.names[&NameKey::StructMember(ty, index)]))
                    .collect();
                format!("{{{}}}", named.join(", "))
            }
            TypeInner::Array { base, size: ArraySize::Constant(_), .. } => {
                let padded = !self.element_suffix(&self.module.types[base].inner).is_empty();
                element_braces(parts, padded)
            }
            TypeInner::Matrix { rows, .. } => element_braces(parts, rows == naga::VectorSize::Tri),
            _ => format!("{{{}}}", parts.join(", ")),
        }
    }
}

pub(super) fn element_braces(parts: &[String], padded: bool) -> String {
    let parts: Vec<String> = match padded {
        true => parts.iter().map(|part| format!("{{.v = {part}}}")).collect(),
        false => parts.to_vec(),
    };
    format!("{{{{{}}}}}", parts.join(", "))
}

/// The shortest C literal that round-trips to exactly this value.
pub(super) fn float(value: f32) -> String {
    if value.is_nan() {
        "as_float(0x7fc00000u)".to_owned()
    } else if value.is_infinite() {
        format!("as_float(0x{:08x}u)", value.to_bits())
    } else if value.is_sign_negative() {
        format!("({value:?}f)")
    } else {
        format!("{value:?}f")
    }
}
