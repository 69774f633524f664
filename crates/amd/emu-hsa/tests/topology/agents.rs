//! Agents, their caches and ISAs.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use roci_hsa::abi::{Agent, AgentInfo, Cache, CacheInfo, CoherencyType, DeviceType, Extension, Isa, IsaInfo, Status};

use crate::query::{Client, as_u32, ask, broken, list, sizes, text};

const NO_AGENT: Agent = Agent { handle: 99 };

fn info(client: &Client, agent: Agent, attribute: AgentInfo) -> Result<Vec<u8>, Status> {
    // SAFETY: the buffer is larger than every attribute.
    ask(|value| unsafe { (client.api.hsa_agent_get_info)(agent, attribute, value) })
}

#[test]
fn agents_are_the_cpu_then_the_gpus() {
    let client = Client::new();
    let agents = client.agents();
    let kinds: Vec<u32> = agents.iter().map(|agent| as_u32(info(&client, *agent, AgentInfo::DEVICE))).collect();
    assert_eq!(kinds, [DeviceType::CPU.0, DeviceType::GPU.0, DeviceType::GPU.0]);
    let names: Vec<String> = agents[1..].iter().map(|agent| text(info(&client, *agent, AgentInfo::NAME))).collect();
    assert_eq!(names, ["gfx1010", "gfx1151"]);
    let nodes: Vec<u32> = agents.iter().map(|agent| as_u32(info(&client, *agent, AgentInfo::NODE))).collect();
    assert_eq!(nodes, [0, 1, 2]);
}

#[test]
fn iterations_end_when_the_callback_fails() {
    let client = Client::new();
    let gpu = client.agents()[1];
    let api = &client.api;
    for status in [Status::INFO_BREAK, Status::ERROR, Status::ERROR_OUT_OF_RESOURCES] {
        // SAFETY: each callback has the type of its function, and its state outlives the call.
        let ends = [
            broken(status, |callback, data| unsafe { (api.hsa_iterate_agents)(Some(callback), data) }),
            broken(status, |callback, data| unsafe { (api.hsa_agent_iterate_caches)(gpu, Some(callback), data) }),
            broken(status, |callback, data| unsafe { (api.hsa_agent_iterate_isas)(gpu, Some(callback), data) }),
            broken(status, |callback, data| unsafe { (api.hsa_agent_iterate_regions)(gpu, Some(callback), data) }),
            broken(status, |callback, data| unsafe {
                (api.hsa_amd_agent_iterate_memory_pools)(gpu, Some(callback), data)
            }),
        ];
        assert_eq!(ends, [(status, 1); 5]);
    }
}

#[test]
fn gpu_attributes_have_the_documented_size() {
    let client = Client::new();
    for gpu in &client.agents()[1..] {
        sizes(AgentInfo::TABLE, &[], |attribute| info(&client, *gpu, AgentInfo(attribute)));
    }
}

#[test]
fn the_cpu_has_all_attributes_but_those_of_gpus() {
    let client = Client::new();
    let cpu = client.agents()[0];
    let but = [
        AgentInfo::MEMORY_WIDTH,
        AgentInfo::MEMORY_MAX_FREQUENCY,
        AgentInfo::COOPERATIVE_QUEUES,
        AgentInfo::COOPERATIVE_COMPUTE_UNIT_COUNT,
        AgentInfo::MEMORY_AVAIL,
        AgentInfo::IMAGE_LINEAR_ROW_PITCH_ALIGNMENT,
    ];
    sizes(AgentInfo::TABLE, &but.map(|attribute| attribute.0), |attribute| {
        let attribute = AgentInfo(attribute);
        let answer = info(&client, cpu, attribute);
        // Its UUID is shorter than the attribute.
        if attribute == AgentInfo::UUID {
            assert_eq!(answer.as_deref(), Ok(&b"CPU-XX\0"[..]));
            return answer.map(|_| vec![0; 21]);
        }
        answer
    });
}

