//! Executables: code objects and definitions that belong together.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use roci_codeobj::{CodeObject, TargetId};
use roci_hsa::abi::{self, Agent, Status};

use super::loaded::Loaded;
use super::symbol::{Symbol, names};
use super::{Loader, Reader};
use crate::gpu::Gpu;

/// Code objects on some GPUs, and variables that the client defines for them.
pub(crate) struct Executable {
    handle: u64,
    /// Nothing once it is destroyed.
    state: Mutex<Option<State>>,
}

#[derive(Default)]
struct State {
    frozen: bool,
    /// By agent, then by name.
    symbols: HashMap<Agent, HashMap<String, Arc<Symbol>>>,
    loaded: Vec<Arc<Loaded>>,
}

impl State {
    fn find(&self, agent: Agent, name: &str) -> Option<&Arc<Symbol>> {
        self.symbols.get(&agent)?.get(name)
    }

    fn add(&mut self, loader: &Loader, agent: Agent, symbol: Symbol) {
        let symbol = Arc::new(symbol);
        loader.symbols.insert(symbol.handle().handle, Arc::clone(&symbol));
        self.symbols.entry(agent).or_default().insert(symbol.name().to_owned(), symbol);
    }
}

impl Executable {
    pub(super) fn new(handle: u64) -> Self {
        Self { handle, state: Mutex::new(Some(State::default())) }
    }

    /// Its handle.
    pub(crate) fn handle(&self) -> abi::Executable {
        abi::Executable { handle: self.handle }
    }

    fn state(&self) -> Result<MappedMutexGuard<'_, State>, Status> {
        // Whoever found it just before it was destroyed comes too late.
        MutexGuard::try_map(self.state.lock(), Option::as_mut).map_err(|_| Status::ERROR_INVALID_EXECUTABLE)
    }

    fn unfrozen(&self) -> Result<MappedMutexGuard<'_, State>, Status> {
        let state = self.state()?;
        if state.frozen { Err(Status::ERROR_FROZEN_EXECUTABLE) } else { Ok(state) }
    }

    /// Defines a variable for code that is loaded later.
    pub(crate) fn define(&self, loader: &Loader, agent: Agent, name: &str, address: u64) -> Result<(), Status> {
        let mut state = self.unfrozen()?;
        if state.find(agent, name).is_some() {
            return Err(Status::ERROR_VARIABLE_ALREADY_DEFINED);
        }
        state.add(loader, agent, Symbol::defined(name, agent, address));
        Ok(())
    }

    /// Loads a code object. What it needs must have been defined, by the client or by code that was loaded before.
    pub(crate) fn load(&self, loader: &Loader, gpu: &Arc<Gpu>, reader: &Arc<Reader>) -> Result<Arc<Loaded>, Status> {
        let mut state = self.unfrozen()?;
        let object = CodeObject::parse(reader.bytes()).map_err(|_| Status::ERROR_INVALID_CODE_OBJECT)?;
        let target: TargetId = gpu.chip.name().parse().map_err(|_| Status::ERROR_INVALID_ISA)?;
        object.runs_on(&target).map_err(|_| Status::ERROR_INCOMPATIBLE_ARGUMENTS)?;
        let agent = gpu.agent;
        if names(&object).any(|symbol| state.find(agent, symbol.name).is_some()) {
            return Err(Status::ERROR_VARIABLE_ALREADY_DEFINED);
        }
        let resolve =
            |name: &str| state.find(agent, name).map(|symbol| symbol.address()).filter(|address| *address != 0);
        let loaded = Arc::new(Loaded::new(self.handle(), gpu, reader, &object, resolve)?);
        for symbol in Symbol::of(&object, agent, loaded.base()) {
            state.add(loader, agent, symbol);
        }
        state.loaded.push(Arc::clone(&loaded));
        loader.loaded.insert(loaded.handle().handle, Arc::clone(&loaded));
        loaded.begin();
        Ok(loaded)
    }

    /// Nothing is added from now on.
    pub(crate) fn freeze(&self) -> Result<(), Status> {
        self.unfrozen()?.frozen = true;
        Ok(())
    }

    /// A symbol by its name: that of a kernel's descriptor (`name.kd`), or of a variable.
    pub(crate) fn symbol(&self, agent: Agent, name: &str) -> Result<Arc<Symbol>, Status> {
        self.state()?.find(agent, name).cloned().ok_or(Status::ERROR_INVALID_SYMBOL_NAME)
    }

    /// Its code objects, in the order in which they were loaded.
    pub(crate) fn loaded(&self) -> Result<Vec<Arc<Loaded>>, Status> {
        Ok(self.state()?.loaded.clone())
    }

    /// Unloads everything. What a running kernel uses lives until it ends.
    pub(super) fn end(&self, loader: &Loader) {
        let Some(state) = self.state.lock().take() else { return };
        let mut symbols = loader.symbols.live.write();
        for symbol in state.symbols.into_values().flat_map(HashMap::into_values) {
            symbols.remove(&symbol.handle().handle);
        }
        drop(symbols);
        for loaded in state.loaded {
            loader.loaded.remove(loaded.handle().handle);
            loaded.end();
        }
    }
}
