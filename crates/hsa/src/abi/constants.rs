//! C enumerations as numbers with names: a value that a newer library brings is a number without a name, not an error.

use std::fmt;

/// One constant of a C header.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its name in C.
    pub name: &'static str,
    /// Its value.
    pub value: u64,
    /// One line on what it stands for; for an attribute, also the type of the answer.
    pub meaning: &'static str,
}

/// All constants of one C type.
#[derive(Copy, Clone, Debug)]
pub struct Table {
    /// The type's name in C.
    pub c_type: &'static str,
    /// What the names of its constants start with.
    pub prefixes: &'static [&'static str],
    /// Its constants, in the order of the header.
    pub constants: &'static [Constant],
}

impl Table {
    /// The constant of this value: the first one, where several names share it.
    pub fn find(&self, value: u64) -> Option<&'static Constant> {
        self.constants.iter().find(|constant| constant.value == value)
    }
}

/// Writes the name of `value`, or the number after the Rust type's name where it has none.
pub(super) fn write_one(table: &Table, rust_type: &str, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match table.find(value) {
        Some(constant) => f.write_str(constant.name),
        None => write!(f, "{rust_type}({value:#x})"),
    }
}

/// Writes the names of all bits of `value` with bars between, then what is left as a number.
pub(super) fn write_bits(table: &Table, rust_type: &str, value: u64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut left = value;
    let mut separator = "";
    for constant in table.constants.iter().filter(|constant| constant.value != 0) {
        if left & constant.value == constant.value {
            left &= !constant.value;
            write!(f, "{separator}{}", constant.name)?;
            separator = " | ";
        }
    }
    if left != 0 || value == 0 { write!(f, "{separator}{rust_type}({left:#x})") } else { Ok(()) }
}

/// Declares a C enumeration: a transparent number with its constants, each by the C name's prefix and rest.
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
            /// No bits.
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

            /// All constants with their names in C.
            pub const TABLE: $crate::abi::Table = $crate::abi::Table {
                c_type: $c_type,
                prefixes: &[$($prefix),*],
                constants: &[$($($crate::abi::Constant {
                    name: concat!($prefix, stringify!($constant)),
                    value: Self::$constant.0 as u64,
                    meaning: $meaning,
                }),*),*],
            };

            /// The name in C, if the value has one.
            pub fn name(self) -> Option<&'static str> {
                Self::TABLE.find(u64::from(self.0)).map(|constant| constant.name)
            }

            /// One line on what the value stands for, if it has a name.
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
