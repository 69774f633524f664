//! Metadata values.

use std::fmt;

/// A metadata value.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is what its name says")]
pub enum Value {
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    F32(f32),
    Bool(bool),
    String(String),
    Array(Array),
    U64(u64),
    I64(i64),
    F64(f64),
}

/// An array of values of one type.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each variant is what its name says")]
pub enum Array {
    U8(Vec<u8>),
    I8(Vec<i8>),
    U16(Vec<u16>),
    I16(Vec<i16>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    F32(Vec<f32>),
    Bool(Vec<bool>),
    String(Vec<String>),
    Array(Vec<Array>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
}

/// Names of the value types, indexed by type ID, each with the minimum size of a value in bytes.
pub(crate) const KINDS: [(&str, u64); 13] = [
    ("u8", 1),
    ("i8", 1),
    ("u16", 2),
    ("i16", 2),
    ("u32", 4),
    ("i32", 4),
    ("f32", 4),
    ("bool", 1),
    ("string", 8),
    ("array", 12),
    ("u64", 8),
    ("i64", 8),
    ("f64", 8),
];

/// Generates the code that is the same for every value type.
macro_rules! of_each_type {
    ($($variant:ident = $number:literal),+) => {
        impl Value {
            /// Type ID in files.
            pub(crate) fn kind(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => $number,)+
                }
            }
        }

        impl Array {
            /// Type ID of the elements in files.
            pub(crate) fn kind(&self) -> u32 {
                match self {
                    $(Self::$variant(_) => $number,)+
                }
            }

            /// Number of elements.
            pub fn len(&self) -> usize {
                match self {
                    $(Self::$variant(list) => list.len(),)+
                }
            }
        }
    };
}

of_each_type!(
    U8 = 0,
    I8 = 1,
    U16 = 2,
    I16 = 3,
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
    U64 = 10,
    I64 = 11,
    F64 = 12
);

impl Value {
    /// The value as an integer, if it has an integer type of any width.
    pub fn as_integer(&self) -> Option<i128> {
        Some(match self {
            Self::U8(value) => (*value).into(),
            Self::I8(value) => (*value).into(),
            Self::U16(value) => (*value).into(),
            Self::I16(value) => (*value).into(),
            Self::U32(value) => (*value).into(),
            Self::I32(value) => (*value).into(),
            Self::U64(value) => (*value).into(),
            Self::I64(value) => (*value).into(),
            _ => return None,
        })
    }

    /// The value as `f64`, if it has a floating-point type.
    pub fn as_float(&self) -> Option<f64> {
        match self {
            Self::F32(value) => Some((*value).into()),
            Self::F64(value) => Some(*value),
            _ => None,
        }
    }

    /// The value as an array, if it is one.
    pub fn as_array(&self) -> Option<&Array> {
        match self {
            Self::Array(array) => Some(array),
            _ => None,
        }
    }
}

impl Array {
    /// Whether the array has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as integers, if they have an integer type.
    pub fn integers(&self) -> Option<Vec<i128>> {
        fn wide<T: Copy + Into<i128>>(list: &[T]) -> Option<Vec<i128>> {
            Some(list.iter().map(|value| (*value).into()).collect())
        }
        match self {
            Self::U8(list) => wide(list),
            Self::I8(list) => wide(list),
            Self::U16(list) => wide(list),
            Self::I16(list) => wide(list),
            Self::U32(list) => wide(list),
            Self::I32(list) => wide(list),
            Self::U64(list) => wide(list),
            Self::I64(list) => wide(list),
            _ => None,
        }
    }
}

/// Short form for messages: the type, and the value unless it is long.
impl fmt::Display for Value {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Maximum length of text in messages, in bytes; longer text is truncated.
        const SHOWN: usize = 60;
        let kind = KINDS[self.kind() as usize].0;
        match self {
            Self::Array(array) => write!(formatter, "{array}"),
            Self::String(text) if text.chars().nth(SHOWN).is_some() => {
                let start: String = text.chars().take(SHOWN).collect();
                write!(formatter, "the {kind} {start:?}… of {} bytes", text.len())
            }
            Self::String(text) => write!(formatter, "the {kind} {text:?}"),
            Self::Bool(value) => write!(formatter, "the {kind} {value}"),
            Self::F32(value) => write!(formatter, "the {kind} {value}"),
            Self::F64(value) => write!(formatter, "the {kind} {value}"),
            integer => write!(formatter, "the {kind} {}", integer.as_integer().unwrap_or_default()),
        }
    }
}

/// Short form for messages: element type and length.
impl fmt::Display for Array {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "an array of {} x {}", self.len(), KINDS[self.kind() as usize].0)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<Vec<&str>> for Value {
    fn from(list: Vec<&str>) -> Self {
        Self::Array(Array::String(list.into_iter().map(str::to_owned).collect()))
    }
}

/// `From` conversions: a number to the value of its own type, a list to the array of its own type.
macro_rules! from_own_type {
    ($($own:ty => $variant:ident),+) => {
        $(
            impl From<$own> for Value {
                fn from(value: $own) -> Self {
                    Self::$variant(value)
                }
            }
            impl From<Vec<$own>> for Value {
                fn from(list: Vec<$own>) -> Self {
                    Self::Array(Array::$variant(list))
                }
            }
        )+
    };
}

from_own_type!(u8 => U8, i8 => I8, u16 => U16, i16 => I16, u32 => U32, i32 => I32, u64 => U64, i64 => I64, f32 => F32,
    f64 => F64, bool => Bool, String => String, Array => Array);
