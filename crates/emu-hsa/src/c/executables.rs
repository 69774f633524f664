//! Readers, executables and their symbols.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use roci_hsa::abi::*;

use super::agents::{answer, each, known};
use super::{array, put, text, with};
use crate::gpu::Gpu;
use crate::loader::Reader;
use crate::runtime::{CPU, Runtime};

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

pub(crate) unsafe extern "C" fn hsa_code_object_reader_create_from_file(
    file: c_int,
    code_object_reader: *mut CodeObjectReader,
) -> Status {
    with(|runtime| {
        if code_object_reader.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if file < 0 {
            return Err(Status::ERROR_INVALID_FILE);
        }
        // SAFETY: a number that is not -1; the client keeps its file open during the call, and one that is not open is
        // noticed at the first use.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        let made = runtime.loader.add_reader(Reader::from_whole_file(file)?);
        // SAFETY: the client's place for it.
        unsafe { put(code_object_reader, made) }
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
        unsafe { put(executable, runtime.loader.add_executable(profile, default_float_rounding_mode)) }
    })
}

/// The older form, whose executable may be born frozen: then nothing can ever be in it.
pub(crate) unsafe extern "C" fn hsa_executable_create(
    profile: Profile,
    executable_state: ExecutableState,
    options: *const c_char,
    executable: *mut Executable,
) -> Status {
    if executable_state.name().is_none() {
        return with(|_| Err(Status::ERROR_INVALID_ARGUMENT));
    }
    // SAFETY: the same promises.
    let status = unsafe { hsa_executable_create_alt(profile, FloatRoundingMode::DEFAULT, options, executable) };
    if status != Status::SUCCESS || executable_state == ExecutableState::UNFROZEN {
        return status;
    }
    // SAFETY: it was just written.
    let made = unsafe { executable.read_unaligned() };
    // SAFETY: options may be null.
    unsafe { hsa_executable_freeze(made, std::ptr::null()) }
}

