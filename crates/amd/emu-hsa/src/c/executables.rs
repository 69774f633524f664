//! Code object readers, executables and their symbols.

use std::os::fd::BorrowedFd;

use roci_hsa::abi::*;

use super::arguments::{self, array, code_gpu, for_each, gpu_or_cpu, put, put_attribute};
use super::with_runtime;
use crate::loader::Reader;

pub(crate) unsafe extern "C" fn hsa_code_object_reader_create_from_memory(
    code_object: *const c_void,
    size: usize,
    code_object_reader: *mut CodeObjectReader,
) -> Status {
    with_runtime(|runtime| {
        if code_object.is_null() || code_object_reader.is_null() || size == 0 || isize::try_from(size).is_err() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes a pointer to `size` bytes and does not change them during the
        // call.
        let bytes = unsafe { array(code_object.cast::<u8>(), size) }?;
        let reader = runtime.loader.add_reader(Reader::from_memory(bytes)?);
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(code_object_reader, reader) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_reader_create_from_file(
    file: c_int,
    code_object_reader: *mut CodeObjectReader,
) -> Status {
    with_runtime(|runtime| {
        if code_object_reader.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        if file < 0 {
            return Err(Status::ERROR_INVALID_FILE);
        }
        // SAFETY: the descriptor is not -1, and the client keeps it open during the call; a closed
        // descriptor fails at its first use.
        let file = unsafe { BorrowedFd::borrow_raw(file) };
        let reader = runtime.loader.add_reader(Reader::from_whole_file(file)?);
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(code_object_reader, reader) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_reader_destroy(code_object_reader: CodeObjectReader) -> Status {
    with_runtime(|runtime| runtime.loader.remove_reader(code_object_reader))
}

/// Options are for finalizers and for debugging of AMD's loader; they are ignored.
pub(crate) unsafe extern "C" fn hsa_executable_create_alt(
    profile: Profile,
    default_float_rounding_mode: FloatRoundingMode,
    _options: *const c_char,
    executable: *mut Executable,
) -> Status {
    with_runtime(|runtime| {
        if profile.name().is_none() || default_float_rounding_mode.name().is_none() || executable.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(executable, runtime.loader.add_executable(profile, default_float_rounding_mode)) }
    })
}

/// Older form, which can create a frozen executable; such an executable stays empty.
pub(crate) unsafe extern "C" fn hsa_executable_create(
    profile: Profile,
    executable_state: ExecutableState,
    options: *const c_char,
    executable: *mut Executable,
) -> Status {
    if executable_state.name().is_none() {
        return with_runtime(|_| Err(Status::ERROR_INVALID_ARGUMENT));
    }
    // SAFETY: all arguments are passed on unchanged.
    let status = unsafe { hsa_executable_create_alt(profile, FloatRoundingMode::DEFAULT, options, executable) };
    if status != Status::SUCCESS || executable_state == ExecutableState::UNFROZEN {
        return status;
    }
    // SAFETY: the call above succeeded, so it wrote the handle.
    let created = unsafe { executable.read_unaligned() };
    // SAFETY: null options are valid.
    unsafe { hsa_executable_freeze(created, std::ptr::null()) }
}

pub(crate) unsafe extern "C" fn hsa_executable_get_info(
    executable: Executable,
    attribute: ExecutableInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = runtime.loader.executable(executable)?.info(attribute)?;
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_destroy(executable: Executable) -> Status {
    with_runtime(|runtime| runtime.loader.remove_executable(executable))
}

/// Defines a variable for code that is loaded later; `None` as agent defines it for the program.
///
/// # Safety
/// `name` is null, which is an error, or a NUL-terminated string.
unsafe fn define(
    executable: Executable,
    agent: Option<Agent>,
    name: *const c_char,
    segment: VariableSegment,
    address: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        // SAFETY: the caller upholds the same contract.
        let name = unsafe { arguments::symbol_name(std::ptr::null(), name) }?;
        let executable = runtime.loader.executable(executable)?;
        if agent.is_some_and(|agent| !runtime.has_agent(agent)) {
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
    // SAFETY: the client passes null or NUL-terminated strings.
    unsafe { define(executable, Some(agent), variable_name, VariableSegment::GLOBAL, address) }
}

pub(crate) unsafe extern "C" fn hsa_executable_readonly_variable_define(
    executable: Executable,
    agent: Agent,
    variable_name: *const c_char,
    address: *mut c_void,
) -> Status {
    // SAFETY: the client passes null or NUL-terminated strings.
    unsafe { define(executable, Some(agent), variable_name, VariableSegment::READONLY, address) }
}

pub(crate) unsafe extern "C" fn hsa_executable_global_variable_define(
    executable: Executable,
    variable_name: *const c_char,
    address: *mut c_void,
) -> Status {
    // SAFETY: the client passes null or NUL-terminated strings.
    unsafe { define(executable, None, variable_name, VariableSegment::GLOBAL, address) }
}

/// Fails: machine code belongs to an agent, so there are no program code objects.
pub(crate) unsafe extern "C" fn hsa_executable_load_program_code_object(
    executable: Executable,
    code_object_reader: CodeObjectReader,
    _options: *const c_char,
    _loaded_code_object: *mut LoadedCodeObject,
) -> Status {
    with_runtime(|runtime| {
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
    with_runtime(|runtime| {
        let loader = &runtime.loader;
        let (executable, reader) = (loader.executable(executable)?, loader.reader(code_object_reader)?);
        let loaded = executable.load(loader, &code_gpu(runtime, agent)?, &reader)?;
        if loaded_code_object.is_null() {
            return Ok(());
        }
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(loaded_code_object, loaded.handle()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_freeze(executable: Executable, _options: *const c_char) -> Status {
    with_runtime(|runtime| runtime.loader.executable(executable)?.freeze())
}

pub(crate) unsafe extern "C" fn hsa_executable_validate_alt(
    executable: Executable,
    _options: *const c_char,
    result: *mut u32,
) -> Status {
    // SAFETY: all arguments are passed on unchanged.
    unsafe { hsa_executable_validate(executable, result) }
}

pub(crate) unsafe extern "C" fn hsa_executable_validate(executable: Executable, result: *mut u32) -> Status {
    with_runtime(|runtime| {
        if result.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        runtime.loader.executable(executable)?;
        // Loading has validated the code objects.
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(result, 0_u32) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_get_symbol_by_name(
    executable: Executable,
    symbol_name: *const c_char,
    agent: *const Agent,
    symbol: *mut ExecutableSymbol,
) -> Status {
    with_runtime(|runtime| {
        if symbol.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes null or NUL-terminated strings.
        let name = unsafe { arguments::symbol_name(std::ptr::null(), symbol_name) }?;
        let executable = runtime.loader.executable(executable)?;
        let agent = if agent.is_null() {
            // A program symbol.
            Agent::NULL
        } else {
            // SAFETY: not null, so the client passes a pointer to an agent.
            unsafe { agent.read_unaligned() }
        };
        let found = executable.symbol(agent, &name)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(symbol, found.handle()) }
    })
}

/// Older form, which searches the program symbols first.
pub(crate) unsafe extern "C" fn hsa_executable_get_symbol(
    executable: Executable,
    module_name: *const c_char,
    symbol_name: *const c_char,
    agent: Agent,
    _call_convention: i32,
    symbol: *mut ExecutableSymbol,
) -> Status {
    with_runtime(|runtime| {
        if symbol.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes null or NUL-terminated strings.
        let name = unsafe { arguments::symbol_name(module_name, symbol_name) }?;
        let executable = runtime.loader.executable(executable)?;
        let found = executable.symbol(Agent::NULL, &name).or_else(|_| executable.symbol(agent, &name))?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(symbol, found.handle()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_iterate_symbols(
    executable: Executable,
    callback: Option<ExecutableSymbolCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let symbols = runtime.loader.executable(executable)?.symbols()?;
        // No lock is held: the callback may call the runtime.
        // SAFETY: the client passes the callback to be called with this data.
        for_each(symbols, |(_, symbol)| unsafe { callback(executable, symbol.handle(), data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_iterate_program_symbols(
    executable: Executable,
    callback: Option<ExecutableSymbolCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let mut symbols = runtime.loader.executable(executable)?.symbols()?;
        symbols.retain(|(agent, _)| agent.is_null());
        // No lock is held: the callback may call the runtime.
        // SAFETY: the client passes the callback to be called with this data.
        for_each(symbols, |(_, symbol)| unsafe { callback(executable, symbol.handle(), data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_iterate_agent_symbols(
    executable: Executable,
    agent: Agent,
    callback: Option<AgentSymbolCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        gpu_or_cpu(runtime, agent)?;
        let mut symbols = runtime.loader.executable(executable)?.symbols()?;
        symbols.retain(|(owner, _)| *owner == agent);
        // No lock is held: the callback may call the runtime.
        // SAFETY: the client passes the callback to be called with this data.
        for_each(symbols, |(_, symbol)| unsafe { callback(executable, agent, symbol.handle(), data) })
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_symbol_get_info(
    executable_symbol: ExecutableSymbol,
    attribute: ExecutableSymbolInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let symbol = runtime.loader.symbol(executable_symbol)?;
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, symbol.info(attribute)) }
    })
}
