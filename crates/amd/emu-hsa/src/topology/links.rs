//! Access of agents to pools, and the links between them.

use roci_hsa::abi::{Agent, AgentMemoryPoolInfo, LinkInfo, LinkInfoType, MemoryPoolAccess};

use super::AttributeValue;
use crate::agent::CPU;
use crate::pool::{Pool, PoolKind};

/// Attribute of an agent and a pool; `None` for unknown attributes.
pub(crate) fn agent_pool_info(agent: Agent, pool: Pool, attribute: AgentMemoryPoolInfo) -> Option<AttributeValue> {
    let access = access(agent, pool);
    let link = (agent != pool.agent() && access != MemoryPoolAccess::NEVER_ALLOWED).then(|| link(agent, pool));
    Some(match attribute {
        AgentMemoryPoolInfo::ACCESS => access.into(),
        AgentMemoryPoolInfo::NUM_LINK_HOPS => u32::from(link.is_some()).into(),
        // An array with one element per hop.
        AgentMemoryPoolInfo::LINK_INFO => link.map_or(AttributeValue::zeros(0), AttributeValue::from),
        _ => return None,
    })
}

fn access(agent: Agent, pool: Pool) -> MemoryPoolAccess {
    if agent == pool.agent() {
        MemoryPoolAccess::ALLOWED_BY_DEFAULT
    } else if pool.kind() == PoolKind::Group {
        MemoryPoolAccess::NEVER_ALLOWED
    } else {
        MemoryPoolAccess::DISALLOWED_BY_DEFAULT
    }
}

/// PCI Express 4.0 x16 with the values of the kernel driver. The path between two GPUs goes through
/// the host, so its NUMA distance is twice as large.
fn link(agent: Agent, pool: Pool) -> LinkInfo {
    let peers = agent != CPU && pool.agent() != CPU;
    LinkInfo {
        min_latency: 0,
        max_latency: 0,
        min_bandwidth: 312,
        max_bandwidth: 32_000,
        atomic_support_32bit: 1,
        atomic_support_64bit: 1,
        coherent_support: 1,
        link_type: LinkInfoType::PCIE,
        numa_distance: if peers { 40 } else { 20 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_to_other_agents_pools_must_be_granted() {
        let [first, second] = [Agent { handle: 2 }, Agent { handle: 3 }];
        let info = |agent, pool, attribute| agent_pool_info(agent, pool, attribute).expect("an attribute");
        for agent in [CPU, first, second] {
            for pool in Pool::of_agent(first) {
                let expected = match (agent == first, pool.kind()) {
                    (true, _) => (MemoryPoolAccess::ALLOWED_BY_DEFAULT, 0),
                    (false, PoolKind::Group) => (MemoryPoolAccess::NEVER_ALLOWED, 0),
                    (false, _) => (MemoryPoolAccess::DISALLOWED_BY_DEFAULT, 1),
                };
                assert_eq!(info(agent, pool, AgentMemoryPoolInfo::ACCESS), expected.0.into());
                assert_eq!(info(agent, pool, AgentMemoryPoolInfo::NUM_LINK_HOPS), (expected.1 as u32).into());
                let link = info(agent, pool, AgentMemoryPoolInfo::LINK_INFO);
                assert_eq!(link.bytes().len(), expected.1 * size_of::<LinkInfo>());
            }
        }
        assert_eq!(agent_pool_info(CPU, Pool::of_agent(CPU)[0], AgentMemoryPoolInfo(9)), None);
    }
}
