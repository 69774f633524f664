//! The function table.

#![expect(unsafe_code, reason = "looks up functions of a library by name")]

use std::fmt;

use libloading::os::unix::Library;

use crate::abi::*;
use crate::for_each_function;

/// Type of a slot of [`Api`]: a function pointer, optional for optional functions.
macro_rules! slot_type {
    (required $function:ty) => { $function };
    (optional $function:ty) => { Option<$function> };
}

/// Value of a slot after a lookup. A missing required function is added to the list of missing
/// ones.
macro_rules! slot_value {
    (required $found:expr, $name:ident, $missing:ident) => {
        match $found {
            Some(function) => function,
            None => {
                $missing.push(stringify!($name));
                Self::unsupported().$name
            }
        }
    };
    (optional $found:expr, $name:ident, $missing:ident) => {
        $found
    };
}

/// Value of a slot of [`Api::unsupported`].
macro_rules! unsupported_value {
    (required $function:expr) => {
        $function
    };
    (optional $function:expr) => {
        None
    };
}

macro_rules! is_required {
    (required) => {
        true
    };
    (optional) => {
        false
    };
}

/// Declares [`Api`] from the list of functions.
macro_rules! declare_api {
    ($($need:ident fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// All functions of the C API, from a library, an emulated runtime or a test. They must not
        /// be called after that library is unloaded.
        #[derive(Copy, Clone)]
        pub struct Api {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                pub $name: slot_type!($need unsafe extern "C" fn($($argument: $type),*) -> $result),
            )*
        }

        impl Api {
            /// Names of all functions.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// For each of [`NAMES`](Self::NAMES), whether a library must have it.
            pub const REQUIRED: &'static [bool] = &[$(is_required!($need)),*];

            /// A table of stubs: functions with a status return [`Status::ERROR_NOT_SUPPORTED`],
            /// others return 0, and optional functions are absent. For partial tables: `Api {
            /// hsa_init: mine, ..Api::unsupported() }`.
            pub fn unsupported() -> Self {
                Self {
                    $($name: unsupported_value!($need {
                        unsafe extern "C" fn $name($(_: $type),*) -> $result {
                            <$result as Unsupported>::value()
                        }
                        $name
                    }),)*
                }
            }

            /// Looks up all functions in `library`. The error names the missing required functions.
            ///
            /// The caller must not call the functions after the library is unloaded.
            pub fn from_library(library: &Library) -> Result<Self, MissingFunctions> {
                let mut missing = Vec::new();
                let api = Self {
                    $($name: slot_value!($need {
                        let name = concat!(stringify!($name), "\0").as_bytes();
                        // SAFETY: the type matches the prototype in the C headers, which
                        // `tests/layouts` verifies with a C compiler.
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

/// A library lacks required functions.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("missing {} of {} functions, the first is `{}`", names.len(), Api::NAMES.len(), names.first().unwrap_or(&""))]
pub struct MissingFunctions {
    /// C names of the functions that the library lacks.
    pub names: Vec<&'static str>,
}

/// Result of a stub.
trait Unsupported {
    fn value() -> Self;
}

impl Unsupported for Status {
    fn value() -> Self {
        Status::ERROR_NOT_SUPPORTED
    }
}

macro_rules! default_value {
    ($($type:ty),*) => {$(
        impl Unsupported for $type {
            fn value() -> Self {
                Self::default()
            }
        }
    )*};
}
default_value!((), u32, u64, i64);

/// Creates an [`Api`] from the functions of a module: `roci_hsa::api_from!(self::functions)`.
///
/// Names and types must match the rows of [`for_each_function!`](crate::for_each_function).
#[macro_export]
macro_rules! api_from {
    ($($module:ident)::+) => {
        $crate::for_each_function!($crate::__api_from_rows { $($module)::+ })
    };
}

/// Callback of [`api_from!`](crate::api_from).
#[doc(hidden)]
#[macro_export]
macro_rules! __api_from_rows {
    ({ $($module:tt)+ } $($need:ident fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {{
        use $($module)+ as functions;
        $crate::Api { $($name: $crate::__api_slot!($need functions::$name),)* }
    }};
}

/// Value of a slot for an existing function.
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
