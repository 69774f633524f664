//! Memory pools and regions, which are the same.

use std::ptr::null_mut;

use roci_hsa::abi::{
    Agent, AgentMemoryPoolInfo, LinkInfo, MemoryPool, MemoryPoolAccess, MemoryPoolGlobalFlag as Flag, MemoryPoolInfo,
    Region, RegionInfo, Segment, Status,
};

use crate::query::{Client, as_u32, ask, list, sizes};

fn pools(client: &Client, agent: Agent) -> Vec<MemoryPool> {
    let iterate = client.api.hsa_amd_agent_iterate_memory_pools;
    // SAFETY: the callback has the type of the function, and the list outlives the call.
    let (status, pools) = list(|callback, data| unsafe { iterate(agent, Some(callback), data) });
    assert_eq!(status, Status::SUCCESS);
    pools
}

fn info(client: &Client, pool: MemoryPool, attribute: MemoryPoolInfo) -> Result<Vec<u8>, Status> {
    // SAFETY: the buffer is larger than every attribute.
    ask(|value| unsafe { (client.api.hsa_amd_memory_pool_get_info)(pool, attribute, value) })
}

fn region(client: &Client, region: Region, attribute: RegionInfo) -> Result<Vec<u8>, Status> {
    // SAFETY: the buffer is larger than every attribute.
    ask(|value| unsafe { (client.api.hsa_region_get_info)(region, attribute, value) })
}

fn as_u64(value: Result<Vec<u8>, Status>) -> u64 {
    u64::from_ne_bytes(value.expect("a value").try_into().expect("eight bytes"))
}

#[test]
fn agents_have_the_pools_of_amds_runtime() {
    let client = Client::new();
    let of = |agent| {
        let kind = |pool: &MemoryPool| {
            let segment = Segment(as_u32(info(&client, *pool, MemoryPoolInfo::SEGMENT)));
            (segment, Flag(as_u32(info(&client, *pool, MemoryPoolInfo::GLOBAL_FLAGS))))
        };
        pools(&client, agent).iter().map(kind).collect::<Vec<_>>()
    };
    let [cpu, gpu, _] = client.agents()[..] else { panic!("three agents") };
    let kernarg = Flag::KERNARG_INIT | Flag::FINE_GRAINED;
    assert_eq!(of(cpu), [Flag::FINE_GRAINED, kernarg, Flag::COARSE_GRAINED].map(|flags| (Segment::GLOBAL, flags)));
    let wants = [
        (Segment::GLOBAL, Flag::COARSE_GRAINED),
        (Segment::GLOBAL, Flag::EXTENDED_SCOPE_FINE_GRAINED),
        (Segment::GROUP, Flag::EMPTY),
    ];
    assert_eq!(of(gpu), wants);
}

#[test]
fn pool_attributes_have_the_documented_size() {
    let client = Client::new();
    for agent in client.agents() {
        for pool in pools(&client, agent) {
            let group = as_u32(info(&client, pool, MemoryPoolInfo::SEGMENT)) == Segment::GROUP.0;
            let but: &[u32] = if group { &[MemoryPoolInfo::LOCATION.0] } else { &[] };
            sizes(MemoryPoolInfo::TABLE, but, |attribute| info(&client, pool, MemoryPoolInfo(attribute)));
            let same = Region { handle: pool.handle };
            let but = [RegionInfo::ALLOC_MAX_PRIVATE_WORKGROUP_SIZE.0];
            sizes(RegionInfo::TABLE, &but, |attribute| region(&client, same, RegionInfo(attribute)));
        }
    }
}

#[test]
fn gpu_pools_have_the_size_of_the_card() {
    let client = Client::new();
    let gpu = client.agents()[1];
    let [coarse, fine, group] = pools(&client, gpu)[..] else { panic!("three pools") };
    for pool in [coarse, fine] {
        assert_eq!(as_u64(info(&client, pool, MemoryPoolInfo::SIZE)), 8_372_224 << 10);
        assert_eq!(as_u64(info(&client, pool, MemoryPoolInfo::ALLOC_MAX_SIZE)), 8_372_224 << 10);
        assert_eq!(as_u64(info(&client, pool, MemoryPoolInfo::RUNTIME_ALLOC_GRANULE)), 4096);
        assert_eq!(as_u64(info(&client, pool, MemoryPoolInfo::RUNTIME_ALLOC_REC_GRANULE)), 2 << 20);
        assert_eq!(info(&client, pool, MemoryPoolInfo::ACCESSIBLE_BY_ALL), Ok(vec![0]));
    }
    assert_eq!(as_u64(info(&client, group, MemoryPoolInfo::SIZE)), 64 << 10);
    assert_eq!(info(&client, group, MemoryPoolInfo::RUNTIME_ALLOC_ALLOWED), Ok(vec![0]));
    let host = pools(&client, client.agents()[0])[0];
    assert_eq!(info(&client, host, MemoryPoolInfo::ACCESSIBLE_BY_ALL), Ok(vec![1]));
}

