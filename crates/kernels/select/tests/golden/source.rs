//! The generated sources of every kernel: SPIR-V, and OpenCL C in every dialect and lowering.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use roci_device_library::Fingerprint;
use roci_kernels::{Compiled, KernelSpec, SpirvOptions, clc, kernels};
use rspirv::binary::Disassemble;

use crate::{features, lowerings};

/// Identifies a source. The sort order is that of the manifest, which groups the sources of a
/// kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    pub(crate) kernel: String,
    /// `amdgcn`, `opencl` or `spirv`.
    pub(crate) target: String,
    /// Name of the lowering; `full` if nothing is lowered.
    pub(crate) lowering: String,
}

impl Id {
    pub(crate) fn new(kernel: &str, target: &str, lowering: &str) -> Self {
        Self { kernel: kernel.to_owned(), target: target.to_owned(), lowering: lowering.to_owned() }
    }

    /// Path of the full source, relative to the golden folder.
    pub(crate) fn path(&self) -> PathBuf {
        let Self { kernel, target, lowering } = self;
        let extension = if target == "spirv" { "spvasm" } else { "cl" };
        match lowering.as_str() {
            "full" => format!("{target}/{kernel}.{extension}"),
            lowered => format!("{target}/{kernel}.{lowered}.{extension}"),
        }
        .into()
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.kernel, self.target, self.lowering)
    }
}

/// The output of a writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    C(String),
    /// Words instead of disassembly, because disassembling is slow and only needed for sources that
    /// are shown or stored.
    Spirv(Vec<u32>),
}

impl Code {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::C(source) => source.as_bytes(),
            Self::Spirv(words) => bytemuck::cast_slice(words),
        }
    }

    /// 64 bits are enough: a source is only compared with its predecessor, so an accidental change
    /// goes unnoticed with a probability of 2^-64.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self.bytes())
    }

    pub(crate) fn source(&self) -> String {
        match self {
            Self::C(source) => source.clone(),
            Self::Spirv(words) => {
                let module = rspirv::dr::load_words(words).unwrap_or_else(|error| panic!("not SPIR-V: {error}"));
                format!("{}\n", module.disassemble().trim_end())
            }
        }
    }
}

/// One kernel for one target in one lowering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) code: Code,
    pub(crate) features: BTreeSet<String>,
}

/// Generates the sources of all kernels.
pub(crate) fn generate() -> BTreeMap<Id, Source> {
    kernels().iter().flat_map(sources_of).collect()
}

fn sources_of(kernel: &KernelSpec) -> Vec<(Id, Source)> {
    let name = kernel.name();
    let compiled = kernel.module().unwrap_or_else(|error| panic!("{error}"));
    let constructs = features::constructs(&compiled.module);
    let mut sources = Vec::new();
    let mut add = |target, lowering, code: Code| {
        let id = Id::new(name, target, lowering);
        let features = features::of_source(&id, &code, &constructs);
        sources.push((id, Source { code, features }));
    };
    add("spirv", "full", Code::Spirv(spirv(&compiled)));
    add("amdgcn", "full", Code::C(amdgcn(kernel, &compiled)));
    if !kernel.needs_matrix() {
        for (lowering, output) in lowerings::distinct_lowerings(kernel) {
            // The emulated subgroup sizes differ in one number; `lowered` represents all of them.
            if !lowering.name.starts_with("lowered_") {
                add("opencl", lowering.name, Code::C(output.source));
            }
        }
    }
    sources
}

fn spirv(compiled: &Compiled) -> Vec<u32> {
    compiled.spirv(&SpirvOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn amdgcn(kernel: &KernelSpec, compiled: &Compiled) -> String {
    let matrix = if kernel.needs_matrix() { clc::Matrix::Wmma } else { clc::Matrix::None };
    let options = clc::Options { matrix, ..clc::Options::amdgcn() };
    compiled.opencl_c(&options).unwrap_or_else(|error| panic!("{error}")).source
}
