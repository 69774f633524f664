//! Memory pools.

use roci_hsa::abi::{Agent, MemoryPool, MemoryPoolGlobalFlag};

use crate::runtime::CPU;

/// What memory of a pool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolKind {
    /// Seen by others while a kernel runs.
    Fine,
    /// The same, for the arguments of kernels.
    Kernarg,
    /// One agent's at a time.
    Coarse,
    /// A workgroup's: nothing can be allocated.
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

    /// The host's memory that belongs to all.
    pub(crate) const fn shared() -> Self {
        Self { agent: CPU, kind: PoolKind::Fine }
    }

    /// The pools of an agent, in the order of a real one.
    pub(crate) fn of_agent(agent: Agent) -> Vec<Self> {
        let kinds = if agent == CPU {
            [PoolKind::Fine, PoolKind::Kernarg, PoolKind::Coarse]
        } else {
            [PoolKind::Coarse, PoolKind::Fine, PoolKind::Group]
        };
        kinds.map(|kind| Self { agent, kind }).to_vec()
    }

    /// The pool of a handle, if there may be one.
    pub(crate) fn of(handle: MemoryPool) -> Option<Self> {
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

    /// What it promises of writes.
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
    fn handles_of_pools_come_back() {
        for agent in [CPU, Agent { handle: 2 }, Agent { handle: 77 }] {
            for pool in Pool::of_agent(agent) {
                assert_eq!(Pool::of(pool.handle()), Some(pool));
            }
        }
        assert_eq!(Pool::of(MemoryPool { handle: CPU.handle << 8 | PoolKind::Group as u64 }), None);
        assert_eq!(Pool::of(MemoryPool { handle: 0x2ff }), None);
    }
}
