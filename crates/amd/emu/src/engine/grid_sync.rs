//! Grid-wide barriers.

use super::{Machine, StopReason};
use crate::program::micro_op::GridSyncOp;
use crate::row::LANES;
use crate::wave::scalar;

impl Machine<'_> {
    /// Sets the count of a barrier, or arrives at one. A wave that must wait executes the micro-op
    /// again in its next time slice.
    pub(super) fn grid_sync(&mut self, uop: &GridSyncOp) -> Option<StopReason> {
        let exec = self.wave.exec64();
        // Without active lanes the wave does not take part.
        let lane = (exec != 0).then(|| exec.trailing_zeros() as usize)?;
        let row = usize::from(uop.data) + lane / LANES * self.wave.registers;
        let others = self.wave.bank[row].get(lane % LANES);
        let resource = u32::from(uop.resource) + (self.wave.scalars[usize::from(scalar::M0)] >> 16 & 0x3f);
        let sync = &self.launch.grid_sync;
        if !uop.barrier {
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
        Some(StopReason::TimeSlice)
    }
}
