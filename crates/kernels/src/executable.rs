//! From a kernel of the table to what a device loads: its code in the device's best format, with its contract.

use naga::{AddressSpace, StorageAccess};
use roci_device_library::DeviceLibrary;
use roci_hal::native::NativeEntry;
use roci_hal::{Access, Capabilities, Code, CodeFormat, DeviceInfo, EntryPoint, ExecutableSource};

use crate::clc::{self, Subgroups};
use crate::{Compiled, Error, KernelSpec, SpirvOptions, native};

impl KernelSpec {
    /// The contract that the HAL checks every dispatch against.
    pub fn entry_point(&self) -> EntryPoint {
        EntryPoint {
            name: self.name().into(),
            workgroup_size: self.workgroup(),
            bindings: self.bindings().iter().map(|binding| binding.access).collect(),
            constants: self.constants().size,
            in_place: self.in_place(),
        }
    }

    /// Whether the device has what the kernel needs: for some that is matrix units that sub-groups of 32 share, unless the
    /// device takes native code, which needs neither.
    pub fn runs_on(&self, info: &DeviceInfo) -> bool {
        let capabilities = info.capabilities();
        let matrix = capabilities.matrix && capabilities.subgroup_sizes.contains(&32);
        !self.needs_matrix() || matrix || takes_native(info)
    }

    /// What to load on a device: the first of its formats that we can write.
    pub fn executable(&self, info: &DeviceInfo) -> Result<ExecutableSource, Error> {
        if !self.runs_on(info) {
            return Err(Error::NoMatrixUnits { kernel: self.name(), device: info.uri.to_string() });
        }
        for format in &info.formats {
            if let Some(code) = self.code(*format, info)? {
                let entry_points = vec![self.entry_point()];
                return Ok(ExecutableSource { label: self.name().into(), entry_points, code });
            }
        }
        Err(Error::NoFormat { kernel: self.name(), device: info.uri.to_string(), formats: info.formats.clone() })
    }

    /// The kernel in one format; `None` for a format that this kernel is not written in.
    fn code(&self, format: CodeFormat, info: &DeviceInfo) -> Result<Option<Code>, Error> {
        Ok(match format {
            CodeFormat::Native => native::find(self.name())
                .map(|kernel| Code::Native(vec![NativeEntry { name: self.name().into(), kernel }])),
            CodeFormat::Spirv | CodeFormat::OpenClC => self.module()?.code(format, info)?,
            CodeFormat::AmdGcn => info.physical[0].target.as_deref().map(amdgcn).transpose()?,
            _ => None,
        })
    }
}

/// What to load of a kernel that only devices of native code have; `None` for one that is not known.
pub fn host_executable(name: &str) -> Option<ExecutableSource> {
    let (kernel, constants) = native::find_host(name, native::Level::best())?;
    let entry_point = EntryPoint {
        name: name.into(),
        workgroup_size: [1; 3],
        bindings: kernel.accesses().to_vec(),
        constants,
        in_place: false,
    };
    let code = Code::Native(vec![NativeEntry { name: name.into(), kernel }]);
    Some(ExecutableSource { label: name.into(), entry_points: vec![entry_point], code })
}

impl Compiled {
    /// What to load of kernels that are not in the table; `None` on a device that takes prebuilt or native code only.
    pub fn executable(
        &self,
        entry_points: Vec<EntryPoint>,
        info: &DeviceInfo,
    ) -> Result<Option<ExecutableSource>, Error> {
        let label = entry_points.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ");
        for format in &info.formats {
            if let Some(code) = self.code(*format, info)? {
                return Ok(Some(ExecutableSource { label, entry_points, code }));
            }
        }
        Ok(None)
    }

    /// The contracts of all entry points, as the text declares them. None of them may run in place.
    pub fn entry_points(&self) -> Vec<EntryPoint> {
        self.module.entry_points.iter().enumerate().map(|(index, entry)| self.contract(index, entry)).collect()
    }

    fn contract(&self, index: usize, entry: &naga::EntryPoint) -> EntryPoint {
        let uses = self.info.get_entry_point(index);
        let used = self.module.global_variables.iter().filter(|&(handle, _)| !uses[handle].is_empty());
        let (mut bindings, mut constants) = (Vec::new(), 0);
        for (_, variable) in used {
            match variable.space {
                AddressSpace::Storage { access } => {
                    let writes = access.contains(StorageAccess::STORE);
                    let binding = variable.binding.as_ref().map_or(0, |at| at.binding);
                    bindings.push((binding, if writes { Access::ReadWrite } else { Access::Read }));
                }
                AddressSpace::Immediate => {
                    constants = self.module.types[variable.ty].inner.size(self.module.to_ctx()) as usize;
                }
                _ => {}
            }
        }
        bindings.sort_unstable_by_key(|(binding, _)| *binding);
        EntryPoint {
            name: entry.name.clone(),
            workgroup_size: entry.workgroup_size,
            bindings: bindings.into_iter().map(|(_, access)| access).collect(),
            constants,
            in_place: false,
        }
    }

