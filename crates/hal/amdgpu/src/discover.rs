//! Enumerates and describes the GPUs of an HSA runtime.

use roci_base::PciAddress;
use roci_hal::{Capabilities, DeviceKind, DeviceUri, Error, PhysicalInfo};
use roci_hsa::Runtime;
use roci_hsa::abi::{DeviceType, MemoryPoolGlobalFlag};
use roci_hsa::runtime::Agent;

use crate::agent::{is_apu, pool};
use crate::copy_policy::CopyPolicy;
use crate::error::failed;
use crate::settings::Settings;

/// The GPUs of a runtime, in the runtime's order.
pub(crate) fn gpus(runtime: &Runtime) -> Result<Vec<Agent>, Error> {
    let mut gpus = runtime.agents().map_err(failed)?;
    gpus.retain(|agent| agent.device_type().ok() == Some(DeviceType::GPU));
    Ok(gpus)
}

/// Describes a GPU. `uri` is the requested URI, if any.
pub(crate) fn describe(
    agent: &Agent,
    emulated: bool,
    settings: &Settings,
    uri: Option<&DeviceUri>,
) -> Result<PhysicalInfo, Error> {
    let target = agent.name().map_err(failed)?;
    let mut quirks = vec![CopyPolicy::choose(uri, settings, &target)?.describe()];
    if !emulated {
        let message = |found| format!("{found}: it loads another chip's code, as requested");
        quirks.extend(settings.overrides.iter().map(message));
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
    // A chip without a UUID fuse reports GPU-XX.
    let uuid = agent.uuid().ok().filter(|uuid| uuid.starts_with("GPU-") && uuid != "GPU-XX");
    let pci = agent.pci_address().ok().map(|(domain, bdf)| PciAddress {
        domain,
        bus: (bdf >> 8) as u8,
        device: (bdf >> 3 & 31) as u8,
        function: (bdf & 7) as u8,
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
            // gfx12 has matrix instructions with a different operand layout, which the kernels do
            // not support.
            matrix: target.starts_with("gfx11"),
            copies_constants: false,
            workgroup_memory: 64 << 10,
            max_workgroup_invocations: agent.workgroup_max_size().map_err(failed)?,
            // Work-items are counted in 32 bits, so this limit holds for workgroups of the maximum
            // size.
            max_grid: [u32::MAX / 1024, 65_535, 65_535],
        },
        runtime: Some(describe_runtime(agent.runtime())),
        quirks,
        target: Some(target),
        ..PhysicalInfo::new(name.trim(), kind)
    })
}

/// HSA version, library path and build, for reports.
fn describe_runtime(runtime: &Runtime) -> String {
    let path = runtime.path().display();
    match (runtime.version(), runtime.build_version()) {
        (Ok((major, minor)), Ok(build)) => format!("HSA {major}.{minor}, {path}, {build}"),
        (Ok((major, minor)), Err(_)) => format!("HSA {major}.{minor}, {path}"),
        (Err(_), _) => format!("HSA, {path}"),
    }
}
