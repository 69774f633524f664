//! What is made for a target: the sources of its kernels and the options of its programs.

use roci_codeobj::TargetId;
use roci_device_library::{Fingerprint, parse_targets};
use roci_hal::env::DEVICE_TARGETS;
use roci_kernels::clc::{self, Matrix, Subgroups};
use roci_kernels::{KernelSpec, kernels, opencl_c};

use crate::Error;

/// The targets of the library. Kin stand side by side, which helps the compression.
pub const TARGETS: [&str; 11] = [
    "gfx1010",
    "gfx1012",
    "gfx1013",
    "gfx10-1-generic",
    "gfx1030",
    "gfx10-3-generic",
    "gfx1100",
    "gfx1151",
    "gfx11-generic",
    "gfx12-generic",
    "gfx9-generic",
];

/// A kernel as clang gets it.
#[derive(Clone, Debug)]
pub struct KernelSource {
    /// Its name in the table, and in the code object.
    pub name: &'static str,
    /// OpenCL C.
    pub text: String,
}

/// All that the code object for a target is made from.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// What the code is for.
    pub target: TargetId,
    /// The kernels, in the order of the table.
    pub sources: Vec<KernelSource>,
    /// What clang is given to compile one of them, save the names of the files.
    pub compile: Vec<String>,
    /// What clang is given to link them, save the names of the files.
    pub link: Vec<String>,
}

impl Recipe {
    /// The recipe for a target.
    pub fn new(target: TargetId) -> Result<Self, Error> {
        let lowering = lowering(&target);
        let mut sources = Vec::new();
        for kernel in kernels().iter().filter(|kernel| belongs(&lowering, kernel)) {
            sources.push(KernelSource { name: kernel.name(), text: opencl_c(kernel, &lowering)?.source });
        }
        // Generic targets came with version 6; version 5 is what older runtimes load.
        let version = if target.processor.is_generic() { 6 } else { 5 };
        let mut compile = clc::clang_arguments(&target.to_string(), lowering.subgroups);
        // The metadata note holds one module's kernels, and linkers do not merge notes: so that loaders find all kernels,
        // they are linked as bitcode, each optimised by itself before. That is also when the second copy that clang
        // makes of each kernel goes away; the linker would keep it.
        compile.extend(["-Werror", "-fno-ident", "-emit-llvm", "-c"].map(str::to_owned));
        compile.push(format!("-mcode-object-version={version}"));
        let mut link = ["-target", "amdgcn-amd-amdhsa", "-flto"].map(str::to_owned).to_vec();
        link.push(format!("-mcpu={target}"));
        link.push("-Wl,--lto-O0,--lto-CGO3,--build-id=none,--strip-all,--fatal-warnings".to_owned());
        Ok(Self { target, sources, compile, link })
    }

    /// The recipes for the targets of the library, or for those that `ROCI_DEVICE_TARGETS` names.
    pub fn wanted() -> Result<Vec<Self>, Error> {
        let list = DEVICE_TARGETS.get().unwrap_or_else(|| TARGETS.join(","));
        parse_targets(&list)?.into_iter().map(Self::new).collect()
    }

    /// The fingerprint of the options.
    pub fn options(&self) -> Fingerprint {
        let lines = [self.compile.join("\n"), self.link.join("\n")].join("\n\n");
        Fingerprint::of(lines.as_bytes())
    }

    /// The kernels, each with the fingerprint of its source.
    pub fn fingerprints(&self) -> Vec<(String, Fingerprint)> {
        let fingerprint = |source: &KernelSource| (source.name.to_owned(), Fingerprint::of(source.text.as_bytes()));
        self.sources.iter().map(fingerprint).collect()
    }
}

/// Whether a target gets a kernel: those for matrix units only where there are some.
fn belongs(lowering: &clc::Options, kernel: &KernelSpec) -> bool {
    !kernel.needs_matrix() || lowering.matrix != Matrix::None
}

/// How the kernels are written for a target.
fn lowering(target: &TargetId) -> clc::Options {
    // Sub-groups are waves, and waves have 64 lanes before RDNA.
    let size = if target.processor.generation() < 10 { 64 } else { 32 };
    // The next generation has other layouts.
    let matrix = if target.processor.generation() == 11 { Matrix::Wmma } else { Matrix::None };
    clc::Options { subgroups: Subgroups::Native { size }, matrix, ..clc::Options::amdgcn() }
}
