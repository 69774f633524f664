//! Prepared commands: a plan, and its command buffers for each way in which slots were bound of late.

use std::sync::Arc;

use parking_lot::Mutex;
use roci_hal::Error;
use roci_hal::command::Recording;
use roci_hal::driver::{BoundRange, CommandsBackend};

use crate::encode::Encoded;
use crate::memory::memory;
use crate::plan::{FIRST_WEIGHT, Plan, WHOLE};
use crate::shared::Shared;

/// Ways of binding that are remembered: enough for a few buffers that take turns.
const REMEMBERED: usize = 8;

/// Prepared commands.
pub(crate) struct Program {
    shared: Arc<Shared>,
    /// Keeps buffers and executables alive.
    recording: Arc<Recording>,
    state: Mutex<State>,
}

impl CommandsBackend for Program {}

struct State {
    plan: Arc<Plan>,
    /// Whether it was cut finer than at first.
    is_finer: bool,
    /// The latest last.
    known: Vec<(Vec<Key>, Arc<Encoded>)>,
}

/// Which buffer, and where in it. The number of a buffer stays its own when it is gone, so this keeps no memory alive.
type Key = (u64, u64);

impl Program {
    pub(crate) fn new(shared: &Arc<Shared>, recording: &Arc<Recording>) -> Result<Self, Error> {
        let plan = Arc::new(Plan::new(shared, recording, FIRST_WEIGHT)?);
        let mut known = Vec::new();
        if recording.slots == 0 && !plan.is_empty() {
            known.push((Vec::new(), Arc::new(Encoded::new(shared, &plan, &[], false)?)));
        }
        let state = Mutex::new(State { plan, is_finer: false, known });
        Ok(Self { shared: Arc::clone(shared), recording: Arc::clone(recording), state })
    }

    /// The command buffers for these slots; `None` where there is nothing to do. Those that tell when commands ran are
    /// made for one run.
    pub(crate) fn encoded(&self, slots: &[BoundRange], timed: bool) -> Result<Option<Arc<Encoded>>, Error> {
        let key = |slot: &BoundRange| Ok((memory(slot)?.id, slot.offset));
        let keys = slots.iter().map(key).collect::<Result<Vec<Key>, Error>>()?;
        let mut state = self.state.lock();
        if state.plan.is_empty() {
            return Ok(None);
        }
        // Once cut finer it stays so.
        let whole = (!state.is_finer && state.plan.is_quick()).then_some(WHOLE);
        let finer = state.plan.finer();
        state.is_finer |= finer.is_some();
        if let Some(weight) = finer.or(whole) {
            let mut plan = Plan::new(&self.shared, &self.recording, weight)?;
            plan.ran = true;
            state.plan = Arc::new(plan);
            state.known.clear();
        }
        if timed {
            return Encoded::new(&self.shared, &state.plan, slots, true).map(Arc::new).map(Some);
        }
        let found = state.known.iter().position(|(known, _)| *known == keys);
        let entry = match found {
            Some(index) => state.known.remove(index),
            None => (keys, Arc::new(Encoded::new(&self.shared, &state.plan, slots, false)?)),
        };
        let encoded = Arc::clone(&entry.1);
        if state.known.len() == REMEMBERED {
            state.known.remove(0);
        }
        state.known.push(entry);
        Ok(Some(encoded))
    }
}
