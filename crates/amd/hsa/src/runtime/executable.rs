//! Executables, their kernels and variables.

#![expect(unsafe_code, reason = "calls the library")]

use std::ffi::CString;
use std::sync::Arc;

use super::attribute::{self, Value};
use super::{Agent, Error, Runtime, check};
use crate::abi::{self, AgentInfo, ExecutableSymbolInfo, FloatRoundingMode, Profile};

/// A frozen executable with one code object, unloaded on drop.
#[derive(Debug)]
pub struct Executable {
    executable: OwnedExecutable,
    /// Last field: the executable may refer to its bytes.
    _reader: Reader,
}

/// A kernel of an executable on one agent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Kernel object for dispatch packets.
    pub object: u64,
    /// Bytes of the kernarg segment.
    pub kernarg_size: u32,
    /// Alignment of the kernarg segment in bytes.
    pub kernarg_alignment: u32,
    /// Static group segment (LDS) of a workgroup in bytes.
    pub group_size: u32,
    /// Private segment of a work-item in bytes.
    pub private_size: u32,
}

/// A variable of an executable on one agent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Device address.
    pub address: u64,
    /// Size in bytes.
    pub size: u32,
}

/// A code object reader and its bytes.
#[derive(Debug)]
struct Reader {
    runtime: Runtime,
    handle: abi::CodeObjectReader,
    _code: Arc<[u8]>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // An error cannot be handled here.
        // SAFETY: the handle is live, and only this destroys it.
        let _ = unsafe { (self.runtime.api().hsa_code_object_reader_destroy)(self.handle) };
    }
}

/// An executable, destroyed on drop.
#[derive(Debug)]
struct OwnedExecutable {
    runtime: Runtime,
    handle: abi::Executable,
}

impl Drop for OwnedExecutable {
    fn drop(&mut self) {
        // An error cannot be handled here.
        // SAFETY: the handle is live, and only this destroys it.
        let _ = unsafe { (self.runtime.api().hsa_executable_destroy)(self.handle) };
    }
}

impl Runtime {
    /// Loads a code object on all `agents`, which must have the same ISA, and freezes the
    /// executable.
    pub fn load(&self, code: Arc<[u8]>, agents: &[&Agent]) -> Result<Executable, Error> {
        let reader = self.read(code)?;
        let (profile, rounding) = match agents.first() {
            Some(agent) => (agent.get(AgentInfo::PROFILE)?, agent.get(AgentInfo::DEFAULT_FLOAT_ROUNDING_MODE)?),
            None => (Profile::BASE, FloatRoundingMode::DEFAULT),
        };
        let mut handle = abi::Executable::NULL;
        let create = self.api().hsa_executable_create_alt;
        // SAFETY: null options are valid, and `handle` is valid for the write.
        let status = unsafe { create(profile, rounding, std::ptr::null(), &raw mut handle) };
        check("hsa_executable_create_alt", status)?;
        let executable = OwnedExecutable { runtime: self.clone(), handle };
        let load = self.api().hsa_executable_load_agent_code_object;
        for agent in agents {
            let (options, loaded) = (std::ptr::null(), std::ptr::null_mut());
            // SAFETY: executable, agent and reader are alive; options and result may be null.
            let status = unsafe { load(handle, agent.handle(), reader.handle, options, loaded) };
            check("hsa_executable_load_agent_code_object", status)?;
        }
        // SAFETY: the executable is alive; null options are valid.
        let status = unsafe { (self.api().hsa_executable_freeze)(handle, std::ptr::null()) };
        check("hsa_executable_freeze", status)?;
        Ok(Executable { executable, _reader: reader })
    }

    fn read(&self, code: Arc<[u8]>) -> Result<Reader, Error> {
        let mut handle = abi::CodeObjectReader::NULL;
        let create = self.api().hsa_code_object_reader_create_from_memory;
        // SAFETY: `Reader` keeps the bytes alive, and `handle` is valid for the write.
        let status = unsafe { create(code.as_ptr().cast(), code.len(), &raw mut handle) };
        check("hsa_code_object_reader_create_from_memory", status)?;
        Ok(Reader { runtime: self.clone(), handle, _code: code })
    }
}

impl Executable {
    /// Handle in the C API.
    pub fn handle(&self) -> abi::Executable {
        self.executable.handle
    }

    /// The kernel with the descriptor symbol `symbol` (`name.kd`) on `agent`.
    pub fn kernel(&self, symbol: &str, agent: &Agent) -> Result<Kernel, Error> {
        let symbol = self.symbol(symbol, agent)?;
        Ok(Kernel {
            object: self.get(symbol, ExecutableSymbolInfo::KERNEL_OBJECT)?,
            kernarg_size: self.get(symbol, ExecutableSymbolInfo::KERNEL_KERNARG_SEGMENT_SIZE)?,
            kernarg_alignment: self.get(symbol, ExecutableSymbolInfo::KERNEL_KERNARG_SEGMENT_ALIGNMENT)?,
            group_size: self.get(symbol, ExecutableSymbolInfo::KERNEL_GROUP_SEGMENT_SIZE)?,
            private_size: self.get(symbol, ExecutableSymbolInfo::KERNEL_PRIVATE_SEGMENT_SIZE)?,
        })
    }

    /// Address and size of a variable of the loaded code; an error if there is no such symbol.
    pub fn variable(&self, symbol: &str, agent: &Agent) -> Result<Variable, Error> {
        let symbol = self.symbol(symbol, agent)?;
        Ok(Variable {
            address: self.get(symbol, ExecutableSymbolInfo::VARIABLE_ADDRESS)?,
            size: self.get(symbol, ExecutableSymbolInfo::VARIABLE_SIZE)?,
        })
    }

    fn symbol(&self, name: &str, agent: &Agent) -> Result<abi::ExecutableSymbol, Error> {
        let name = CString::new(name).map_err(|_| Error::NulByte(name.to_owned()))?;
        let (agent, mut symbol) = (agent.handle(), abi::ExecutableSymbol::NULL);
        let find = self.executable.runtime.api().hsa_executable_get_symbol_by_name;
        // SAFETY: the executable is alive, the name is NUL-terminated, and `symbol` is valid for
        // the write.
        let status = unsafe { find(self.handle(), name.as_ptr(), &raw const agent, &raw mut symbol) };
        check("hsa_executable_get_symbol_by_name", status)?;
        Ok(symbol)
    }

    fn get<V: Value>(&self, symbol: abi::ExecutableSymbol, attribute: ExecutableSymbolInfo) -> Result<V, Error> {
        let get = self.executable.runtime.api().hsa_executable_symbol_get_info;
        // SAFETY: callers only query numbers, which fit the buffer.
        attribute::get("hsa_executable_symbol_get_info", |value| unsafe { get(symbol, attribute, value) })
    }
}
