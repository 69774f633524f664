//! The kernels of the cases: contract, WGSL and native implementation under one name.

mod amdgcn;
mod native;

use std::sync::Arc;

use roci_hal::native::NativeEntry;
use roci_hal::{Access, Code, CodeFormat, DeviceInfo, EntryPoint, ExecutableSource};
use roci_wgsl::{Compiled, Source, SpirvOptions, clc};

pub(crate) use native::Flag;

/// Workgroup size of the one-dimensional kernels.
pub const WORKGROUP_SIZE: u32 = 64;
/// Workgroup size of `grid_ids`.
pub const GRID_IDS: [u32; 3] = [4, 2, 2];

/// Why an executable of the suite cannot be built.
#[derive(Clone, Debug, thiserror::Error)]
pub enum KernelError {
    /// No file has an entry point of that name.
    #[error("the suite has no kernel `{0}`")]
    Unknown(String),
    /// The suite cannot write any format that the device loads.
    #[error("the suite's kernels cannot be built as any of {0:?}")]
    Format(Vec<CodeFormat>),
    /// The compiler for the format is missing.
    #[error("{tool} is absent: {reason}")]
    Absent {
        /// The tool, as `ROCI_REQUIRE` names it.
        tool: &'static str,
        /// Why it cannot be used.
        reason: String,
    },
    /// clang fails to compile the suite's own WGSL.
    #[error("`{kernel}` cannot be compiled: {reason}")]
    Clang {
        /// Name of the WGSL file.
        kernel: String,
        /// The compiler's message.
        reason: String,
    },
    /// The suite's own WGSL is rejected.
    #[error(transparent)]
    Source(#[from] Arc<roci_wgsl::Error>),
}

/// A WGSL file and the contracts of its entry points.
struct File {
    label: &'static str,
    text: &'static str,
    entries: &'static [EntrySpec],
}

struct EntrySpec {
    name: &'static str,
    workgroup: [u32; 3],
    bindings: &'static [Access],
    constants: usize,
    in_place: bool,
}

const LINEAR: EntrySpec = EntrySpec {
    name: "",
    workgroup: [WORKGROUP_SIZE, 1, 1],
    bindings: &[Access::Read, Access::ReadWrite],
    constants: 8,
    in_place: true,
};

static FILES: &[File] = &[
    File {
        label: "add_constant",
        text: include_str!("../../wgsl/add_constant.wgsl"),
        entries: &[EntrySpec { name: "add_constant", ..LINEAR }],
    },
    File {
        label: "scale_offset",
        text: include_str!("../../wgsl/scale_offset.wgsl"),
        entries: &[EntrySpec { name: "scale", ..LINEAR }, EntrySpec { name: "offset", ..LINEAR }],
    },
    File {
        label: "grid_ids",
        text: include_str!("../../wgsl/grid_ids.wgsl"),
        entries: &[EntrySpec {
            name: "grid_ids",
            workgroup: GRID_IDS,
            bindings: &[Access::ReadWrite],
            constants: 0,
            in_place: false,
        }],
    },
    File {
        label: "accumulate",
        text: include_str!("../../wgsl/accumulate.wgsl"),
        entries: &[EntrySpec { name: "accumulate", bindings: &[Access::ReadWrite], in_place: false, ..LINEAR }],
    },
    File {
        label: "spin",
        text: include_str!("../../wgsl/spin.wgsl"),
        entries: &[EntrySpec {
            name: "spin",
            workgroup: [32, 1, 1],
            bindings: &[Access::ReadWrite],
            constants: 0,
            in_place: false,
        }],
    },
    File {
        label: "out_of_bounds",
        text: include_str!("../../wgsl/out_of_bounds.wgsl"),
        entries: &[EntrySpec {
            name: "out_of_bounds",
            workgroup: [1, 1, 1],
            bindings: &[Access::ReadWrite],
            constants: 8,
            in_place: false,
        }],
    },
    File {
        label: "empty",
        text: include_str!("../../wgsl/empty.wgsl"),
        entries: &[EntrySpec { name: "empty", workgroup: [1, 1, 1], bindings: &[], constants: 0, in_place: false }],
    },
];

/// The executable that contains a kernel, in the first format that the device loads and the suite
/// can write.
pub fn source(kernel: &str, info: &DeviceInfo) -> Result<ExecutableSource, KernelError> {
    let file = FILES
        .iter()
        .find(|file| file.entries.iter().any(|entry| entry.name == kernel))
        .ok_or_else(|| KernelError::Unknown(kernel.to_owned()))?;
    for format in &info.formats {
        if let Some(code) = file.code(*format, info)? {
            return Ok(ExecutableSource { label: file.label.to_owned(), entry_points: file.entry_points(), code });
        }
    }
    Err(KernelError::Format(info.formats.clone()))
}

impl File {
    /// The file's code in a format; `None` if the suite cannot write that format.
    fn code(&self, format: CodeFormat, info: &DeviceInfo) -> Result<Option<Code>, KernelError> {
        Ok(match format {
            CodeFormat::Native => self.natives().map(Code::Native),
            CodeFormat::Spirv => Some(Code::Spirv(self.compiled()?.spirv(&SpirvOptions::default()).map_err(Arc::new)?)),
            CodeFormat::OpenClC => {
                Some(Code::OpenClC(self.compiled()?.opencl_c(&clc::Options::opencl()).map_err(Arc::new)?.source))
            }
            CodeFormat::AmdGcn => match &info.physical[0].target {
                Some(chip) => Some(Code::AmdGcn(amdgcn::compile(self.label, &self.compiled()?, chip)?)),
                None => None,
            },
            _ => None,
        })
    }

