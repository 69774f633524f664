//! Signal groups: a client waits until any signal of a group meets its condition.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use roci_hsa::abi::{Signal, SignalGroup, Status};

use crate::handle::new_handle;

/// All signal groups by handle.
#[derive(Default)]
pub(crate) struct SignalGroups {
    groups: RwLock<BTreeMap<u64, Arc<[Signal]>>>,
}

impl SignalGroups {
    pub(crate) fn create(&self, signals: &[Signal]) -> SignalGroup {
        let handle = new_handle();
        self.groups.write().insert(handle, signals.into());
        SignalGroup { handle }
    }

    /// Signals of a group, in the order in which `create` received them.
    pub(crate) fn get(&self, group: SignalGroup) -> Result<Arc<[Signal]>, Status> {
        self.groups.read().get(&group.handle).cloned().ok_or(Status::ERROR_INVALID_SIGNAL_GROUP)
    }

    pub(crate) fn destroy(&self, group: SignalGroup) -> Result<(), Status> {
        self.groups.write().remove(&group.handle).map(drop).ok_or(Status::ERROR_INVALID_SIGNAL_GROUP)
    }
}
