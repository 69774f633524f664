//! The inputs of a target's code object: kernel sources and compiler options.

use roci_base::env::DEVICE_TARGETS;
use roci_codeobj::TargetId;
use roci_device_library::{Fingerprint, parse_targets};
use roci_kernels::clc::{self, Matrix, Subgroups};
use roci_kernels::{KernelSpec, kernels, opencl_c};

use crate::Error;

/// The targets of the library. Related targets are adjacent, which improves compression.
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

/// A kernel's source as passed to clang.
#[derive(Clone, Debug)]
pub struct KernelSource {
    /// Name of the kernel in the kernel table and in the code object.
    pub name: &'static str,
    /// OpenCL C.
    pub text: String,
}

/// All inputs of the code object for one target.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The target to compile for.
    pub target: TargetId,
    /// The kernels, in the order of the table.
    pub sources: Vec<KernelSource>,
    /// clang's arguments for compiling one kernel, without file names.
    pub compile: Vec<String>,
    /// clang's arguments for linking, without file names.
    pub link: Vec<String>,
}

impl Recipe {
    /// Creates the recipe for a target.
    pub fn new(target: TargetId) -> Result<Self, Error> {
        let lowering = lowering(&target);
        let mut sources = Vec::new();
        for kernel in kernels().iter().filter(|kernel| belongs(&lowering, kernel)) {
            sources.push(KernelSource { name: kernel.name(), text: opencl_c(kernel, &lowering)?.source });
        }
        // Generic targets need code object version 6; older runtimes load only version 5.
        let version = if target.processor.is_generic() { 6 } else { 5 };
        let mut compile = clc::clang_arguments(&target.to_string(), lowering.subgroups);
        // Linkers do not merge metadata notes, and a loader finds only the kernels that the note
        // lists. Linking bitcode instead of objects gives one note for all kernels. Each kernel is
        // optimized before linking, which also removes the second copy that clang emits of it; the
        // linker would keep that copy.
        compile.extend(["-Werror", "-fno-ident", "-emit-llvm", "-c"].map(str::to_owned));
        compile.push(format!("-mcode-object-version={version}"));
        let mut link = ["-target", "amdgcn-amd-amdhsa", "-flto"].map(str::to_owned).to_vec();
        link.push(format!("-mcpu={target}"));
        link.push("-Wl,--lto-O0,--lto-CGO3,--build-id=none,--strip-all,--fatal-warnings".to_owned());
        Ok(Self { target, sources, compile, link })
    }

    /// The recipes for all targets of the library, or for those listed in `ROCI_DEVICE_TARGETS`.
    pub fn expected() -> Result<Vec<Self>, Error> {
        let list = DEVICE_TARGETS.get().unwrap_or_else(|| TARGETS.join(","));
        parse_targets(&list)?.into_iter().map(Self::new).collect()
    }

    /// Fingerprint of the compile and link options.
    pub fn options(&self) -> Fingerprint {
        let lines = [self.compile.join("\n"), self.link.join("\n")].join("\n\n");
        Fingerprint::of(lines.as_bytes())
    }

    /// Name of each kernel with the fingerprint of its source.
    pub fn fingerprints(&self) -> Vec<(String, Fingerprint)> {
        let fingerprint = |source: &KernelSource| (source.name.to_owned(), Fingerprint::of(source.text.as_bytes()));
        self.sources.iter().map(fingerprint).collect()
    }
}

/// Whether the library contains a kernel for a target. Matrix kernels need matrix units.
fn belongs(lowering: &clc::Options, kernel: &KernelSpec) -> bool {
    !kernel.needs_matrix() || lowering.matrix != Matrix::None
}

/// Options of the OpenCL C writer for a target.
fn lowering(target: &TargetId) -> clc::Options {
    // A subgroup is a wave. Waves have 64 lanes before RDNA.
    let size = if target.processor.generation() < 10 { 64 } else { 32 };
    // The WMMA operand layouts of gfx12 differ.
    let matrix = if target.processor.generation() == 11 { Matrix::Wmma } else { Matrix::None };
    clc::Options { subgroups: Subgroups::Native { size }, matrix, ..clc::Options::amdgcn() }
}
