//! Creates device executables from a compiled module: code in the device's preferred format, and
//! its entry points.

use naga::{AddressSpace, StorageAccess};
use roci_hal::{Access, Capabilities, Code, CodeFormat, DeviceInfo, EntryPoint, ExecutableSource};

use crate::clc::{self, Subgroups};
use crate::{Compiled, Error, SpirvOptions};

impl Compiled {
    /// The executable for a device; `None` if the device accepts only prebuilt or native code.
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

    /// All entry points with the bindings and constants that the source declares. None is marked as
    /// safe to run in place.
    pub fn entry_points(&self) -> Vec<EntryPoint> {
        self.module.entry_points.iter().enumerate().map(|(index, entry)| self.entry_point(index, entry)).collect()
    }

    fn entry_point(&self, index: usize, entry: &naga::EntryPoint) -> EntryPoint {
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

    /// The code in `format`; `None` if drivers do not compile that format.
    pub fn code(&self, format: CodeFormat, info: &DeviceInfo) -> Result<Option<Code>, Error> {
        let capabilities = info.capabilities();
        Ok(match format {
            CodeFormat::Spirv => Some(Code::Spirv(self.spirv(&spirv_options(capabilities))?)),
            CodeFormat::OpenClC => Some(Code::OpenClC(self.opencl_c(&opencl_options(capabilities))?.source)),
            _ => None,
        })
    }
}

/// Default size of emulated subgroups, the most common one on GPUs.
const EMULATED_SUBGROUP: u32 = 32;

/// SPIR-V options with the lowerings that a Vulkan device needs.
fn spirv_options(capabilities: &Capabilities) -> SpirvOptions {
    let none = capabilities.subgroup_sizes.is_empty();
    let emulated_subgroups = none.then(|| capabilities.subgroup_width.unwrap_or(EMULATED_SUBGROUP));
    SpirvOptions { emulated_subgroups, ..SpirvOptions::default() }
}

/// OpenCL C options with the lowerings that an OpenCL device needs.
fn opencl_options(capabilities: &Capabilities) -> clc::Options {
    let default = clc::Options::opencl();
    let expected = capabilities.subgroup_width.unwrap_or(default.subgroups.size());
    // Only if it is the sole size: OpenCL C kernels cannot request one, so the driver may choose
    // another.
    let native = capabilities.subgroup_sizes == [expected];
    clc::Options {
        fp16: capabilities.fp16_arithmetic,
        integer_dot: capabilities.integer_dot,
        copies_constants: capabilities.copies_constants,
        subgroups: if native { Subgroups::Native { size: expected } } else { Subgroups::Emulated { size: expected } },
        ..default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subgroups_are_emulated_where_missing() {
        let options = |subgroup_sizes: &[u32], subgroup_width| {
            let subgroup_sizes = subgroup_sizes.to_vec();
            spirv_options(&Capabilities { subgroup_sizes, subgroup_width, ..Capabilities::default() })
        };
        assert_eq!(options(&[8], None).emulated_subgroups, None);
        assert_eq!(options(&[], None).emulated_subgroups, Some(32));
        assert_eq!(options(&[], Some(8)).emulated_subgroups, Some(8));
    }

    #[test]
    fn lowerings_follow_the_capabilities() {
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
        assert_eq!(with(&[32, 64]).subgroups, Subgroups::Emulated { size: 32 }, "the driver may choose either");
        let chosen = |subgroup_sizes: &[u32]| {
            let subgroup_sizes = subgroup_sizes.to_vec();
            opencl_options(&Capabilities { subgroup_sizes, subgroup_width: Some(8), ..Capabilities::default() })
                .subgroups
        };
        assert_eq!(chosen(&[]), Subgroups::Emulated { size: 8 });
        assert_eq!(chosen(&[8]), Subgroups::Native { size: 8 });
        assert_eq!(chosen(&[8, 32]), Subgroups::Emulated { size: 8 }, "the driver may choose either");
    }
}
