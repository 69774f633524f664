//! Executables: loaded code objects and the variables that the client defines for them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use roci_codeobj::{CodeObject, TargetId};
use roci_hsa::abi::{
    self, Agent, ExecutableInfo, ExecutableState, FloatRoundingMode, Profile, Status, VariableSegment,
};

use super::loaded_code_object::LoadedCodeObject;
use super::symbol::{Symbol, exported_objects};
use super::{Loader, Reader};
use crate::gpu::Gpu;
use crate::topology::AttributeValue;

pub(crate) struct Executable {
    handle: u64,
    profile: Profile,
    rounding: FloatRoundingMode,
    /// `None` once it is destroyed.
    state: Mutex<Option<ExecutableContents>>,
}

#[derive(Default)]
struct ExecutableContents {
    frozen: bool,
    /// By agent, then by name; program symbols have the null agent.
    symbols: HashMap<Agent, HashMap<String, Arc<Symbol>>>,
    loaded: Vec<Arc<LoadedCodeObject>>,
}

impl ExecutableContents {
    fn find(&self, agent: Agent, name: &str) -> Option<&Arc<Symbol>> {
        self.symbols.get(&agent)?.get(name)
    }

    /// Address of a symbol as seen by code on an agent: the agent's symbol, else the program's.
    fn resolve(&self, agent: Agent, name: &str) -> Option<u64> {
        let found = self.find(agent, name).or_else(|| self.find(Agent::NULL, name))?;
        Some(found.address()).filter(|address| *address != 0)
    }

    fn add(&mut self, loader: &Loader, agent: Agent, symbol: Symbol) {
        let symbol = Arc::new(symbol);
        loader.symbols.insert(symbol.handle().handle, Arc::clone(&symbol));
        self.symbols.entry(agent).or_default().insert(symbol.name().to_owned(), symbol);
    }
}

impl Executable {
    pub(super) fn new(handle: u64, profile: Profile, rounding: FloatRoundingMode) -> Self {
        Self { handle, profile, rounding, state: Mutex::new(Some(ExecutableContents::default())) }
    }

    pub(crate) fn handle(&self) -> abi::Executable {
        abi::Executable { handle: self.handle }
    }

    fn state(&self) -> Result<MappedMutexGuard<'_, ExecutableContents>, Status> {
        // Another thread may destroy it after this one has looked it up.
        MutexGuard::try_map(self.state.lock(), Option::as_mut).map_err(|_| Status::ERROR_INVALID_EXECUTABLE)
    }

    fn unfrozen(&self) -> Result<MappedMutexGuard<'_, ExecutableContents>, Status> {
        let state = self.state()?;
        if state.frozen { Err(Status::ERROR_FROZEN_EXECUTABLE) } else { Ok(state) }
    }

    /// Attribute; `None` if unknown.
    pub(crate) fn info(&self, attribute: ExecutableInfo) -> Result<Option<AttributeValue>, Status> {
        let frozen = self.state()?.frozen;
        Ok(Some(match attribute {
            ExecutableInfo::PROFILE => self.profile.into(),
            ExecutableInfo::STATE if frozen => ExecutableState::FROZEN.0.into(),
            ExecutableInfo::STATE => ExecutableState::UNFROZEN.0.into(),
            ExecutableInfo::DEFAULT_FLOAT_ROUNDING_MODE => self.rounding.into(),
            _ => return Ok(None),
        }))
    }

    /// Defines a variable for code that is loaded later: on an agent, or for the program if the
    /// agent is null.
    pub(crate) fn define(
        &self,
        loader: &Loader,
        agent: Agent,
        name: &str,
        segment: VariableSegment,
        address: u64,
    ) -> Result<(), Status> {
        let mut state = self.unfrozen()?;
        if state.find(agent, name).is_some() {
            return Err(Status::ERROR_VARIABLE_ALREADY_DEFINED);
        }
        state.add(loader, agent, Symbol::defined(name, agent, segment, address));
        Ok(())
    }

    /// Loads a code object on a GPU. Its undefined symbols must have been defined before, by the
    /// client or by loaded code.
    pub(crate) fn load(
        &self,
        loader: &Loader,
        gpu: &Arc<Gpu>,
        reader: &Arc<Reader>,
    ) -> Result<Arc<LoadedCodeObject>, Status> {
        let mut state = self.unfrozen()?;
        let object = CodeObject::parse(reader.bytes()).map_err(|_| Status::ERROR_INVALID_CODE_OBJECT)?;
        let target: TargetId = gpu.chip.name().parse().map_err(|_| Status::ERROR_INVALID_ISA)?;
        object.runs_on(&target).map_err(|_| Status::ERROR_INCOMPATIBLE_ARGUMENTS)?;
        let agent = gpu.agent;
        if exported_objects(&object).any(|symbol| state.find(agent, symbol.name).is_some()) {
            return Err(Status::ERROR_VARIABLE_ALREADY_DEFINED);
        }
        let resolve = |name: &str| state.resolve(agent, name);
        let loaded = Arc::new(LoadedCodeObject::new(self.handle(), gpu, reader, &object, resolve)?);
        for symbol in Symbol::from_code_object(&object, agent, loaded.base()) {
            state.add(loader, agent, symbol);
        }
        state.loaded.push(Arc::clone(&loaded));
        loader.loaded.insert(loaded.handle().handle, Arc::clone(&loaded));
        loaded.register_kernels();
        Ok(loaded)
    }

    /// Makes later definitions and loads fail.
    pub(crate) fn freeze(&self) -> Result<(), Status> {
        self.unfrozen()?.frozen = true;
        Ok(())
    }

    /// Symbol of a kernel descriptor (`name.kd`) or of a variable.
    pub(crate) fn symbol(&self, agent: Agent, name: &str) -> Result<Arc<Symbol>, Status> {
        self.state()?.find(agent, name).cloned().ok_or(Status::ERROR_INVALID_SYMBOL_NAME)
    }

    /// All symbols with their agents, program symbols first, oldest first.
    pub(crate) fn symbols(&self) -> Result<Vec<(Agent, Arc<Symbol>)>, Status> {
        let state = self.state()?;
        let all = state.symbols.iter().flat_map(|(agent, own)| own.values().map(|symbol| (*agent, Arc::clone(symbol))));
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(agent, symbol)| (!agent.is_null(), symbol.handle().handle));
        Ok(all)
    }

    /// Loaded code objects, oldest first.
    pub(crate) fn loaded(&self) -> Result<Vec<Arc<LoadedCodeObject>>, Status> {
        Ok(self.state()?.loaded.clone())
    }

    /// Unloads all code objects. Running kernels keep the memory that they use until they finish.
    pub(super) fn unload(&self, loader: &Loader) {
        let Some(state) = self.state.lock().take() else { return };
        let mut symbols = loader.symbols.live.write();
        for symbol in state.symbols.into_values().flat_map(HashMap::into_values) {
            symbols.remove(&symbol.handle().handle);
        }
        drop(symbols);
        for loaded in state.loaded {
            loader.loaded.remove(loaded.handle().handle);
            loaded.unregister_kernels();
        }
    }
}
