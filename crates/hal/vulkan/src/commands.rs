//! A prepared recording: a plan, and cached command buffers for recent slot bindings.

use std::sync::Arc;

use parking_lot::Mutex;
use roci_hal::Error;
use roci_hal::command::Recording;
use roci_hal::driver::{BoundRange, CommandsBackend};

use crate::buffer::buffer_of;
use crate::device_state::DeviceState;
use crate::encode::EncodedCommands;
use crate::plan::{CommandPlan, INITIAL_WEIGHT, UNLIMITED_WEIGHT};

/// Maximum number of slot bindings with cached command buffers.
const MAX_CACHED_BINDINGS: usize = 8;

/// A recording with its plan and cached command buffers.
pub(crate) struct Commands {
    shared: Arc<DeviceState>,
    /// Keeps buffers and executables alive.
    recording: Arc<Recording>,
    state: Mutex<CommandsState>,
}

impl CommandsBackend for Commands {}

struct CommandsState {
    plan: Arc<CommandPlan>,
    /// Whether it was split into smaller chunks than initially.
    is_finer: bool,
    /// Most recently used last.
    cached: Vec<(Vec<SlotKey>, Arc<EncodedCommands>)>,
}

/// Buffer id and offset. Ids are never reused, so the key does not keep the buffer alive.
type SlotKey = (u64, u64);

impl Commands {
    /// Plans a recording ([`CommandPlan::new`]), and encodes it if it has no slots
    /// ([`EncodedCommands::new`]).
    pub(crate) fn new(shared: &Arc<DeviceState>, recording: &Arc<Recording>) -> Result<Self, Error> {
        let plan = Arc::new(CommandPlan::new(shared, recording, INITIAL_WEIGHT)?);
        let mut cached = Vec::new();
        if recording.slots == 0 && !plan.is_empty() {
            cached.push((Vec::new(), Arc::new(EncodedCommands::new(shared, &plan, &[], false)?)));
        }
        let state = Mutex::new(CommandsState { plan, is_finer: false, cached });
        Ok(Self { shared: Arc::clone(shared), recording: Arc::clone(recording), state })
    }

    /// The command buffers for these slot bindings; `None` if the recording does nothing. With
    /// `timed` they are encoded for a single run.
    pub(crate) fn encoded(&self, slots: &[BoundRange], timed: bool) -> Result<Option<Arc<EncodedCommands>>, Error> {
        let key = |slot: &BoundRange| Ok((buffer_of(slot)?.id, slot.offset));
        let keys = slots.iter().map(key).collect::<Result<Vec<SlotKey>, Error>>()?;
        let mut state = self.state.lock();
        if state.plan.is_empty() {
            return Ok(None);
        }
        // Once split further, it is not merged again.
        let whole = (!state.is_finer && state.plan.is_short()).then_some(UNLIMITED_WEIGHT);
        let finer = state.plan.refined_weight();
        state.is_finer |= finer.is_some();
        if let Some(weight) = finer.or(whole) {
            let mut plan = CommandPlan::new(&self.shared, &self.recording, weight)?;
            plan.ran = true;
            state.plan = Arc::new(plan);
            state.cached.clear();
        }
        if timed {
            return EncodedCommands::new(&self.shared, &state.plan, slots, true).map(Arc::new).map(Some);
        }
        let found = state.cached.iter().position(|(cached, _)| *cached == keys);
        let entry = match found {
            Some(index) => state.cached.remove(index),
            None => (keys, Arc::new(EncodedCommands::new(&self.shared, &state.plan, slots, false)?)),
        };
        let encoded = Arc::clone(&entry.1);
        if state.cached.len() == MAX_CACHED_BINDINGS {
            state.cached.remove(0);
        }
        state.cached.push(entry);
        Ok(Some(encoded))
    }
}