#[test]
fn gpu_attributes_match_real_cards() {
    let client = Client::new();
    let [_, first, second] = client.agents()[..] else { panic!("three agents") };
    // Values of `rocminfo`.
    for (attribute, wants) in [
        (AgentInfo::QUEUES_MAX, [128, 128]),
        (AgentInfo::QUEUE_MIN_SIZE, [64, 64]),
        (AgentInfo::QUEUE_MAX_SIZE, [131_072, 131_072]),
        (AgentInfo::CHIP_ID, [29_471, 5_510]),
        (AgentInfo::ASIC_REVISION, [2, 0]),
        (AgentInfo::CACHELINE_SIZE, [64, 128]),
        (AgentInfo::MAX_CLOCK_FREQUENCY, [2100, 2900]),
        (AgentInfo::COMPUTE_UNIT_COUNT, [40, 40]),
        (AgentInfo::NUM_SIMDS_PER_CU, [2, 2]),
        (AgentInfo::NUM_SHADER_ENGINES, [2, 2]),
        (AgentInfo::NUM_SHADER_ARRAYS_PER_SE, [2, 2]),
        (AgentInfo::MAX_ADDRESS_WATCH_POINTS, [4, 4]),
        (AgentInfo::WAVEFRONT_SIZE, [32, 32]),
        (AgentInfo::WORKGROUP_MAX_SIZE, [1024, 1024]),
        (AgentInfo::MAX_WAVES_PER_CU, [40, 32]),
        (AgentInfo::GRID_MAX_SIZE, [u32::MAX, u32::MAX]),
        (AgentInfo::FBARRIER_MAX_SIZE, [32, 32]),
        (AgentInfo::UCODE_VERSION, [156, 32]),
        (AgentInfo::SDMA_UCODE_VERSION, [35, 17]),
        (AgentInfo::BDFID, [0x300, 0x400]),
    ] {
        assert_eq!([first, second].map(|gpu| as_u32(info(&client, gpu, attribute))), wants, "{attribute}");
    }
    assert_eq!(text(info(&client, first, AgentInfo::PRODUCT_NAME)), "AMD Radeon RX 5700 XT (emulated)");
    let apu = [first, second].map(|gpu| info(&client, gpu, AgentInfo::MEMORY_PROPERTIES).expect("an answer")[0]);
    // `hsa_flag_isset64` tests bit 1.
    assert_eq!(apu, [0, 2]);
    assert_ne!(info(&client, first, AgentInfo::UUID), info(&client, second, AgentInfo::UUID));
}

#[test]
fn invalid_agent_arguments_are_rejected() {
    let client = Client::new();
    let api = &client.api;
    let [cpu, gpu, _] = client.agents()[..] else { panic!("three agents") };
    // SAFETY: null is an error.
    let nowhere = unsafe { (api.hsa_agent_get_info)(gpu, AgentInfo::NODE, null_mut()) };
    // SAFETY: a null callback is an error.
    let agents = unsafe { (api.hsa_iterate_agents)(None, null_mut()) };
    // SAFETY: as above.
    let isas = unsafe { (api.hsa_agent_iterate_isas)(gpu, None, null_mut()) };
    // SAFETY: as above.
    let caches = unsafe { (api.hsa_agent_iterate_caches)(gpu, None, null_mut()) };
    assert_eq!([nowhere, agents, isas, caches], [Status::ERROR_INVALID_ARGUMENT; 4]);
    for (agent, kind, expected) in [
        (cpu, CoherencyType::COHERENT, Status::ERROR_INVALID_AGENT),
        (gpu, CoherencyType(2), Status::ERROR_INVALID_ARGUMENT),
        (gpu, CoherencyType::NONCOHERENT, Status::SUCCESS),
    ] {
        // SAFETY: it takes no pointers.
        assert_eq!(unsafe { (api.hsa_amd_coherency_set_type)(agent, kind) }, expected);
    }
    assert_eq!(info(&client, NO_AGENT, AgentInfo::NODE), Err(Status::ERROR_INVALID_AGENT));
    assert_eq!(info(&client, Agent::NULL, AgentInfo::NODE), Err(Status::ERROR_INVALID_AGENT));
    // SAFETY: each callback has the type of its function.
    let none = [
        broken(Status::ERROR, |callback, data| unsafe { (api.hsa_agent_iterate_isas)(NO_AGENT, Some(callback), data) }),
        broken(Status::ERROR, |callback, data| unsafe {
            (api.hsa_agent_iterate_caches)(NO_AGENT, Some(callback), data)
        }),
        broken(Status::ERROR, |callback, data| unsafe {
            (api.hsa_agent_iterate_regions)(NO_AGENT, Some(callback), data)
        }),
    ];
    assert_eq!(none, [(Status::ERROR_INVALID_AGENT, 0); 3]);
}

