//! What a GPU says of itself.

use roci_hal::uri::PciAddress;
use roci_hal::{Capabilities, DeviceKind, DeviceUri, Error, PhysicalInfo};
use roci_hsa::Runtime;
use roci_hsa::abi::{AgentInfo, DeviceType, MemoryPoolGlobalFlag, MemoryProperty, Segment};
use roci_hsa::runtime::{Agent, Pool};

use crate::copies::Copies;
use crate::settings::Settings;

/// Something of HSA that cannot be used.
pub(crate) fn unavailable(what: &str, reason: impl std::fmt::Display) -> Error {
    Error::Unavailable {
        what: what.to_owned(),
        reason: reason.to_string(),
        hint: "`roci devices` shows what each driver finds".to_owned(),
    }
}

/// An error of HSA as one of the HAL.
pub(crate) fn failed(error: roci_hsa::Error) -> Error {
    let hint = error.remedy().unwrap_or_else(|| "`roci devices` shows what each driver finds".to_owned());
    Error::Unavailable { what: "the AMD GPU".to_owned(), reason: error.to_string(), hint }
}

/// The GPUs of a runtime, in its order.
pub(crate) fn gpus(runtime: &Runtime) -> Result<Vec<Agent>, Error> {
    let mut gpus = runtime.agents().map_err(failed)?;
    gpus.retain(|agent| agent.device_type().ok() == Some(DeviceType::GPU));
    Ok(gpus)
}

/// The first pool of an agent that can be allocated from and has a flag.
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

/// Whether it shares the host's memory.
pub(crate) fn is_apu(agent: &Agent) -> bool {
    // Older runtimes do not know the attribute. The constant is the number of a bit.
    let properties = agent.get::<u64>(AgentInfo::MEMORY_PROPERTIES).unwrap_or(0);
    properties >> MemoryProperty::AGENT_IS_APU.0 & 1 != 0
}

/// What the HAL wants to know of a GPU; `uri` is what was asked for, if something was.
pub(crate) fn describe(
    agent: &Agent,
    emulated: bool,
    settings: &Settings,
    uri: Option<&DeviceUri>,
) -> Result<PhysicalInfo, Error> {
    let target = agent.name().map_err(failed)?;
    let mut quirks = vec![Copies::choose(uri, settings, &target)?.describe()];
    if !emulated {
        let said = |found| format!("{found}: another chip's code runs on it, as asked for");
        quirks.extend(settings.overrides.iter().map(said));
    }
    let memory = match pool(agent, MemoryPoolGlobalFlag::COARSE_GRAINED)? {
        Some(pool) => pool.size().map_err(failed)? as u64,
        None => 0,
    };
    let kind = match (emulated, is_apu(agent)) {
        (true, _) => DeviceKind::Emulated,
        (false, true) => DeviceKind::IntegratedGpu,
        (false, false) => DeviceKind::DiscreteGpu,
    };
    // A chip without a fuse for it says GPU-XX.
    let uuid = agent.uuid().ok().filter(|uuid| uuid.starts_with("GPU-") && uuid != "GPU-XX");
    let pci = agent.pci_address().ok().map(|(domain, place)| PciAddress {
        domain,
        bus: (place >> 8) as u8,
        device: (place >> 3 & 31) as u8,
        function: (place & 7) as u8,
    });
    let name = agent.product_name().ok().filter(|name| !name.trim().is_empty()).unwrap_or_else(|| target.clone());
    Ok(PhysicalInfo {
        vendor: Some("AMD".to_owned()),
        uuid,
        pci,
        memory,
        compute_units: agent.compute_units().map_err(failed)?,
        capabilities: Capabilities {
            subgroup_sizes: vec![agent.wavefront_size().map_err(failed)?],
            subgroup_width: None,
            fp16_storage: true,
            fp16_arithmetic: true,
            integer_dot: !matches!(target.as_str(), "gfx1010" | "gfx1013"),
            // gfx12 has matrix instructions, too, but lays their operands out otherwise: no kernel here has a form for it.
            matrix: target.starts_with("gfx11"),
            copies_constants: false,
            workgroup_memory: 64 << 10,
            max_workgroup_invocations: agent.workgroup_max_size().map_err(failed)?,
            // Groups of the largest size must still be countable as work-items.
            max_grid: [u32::MAX / 1024, 65_535, 65_535],
        },
        runtime: Some(describe_runtime(agent.runtime())),
        quirks,
        target: Some(target),
        ..PhysicalInfo::new(name.trim(), kind)
    })
}

/// The library and its version, for reports.
fn describe_runtime(runtime: &Runtime) -> String {
    let path = runtime.path().display();
    match (runtime.version(), runtime.build_version()) {
        (Ok((major, minor)), Ok(build)) => format!("HSA {major}.{minor}, {path}, {build}"),
        (Ok((major, minor)), Err(_)) => format!("HSA {major}.{minor}, {path}"),
        (Err(_), _) => format!("HSA, {path}"),
    }
}
