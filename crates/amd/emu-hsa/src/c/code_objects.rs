//! Code objects of the legacy loader (HSA 1.0).

use roci_hsa::abi::*;

use super::arguments::{self, array, code_gpu, for_each, put, put_attribute};
use super::with_runtime;

pub(crate) unsafe extern "C" fn hsa_code_object_deserialize(
    serialized_code_object: *mut c_void,
    serialized_code_object_size: usize,
    _options: *const c_char,
    code_object: *mut CodeObject,
) -> Status {
    with_runtime(|runtime| {
        let size = serialized_code_object_size;
        if serialized_code_object.is_null() || code_object.is_null() || size == 0 || isize::try_from(size).is_err() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes a pointer to `size` bytes and does not change them during the
        // call.
        let bytes = unsafe { array(serialized_code_object.cast::<u8>().cast_const(), size) }?;
        let added = runtime.loader.add_legacy_code_object(bytes)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(code_object, added) }
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
    with_runtime(|runtime| {
        let allocate = alloc_callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        if serialized_code_object.is_null() || serialized_code_object_size.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let code = runtime.loader.legacy_code_object(code_object)?;
        let bytes = code.reader().bytes();
        // SAFETY: the client passes the allocator to be called with this data and pointer.
        let status = unsafe { allocate(bytes.len(), callback_data, serialized_code_object) };
        if status != Status::SUCCESS {
            return Err(status);
        }
        // SAFETY: not null; the client's allocator succeeded, so it wrote the address.
        let target = unsafe { serialized_code_object.read_unaligned() }.cast::<u8>();
        if target.is_null() {
            return Err(Status::ERROR_OUT_OF_RESOURCES);
        }
        // SAFETY: the client's allocator returned a block of this size.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(serialized_code_object_size, bytes.len()) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_destroy(code_object: CodeObject) -> Status {
    with_runtime(|runtime| runtime.loader.remove_legacy_code_object(code_object))
}

pub(crate) unsafe extern "C" fn hsa_code_object_get_info(
    code_object: CodeObject,
    attribute: CodeObjectInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let found = runtime.loader.legacy_code_object(code_object)?.info(attribute)?;
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_get_symbol(
    code_object: CodeObject,
    symbol_name: *const c_char,
    symbol: *mut CodeSymbol,
) -> Status {
    // SAFETY: all arguments are passed on unchanged.
    unsafe { hsa_code_object_get_symbol_from_name(code_object, std::ptr::null(), symbol_name, symbol) }
}

/// Machine code has no modules, so symbols with a module name are not found.
pub(crate) unsafe extern "C" fn hsa_code_object_get_symbol_from_name(
    code_object: CodeObject,
    module_name: *const c_char,
    symbol_name: *const c_char,
    symbol: *mut CodeSymbol,
) -> Status {
    with_runtime(|runtime| {
        if symbol.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        // SAFETY: the client passes null or NUL-terminated strings.
        let name = unsafe { arguments::symbol_name(module_name, symbol_name) }?;
        let found = runtime.loader.legacy_code_object(code_object)?.symbol(&name)?;
        // SAFETY: the client passes a pointer that is valid for this write.
        unsafe { put(symbol, CodeSymbol { handle: found.handle().handle }) }
    })
}

pub(crate) unsafe extern "C" fn hsa_code_object_iterate_symbols(
    code_object: CodeObject,
    callback: Option<CodeSymbolCallback>,
    data: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        let callback = callback.ok_or(Status::ERROR_INVALID_ARGUMENT)?;
        let code = runtime.loader.legacy_code_object(code_object)?;
        code.check()?;
        // No lock is held: the callback may call the runtime.
        // SAFETY: the client passes the callback to be called with this data.
        for_each(code.symbols(), |symbol| unsafe {
            callback(code_object, CodeSymbol { handle: symbol.handle().handle }, data)
        })
    })
}

/// Attributes have the numbers of executable symbol attributes; those that depend on the load
/// address do not exist here.
pub(crate) unsafe extern "C" fn hsa_code_symbol_get_info(
    code_symbol: CodeSymbol,
    attribute: CodeSymbolInfo,
    value: *mut c_void,
) -> Status {
    with_runtime(|runtime| {
        if value.is_null() {
            return Err(Status::ERROR_INVALID_ARGUMENT);
        }
        let symbol = runtime.loader.code_symbol(code_symbol)?;
        let found = attribute.name().and_then(|_| symbol.info(ExecutableSymbolInfo(attribute.0)));
        // SAFETY: the client's buffer has the size of this attribute.
        unsafe { put_attribute(value, found) }
    })
}

pub(crate) unsafe extern "C" fn hsa_executable_load_code_object(
    executable: Executable,
    agent: Agent,
    code_object: CodeObject,
    _options: *const c_char,
) -> Status {
    with_runtime(|runtime| {
        let executable = runtime.loader.executable(executable)?;
        let code = runtime.loader.legacy_code_object(code_object)?;
        let gpu = code_gpu(runtime, agent)?;
        executable.load(&runtime.loader, &gpu, code.reader()).map(drop)
    })
}
