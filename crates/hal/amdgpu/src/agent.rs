//! Properties of an HSA agent: its memory pools, and whether it is an APU.

use roci_hal::Error;
use roci_hsa::abi::{AgentInfo, MemoryPoolGlobalFlag, MemoryProperty, Segment};
use roci_hsa::runtime::{Agent, Pool};

use crate::error::failed;

/// The first allocatable global pool of an agent with a flag.
pub(crate) fn pool(agent: &Agent, flag: MemoryPoolGlobalFlag) -> Result<Option<Pool>, Error> {
    let fits = |pool: &Pool| -> Result<bool, roci_hsa::Error> {
        Ok(pool.segment()? == Segment::GLOBAL && pool.flags()?.contains(flag) && pool.is_allocatable()?)
    };
    for pool in agent.pools().map_err(failed)? {
        if fits(&pool).map_err(failed)? {
            return Ok(Some(pool));
        }
    }
    Ok(None)
}

/// Whether the GPU is an APU, which shares the host's memory.
pub(crate) fn is_apu(agent: &Agent) -> bool {
    // Older runtimes do not support the attribute. The constant is a bit index.
    let properties = agent.get::<u64>(AgentInfo::MEMORY_PROPERTIES).unwrap_or(0);
    properties >> MemoryProperty::AGENT_IS_APU.0 & 1 != 0
}