pub(crate) unsafe extern "C" fn hsa_executable_get_info(
    executable: Executable,
    attribute: ExecutableInfo,
    value: *mut c_void,
) -> Status {
    with(|runtime| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = runtime.loader.executable(executable)?.info(attribute)?;
        // SAFETY: the client's place for an answer to this attribute.
        unsafe { answer(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_destroy(executable: Executable) -> Status {
    with(|runtime| runtime.loader.remove_executable(executable))
}

/// Defines a variable of the client's for code that is loaded later.
///
/// # Safety
/// The name is null, which is an error, or a text that ends with a zero.
unsafe fn define(
    executable: Executable,
    agent: Option<Agent>,
    name: *const c_char,
    segment: VariableSegment,
    address: *mut c_void,
) -> Status {
    with(|runtime| {
        // SAFETY: the caller's promise.
        let name = unsafe { symbol_name(std::ptr::null(), name) }?;
        let executable = runtime.loader.executable(executable)?;
        if agent.is_some_and(|agent| !runtime.knows(agent)) {
            return Err(Status::ERROR_INVALID_AGENT);
        }
        let address = address.expose_provenance() as u64;
        executable.define(&runtime.loader, agent.unwrap_or(Agent::NULL), &name, segment, address)
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_agent_global_variable_define(
    executable: Executable,
    agent: Agent,
    variable_name: *const c_char,
    address: *mut c_void,
) -> Status {
    // SAFETY: the client's text.
    unsafe { define(executable, Some(agent), variable_name, VariableSegment::GLOBAL, address) }
}

pub(crate) unsafe extern "C" fn hsa_executable_readonly_variable_define(
    executable: Executable,
    agent: Agent,
    variable_name: *const c_char,
    address: *mut c_void,
) -> Status {
    // SAFETY: the client's text.
    unsafe { define(executable, Some(agent), variable_name, VariableSegment::READONLY, address) }
}

pub(crate) unsafe extern "C" fn hsa_executable_global_variable_define(
    executable: Executable,
    variable_name: *const c_char,
    address: *mut c_void,
) -> Status {
    // SAFETY: the client's text.
    unsafe { define(executable, None, variable_name, VariableSegment::GLOBAL, address) }
}

/// Machine code is always an agent's: there is none for the program as a whole.
pub(crate) unsafe extern "C" fn hsa_executable_load_program_code_object(
    executable: Executable,
    code_object_reader: CodeObjectReader,
    _options: *const c_char,
    _loaded_code_object: *mut LoadedCodeObject,
) -> Status {
    with(|runtime| {
        runtime.loader.executable(executable)?;
        runtime.loader.reader(code_object_reader)?;
        Err(Status::ERROR_INVALID_CODE_OBJECT)
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
        let loaded = executable.load(loader, &gpu(runtime, agent)?, &reader)?;
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
    // SAFETY: the same promises.
    unsafe { hsa_executable_validate(executable, result) }
}

pub(crate) unsafe extern "C" fn hsa_executable_validate(executable: Executable, result: *mut u32) -> Status {
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
        let name = unsafe { self::symbol_name(std::ptr::null(), symbol_name) }?;
        let executable = runtime.loader.executable(executable)?;
        let agent = if agent.is_null() {
            // A symbol of the whole program.
            Agent::NULL
        } else {
            // SAFETY: it is not null, so it is the client's agent.
            unsafe { agent.read_unaligned() }
        };
        let found = executable.symbol(agent, &name)?;
        // SAFETY: the client's place for it.
        unsafe { put(symbol, found.handle()) }
    })
}

/// The older form, which looks among the symbols of the whole program first.
pub(crate) unsafe extern "C" fn hsa_executable_get_symbol(
    executable: Executable,
    module_name: *const c_char,
    symbol_name: *const c_char,
    agent: Agent,
    _call_convention: i32,
    symbol: *mut ExecutableSymbol,
) -> Status {
    with(|runtime| {
        if symbol.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client's texts.
        let name = unsafe { self::symbol_name(module_name, symbol_name) }?;
        let executable = runtime.loader.executable(executable)?;
        let found = executable.symbol(Agent::NULL, &name).or_else(|_| executable.symbol(agent, &name))?;
        // SAFETY: the client's place for it.
        unsafe { put(symbol, found.handle()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_iterate_symbols(
    executable: Executable,
    callback: Option<ExecutableSymbolCallback>,
    data: *mut c_void,
) -> Status {
    with(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let symbols = runtime.loader.executable(executable)?.symbols()?;
        // SAFETY: the client's function with the client's data. No lock is held: it may call us.
        each(symbols, |(_, symbol)| unsafe { callback(executable, symbol.handle(), data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_iterate_program_symbols(
    executable: Executable,
    callback: Option<ExecutableSymbolCallback>,
    data: *mut c_void,
) -> Status {
    with(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let mut symbols = runtime.loader.executable(executable)?.symbols()?;
        symbols.retain(|(agent, _)| agent.is_null());
        // SAFETY: the client's function with the client's data. No lock is held: it may call us.
        each(symbols, |(_, symbol)| unsafe { callback(executable, symbol.handle(), data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_iterate_agent_symbols(
    executable: Executable,
    agent: Agent,
    callback: Option<AgentSymbolCallback>,
    data: *mut c_void,
) -> Status {
    with(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        known(runtime, agent)?;
        let mut symbols = runtime.loader.executable(executable)?.symbols()?;
        symbols.retain(|(owner, _)| *owner == agent);
        // SAFETY: the client's function with the client's data. No lock is held: it may call us.
        each(symbols, |(_, symbol)| unsafe { callback(executable, agent, symbol.handle(), data) })
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

/// A name that C gives, with the name of its module, if it has one.
///
/// # Safety
/// The second is null, which is an error, or a text that ends with a zero; the first is null or such a text.
pub(super) unsafe fn symbol_name(module: *const c_char, name: *const c_char) -> Result<String, Status> {
    // SAFETY: the caller's promise.
    let name = unsafe { text(name) }?.filter(|name| !name.is_empty()).ok_or(Status::ERROR_INVALID_SYMBOL_NAME)?;
    if module.is_null() {
        return Ok(name);
    }
    // SAFETY: the caller's promise.
    let module = unsafe { text(module) }?.ok_or(Status::ERROR_INVALID_SYMBOL_NAME)?;
    Ok(if module.is_empty() { name } else { format!("{module}::{name}") })
}

/// The GPU to load code on.
pub(super) fn gpu(runtime: &Runtime, agent: Agent) -> Result<Arc<Gpu>, Status> {
    runtime.gpu(agent).ok_or(match agent {
        // It is an agent, but there is no code for it.
        CPU => Status::ERROR_INCOMPATIBLE_ARGUMENTS,
        _ => Status::ERROR_INVALID_AGENT,
    })
}
