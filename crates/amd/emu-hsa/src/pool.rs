//! Memory pools.

use roci_hsa::abi::{Agent, MemoryPool, MemoryPoolGlobalFlag};

use crate::agent::CPU;
use crate::mapping::PAGE;

/// Allocation granule and alignment of all pools in bytes.
pub(crate) const GRANULE: usize = PAGE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolKind {
    /// Fine-grained: writes are visible to other agents while a kernel runs.
    Fine,
    /// Fine-grained, for kernel arguments.
    Kernarg,
    /// Coarse-grained: owned by one agent at a time.
    Coarse,
    /// Group segment (LDS), from which the host cannot allocate.
    Group,
}

/// A memory pool of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    agent: Agent,
    kind: PoolKind,
}

impl Pool {
    const KINDS: [PoolKind; 4] = [PoolKind::Fine, PoolKind::Kernarg, PoolKind::Coarse, PoolKind::Group];

    pub(crate) const fn host_fine_grained() -> Self {
        Self { agent: CPU, kind: PoolKind::Fine }
    }

    /// Pools of an agent, in the order in which AMD's runtime lists them.
    pub(crate) fn of_agent(agent: Agent) -> Vec<Self> {
        let kinds = if agent == CPU {
            [PoolKind::Fine, PoolKind::Kernarg, PoolKind::Coarse]
        } else {
            [PoolKind::Coarse, PoolKind::Fine, PoolKind::Group]
        };
        kinds.map(|kind| Self { agent, kind }).to_vec()
    }

    /// Decodes a handle. Whether its agent exists is not checked.
    pub(crate) fn from_handle(handle: MemoryPool) -> Option<Self> {
        let agent = Agent { handle: handle.handle >> 8 };
        let kind = *Self::KINDS.get((handle.handle & 0xff) as usize)?;
        let pool = Self { agent, kind };
        Self::of_agent(agent).contains(&pool).then_some(pool)
    }

    pub(crate) fn handle(self) -> MemoryPool {
        MemoryPool { handle: self.agent.handle << 8 | self.kind as u64 }
    }

    pub(crate) fn agent(self) -> Agent {
        self.agent
    }

    pub(crate) fn kind(self) -> PoolKind {
        self.kind
    }

    pub(crate) fn flags(self) -> MemoryPoolGlobalFlag {
        match self.kind {
            PoolKind::Fine if self.agent == CPU => MemoryPoolGlobalFlag::FINE_GRAINED,
            PoolKind::Fine => MemoryPoolGlobalFlag::EXTENDED_SCOPE_FINE_GRAINED,
            PoolKind::Kernarg => MemoryPoolGlobalFlag::KERNARG_INIT | MemoryPoolGlobalFlag::FINE_GRAINED,
            PoolKind::Coarse => MemoryPoolGlobalFlag::COARSE_GRAINED,
            PoolKind::Group => MemoryPoolGlobalFlag::EMPTY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pool_handles_round_trip() {
        for agent in [CPU, Agent { handle: 2 }, Agent { handle: 77 }] {
            for pool in Pool::of_agent(agent) {
                assert_eq!(Pool::from_handle(pool.handle()), Some(pool));
            }
        }
        assert_eq!(Pool::from_handle(MemoryPool { handle: CPU.handle << 8 | PoolKind::Group as u64 }), None);
        assert_eq!(Pool::from_handle(MemoryPool { handle: 0x2ff }), None);
    }
}
