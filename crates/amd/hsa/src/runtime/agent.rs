//! Agents and their regions, caches and ISAs.

#![expect(unsafe_code, reason = "calls the library")]

use std::ops::ControlFlow;

use super::attribute::{self, Value};
use super::{Error, Pool, Runtime, check, iterate};
use crate::abi::{self, AgentInfo, CacheInfo, DeviceType, Dim3, HdpFlush, IsaInfo, RegionInfo};

/// A CPU, a GPU or another device.
#[derive(Clone, Debug)]
pub struct Agent {
    runtime: Runtime,
    handle: abi::Agent,
}

/// Compares the handles.
impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        self.handle == other.handle
    }
}

impl Eq for Agent {}

/// Memory region of an agent in the core API.
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

/// An ISA of an agent.
#[derive(Clone, Debug)]
pub struct Isa {
    runtime: Runtime,
    handle: abi::Isa,
}

/// Declares a function that lists objects of an agent, and one that visits them.
macro_rules! lists {
    ($($list:ident, $visit:ident: $item:ident by $function:ident, $what:literal;)*) => {$(
        #[doc = concat!("All ", $what, ", in the order of the runtime.")]
        pub fn $list(&self) -> Result<Vec<$item>, Error> {
            let mut items = Vec::new();
            self.$visit(|item| {
                items.push(item);
                ControlFlow::Continue(())
            })?;
            Ok(items)
        }

        #[doc = concat!("Calls `visit` for ", $what, " until it breaks. A panic resumes after the library has returned.")]
        pub fn $visit(&self, mut visit: impl FnMut($item) -> ControlFlow<()>) -> Result<(), Error> {
            iterate::visit(
                stringify!($function),
                |handle| visit($item::new(&self.runtime, handle)),
                // SAFETY: `iterate` passes a callback with its own data.
                |callback, data| unsafe { (self.runtime.api().$function)(self.handle, Some(callback), data) },
            )
        }
    )*};
}

impl Agent {
    pub(super) fn new(runtime: &Runtime, handle: abi::Agent) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Handle in the C API.
    pub fn handle(&self) -> abi::Agent {
        self.handle
    }

    /// Runtime that enumerated this agent.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// Attribute as `V`; [`AgentInfo`] documents the type of each.
    pub fn get<V: Value>(&self, attribute: AgentInfo) -> Result<V, Error> {
        attribute::get("hsa_agent_get_info", |value| {
            // SAFETY: the buffer is larger than every attribute.
            unsafe { (self.runtime.api().hsa_agent_get_info)(self.handle, attribute, value) }
        })
    }

    /// Processor name, such as `gfx1010`.
    pub fn name(&self) -> Result<String, Error> {
        self.get(AgentInfo::NAME)
    }

    /// Vendor name, such as `AMD`.
    pub fn vendor(&self) -> Result<String, Error> {
        self.get(AgentInfo::VENDOR_NAME)
    }

    /// Marketing name.
    pub fn product_name(&self) -> Result<String, Error> {
        self.get(AgentInfo::PRODUCT_NAME)
    }

    /// `GPU-` and 16 hexadecimal digits, or `GPU-XX` for a device without a unique id.
    pub fn uuid(&self) -> Result<String, Error> {
        self.get(AgentInfo::UUID)
    }

    /// CPU, GPU or other.
    pub fn device_type(&self) -> Result<DeviceType, Error> {
        self.get(AgentInfo::DEVICE)
    }

    /// Node in the topology of the kernel driver.
    pub fn node(&self) -> Result<u32, Error> {
        self.get(AgentInfo::NODE)
    }

    /// PCI device id.
    pub fn chip_id(&self) -> Result<u32, Error> {
        self.get(AgentInfo::CHIP_ID)
    }

    /// PCI domain, and bus, device and function packed as BDF id.
    pub fn pci_address(&self) -> Result<(u32, u32), Error> {
        Ok((self.get(AgentInfo::DOMAIN)?, self.get(AgentInfo::BDFID)?))
    }

    /// Number of compute units.
    pub fn compute_units(&self) -> Result<u32, Error> {
        self.get(AgentInfo::COMPUTE_UNIT_COUNT)
    }

    /// Lanes of a wave.
    pub fn wavefront_size(&self) -> Result<u32, Error> {
        self.get(AgentInfo::WAVEFRONT_SIZE)
    }

    /// Maximum work-items of a workgroup.
    pub fn workgroup_max_size(&self) -> Result<u32, Error> {
        self.get(AgentInfo::WORKGROUP_MAX_SIZE)
    }

