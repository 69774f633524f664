//! Code objects: who reads them, where they are loaded, what is in them.
//!
//! Handles are numbers that are never given twice, not even by another runtime of this process: an old one is told from a
//! live one, and one of a kind from one of another.

mod code;
mod executable;
mod extension;
mod loaded;
mod place;
mod reader;
mod symbol;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use roci_hsa::abi::{self, Status};

pub(crate) use code::Code;
pub(crate) use executable::Executable;
pub(crate) use extension::table;
pub(crate) use loaded::Loaded;
pub(crate) use reader::Reader;
pub(crate) use symbol::Symbol;

/// A number that was never a handle before.
pub(crate) fn new_handle() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// All live objects of one kind, by their handles, oldest first.
struct Objects<T> {
    live: RwLock<BTreeMap<u64, Arc<T>>>,
}

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self { live: RwLock::default() }
    }
}

impl<T> Objects<T> {
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

/// All readers, executables, symbols and loaded code objects.
#[derive(Default)]
pub(crate) struct Loader {
    readers: Objects<Reader>,
    executables: Objects<Executable>,
    symbols: Objects<Symbol>,
    loaded: Objects<Loaded>,
    codes: Objects<Code>,
    code_symbols: Objects<Symbol>,
}

impl Loader {
    /// Keeps a reader.
    pub(crate) fn add_reader(&self, reader: Reader) -> abi::CodeObjectReader {
        let handle = new_handle();
        self.readers.insert(handle, Arc::new(reader));
        abi::CodeObjectReader { handle }
    }

    /// The reader of a handle.
    pub(crate) fn reader(&self, handle: abi::CodeObjectReader) -> Result<Arc<Reader>, Status> {
        self.readers.get(handle.handle).ok_or(Status::ERROR_INVALID_CODE_OBJECT_READER)
    }

    /// Forgets a reader. What was loaded from it keeps its bytes.
    pub(crate) fn remove_reader(&self, handle: abi::CodeObjectReader) -> Result<(), Status> {
        let removed = self.readers.remove(handle.handle);
        removed.map(drop).ok_or(Status::ERROR_INVALID_CODE_OBJECT_READER)
    }

    /// Makes an executable with nothing in it.
    pub(crate) fn add_executable(&self, profile: abi::Profile, rounding: abi::FloatRoundingMode) -> abi::Executable {
        let executable = Executable::new(new_handle(), profile, rounding);
        let handle = executable.handle();
        self.executables.insert(handle.handle, Arc::new(executable));
        handle
    }

    /// The executable of a handle.
    pub(crate) fn executable(&self, handle: abi::Executable) -> Result<Arc<Executable>, Status> {
        self.executables.get(handle.handle).ok_or(Status::ERROR_INVALID_EXECUTABLE)
    }

    /// All executables, oldest first.
    pub(crate) fn executables(&self) -> Vec<Arc<Executable>> {
        self.executables.all()
    }

    /// Unloads an executable.
    pub(crate) fn remove_executable(&self, handle: abi::Executable) -> Result<(), Status> {
        let executable = self.executables.remove(handle.handle).ok_or(Status::ERROR_INVALID_EXECUTABLE)?;
        executable.end(self);
        Ok(())
    }

    /// The symbol of a handle.
    pub(crate) fn symbol(&self, handle: abi::ExecutableSymbol) -> Result<Arc<Symbol>, Status> {
        self.symbols.get(handle.handle).ok_or(Status::ERROR_INVALID_EXECUTABLE_SYMBOL)
    }

    /// The loaded code object of a handle.
    pub(crate) fn loaded(&self, handle: abi::LoadedCodeObject) -> Result<Arc<Loaded>, Status> {
        self.loaded.get(handle.handle).ok_or(Status::ERROR_INVALID_CODE_OBJECT)
    }

    /// All loaded code objects, oldest first.
    pub(crate) fn all_loaded(&self) -> Vec<Arc<Loaded>> {
        self.loaded.all()
    }

    /// The code object that is loaded at an address.
    pub(crate) fn loaded_at(&self, address: u64) -> Option<Arc<Loaded>> {
        self.loaded.live.read().values().find(|loaded| loaded.range().contains(&address)).cloned()
    }

    /// Keeps a code object of the first loader.
    pub(crate) fn add_code(&self, bytes: &[u8]) -> Result<abi::CodeObject, Status> {
        let code = Code::new(Reader::from_memory(bytes)?);
        let handle = new_handle();
        for symbol in code.symbols() {
            self.code_symbols.insert(symbol.handle().handle, Arc::clone(symbol));
        }
        self.codes.insert(handle, Arc::new(code));
        Ok(abi::CodeObject { handle })
    }

    /// The code object of a handle.
    pub(crate) fn code(&self, handle: abi::CodeObject) -> Result<Arc<Code>, Status> {
        self.codes.get(handle.handle).ok_or(Status::ERROR_INVALID_CODE_OBJECT)
    }

    /// Forgets a code object. What was loaded from it keeps its bytes.
    pub(crate) fn remove_code(&self, handle: abi::CodeObject) -> Result<(), Status> {
        let code = self.codes.remove(handle.handle).ok_or(Status::ERROR_INVALID_CODE_OBJECT)?;
        for symbol in code.symbols() {
            self.code_symbols.remove(symbol.handle().handle);
        }
        Ok(())
    }

    /// The symbol of a code object.
    pub(crate) fn code_symbol(&self, handle: abi::CodeSymbol) -> Result<Arc<Symbol>, Status> {
        self.code_symbols.get(handle.handle).ok_or(Status::ERROR_INVALID_CODE_SYMBOL)
    }
}
