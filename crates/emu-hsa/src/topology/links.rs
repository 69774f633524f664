//! Who may use whose memory, and what lies between.

use roci_hsa::abi::{Agent, AgentMemoryPoolInfo, LinkInfo, LinkInfoType, MemoryPoolAccess};

use super::Answer;
use crate::pool::{Pool, PoolKind};
use crate::runtime::CPU;

/// The answer of an agent and a pool together; none where there is no such attribute.
pub(crate) fn between(agent: Agent, pool: Pool, attribute: AgentMemoryPoolInfo) -> Option<Answer> {
    let access = access(agent, pool);
    let link = (agent != pool.agent() && access != MemoryPoolAccess::NEVER_ALLOWED).then(|| link(agent, pool));
    Some(match attribute {
        AgentMemoryPoolInfo::ACCESS => access.into(),
        AgentMemoryPoolInfo::NUM_LINK_HOPS => u32::from(link.is_some()).into(),
        // As many as there are links.
        AgentMemoryPoolInfo::LINK_INFO => link.map_or(Answer::zeros(0), Answer::from),
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

/// PCI Express: as the kernel driver describes it for an x16 slot of the fourth generation. Between two GPUs the way leads
/// over the host, which is twice as far.
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
    fn memory_of_others_must_be_granted() {
        let [first, second] = [Agent { handle: 2 }, Agent { handle: 3 }];
        let ask = |agent, pool, attribute| between(agent, pool, attribute).expect("an attribute");
        for agent in [CPU, first, second] {
            for pool in Pool::of_agent(first) {
                let want = match (agent == first, pool.kind()) {
                    (true, _) => (MemoryPoolAccess::ALLOWED_BY_DEFAULT, 0),
                    (false, PoolKind::Group) => (MemoryPoolAccess::NEVER_ALLOWED, 0),
                    (false, _) => (MemoryPoolAccess::DISALLOWED_BY_DEFAULT, 1),
                };
                assert_eq!(ask(agent, pool, AgentMemoryPoolInfo::ACCESS), want.0.into());
                assert_eq!(ask(agent, pool, AgentMemoryPoolInfo::NUM_LINK_HOPS), (want.1 as u32).into());
                let link = ask(agent, pool, AgentMemoryPoolInfo::LINK_INFO);
                assert_eq!(link.bytes().len(), want.1 * size_of::<LinkInfo>());
            }
        }
        assert_eq!(between(CPU, Pool::of_agent(CPU)[0], AgentMemoryPoolInfo(9)), None);
    }
}
