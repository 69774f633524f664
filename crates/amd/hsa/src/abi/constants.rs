//! C enumerations as newtypes: a value that only a newer library knows is a number without a name,
//! not an error.

use std::fmt;

/// One constant of a C header.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Name in C.
    pub name: &'static str,
    /// Numeric value.
    pub value: u64,
    /// Meaning in one line; for an attribute, with the type of its value.
    pub meaning: &'static str,
}

/// All constants of one C type.
#[derive(Copy, Clone, Debug)]
pub struct ConstantTable {
    /// Name of the type in C.
    pub c_type: &'static str,
    /// Common prefix of the constant names.
    pub prefixes: &'static [&'static str],
    /// Constants in the order of the header.
    pub constants: &'static [Constant],
}

impl ConstantTable {
    /// The constant with this value; the first if several names share it.
    pub fn find(&self, value: u64) -> Option<&'static Constant> {
        self.constants.iter().find(|constant| constant.value == value)
    }
}

/// Writes the name of `value`, or the Rust type and the number if it has none.
pub(super) fn write_one(table: &ConstantTable, rust_type: &str, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match table.find(value) {
        Some(constant) => f.write_str(constant.name),
        None => write!(f, "{rust_type}({value:#x})"),
    }
}

/// Writes the names of all set bits separated by bars, then the remaining bits as a number.
pub(super) fn write_bits(
    table: &ConstantTable,
    rust_type: &str,
    value: u64,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let mut remaining = value;
    let mut separator = "";
    for constant in table.constants.iter().filter(|constant| constant.value != 0) {
        if remaining & constant.value == constant.value {
            remaining &= !constant.value;
            write!(f, "{separator}{}", constant.name)?;
            separator = " | ";
        }
    }
    if remaining != 0 || value == 0 { write!(f, "{separator}{rust_type}({remaining:#x})") } else { Ok(()) }
}

/// Declares a C enumeration as a transparent newtype with its constants, each given by prefix and
/// rest of the C name.
macro_rules! constants {
    ($(#[$doc:meta])* $name:ident: $number:ty as $c_type:literal {
        $($prefix:literal: { $($constant:ident = $value:expr, $meaning:literal;)* })*
    }) => {
        $crate::abi::constants::constants! { @type $(#[$doc])* $name: $number as $c_type {
            $($prefix: { $($constant = $value, $meaning;)* })*
        } write_one }
    };
    (flags $(#[$doc:meta])* $name:ident: $number:ty as $c_type:literal {
        $($prefix:literal: { $($constant:ident = $value:expr, $meaning:literal;)* })*
    }) => {
        $crate::abi::constants::constants! { @type $(#[$doc])* $name: $number as $c_type {
            $($prefix: { $($constant = $value, $meaning;)* })*
        } write_bits }

        impl $name {
            /// No bit is set.
            pub const EMPTY: Self = Self(0);

            /// Whether all bits of `other` are set.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    };
    (@type $(#[$doc:meta])* $name:ident: $number:ty as $c_type:literal {
        $($prefix:literal: { $($constant:ident = $value:expr, $meaning:literal;)* })*
    } $write:ident) => {
        $(#[$doc])*
        #[doc = concat!("\n\nIn C: `", $c_type, "`.")]
        #[repr(transparent)]
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name(pub $number);

        impl $name {
            $($(
                #[doc = concat!("`", $prefix, stringify!($constant), "`: ", $meaning)]
                pub const $constant: Self = Self($value);
            )*)*

            /// All constants with their C names.
            pub const TABLE: $crate::abi::ConstantTable = $crate::abi::ConstantTable {
                c_type: $c_type,
                prefixes: &[$($prefix),*],
                constants: &[$($($crate::abi::Constant {
                    name: concat!($prefix, stringify!($constant)),
                    value: Self::$constant.0 as u64,
                    meaning: $meaning,
                }),*),*],
            };

            /// Name in C, if the value has one.
            pub fn name(self) -> Option<&'static str> {
                Self::TABLE.find(u64::from(self.0)).map(|constant| constant.name)
            }

            /// Meaning in one line, if the value has a name.
            pub fn meaning(self) -> Option<&'static str> {
                Self::TABLE.find(u64::from(self.0)).map(|constant| constant.meaning)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::abi::constants::$write(&Self::TABLE, stringify!($name), u64::from(self.0), f)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(self, f)
            }
        }
    };
}
pub(super) use constants;