    /// Maximum work-items of a grid per dimension.
    pub fn grid_max_dim(&self) -> Result<Dim3, Error> {
        self.get(AgentInfo::GRID_MAX_DIM)
    }

    /// Minimum and maximum queue size in packets.
    pub fn queue_sizes(&self) -> Result<(u32, u32), Error> {
        Ok((self.get(AgentInfo::QUEUE_MIN_SIZE)?, self.get(AgentInfo::QUEUE_MAX_SIZE)?))
    }

    /// CPU agent that the runtime reports as nearest.
    pub fn nearest_cpu(&self) -> Result<Agent, Error> {
        Ok(Agent::new(&self.runtime, self.get(AgentInfo::NEAREST_CPU)?))
    }

    /// HDP flush registers, which flush host writes to device memory.
    pub fn hdp_flush(&self) -> Result<HdpFlush, Error> {
        self.get(AgentInfo::HDP_FLUSH)
    }

    /// Start and end of the dispatch that completed `signal`; its queue must have profiling
    /// enabled.
    pub fn dispatch_time(&self, signal: &super::Signal) -> Result<abi::ProfilingDispatchTime, Error> {
        let mut time = abi::ProfilingDispatchTime::default();
        let get = self.runtime.api().hsa_amd_profiling_get_dispatch_time;
        // SAFETY: agent and signal are alive, and `time` is valid for the write.
        let status = unsafe { get(self.handle, signal.handle(), &raw mut time) };
        check("hsa_amd_profiling_get_dispatch_time", status)?;
        Ok(time)
    }

    lists! {
        pools, for_each_pool: Pool by hsa_amd_agent_iterate_memory_pools, "memory pools";
        regions, for_each_region: Region by hsa_agent_iterate_regions, "regions";
        caches, for_each_cache: Cache by hsa_agent_iterate_caches, "caches";
        isas, for_each_isa: Isa by hsa_agent_iterate_isas, "ISAs";
    }
}

impl Region {
    fn new(runtime: &Runtime, handle: abi::Region) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Handle in the C API.
    pub fn handle(&self) -> abi::Region {
        self.handle
    }

    /// Attribute as `V`; [`RegionInfo`] documents the type of each.
    pub fn get<V: Value>(&self, attribute: RegionInfo) -> Result<V, Error> {
        attribute::get("hsa_region_get_info", |value| {
            // SAFETY: the buffer is larger than every attribute.
            unsafe { (self.runtime.api().hsa_region_get_info)(self.handle, attribute, value) }
        })
    }
}

impl Cache {
    fn new(runtime: &Runtime, handle: abi::Cache) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Cache level, from 1.
    pub fn level(&self) -> Result<u8, Error> {
        self.get(CacheInfo::LEVEL)
    }

    /// Size in bytes.
    pub fn size(&self) -> Result<u32, Error> {
        self.get(CacheInfo::SIZE)
    }

    fn get<V: Value>(&self, attribute: CacheInfo) -> Result<V, Error> {
        attribute::get("hsa_cache_get_info", |value| {
            // SAFETY: callers only query numbers, which fit the buffer.
            unsafe { (self.runtime.api().hsa_cache_get_info)(self.handle, attribute, value) }
        })
    }
}

impl Isa {
    fn new(runtime: &Runtime, handle: abi::Isa) -> Self {
        Self { runtime: runtime.clone(), handle }
    }

    /// Full name, such as `amdgcn-amd-amdhsa--gfx1010:xnack-`.
    pub fn name(&self) -> Result<String, Error> {
        let get = self.runtime.api().hsa_isa_get_info_alt;
        let call = "hsa_isa_get_info_alt";
        // SAFETY: the attribute is a number, which fits the buffer.
        let length = attribute::get(call, |value| unsafe { get(self.handle, IsaInfo::NAME_LENGTH, value) })?;
        // SAFETY: the buffer has the length that the library reported.
        attribute::get_string(call, length, |value| unsafe { get(self.handle, IsaInfo::NAME, value) })
    }

    /// Maximum work-items of a workgroup.
    pub fn workgroup_max_size(&self) -> Result<u32, Error> {
        let get = self.runtime.api().hsa_isa_get_info_alt;
        // SAFETY: the attribute is a number, which fits the buffer.
        attribute::get("hsa_isa_get_info_alt", |value| unsafe { get(self.handle, IsaInfo::WORKGROUP_MAX_SIZE, value) })
    }
}