#[test]
fn gpus_have_the_isa_of_their_chip() {
    let client = Client::new();
    let api = &client.api;
    let agents = client.agents();
    let ask_isa = |isa: Isa, attribute| {
        // SAFETY: the buffer is larger than every attribute.
        ask(|value| unsafe { (api.hsa_isa_get_info_alt)(isa, attribute, value) })
    };
    let mut all = Vec::new();
    for agent in agents {
        // SAFETY: the callback has the type of the function, and the list outlives the call.
        let (status, isas) =
            list(|callback, data| unsafe { (api.hsa_agent_iterate_isas)(agent, Some(callback), data) });
        assert_eq!(status, Status::SUCCESS);
        if let Some(first) = isas.first() {
            assert_eq!(info(&client, agent, AgentInfo::ISA), Ok(first.handle.to_ne_bytes().to_vec()));
        }
        all.push(isas.iter().map(|isa| text(ask_isa(*isa, IsaInfo::NAME))).collect::<Vec<_>>());
        for isa in isas {
            let name = text(ask_isa(isa, IsaInfo::NAME));
            assert_eq!(as_u32(ask_isa(isa, IsaInfo::NAME_LENGTH)) as usize, name.len() + 1);
            for constant in IsaInfo::TABLE.constants.iter().filter(|one| one.value != u64::from(IsaInfo::NAME.0)) {
                assert!(ask_isa(isa, IsaInfo(constant.value as u32)).is_ok(), "{}", constant.name);
            }
            assert_eq!(ask_isa(isa, IsaInfo::GRID_MAX_SIZE).map(|bytes| bytes.len()), Ok(8));
            assert_eq!(ask_isa(isa, IsaInfo::PROFILES), Ok(vec![1, 0]));
        }
    }
    // Not the generic ISA, though its code runs: HIP 5 rejects a GPU with two ISAs.
    let wants: [&[&str]; 3] = [&[], &["amdgcn-amd-amdhsa--gfx1010:xnack-"], &["amdgcn-amd-amdhsa--gfx1151"]];
    assert_eq!(all, wants);
    assert_eq!(ask_isa(Isa { handle: 99 }, IsaInfo::NAME), Err(Status::ERROR_INVALID_ISA));
}

#[test]
fn caches_have_levels_sizes_and_names() {
    let client = Client::new();
    let api = &client.api;
    let ask_cache = |cache: Cache, attribute| {
        // SAFETY: the buffer is larger than every attribute.
        ask(|value| unsafe { (api.hsa_cache_get_info)(cache, attribute, value) })
    };
    let strix = client.agents()[2];
    // SAFETY: the callback has the type of the function, and the list outlives the call.
    let (_, caches) = list(|callback, data| unsafe { (api.hsa_agent_iterate_caches)(strix, Some(callback), data) });
    let facts: Vec<(u8, u32)> = caches
        .iter()
        .map(|cache| {
            (ask_cache(*cache, CacheInfo::LEVEL).expect("a level")[0], as_u32(ask_cache(*cache, CacheInfo::SIZE)))
        })
        .collect();
    assert_eq!(facts, [(1, 32 << 10), (2, 2 << 20), (3, 32 << 20)]);
    let mut name: *const std::ffi::c_char = std::ptr::null();
    // SAFETY: the attribute is a pointer, as in AMD's runtime.
    let status = unsafe { (api.hsa_cache_get_info)(caches[1], CacheInfo::NAME, (&raw mut name).cast::<c_void>()) };
    assert_eq!(status, Status::SUCCESS);
    let length = as_u32(ask_cache(caches[1], CacheInfo::NAME_LENGTH)) as usize;
    // SAFETY: the name is static, has this length and is NUL-terminated.
    let bytes = unsafe { std::slice::from_raw_parts(name.cast::<u8>(), length + 1) };
    assert_eq!(CStr::from_bytes_with_nul(bytes), Ok(c"gfx1151 L2"));
    assert_eq!(ask_cache(Cache { handle: 3 }, CacheInfo::SIZE), Err(Status::ERROR_INVALID_CACHE));
    assert_eq!(ask_cache(caches[0], CacheInfo(9)), Err(Status::ERROR_INVALID_ARGUMENT));
}

#[test]
fn agents_support_no_extensions() {
    let client = Client::new();
    let gpu = client.agents()[1];
    let supported = |extension| {
        let call = client.api.hsa_agent_extension_supported;
        // SAFETY: the result is valid for the write.
        ask(|value| unsafe { call(extension, gpu, 1, 0, value.cast()) })
    };
    assert_eq!(supported(Extension::IMAGES), Ok(vec![0]));
    assert_eq!(supported(Extension(77)), Err(Status::ERROR_INVALID_ARGUMENT));
}
