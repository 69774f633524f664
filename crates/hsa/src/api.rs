//! The table of functions.

#![expect(unsafe_code, reason = "looks functions up in a library by name and type")]

use std::fmt;

use libloading::os::unix::Library;

use crate::abi::*;
use crate::for_each_function;

/// The type of a slot of [`Api`]: a function, or one that may be absent.
macro_rules! slot_type {
    (required $function:ty) => { $function };
    (optional $function:ty) => { Option<$function> };
}

/// What a slot holds for a function that was looked up: a required one that is absent is noted, and ends the look-up.
macro_rules! slot_value {
    (required $found:expr, $name:ident, $missing:ident) => {
        match $found {
            Some(function) => function,
            None => {
                $missing.push(stringify!($name));
                Self::refusing().$name
            }
        }
    };
    (optional $found:expr, $name:ident, $missing:ident) => {
        $found
    };
}

/// What a slot holds where nothing is behind it.
macro_rules! refusing_value {
    (required $function:expr) => {
        $function
    };
    (optional $function:expr) => {
        None
    };
}

/// Whether a function is required.
macro_rules! is_required {
    (required) => {
        true
    };
    (optional) => {
        false
    };
}

/// Declares the table from the list of functions.
macro_rules! declare_api {
    ($($need:ident fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// All functions of the C API. Where they come from is known only to who made the table: a library that was
        /// found, an emulated runtime, a test. They must not be called when that is gone.
        #[derive(Copy, Clone)]
        pub struct Api {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: slot_type!($need unsafe extern "C" fn($($argument: $type),*) -> $result),
            )*
        }

        impl Api {
            /// The names of all functions.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// For each of [`NAMES`](Self::NAMES), whether a library must have it.
            pub const REQUIRED: &'static [bool] = &[$(is_required!($need)),*];

            /// A table in which no call does anything: those with a status refuse with [`Status::ERROR_NOT_SUPPORTED`],
            /// others return 0, the optional ones are absent. For tables that are filled in part:
            /// `Api { hsa_init: mine, ..Api::refusing() }`.
            pub fn refusing() -> Self {
                Self {
                    $($name: refusing_value!($need {
                        unsafe extern "C" fn $name($(_: $type),*) -> $result {
                            <$result as Refusal>::refuse()
                        }
                        $name
                    }),)*
                }
            }

            /// Looks all functions up in `library`. The error names the required ones that it lacks.
            ///
            /// The table is only good while the library is loaded, which the caller must see to.
            pub fn from_library(library: &Library) -> Result<Self, MissingFunctions> {
                let mut missing = Vec::new();
                let api = Self {
                    $($name: slot_value!($need {
                        let name = concat!(stringify!($name), "\0").as_bytes();
                        // SAFETY: the type is that of the function of this name in the C headers, which
                        // `tests/layouts` lets a C compiler compare.
                        let found = unsafe { library.get::<unsafe extern "C" fn($($type),*) -> $result>(name) };
                        found.ok().map(|symbol| *symbol)
                    }, $name, missing),)*
                };
                if missing.is_empty() { Ok(api) } else { Err(MissingFunctions { names: missing }) }
            }
        }
    };
}
for_each_function!(declare_api);

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

/// A library does not have functions that a driver needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it lacks {} of {} functions, the first is `{}`", names.len(), Api::NAMES.len(), names.first().unwrap_or(&""))]
pub struct MissingFunctions {
    /// Their names.
    pub names: Vec<&'static str>,
}

/// What a function returns that does nothing.
trait Refusal {
    /// That value.
    fn refuse() -> Self;
}

impl Refusal for Status {
    fn refuse() -> Self {
        Status::ERROR_NOT_SUPPORTED
    }
}

/// The other results are plain values.
macro_rules! refuse_with_default {
    ($($type:ty),*) => {$(
        impl Refusal for $type {
            fn refuse() -> Self {
                Self::default()
            }
        }
    )*};
}
refuse_with_default!((), u32, u64, i64);

/// Makes an [`Api`] of the functions of these names in a module: `roci_hsa::api_from!(self::functions)`.
///
/// Each must have the type that its row in [`for_each_function!`](crate::for_each_function) says.
#[macro_export]
macro_rules! api_from {
    ($($module:ident)::+) => {
        $crate::for_each_function!($crate::__api_from_rows { $($module)::+ })
    };
}

/// The callback of [`api_from!`](crate::api_from).
#[doc(hidden)]
#[macro_export]
macro_rules! __api_from_rows {
    ({ $($module:tt)+ } $($need:ident fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {{
        use $($module)+ as functions;
        $crate::Api { $($name: $crate::__api_slot!($need functions::$name),)* }
    }};
}

/// What a slot holds for a function that is there.
#[doc(hidden)]
#[macro_export]
macro_rules! __api_slot {
    (required $function:path) => {
        $function
    };
    (optional $function:path) => {
        Some($function)
    };
}
