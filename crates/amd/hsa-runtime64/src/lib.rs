//! `libhsa-runtime64.so.1` for emulated GPUs. Exports all functions of the C interface with the
//! symbol version of AMD's library.

#![expect(unsafe_code, reason = "symbols are exported to C")]

use std::sync::LazyLock;

use roci_hsa::{Api, abi::*};

static API: LazyLock<Api> = LazyLock::new(roci_emu_hsa::api);

/// Calls a function of the emulated runtime, whose table has all optional functions.
macro_rules! call {
    (required $name:ident($($argument:ident),*)) => {
        // SAFETY: the C caller upholds the contract of the function.
        unsafe { (API.$name)($($argument),*) }
    };
    (optional $name:ident($($argument:ident),*)) => {
        match API.$name {
            // SAFETY: the C caller upholds the contract of the function.
            Some(function) => unsafe { function($($argument),*) },
            None => std::process::abort(),
        }
    };
    (additional $name:ident($($argument:ident),*)) => {
        // SAFETY: the C caller upholds the contract of the function.
        unsafe { (roci_emu_hsa::ADDITIONAL.$name)($($argument),*) }
    };
}

/// Exports a function for each row. The assembler cannot define a versioned symbol under its own
/// name, so it is an alias of a `roci_` symbol.
macro_rules! export {
    ($($need:ident fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        #[unsafe(export_name = concat!("roci_", stringify!($name)))]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            call!($need $name($($argument),*))
        }
        std::arch::global_asm!(concat!(".symver roci_", stringify!($name), ", ", stringify!($name), "@@ROCR_1"));
    )*};
}
roci_hsa::for_each_function!(export);
roci_hsa::for_each_additional_function!(export);

/// Exports older names of exported functions as aliases.
macro_rules! export_old_names {
    ($($old:ident = $new:ident;)*) => {$(
        std::arch::global_asm!(concat!(".symver roci_", stringify!($new), ", ", stringify!($old), "@@ROCR_1"));
    )*};
}
roci_hsa::for_each_old_name!(export_old_names);

/// `struct r_debug` of `link.h`, where debuggers look for loaded code objects. The list is always
/// empty: GPU debuggers need the kernel driver to inspect waves.
#[repr(C)]
struct RDebug {
    version: c_int,
    map: *const c_void,
    breakpoint: usize,
    state: c_int,
    base: usize,
}

// SAFETY: the value is never modified.
unsafe impl Sync for RDebug {}

/// Version in AMD's library.
const R_DEBUG_VERSION: c_int = 10;

#[unsafe(export_name = "roci_amdgpu_r_debug")]
static R_DEBUG: RDebug = RDebug { version: R_DEBUG_VERSION, map: std::ptr::null(), breakpoint: 0, state: 0, base: 0 };
std::arch::global_asm!(".symver roci_amdgpu_r_debug, _amdgpu_r_debug@@ROCR_1");