    /// It in a format that devices compile themselves.
    fn code(&self, format: CodeFormat, info: &DeviceInfo) -> Result<Option<Code>, Error> {
        let capabilities = info.capabilities();
        Ok(match format {
            CodeFormat::Spirv => Some(Code::Spirv(self.spirv(&spirv_options(capabilities))?)),
            CodeFormat::OpenClC => Some(Code::OpenClC(self.opencl_c(&opencl_options(capabilities))?.source)),
            _ => None,
        })
    }
}

/// Whether kernels run as native code on a device.
pub fn takes_native(info: &DeviceInfo) -> bool {
    info.formats.first() == Some(&CodeFormat::Native)
}

/// The prebuilt code object for a chip, which holds every kernel of the table.
fn amdgcn(chip: &str) -> Result<Code, Error> {
    let wrong = |error: roci_codeobj::TargetError| Error::Chip { chip: chip.to_owned(), reason: error.to_string() };
    let found = DeviceLibrary::embedded()?.find(&chip.parse().map_err(wrong)?)?;
    Ok(Code::AmdGcn(found.bytes.to_vec()))
}

/// Sub-groups in workgroup memory where nothing else is said are as wide as those of most GPUs.
const EMULATED_SUBGROUP: u32 = 32;

/// The lowerings that a Vulkan device needs.
fn spirv_options(capabilities: &Capabilities) -> SpirvOptions {
    let none = capabilities.subgroup_sizes.is_empty();
    let emulated_subgroups = none.then(|| capabilities.subgroup_width.unwrap_or(EMULATED_SUBGROUP));
    SpirvOptions { emulated_subgroups, ..SpirvOptions::default() }
}

/// The lowerings that an OpenCL device needs.
fn opencl_options(capabilities: &Capabilities) -> clc::Options {
    let default = clc::Options::opencl();
    let wanted = capabilities.subgroup_width.unwrap_or(default.subgroups.size());
    // Only where there is no other size: a kernel cannot ask for one in OpenCL C, so the driver might take another.
    let native = capabilities.subgroup_sizes == [wanted];
    clc::Options {
        fp16: capabilities.fp16_arithmetic,
        integer_dot: capabilities.integer_dot,
        copies_constants: capabilities.copies_constants,
        subgroups: if native { Subgroups::Native { size: wanted } } else { Subgroups::Emulated { size: wanted } },
        ..default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_groups_are_emulated_where_there_are_none() {
        let options = |subgroup_sizes: &[u32], subgroup_width| {
            let subgroup_sizes = subgroup_sizes.to_vec();
            spirv_options(&Capabilities { subgroup_sizes, subgroup_width, ..Capabilities::default() })
        };
        assert_eq!(options(&[8], None).emulated_subgroups, None);
        assert_eq!(options(&[], None).emulated_subgroups, Some(32));
        assert_eq!(options(&[], Some(8)).emulated_subgroups, Some(8));
    }

    #[test]
    fn lowerings_follow_what_the_device_has() {
        let bare = opencl_options(&Capabilities::default());
        assert!(!bare.fp16 && !bare.integer_dot);
        assert_eq!(bare.subgroups, Subgroups::Emulated { size: 32 });
        let with = |subgroup_sizes: &[u32]| {
            let subgroup_sizes = subgroup_sizes.to_vec();
            opencl_options(&Capabilities {
                fp16_arithmetic: true,
                integer_dot: true,
                subgroup_sizes,
                ..Capabilities::default()
            })
        };
        assert!(with(&[32]).fp16 && with(&[32]).integer_dot);
        assert_eq!(with(&[32]).subgroups, Subgroups::Native { size: 32 });
        assert_eq!(with(&[64]).subgroups, Subgroups::Emulated { size: 32 });
        assert_eq!(with(&[32, 64]).subgroups, Subgroups::Emulated { size: 32 }, "the driver may take either");
        let chosen = |subgroup_sizes: &[u32]| {
            let subgroup_sizes = subgroup_sizes.to_vec();
            opencl_options(&Capabilities { subgroup_sizes, subgroup_width: Some(8), ..Capabilities::default() })
                .subgroups
        };
        assert_eq!(chosen(&[]), Subgroups::Emulated { size: 8 });
        assert_eq!(chosen(&[8]), Subgroups::Native { size: 8 });
        assert_eq!(chosen(&[8, 32]), Subgroups::Emulated { size: 8 }, "the driver may take either");
    }
}
