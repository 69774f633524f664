//! Subgroups lowered to workgroup memory: each operation, in the programs that also test the
//! OpenCL C writer, and in the kernels that use subgroups.

use libtest_mimic::{Failed, Trial};
use roci_hal::{Access, BufferDesc, Code, Deadline, Device, EntryPoint, Error, ExecutableSource, Registry, Submit};
use roci_kernels::{KernelSpec, Source, SpirvOptions, kernels};

use case::Case;

#[path = "../../../../kernels/select/tests/clc/subgroups.rs"]
mod programs;

/// Subgroup sizes.
const SIZES: [u32; 2] = [8, 32];
/// Files of kernels that use subgroups.
const FILES: [&str; 3] = ["matvec.wgsl", "reduce.wgsl", "softmax.wgsl"];

/// Types that the included program list uses.
mod case {
    /// A program that writes words to its only buffer.
    pub(crate) struct Case {
        pub(super) name: &'static str,
        pub(super) wgsl: String,
        pub(super) expected: Vec<u8>,
    }

    impl Case {
        pub(crate) fn new(name: &'static str, wgsl: &str) -> Self {
            Self { name, wgsl: wgsl.to_owned(), expected: Vec::new() }
        }

        pub(crate) fn writes(self, _before: &[u32], after: &[u32]) -> Self {
            Self { expected: bytemuck::cast_slice(after).to_vec(), ..self }
        }

        pub(crate) fn subgroup_sizes(self, _sizes: &[u32]) -> Self {
            self
        }
    }
}

fn run(device: &Device, case: &Case, size: u32) -> Result<(), Failed> {
    let compiled = Source::parse(case.name, &case.wgsl, &[])?;
    let code = compiled.spirv(&SpirvOptions { emulated_subgroups: Some(size), ..SpirvOptions::default() })?;
    let workgroup_size = compiled.module.entry_points[0].workgroup_size;
    let entry_point = EntryPoint {
        name: "main".into(),
        workgroup_size,
        bindings: vec![Access::ReadWrite],
        constants: 0,
        in_place: false,
    };
    let source = ExecutableSource { label: case.name.into(), entry_points: vec![entry_point], code: Code::Spirv(code) };
    let kernel = device.load(&source)?.kernel("main")?;
    let buffer = device.allocate(BufferDesc::device(case.expected.len() as u64))?;
    device.write(&buffer, &vec![0; case.expected.len()])?;
    let mut recorder = device.record();
    recorder.dispatch(&kernel, [1, 1, 1], &[(&buffer).into()], &[])?;
    let done = device.semaphore(0);
    device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1))?;
    done.wait(1, Deadline::default())?;
    let got = device.read(&buffer)?;
    if got == case.expected { Ok(()) } else { Err(format!("it wrote {got:?}").into()) }
}

/// Checks that the list of files is complete.
fn files() -> Result<(), Failed> {
    for kernel in kernels().iter().filter(|kernel| !kernel.needs_matrix() && kernel.min_subgroup() == 0) {
        let lowered = SpirvOptions { emulated_subgroups: Some(8), ..SpirvOptions::default() };
        let differs = roci_kernels::spirv(kernel, &SpirvOptions::default())? != roci_kernels::spirv(kernel, &lowered)?;
        if differs != FILES.contains(&kernel.file()) {
            return Err(
                format!("`FILES` is wrong about {}: list exactly the files that use subgroups", kernel.file()).into()
            );
        }
    }
    Ok(())
}

fn open(uri: &str) -> Result<Device, Error> {
    let registry = Registry::new().with(crate::common::driver());
    registry.open(&registry.parse(uri)?, None)
}

/// One test per program and per kernel. Each opens its own device, because each test is a process.
pub(crate) fn trials(check: fn(&Device, &KernelSpec) -> Result<(), Failed>) -> Vec<Trial> {
    let mut trials = vec![Trial::test("every_file_that_uses_subgroups_is_listed", files)];
    for size in SIZES {
        let uri = format!("{}?subgroups={size}", roci_testkit::vulkan_device());
        for case in programs::cases() {
            let uri = uri.clone();
            trials.push(Trial::test(format!("{uri}/{}", case.name), move || run(&open(&uri)?, &case, size)));
        }
        for spec in kernels().iter().filter(|spec| FILES.contains(&spec.file())) {
            let uri = uri.clone();
            trials.push(Trial::test(format!("{uri}/{}", spec.name()), move || check(&open(&uri)?, spec)));
        }
    }
    trials
}