#[test]
fn regions_of_a_gpu_include_those_of_the_host() {
    let client = Client::new();
    let [cpu, gpu, _] = client.agents()[..] else { panic!("three agents") };
    let of = |agent| {
        let iterate = client.api.hsa_agent_iterate_regions;
        // SAFETY: the callback has the type of the function, and the list outlives the call.
        let (status, regions) = list::<Region>(|callback, data| unsafe { iterate(agent, Some(callback), data) });
        assert_eq!(status, Status::SUCCESS);
        regions.iter().map(|region| region.handle).collect::<Vec<_>>()
    };
    let handles = |agent| pools(&client, agent).iter().map(|pool| pool.handle).collect::<Vec<_>>();
    assert_eq!(of(cpu), handles(cpu));
    assert_eq!(of(gpu), [handles(gpu), handles(cpu)].concat());
}

#[test]
fn access_and_links_depend_on_the_agent() {
    let client = Client::new();
    let [cpu, gpu, other] = client.agents()[..] else { panic!("three agents") };
    let ask_both = |agent, pool, attribute| {
        let call = client.api.hsa_amd_agent_memory_pool_get_info;
        // SAFETY: the buffer is larger than every attribute.
        ask(|value| unsafe { call(agent, pool, attribute, value) })
    };
    let coarse = pools(&client, gpu)[0];
    for (agent, access, hops) in [
        (gpu, MemoryPoolAccess::ALLOWED_BY_DEFAULT, 0),
        (cpu, MemoryPoolAccess::DISALLOWED_BY_DEFAULT, 1),
        (other, MemoryPoolAccess::DISALLOWED_BY_DEFAULT, 1),
    ] {
        assert_eq!(as_u32(ask_both(agent, coarse, AgentMemoryPoolInfo::ACCESS)), access.0);
        assert_eq!(as_u32(ask_both(agent, coarse, AgentMemoryPoolInfo::NUM_LINK_HOPS)), hops);
        let link = ask_both(agent, coarse, AgentMemoryPoolInfo::LINK_INFO).expect("links");
        assert_eq!(link.len(), hops as usize * size_of::<LinkInfo>());
    }
    let unknown = Agent { handle: 99 };
    assert_eq!(ask_both(unknown, coarse, AgentMemoryPoolInfo::ACCESS), Err(Status::ERROR_INVALID_AGENT));
    let nowhere = MemoryPool { handle: 99 };
    assert_eq!(ask_both(gpu, nowhere, AgentMemoryPoolInfo::ACCESS), Err(Status::ERROR_INVALID_MEMORY_POOL));
    assert_eq!(ask_both(gpu, coarse, AgentMemoryPoolInfo(9)), Err(Status::ERROR_INVALID_ARGUMENT));
}

#[test]
fn invalid_pools_and_attributes_are_rejected() {
    let client = Client::new();
    let api = &client.api;
    let pool = pools(&client, client.agents()[0])[0];
    // SAFETY: null is an error.
    let status = unsafe { (api.hsa_amd_memory_pool_get_info)(pool, MemoryPoolInfo::SIZE, null_mut()) };
    assert_eq!(status, Status::ERROR_INVALID_ARGUMENT);
    for handle in [0, 1, 0x1ff, 0x6300, u64::MAX] {
        let pool = info(&client, MemoryPool { handle }, MemoryPoolInfo::SIZE);
        assert_eq!(pool, Err(Status::ERROR_INVALID_MEMORY_POOL), "{handle:#x}");
        let region = region(&client, Region { handle }, RegionInfo::SIZE);
        assert_eq!(region, Err(Status::ERROR_INVALID_REGION), "{handle:#x}");
    }
}
