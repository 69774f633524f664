//! Handles of agents: the CPU, then the GPUs.

use roci_hsa::abi::Agent;

/// The only CPU.
pub(crate) const CPU: Agent = Agent { handle: 1 };

pub(crate) fn of_gpu(index: u32) -> Agent {
    Agent { handle: CPU.handle + 1 + u64::from(index) }
}
