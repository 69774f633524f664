//! Readers, executables and their symbols.

use std::ffi::CStr;

use roci_hsa::abi::*;

use super::agents::answer;
use super::{array, put, with};
use crate::loader::Reader;
use crate::runtime::CPU;

pub(crate) unsafe extern "C" fn hsa_code_object_reader_create_from_memory(
    code_object: *const c_void,
    size: usize,
    code_object_reader: *mut CodeObjectReader,
) -> Status {
    with(|runtime| {
        if code_object.is_null() || code_object_reader.is_null() || size == 0 || isize::try_from(size).is_err() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client's bytes, which stay as they are for the length of this call.
        let bytes = unsafe { array(code_object.cast::<u8>(), size) }?;
        let reader = runtime.loader.add_reader(Reader::from_memory(bytes)?);
        // SAFETY: the client's place for it.
        unsafe { put(code_object_reader, reader) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_reader_destroy(code_object_reader: CodeObjectReader) -> Status {
    with(|runtime| runtime.loader.remove_reader(code_object_reader))
}

/// Options are those of finalizers and of the loader's own debugging; this one has none.
pub(crate) unsafe extern "C" fn hsa_executable_create_alt(
    profile: Profile,
    default_float_rounding_mode: FloatRoundingMode,
    _options: *const c_char,
    executable: *mut Executable,
) -> Status {
    with(|runtime| {
        if profile.name().is_none() || default_float_rounding_mode.name().is_none() || executable.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client's place for it.
        unsafe { put(executable, runtime.loader.add_executable()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_destroy(executable: Executable) -> Status {
    with(|runtime| runtime.loader.remove_executable(executable))
}

pub(crate) unsafe extern "C" fn hsa_executable_agent_global_variable_define(
    executable: Executable,
    agent: Agent,
    variable_name: *const c_char,
    address: *mut c_void,
) -> Status {
    with(|runtime| {
        // SAFETY: the client's text.
        let name = unsafe { symbol_name(variable_name) }?;
        let executable = runtime.loader.executable(executable)?;
        if !runtime.knows(agent) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        executable.define(&runtime.loader, agent, &name, address.expose_provenance() as u64)
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_load_agent_code_object(
    executable: Executable,
    agent: Agent,
    code_object_reader: CodeObjectReader,
    _options: *const c_char,
    loaded_code_object: *mut LoadedCodeObject,
) -> Status {
    with(|runtime| {
        let loader = &runtime.loader;
        let (executable, reader) = (loader.executable(executable)?, loader.reader(code_object_reader)?);
        let gpu = runtime.gpu(agent).ok_or(match agent {
            // It is an agent, but there is no code for it.
            CPU => Status::ERROR_INCOMPATIBLE_ARGUMENTS,
            _ => Status::ERROR_INVALID_AGENT,
        })?;
        let loaded = executable.load(loader, &gpu, &reader)?;
        if loaded_code_object.is_null() {
            return Ok(());
        }
        // SAFETY: the client's place for it.
        unsafe { put(loaded_code_object, loaded.handle()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_freeze(executable: Executable, _options: *const c_char) -> Status {
    with(|runtime| runtime.loader.executable(executable)?.freeze())
}

pub(crate) unsafe extern "C" fn hsa_executable_validate_alt(
    executable: Executable,
    _options: *const c_char,
    result: *mut u32,
) -> Status {
    with(|runtime| {
        if result.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.loader.executable(executable)?;
        // Nothing was loaded that is not valid.
        // SAFETY: the client's place for it.
        unsafe { put(result, 0_u32) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_get_symbol_by_name(
    executable: Executable,
    symbol_name: *const c_char,
    agent: *const Agent,
    symbol: *mut ExecutableSymbol,
) -> Status {
    with(|runtime| {
        if symbol.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client's text.
        let name = unsafe { self::symbol_name(symbol_name) }?;
        let executable = runtime.loader.executable(executable)?;
        if agent.is_null() {
            // A symbol of the whole program, which no function here makes.
            return Err(Status::ERROR_INVALID_SYMBOL_NAME);
        }
        // SAFETY: it is not null, so it is the client's agent.
        let agent = unsafe { agent.read_unaligned() };
        let found = executable.symbol(agent, &name)?;
        // SAFETY: the client's place for it.
        unsafe { put(symbol, found.handle()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_symbol_get_info(
    executable_symbol: ExecutableSymbol,
    attribute: ExecutableSymbolInfo,
    value: *mut c_void,
) -> Status {
    with(|runtime| {
        let symbol = runtime.loader.symbol(executable_symbol)?;
        // SAFETY: the client's place for an answer to this attribute.
        unsafe { answer(value, symbol.info(attribute)) }
    })
}

/// A name that C gives.
///
/// # Safety
/// The pointer is null, which is an error, or that of a text that ends with a zero.
#[expect(clippy::disallowed_methods, reason = "the name is copied before it can go")]
unsafe fn symbol_name(name: *const c_char) -> Result<String, Status> {
    if name.is_null() {
        return Err(Status::ERROR_INVALID_ARGUMENT);
    }
    // SAFETY: the caller's promise.
    let name = unsafe { CStr::from_ptr(name) };
    // Names in code objects are UTF-8.
    let name = name.to_str().ok().filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or(Status::ERROR_INVALID_SYMBOL_NAME)
}