    fn natives(&self) -> Option<Vec<NativeEntry>> {
        let entry = |name: &str| Some(NativeEntry { name: name.into(), kernel: Arc::from(native::find(name)?) });
        self.entries.iter().map(|contract| entry(contract.name)).collect()
    }

    fn compiled(&self) -> Result<Compiled, KernelError> {
        Ok(Source::parse(&format!("{}.wgsl", self.label), self.text, &[]).map_err(Arc::new)?)
    }

    fn entry_points(&self) -> Vec<EntryPoint> {
        let contract = |entry: &EntrySpec| EntryPoint {
            name: entry.name.to_owned(),
            workgroup_size: entry.workgroup,
            bindings: entry.bindings.to_vec(),
            constants: entry.constants,
            in_place: entry.in_place,
        };
        self.entries.iter().map(contract).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clc::Argument;

    /// The arguments that a driver passes for a contract, in OpenCL's terms.
    fn arguments(contract: &EntrySpec) -> Vec<Argument> {
        let mut arguments: Vec<_> = (0..)
            .zip(contract.bindings)
            .map(|(binding, access)| Argument::Binding { group: 0, binding, writable: access.writes() })
            .collect();
        if contract.constants > 0 {
            arguments.push(Argument::Constants { size: contract.constants as u32 });
        }
        arguments
    }

    #[test]
    fn every_kernel_meets_its_contract_in_every_format() {
        for file in FILES {
            assert!(file.natives().is_some(), "{} lacks a native twin", file.label);
            let compiled = file.compiled().unwrap();
            compiled.spirv(&SpirvOptions::default()).unwrap();
            let written = compiled.opencl_c(&clc::Options::opencl()).unwrap();
            assert_eq!(written.entry_points.len(), file.entries.len(), "{}", file.label);
            for (entry, contract) in written.entry_points.iter().zip(file.entries) {
                assert_eq!(entry.entry_point, contract.name);
                assert_eq!(entry.name, contract.name, "drivers find a kernel by its contract's name");
                assert_eq!(entry.workgroup_size, contract.workgroup, "{}", contract.name);
                assert_eq!(entry.arguments, arguments(contract), "{}", contract.name);
            }
        }
    }
}
