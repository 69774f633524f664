//! Agents, and what belongs to them by name: regions, caches, instruction sets.

#![expect(unsafe_code, reason = "calls the library")]

use std::ops::ControlFlow;

use super::attribute::{self, Value};
use super::{Error, Pool, Runtime, check, iterate};
use crate::abi::{self, AgentInfo, CacheInfo, DeviceType, Dim3, HdpFlush, IsaInfo, RegionInfo};

/// A device or a CPU.
#[derive(Clone, Debug)]
pub struct Agent {
    runtime: Runtime,
    handle: abi::Agent,
}

/// Agents are equal when they are the same one.
impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        self.handle == other.handle
    }
}

impl Eq for Agent {}

/// Memory of an agent, as the core API lists it.
#[derive(Clone, Debug)]
pub struct Region {
    runtime: Runtime,
    handle: abi::Region,
}

/// A cache of an agent.
#[derive(Clone, Debug)]
pub struct Cache {
    runtime: Runtime,
    handle: abi::Cache,
}

/// An instruction set architecture of an agent.
#[derive(Clone, Debug)]
pub struct Isa {
    runtime: Runtime,
    handle: abi::Isa,
}

/// Declares a list of an agent's own things and a visit to them.
macro_rules! lists {
    ($($list:ident, $visit:ident: $item:ident by $function:ident, $what:literal;)*) => {$(
        #[doc = concat!("All ", $what, ", in the order in which the runtime lists them.")]
        pub fn $list(&self) -> Result<Vec<$item>, Error> {
            let mut items = Vec::new();
            self.$visit(|item| {
                items.push(item);
                ControlFlow::Continue(())
            })?;
            Ok(items)
        }

        #[doc = concat!("Visits ", $what, " until `visit` breaks. A panic goes on here, after the library's return.")]
        pub fn $visit(&self, mut visit: impl FnMut($item) -> ControlFlow<()>) -> Result<(), Error> {
            iterate::visit(
                stringify!($function),
                |handle| visit($item::new(&self.runtime, handle)),
                // SAFETY: the callback takes what this function gives it.
                |callback, data| unsafe { (self.runtime.api().$function)(self.handle, Some(callback), data) },
            )
        }
    )*};
}

impl Agent {
    pub(super) fn new(runtime: &Runtime, handle: abi::Agent) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Its name in the C API.
    pub fn handle(&self) -> abi::Agent {
        self.handle
    }

    /// The runtime that knows it.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// An attribute, read as `V`; [`AgentInfo`] says of which type each is.
    pub fn get<V: Value>(&self, attribute: AgentInfo) -> Result<V, Error> {
        attribute::get("hsa_agent_get_info", |value| {
            // SAFETY: the room is larger than every answer.
            unsafe { (self.runtime.api().hsa_agent_get_info)(self.handle, attribute, value) }
        })
    }

    /// The processor's name, such as `gfx1010`.
    pub fn name(&self) -> Result<String, Error> {
        self.get(AgentInfo::NAME)
    }

    /// Who made it.
    pub fn vendor(&self) -> Result<String, Error> {
        self.get(AgentInfo::VENDOR_NAME)
    }

    /// The name on the box.
    pub fn product_name(&self) -> Result<String, Error> {
        self.get(AgentInfo::PRODUCT_NAME)
    }

    /// `GPU-` and 16 hexadecimal digits, or `GPU-XX` for a device without an id of its own.
    pub fn uuid(&self) -> Result<String, Error> {
        self.get(AgentInfo::UUID)
    }

    /// CPU, GPU or other.
    pub fn device_type(&self) -> Result<DeviceType, Error> {
        self.get(AgentInfo::DEVICE)
    }

    /// Its node in the topology.
    pub fn node(&self) -> Result<u32, Error> {
        self.get(AgentInfo::NODE)
    }

    /// The PCI device id.
    pub fn chip_id(&self) -> Result<u32, Error> {
        self.get(AgentInfo::CHIP_ID)
    }

    /// PCI domain; then bus, device and function in one number.
    pub fn pci_address(&self) -> Result<(u32, u32), Error> {
        Ok((self.get(AgentInfo::DOMAIN)?, self.get(AgentInfo::BDFID)?))
    }

    /// Compute units.
    pub fn compute_units(&self) -> Result<u32, Error> {
        self.get(AgentInfo::COMPUTE_UNIT_COUNT)
    }

    /// Lanes in a wave.
    pub fn wavefront_size(&self) -> Result<u32, Error> {
        self.get(AgentInfo::WAVEFRONT_SIZE)
    }

