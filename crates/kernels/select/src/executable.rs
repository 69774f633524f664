//! From a kernel of the table to an executable: code in the device's preferred format, with its
//! entry points.

use roci_device_library::DeviceLibrary;
use roci_hal::native::NativeEntry;
use roci_hal::{Code, CodeFormat, DeviceInfo, EntryPoint, ExecutableSource};

use crate::{Error, KernelSpec, native};

impl KernelSpec {
    /// The entry point, against which the HAL checks every dispatch.
    pub fn entry_point(&self) -> EntryPoint {
        EntryPoint {
            name: self.name().into(),
            workgroup_size: self.workgroup(),
            bindings: self.bindings().iter().map(|binding| binding.access).collect(),
            constants: self.constants().size,
            in_place: self.in_place(),
        }
    }

    /// Whether the device supports the kernel. Some kernels need matrix units with subgroups of 32,
    /// and some need subgroups that are not emulated; devices that run native code need neither.
    pub fn runs_on(&self, info: &DeviceInfo) -> bool {
        let capabilities = info.capabilities();
        let sizes = &capabilities.subgroup_sizes;
        let matrix = capabilities.matrix && sizes.contains(&32);
        let subgroups = !sizes.is_empty() && sizes.iter().all(|size| *size >= self.min_subgroup());
        let runs = (matrix || !self.needs_matrix()) && (subgroups || self.min_subgroup() == 0);
        runs || runs_native_kernels(info)
    }

    /// The executable for a device, in the first of the device's formats that is available.
    pub fn executable(&self, info: &DeviceInfo) -> Result<ExecutableSource, Error> {
        if !self.runs_on(info) {
            let (kernel, device) = (self.name(), info.uri.to_string());
            return Err(match self.min_subgroup() {
                0 => Error::NoMatrixUnits { kernel, device },
                size => Error::NoSubgroups { kernel, size, device },
            });
        }
        for format in &info.formats {
            if let Some(code) = self.code(*format, info)? {
                let entry_points = vec![self.entry_point()];
                return Ok(ExecutableSource { label: self.name().into(), entry_points, code });
            }
        }
        Err(Error::NoFormat { kernel: self.name(), device: info.uri.to_string(), formats: info.formats.clone() })
    }

    /// The kernel in one format; `None` if it is not available in that format.
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

/// The executable of a CPU-only kernel; `None` if there is no such kernel.
pub fn native_only_executable(name: &str) -> Option<ExecutableSource> {
    let (kernel, constants) = native::find_native_only(name, native::Level::best())?;
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

/// Whether the device runs kernels as native host code.
pub fn runs_native_kernels(info: &DeviceInfo) -> bool {
    info.formats.first() == Some(&CodeFormat::Native)
}

/// The prebuilt code object for a chip; it contains every kernel of the table.
fn amdgcn(chip: &str) -> Result<Code, Error> {
    let wrong = |error: roci_codeobj::TargetError| Error::Chip { chip: chip.to_owned(), reason: error.to_string() };
    let found = DeviceLibrary::embedded()?.find(&chip.parse().map_err(wrong)?)?;
    Ok(Code::AmdGcn(found.bytes.to_vec()))
}
