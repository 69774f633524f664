//! Code objects on agents, their kernels and variables.

#![expect(unsafe_code, reason = "calls the library")]

use std::ffi::CString;
use std::sync::Arc;

use super::attribute::{self, Value};
use super::{Agent, Error, Runtime, check};
use crate::abi::{self, AgentInfo, ExecutableSymbolInfo, FloatRoundingMode, Profile};

/// A code object that is loaded on agents and frozen. It is unloaded when this is dropped.
#[derive(Debug)]
pub struct Executable {
    executable: Unloads,
    /// After the executable, which may point into it.
    _reader: Reader,
}

/// A kernel of an executable on one agent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What a dispatch packet names it by.
    pub object: u64,
    /// Bytes of its arguments.
    pub kernarg_size: u32,
    /// Alignment of its arguments.
    pub kernarg_alignment: u32,
    /// Static group memory of a workgroup.
    pub group_size: u32,
    /// Private memory of a work-item.
    pub private_size: u32,
}

/// A variable of an executable on one agent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Where it is.
    pub address: u64,
    /// Its bytes.
    pub size: u32,
}

/// A reader with the bytes it reads.
#[derive(Debug)]
struct Reader {
    runtime: Runtime,
    handle: abi::CodeObjectReader,
    _code: Arc<[u8]>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. An error leaves nothing to be done.
        let _ = unsafe { (self.runtime.api().hsa_code_object_reader_destroy)(self.handle) };
    }
}

/// An executable, loaded or not.
#[derive(Debug)]
struct Unloads {
    runtime: Runtime,
    handle: abi::Executable,
}

impl Drop for Unloads {
    fn drop(&mut self) {
        // SAFETY: it was created and is destroyed once. An error leaves nothing to be done.
        let _ = unsafe { (self.runtime.api().hsa_executable_destroy)(self.handle) };
    }
}

impl Runtime {
    /// Loads a code object on each of `agents`, which have the same target, and freezes it.
    pub fn load(&self, code: Arc<[u8]>, agents: &[&Agent]) -> Result<Executable, Error> {
        let reader = self.read(code)?;
        let (profile, rounding) = match agents.first() {
            Some(agent) => (agent.get(AgentInfo::PROFILE)?, agent.get(AgentInfo::DEFAULT_FLOAT_ROUNDING_MODE)?),
            None => (Profile::BASE, FloatRoundingMode::DEFAULT),
        };
        let mut handle = abi::Executable::NULL;
        let create = self.api().hsa_executable_create_alt;
        // SAFETY: no options; the answer has its place.
        let status = unsafe { create(profile, rounding, std::ptr::null(), &raw mut handle) };
        check("hsa_executable_create_alt", status)?;
        let executable = Unloads { runtime: self.clone(), handle };
        let load = self.api().hsa_executable_load_agent_code_object;
        for agent in agents {
            let (options, loaded) = (std::ptr::null(), std::ptr::null_mut());
            // SAFETY: executable, agent and reader live; no options; no answer is wanted.
            let status = unsafe { load(handle, agent.handle(), reader.handle, options, loaded) };
            check("hsa_executable_load_agent_code_object", status)?;
        }
        // SAFETY: the executable lives; no options.
        let status = unsafe { (self.api().hsa_executable_freeze)(handle, std::ptr::null()) };
        check("hsa_executable_freeze", status)?;
        Ok(Executable { executable, _reader: reader })
    }

    fn read(&self, code: Arc<[u8]>) -> Result<Reader, Error> {
        let mut handle = abi::CodeObjectReader::NULL;
        let create = self.api().hsa_code_object_reader_create_from_memory;
        // SAFETY: the bytes live as long as the reader; the answer has its place.
        let status = unsafe { create(code.as_ptr().cast(), code.len(), &raw mut handle) };
        check("hsa_code_object_reader_create_from_memory", status)?;
        Ok(Reader { runtime: self.clone(), handle, _code: code })
    }
}

impl Executable {
    /// Its name in the C API.
    pub fn handle(&self) -> abi::Executable {
        self.executable.handle
    }

    /// The kernel with the descriptor `symbol` (its name and `.kd`) on `agent`.
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

    /// The variable `symbol` on `agent`.
    pub fn variable(&self, symbol: &str, agent: &Agent) -> Result<Variable, Error> {
        let symbol = self.symbol(symbol, agent)?;
        Ok(Variable {
            address: self.get(symbol, ExecutableSymbolInfo::VARIABLE_ADDRESS)?,
            size: self.get(symbol, ExecutableSymbolInfo::VARIABLE_SIZE)?,
        })
    }

    fn symbol(&self, name: &str, agent: &Agent) -> Result<abi::ExecutableSymbol, Error> {
        let name = CString::new(name).map_err(|_| Error::ZeroByte(name.to_owned()))?;
        let (agent, mut symbol) = (agent.handle(), abi::ExecutableSymbol::NULL);
        let find = self.executable.runtime.api().hsa_executable_get_symbol_by_name;
        // SAFETY: the executable lives, the name ends with a zero, the answer has its place.
        let status = unsafe { find(self.handle(), name.as_ptr(), &raw const agent, &raw mut symbol) };
        check("hsa_executable_get_symbol_by_name", status)?;
        Ok(symbol)
    }

    fn get<V: Value>(&self, symbol: abi::ExecutableSymbol, attribute: ExecutableSymbolInfo) -> Result<V, Error> {
        let ask = self.executable.runtime.api().hsa_executable_symbol_get_info;
        // SAFETY: only numbers are asked for, which fit the room.
        attribute::get("hsa_executable_symbol_get_info", |value| unsafe { ask(symbol, attribute, value) })
    }
}
