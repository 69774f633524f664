//! Barriers of a whole grid.

use super::{Exit, Machine};
use crate::program::step::GridSyncStep;
use crate::row::LANES;
use crate::wave::scalar;

impl Machine<'_> {
    /// Sets the count of a barrier, or takes part in one. A wave that must wait comes here again after others had their turn.
    pub(super) fn grid_sync(&mut self, step: &GridSyncStep) -> Option<Exit> {
        let exec = self.wave.exec64();
        // Without a lane there is no one to take part.
        let lane = (exec != 0).then(|| exec.trailing_zeros() as usize)?;
        let row = usize::from(step.data) + lane / LANES * self.wave.registers;
        let others = self.wave.bank[row].get(lane % LANES);
        let resource = u32::from(step.resource) + (self.wave.scalars[usize::from(scalar::M0)] >> 16 & 0x3f);
        let sync = &self.launch.grid_sync;
        if !step.barrier {
            sync.set(resource, others);
            return None;
        }
        self.wave.waiting = match self.wave.waiting {
            None => sync.arrive(resource, others),
            Some(waiting) if sync.passed(resource, waiting) => None,
            still => still,
        };
        self.wave.waiting?;
        self.wave.next -= 1;
        self.end_run();
        Some(Exit::Turn)
    }
}
