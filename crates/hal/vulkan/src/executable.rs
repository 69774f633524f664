//! Loaded SPIR-V: one pipeline per kernel.

#![expect(unsafe_code, reason = "calls Vulkan")]

use std::ffi::CString;
use std::sync::Arc;

use ash::vk;
use roci_hal::driver::ExecutableBackend;
use roci_hal::{Code, EntryPoint, Error, ExecutableSource};

use crate::device_state::{DeviceState, Layout};
use crate::spirv::{self, ModuleInfo};

/// Subgroup size of kernels on matrix units.
const MATRIX_SUBGROUP: u32 = 32;

/// The kernels of an executable, in the order of its entry points.
pub(crate) struct Executable {
    shared: Arc<DeviceState>,
    pub(crate) kernels: Vec<Kernel>,
}

impl ExecutableBackend for Executable {}

/// The pipeline of a kernel and its layout.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    pub(crate) pipeline: vk::Pipeline,
    pub(crate) layout: Layout,
    /// Whether parts of a grid may run as separate dispatches.
    pub(crate) can_split: bool,
}

impl Executable {
    pub(crate) fn load(shared: &Arc<DeviceState>, source: &ExecutableSource) -> Result<Self, Error> {
        let invalid = |reason: String| Error::invalid(format!("executable \"{}\"", source.label), reason);
        let Code::Spirv(words) = &source.code else {
            return Err(invalid("Vulkan runs SPIR-V only".into()));
        };
        let outline = spirv::read(words).map_err(invalid)?;
        check(shared, &outline, source).map_err(invalid)?;
        let words = spirv::without_unused_capabilities(words);
        let info = vk::ShaderModuleCreateInfo::default().code(&words);
        // SAFETY: whole instructions, of a version and with capabilities that the device supports.
        let module = unsafe { shared.device.create_shader_module(&info, None) };
        let module = module.map_err(|result| invalid(crate::error::name(result)))?;
        let mut loaded = Self { shared: Arc::clone(shared), kernels: Vec::new() };
        let kernels = source.entry_points.iter().try_for_each(|entry| {
            let kernel = kernel(shared, module, entry, &outline).map_err(|error| match error {
                Failure::Hal(error) => error,
                Failure::Vulkan(result) => invalid(format!("\"{}\": {}", entry.name, crate::error::name(result))),
            })?;
            loaded.kernels.push(kernel);
            Ok::<_, Error>(())
        });
        // SAFETY: pipelines do not need the module after creation.
        unsafe { shared.device.destroy_shader_module(module, None) };
        kernels?;
        shared.pipelines.note();
        Ok(loaded)
    }
}

/// Checks that the device can run a module, and that the module fulfills its contract.
fn check(shared: &DeviceState, outline: &ModuleInfo, source: &ExecutableSource) -> Result<(), String> {
    let properties = &shared.card.properties;
    let newest = match properties.version {
        vk::API_VERSION_1_3.. => (1, 6),
        vk::API_VERSION_1_2.. => (1, 5),
        _ => (1, 3),
    };
    if outline.version > newest {
        let ((major, minor), (max_major, max_minor)) = (outline.version, newest);
        return Err(format!("it is SPIR-V {major}.{minor}; the device supports at most {max_major}.{max_minor}"));
    }
    for capability in &outline.capabilities {
        properties.features.supports(*capability).map_err(|lack| format!("the device lacks {lack}"))?;
    }
    for entry in &source.entry_points {
        let found = outline.entries.iter().find(|found| found.name == entry.name);
        let found = found.ok_or_else(|| format!("the module has no entry point \"{}\"", entry.name))?;
        if found.size.is_some_and(|size| size != entry.workgroup_size) {
            let (code, contract) = (found.size, entry.workgroup_size);
            return Err(format!(
                "\"{}\" has workgroups of {code:?}, but its entry point declares {contract:?}",
                entry.name
            ));
        }
    }
    Ok(())
}

enum Failure {
    Hal(Error),
    Vulkan(vk::Result),
}

fn kernel(
    shared: &DeviceState,
    module: vk::ShaderModule,
    entry: &EntryPoint,
    outline: &ModuleInfo,
) -> Result<Kernel, Failure> {
    let can_split = !outline.counts_groups;
    let layout = shared.layout(entry.bindings.len(), entry.constants).map_err(Failure::Hal)?;
    let name = CString::new(entry.name.as_str())
        .map_err(|_| Failure::Hal(Error::invalid("an entry point", "its name contains a NUL")))?;
    let mut size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default();
    let mut stage =
        vk::PipelineShaderStageCreateInfo::default().stage(vk::ShaderStageFlags::COMPUTE).module(module).name(&name);
    // Kernels on matrix units need subgroups of 32, which AMD's drivers use only on request.
    let can_choose = |size: &u32| shared.card.properties.subgroup_choice.contains(size);
    let for_matrices = Some(MATRIX_SUBGROUP).filter(|size| outline.uses_matrices() && can_choose(size));
    if let Some(expected) = for_matrices.or(shared.settings.subgroup) {
        let invocations: u64 = entry.workgroup_size.iter().map(|size| u64::from(*size)).product();
        let most = u64::from(shared.card.properties.max_subgroups) * u64::from(expected);
        if invocations > most {
            let reason = format!(
                "its workgroups have {invocations} invocations; the device supports {most} with subgroups of {expected}"
            );
            let error = Error::invalid(format!("\"{}\"", entry.name), reason);
            return Err(Failure::Hal(error.with_hint("select larger subgroups, or omit `?subgroup=`")));
        }
        size = size.required_subgroup_size(expected);
        stage = stage.push_next(&mut size);
    }
    let flags = if can_split { vk::PipelineCreateFlags::DISPATCH_BASE } else { vk::PipelineCreateFlags::empty() };
    let info = [vk::ComputePipelineCreateInfo::default().flags(flags).stage(stage).layout(layout.pipeline)];
    // SAFETY: the module has the entry point, and the layout matches its contract.
    let pipelines = unsafe { shared.device.create_compute_pipelines(shared.pipelines.raw, &info, None) };
    let pipelines = pipelines.map_err(|(_, result)| Failure::Vulkan(result))?;
    let pipeline = pipelines.first().copied().ok_or(Failure::Vulkan(vk::Result::ERROR_UNKNOWN))?;
    Ok(Kernel { pipeline, layout, can_split })
}

impl Drop for Executable {
    fn drop(&mut self) {
        for kernel in &self.kernels {
            // SAFETY: owned by this value, and no batch in flight uses it, because batches hold it.
            unsafe { self.shared.device.destroy_pipeline(kernel.pipeline, None) };
        }
    }
}
