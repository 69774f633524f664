//! The loader: code object readers, executables, loaded code objects and symbols.
//!
//! Handles are never reused, so a stale handle, or one of another kind of object, is recognized as
//! invalid.

mod executable;
mod legacy_code_object;
mod loaded_code_object;
mod reader;
mod symbol;
#[cfg(test)]
mod tests;
mod uri;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use roci_hsa::abi::{self, Status};

pub(crate) use executable::Executable;
pub(crate) use legacy_code_object::LegacyCodeObject;
pub(crate) use loaded_code_object::LoadedCodeObject;
pub(crate) use reader::Reader;
pub(crate) use symbol::Symbol;

use crate::handle::new_handle;

/// Live objects of one kind by handle, oldest first.
struct ObjectTable<T> {
    live: RwLock<BTreeMap<u64, Arc<T>>>,
}

impl<T> Default for ObjectTable<T> {
    fn default() -> Self {
        Self { live: RwLock::default() }
    }
}

impl<T> ObjectTable<T> {
    fn insert(&self, handle: u64, object: Arc<T>) {
        self.live.write().insert(handle, object);
    }

    fn get(&self, handle: u64) -> Option<Arc<T>> {
        self.live.read().get(&handle).cloned()
    }

    fn remove(&self, handle: u64) -> Option<Arc<T>> {
        self.live.write().remove(&handle)
    }

    fn all(&self) -> Vec<Arc<T>> {
        self.live.read().values().cloned().collect()
    }
}

/// All objects of the loader.
#[derive(Default)]
pub(crate) struct Loader {
    readers: ObjectTable<Reader>,
    executables: ObjectTable<Executable>,
    symbols: ObjectTable<Symbol>,
    loaded: ObjectTable<LoadedCodeObject>,
    legacy_code_objects: ObjectTable<LegacyCodeObject>,
    code_symbols: ObjectTable<Symbol>,
}

impl Loader {
    pub(crate) fn add_reader(&self, reader: Reader) -> abi::CodeObjectReader {
        let handle = new_handle();
        self.readers.insert(handle, Arc::new(reader));
        abi::CodeObjectReader { handle }
    }

    pub(crate) fn reader(&self, handle: abi::CodeObjectReader) -> Result<Arc<Reader>, Status> {
        self.readers.get(handle.handle).ok_or(Status::ERROR_INVALID_CODE_OBJECT_READER)
    }

    /// Destroys a reader. Code objects that were loaded from it keep its bytes.
    pub(crate) fn remove_reader(&self, handle: abi::CodeObjectReader) -> Result<(), Status> {
        let removed = self.readers.remove(handle.handle);
        removed.map(drop).ok_or(Status::ERROR_INVALID_CODE_OBJECT_READER)
    }

    /// Creates an empty executable.
    pub(crate) fn add_executable(&self, profile: abi::Profile, rounding: abi::FloatRoundingMode) -> abi::Executable {
        let executable = Executable::new(new_handle(), profile, rounding);
        let handle = executable.handle();
        self.executables.insert(handle.handle, Arc::new(executable));
        handle
    }

    pub(crate) fn executable(&self, handle: abi::Executable) -> Result<Arc<Executable>, Status> {
        self.executables.get(handle.handle).ok_or(Status::ERROR_INVALID_EXECUTABLE)
    }

    /// Oldest first.
    pub(crate) fn executables(&self) -> Vec<Arc<Executable>> {
        self.executables.all()
    }

    /// Destroys an executable and unloads its code objects.
    pub(crate) fn remove_executable(&self, handle: abi::Executable) -> Result<(), Status> {
        let executable = self.executables.remove(handle.handle).ok_or(Status::ERROR_INVALID_EXECUTABLE)?;
        executable.unload(self);
        Ok(())
    }

    pub(crate) fn symbol(&self, handle: abi::ExecutableSymbol) -> Result<Arc<Symbol>, Status> {
        self.symbols.get(handle.handle).ok_or(Status::ERROR_INVALID_EXECUTABLE_SYMBOL)
    }

    pub(crate) fn loaded(&self, handle: abi::LoadedCodeObject) -> Result<Arc<LoadedCodeObject>, Status> {
        self.loaded.get(handle.handle).ok_or(Status::ERROR_INVALID_CODE_OBJECT)
    }

    /// Oldest first.
    pub(crate) fn all_loaded(&self) -> Vec<Arc<LoadedCodeObject>> {
        self.loaded.all()
    }

    /// The loaded code object that contains an address.
    pub(crate) fn loaded_at(&self, address: u64) -> Option<Arc<LoadedCodeObject>> {
        self.loaded.live.read().values().find(|loaded| loaded.range().contains(&address)).cloned()
    }

    /// Adds a code object of the legacy loader. Invalid bytes are accepted; using them is an error.
    pub(crate) fn add_legacy_code_object(&self, bytes: &[u8]) -> Result<abi::CodeObject, Status> {
        let code = LegacyCodeObject::new(Reader::from_memory(bytes)?);
        let handle = new_handle();
        for symbol in code.symbols() {
            self.code_symbols.insert(symbol.handle().handle, Arc::clone(symbol));
        }
        self.legacy_code_objects.insert(handle, Arc::new(code));
        Ok(abi::CodeObject { handle })
    }

    pub(crate) fn legacy_code_object(&self, handle: abi::CodeObject) -> Result<Arc<LegacyCodeObject>, Status> {
        self.legacy_code_objects.get(handle.handle).ok_or(Status::ERROR_INVALID_CODE_OBJECT)
    }

    /// Destroys a code object of the legacy loader. Code objects that were loaded from it keep its
    /// bytes.
    pub(crate) fn remove_legacy_code_object(&self, handle: abi::CodeObject) -> Result<(), Status> {
        let code = self.legacy_code_objects.remove(handle.handle).ok_or(Status::ERROR_INVALID_CODE_OBJECT)?;
        for symbol in code.symbols() {
            self.code_symbols.remove(symbol.handle().handle);
        }
        Ok(())
    }

    pub(crate) fn code_symbol(&self, handle: abi::CodeSymbol) -> Result<Arc<Symbol>, Status> {
        self.code_symbols.get(handle.handle).ok_or(Status::ERROR_INVALID_CODE_SYMBOL)
    }
}
