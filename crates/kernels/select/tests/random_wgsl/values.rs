//! Values of any type, zero values, and encoding in WGSL's memory layout.

use half::f16;

use super::ast::{Program, Scalar, Type, Value};

/// A value of any type. A vector is a composite of its components.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Data {
    One(Value),
    Many(Vec<Data>),
}

impl Value {
    pub(crate) fn scalar(self) -> Scalar {
        match self {
            Value::Bool(_) => Scalar::Bool,
            Value::I32(_) => Scalar::I32,
            Value::U32(_) => Scalar::U32,
            Value::F32(_) => Scalar::F32,
            Value::I64(_) => Scalar::I64,
            Value::U64(_) => Scalar::U64,
            Value::F16(_) => Scalar::F16,
        }
    }

    /// The bits, zero-extended.
    pub(crate) fn bits(self) -> u64 {
        match self {
            Value::Bool(value) => u64::from(value),
            Value::I32(value) => u64::from(value as u32),
            Value::U32(value) => u64::from(value),
            Value::F32(value) => u64::from(value.to_bits()),
            Value::I64(value) => value as u64,
            Value::U64(value) => value,
            Value::F16(value) => u64::from(value.to_bits()),
        }
    }

    /// The value with these bits; bits above the width are dropped.
    pub(crate) fn from_bits(scalar: Scalar, bits: u64) -> Value {
        match scalar {
            Scalar::Bool => Value::Bool(bits != 0),
            Scalar::I32 => Value::I32(bits as i32),
            Scalar::U32 => Value::U32(bits as u32),
            Scalar::F32 => Value::F32(f32::from_bits(bits as u32)),
            Scalar::I64 => Value::I64(bits as i64),
            Scalar::U64 => Value::U64(bits),
            Scalar::F16 => Value::F16(f16::from_bits(bits as u16)),
        }
    }

    /// The integer value of any integer type.
    pub(crate) fn integer(self) -> i128 {
        match self {
            Value::I32(value) => value.into(),
            Value::I64(value) => value.into(),
            other => other.bits().into(),
        }
    }
}

impl Data {
    /// Appends all scalars in order.
    pub(crate) fn flatten(&self, into: &mut Vec<Value>) {
        match self {
            Data::One(value) => into.push(*value),
            Data::Many(parts) => parts.iter().for_each(|part| part.flatten(into)),
        }
    }
}

impl Program {
    pub(crate) fn zero(&self, ty: &Type) -> Data {
        match ty {
            Type::Scalar(scalar) | Type::Atomic(scalar) => Data::One(Value::from_bits(*scalar, 0)),
            Type::Vector(scalar, size) => Data::Many(vec![Data::One(Value::from_bits(*scalar, 0)); *size]),
            Type::Array(element, length) => Data::Many(vec![self.zero(element); *length]),
            Type::Struct(index) => Data::Many(self.structs[*index].iter().map(|member| self.zero(member)).collect()),
        }
    }

    pub(crate) fn align_of(&self, ty: &Type) -> usize {
        match ty {
            Type::Scalar(scalar) | Type::Atomic(scalar) => scalar.bytes(),
            Type::Vector(scalar, size) => scalar.bytes() * size.next_power_of_two(),
            Type::Array(element, _) => self.align_of(element),
            Type::Struct(index) => self.structs[*index].iter().map(|member| self.align_of(member)).max().unwrap_or(1),
        }
    }

    pub(crate) fn size_of(&self, ty: &Type) -> usize {
        match ty {
            Type::Scalar(scalar) | Type::Atomic(scalar) => scalar.bytes(),
            Type::Vector(scalar, size) => scalar.bytes() * size,
            Type::Array(element, length) => self.stride_of(element) * length,
            Type::Struct(index) => {
                let members = &self.structs[*index];
                let end = members
                    .iter()
                    .fold(0usize, |at, member| at.next_multiple_of(self.align_of(member)) + self.size_of(member));
                end.next_multiple_of(self.align_of(ty))
            }
        }
    }

    pub(crate) fn stride_of(&self, element: &Type) -> usize {
        self.size_of(element).next_multiple_of(self.align_of(element))
    }

    /// Calls `visit` with every scalar of a type and its offset, where `at` is the offset of the
    /// whole.
    pub(crate) fn each_scalar(&self, ty: &Type, at: usize, visit: &mut impl FnMut(Scalar, usize)) {
        match ty {
            Type::Scalar(scalar) | Type::Atomic(scalar) => visit(*scalar, at),
            Type::Vector(scalar, size) => (0..*size).for_each(|lane| visit(*scalar, at + lane * scalar.bytes())),
            Type::Array(element, length) => {
                let stride = self.stride_of(element);
                (0..*length).for_each(|index| self.each_scalar(element, at + index * stride, visit));
            }
            Type::Struct(index) => {
                let mut offset = 0usize;
                for member in &self.structs[*index] {
                    offset = offset.next_multiple_of(self.align_of(member));
                    self.each_scalar(member, at + offset, visit);
                    offset += self.size_of(member);
                }
            }
        }
    }

    /// Decodes a value from bytes.
    pub(crate) fn decode(&self, ty: &Type, bytes: &[u8]) -> Data {
        let mut scalars = Vec::new();
        self.each_scalar(ty, 0, &mut |scalar, at| {
            let mut word = [0; 8];
            word[..scalar.bytes()].copy_from_slice(&bytes[at..at + scalar.bytes()]);
            scalars.push(Value::from_bits(scalar, u64::from_le_bytes(word)));
        });
        let mut scalars = scalars.into_iter();
        let mut data = self.zero(ty);
        fill(&mut data, &mut scalars);
        data
    }

    /// Encodes a value to bytes; padding is unchanged.
    pub(crate) fn encode(&self, ty: &Type, data: &Data, bytes: &mut [u8]) {
        let mut scalars = Vec::new();
        data.flatten(&mut scalars);
        let mut scalars = scalars.into_iter();
        self.each_scalar(ty, 0, &mut |scalar, at| {
            let word = scalars.next().map_or(0, Value::bits).to_le_bytes();
            bytes[at..at + scalar.bytes()].copy_from_slice(&word[..scalar.bytes()]);
        });
    }
}

fn fill(data: &mut Data, scalars: &mut impl Iterator<Item = Value>) {
    match data {
        Data::One(value) => *value = scalars.next().unwrap_or(*value),
        Data::Many(parts) => parts.iter_mut().for_each(|part| fill(part, scalars)),
    }
}
