//! Code objects of the first loader, which came before readers: bytes with a handle.

use roci_hsa::abi::*;

use super::agents::{answer, each};
use super::executables::symbol_name;
use super::{array, put, with};

pub(crate) unsafe extern "C" fn hsa_code_object_deserialize(
    serialized_code_object: *mut c_void,
    serialized_code_object_size: usize,
    _options: *const c_char,
    code_object: *mut CodeObject,
) -> Status {
    with(|runtime| {
        let size = serialized_code_object_size;
        if serialized_code_object.is_null() || code_object.is_null() || size == 0 || isize::try_from(size).is_err() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client's bytes, which stay as they are for the length of this call.
        let bytes = unsafe { array(serialized_code_object.cast::<u8>().cast_const(), size) }?;
        let made = runtime.loader.add_code(bytes)?;
        // SAFETY: the client's place for it.
        unsafe { put(code_object, made) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_serialize(
    code_object: CodeObject,
    alloc_callback: Option<SerializeAllocate>,
    callback_data: CallbackData,
    _options: *const c_char,
    serialized_code_object: *mut *mut c_void,
    serialized_code_object_size: *mut usize,
) -> Status {
    with(|runtime| {
        let allocate = alloc_callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        if serialized_code_object.is_null() || serialized_code_object_size.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let code = runtime.loader.code(code_object)?;
        let bytes = code.reader().bytes();
        // SAFETY: the client's function with the client's data and place.
        let status = unsafe { allocate(bytes.len(), callback_data, serialized_code_object) };
        if status != Status::SUCCESS {
            return Err(status);
        }
        // SAFETY: the client's place, which its function has filled.
        let target = unsafe { serialized_code_object.read_unaligned() }.cast::<u8>();
        if target.is_null() {
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        }
        // SAFETY: the client has just allocated so much.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
        // SAFETY: the client's place for it.
        unsafe { put(serialized_code_object_size, bytes.len()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_destroy(code_object: CodeObject) -> Status {
    with(|runtime| runtime.loader.remove_code(code_object))
}

pub(crate) unsafe extern "C" fn hsa_code_object_get_info(
    code_object: CodeObject,
    attribute: CodeObjectInfo,
    value: *mut c_void,
) -> Status {
    with(|runtime| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = runtime.loader.code(code_object)?.info(attribute)?;
        // SAFETY: the client's place for an answer to this attribute.
        unsafe { answer(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_get_symbol(
    code_object: CodeObject,
    symbol_name: *const c_char,
    symbol: *mut CodeSymbol,
) -> Status {
    // SAFETY: the same promises.
    unsafe { hsa_code_object_get_symbol_from_name(code_object, std::ptr::null(), symbol_name, symbol) }
}

/// Machine code has no modules: a symbol of one is not found.
pub(crate) unsafe extern "C" fn hsa_code_object_get_symbol_from_name(
    code_object: CodeObject,
    module_name: *const c_char,
    symbol_name: *const c_char,
    symbol: *mut CodeSymbol,
) -> Status {
    with(|runtime| {
        if symbol.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client's texts.
        let name = unsafe { self::symbol_name(module_name, symbol_name) }?;
        let found = runtime.loader.code(code_object)?.symbol(&name)?;
        // SAFETY: the client's place for it.
        unsafe { put(symbol, CodeSymbol { handle: found.handle().handle }) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_iterate_symbols(
    code_object: CodeObject,
    callback: Option<CodeSymbolCallback>,
    data: *mut c_void,
) -> Status {
    with(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let code = runtime.loader.code(code_object)?;
        code.valid()?;
        // SAFETY: the client's function with the client's data. No lock is held: it may call us.
        each(code.symbols(), |symbol| unsafe {
            callback(code_object, CodeSymbol { handle: symbol.handle().handle }, data)
        })
    })
}

/// The attributes have the numbers of those of executables' symbols; what depends on where code is loaded is not among them.
pub(crate) unsafe extern "C" fn hsa_code_symbol_get_info(
    code_symbol: CodeSymbol,
    attribute: CodeSymbolInfo,
    value: *mut c_void,
) -> Status {
    with(|runtime| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let symbol = runtime.loader.code_symbol(code_symbol)?;
        let found = attribute.name().and_then(|_| symbol.info(ExecutableSymbolInfo(attribute.0)));
        // SAFETY: the client's place for an answer to this attribute.
        unsafe { answer(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_load_code_object(
    executable: Executable,
    agent: Agent,
    code_object: CodeObject,
    _options: *const c_char,
) -> Status {
    with(|runtime| {
        let executable = runtime.loader.executable(executable)?;
        let code = runtime.loader.code(code_object)?;
        let gpu = super::executables::gpu(runtime, agent)?;
        executable.load(&runtime.loader, &gpu, code.reader()).map(drop)
    })
}