    /// The most work-items of a workgroup.
    pub fn workgroup_max_size(&self) -> Result<u32, Error> {
        self.get(AgentInfo::WORKGROUP_MAX_SIZE)
    }

    /// The most work-items of a grid in each dimension.
    pub fn grid_max_dim(&self) -> Result<Dim3, Error> {
        self.get(AgentInfo::GRID_MAX_DIM)
    }

    /// The fewest and the most packets of a queue.
    pub fn queue_sizes(&self) -> Result<(u32, u32), Error> {
        Ok((self.get(AgentInfo::QUEUE_MIN_SIZE)?, self.get(AgentInfo::QUEUE_MAX_SIZE)?))
    }

    /// The CPU nearest to it.
    pub fn nearest_cpu(&self) -> Result<Agent, Error> {
        Ok(Agent::new(&self.runtime, self.get(AgentInfo::NEAREST_CPU)?))
    }

    /// Registers that flush host writes to its memory.
    pub fn hdp_flush(&self) -> Result<HdpFlush, Error> {
        self.get(AgentInfo::HDP_FLUSH)
    }

    /// When the dispatch that completed `signal` ran, on a queue with profiling.
    pub fn dispatch_time(&self, signal: &super::Signal) -> Result<abi::ProfilingDispatchTime, Error> {
        let mut time = abi::ProfilingDispatchTime::default();
        let ask = self.runtime.api().hsa_amd_profiling_get_dispatch_time;
        // SAFETY: agent and signal are alive, the answer has its place.
        let status = unsafe { ask(self.handle, signal.handle(), &raw mut time) };
        check("hsa_amd_profiling_get_dispatch_time", status)?;
        Ok(time)
    }

    lists! {
        pools, for_each_pool: Pool by hsa_amd_agent_iterate_memory_pools, "memory pools";
        regions, for_each_region: Region by hsa_agent_iterate_regions, "regions";
        caches, for_each_cache: Cache by hsa_agent_iterate_caches, "caches";
        isas, for_each_isa: Isa by hsa_agent_iterate_isas, "instruction set architectures";
    }
}

impl Region {
    fn new(runtime: &Runtime, handle: abi::Region) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Its name in the C API.
    pub fn handle(&self) -> abi::Region {
        self.handle
    }

    /// An attribute, read as `V`; [`RegionInfo`] says of which type each is.
    pub fn get<V: Value>(&self, attribute: RegionInfo) -> Result<V, Error> {
        attribute::get("hsa_region_get_info", |value| {
            // SAFETY: the room is larger than every answer.
            unsafe { (self.runtime.api().hsa_region_get_info)(self.handle, attribute, value) }
        })
    }
}

impl Cache {
    fn new(runtime: &Runtime, handle: abi::Cache) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Its level, from 1.
    pub fn level(&self) -> Result<u8, Error> {
        self.get(CacheInfo::LEVEL)
    }

    /// Its bytes.
    pub fn size(&self) -> Result<u32, Error> {
        self.get(CacheInfo::SIZE)
    }

    fn get<V: Value>(&self, attribute: CacheInfo) -> Result<V, Error> {
        attribute::get("hsa_cache_get_info", |value| {
            // SAFETY: only numbers are asked for, which fit the room.
            unsafe { (self.runtime.api().hsa_cache_get_info)(self.handle, attribute, value) }
        })
    }
}

impl Isa {
    fn new(runtime: &Runtime, handle: abi::Isa) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Its name, such as `amdgcn-amd-amdhsa--gfx1010:xnack-`.
    pub fn name(&self) -> Result<String, Error> {
        let ask = self.runtime.api().hsa_isa_get_info_alt;
        let call = "hsa_isa_get_info_alt";
        // SAFETY: a number, which fits the room.
        let length = attribute::get(call, |value| unsafe { ask(self.handle, IsaInfo::NAME_LENGTH, value) })?;
        // SAFETY: the room has the length that the library said.
        attribute::get_text(call, length, |value| unsafe { ask(self.handle, IsaInfo::NAME, value) })
    }

    /// The most work-items of a workgroup.
    pub fn workgroup_max_size(&self) -> Result<u32, Error> {
        let ask = self.runtime.api().hsa_isa_get_info_alt;
        // SAFETY: a number, which fits the room.
        attribute::get("hsa_isa_get_info_alt", |value| unsafe { ask(self.handle, IsaInfo::WORKGROUP_MAX_SIZE, value) })
    }
}
