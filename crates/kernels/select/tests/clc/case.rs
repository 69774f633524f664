//! One WGSL program with its inputs and expected outputs.

use libtest_mimic::Failed;
use naga::valid::{Capabilities, ModuleInfo, ShaderStages, SubgroupOperationSet, ValidationFlags, Validator};
use roci_kernels::clc::{self, Argument, Dialect, Error, Options, Output};
use roci_testkit::Tolerance;
use roci_testkit::opencl::{Arg, Runner};

use super::amdgcn;

/// The expected content of a buffer after the run.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// Read-only buffer; not checked.
    Anything,
    /// Exactly these bytes.
    Bytes(Vec<u8>),
    /// These values, within a tolerance.
    Floats(Vec<f32>, Tolerance),
}

/// A program with its buffers: `buffers[n]` is bound to binding `n` of group 0.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) wgsl: String,
    pub(crate) buffers: Vec<(Vec<u8>, Expected)>,
    pub(crate) constants: Vec<u8>,
    pub(crate) groups: [u32; 3],
    pub(crate) subgroup_sizes: &'static [u32],
    pub(crate) zero_workgroup_memory: bool,
}

impl Case {
    pub(crate) fn new(name: &'static str, wgsl: &str) -> Self {
        Case {
            name,
            wgsl: wgsl.to_owned(),
            buffers: Vec::new(),
            constants: Vec::new(),
            groups: [1, 1, 1],
            subgroup_sizes: &[32],
            zero_workgroup_memory: false,
        }
    }

    /// A function of `u32`s: `fn f(a: u32, i: u32) -> u32` applied to each input.
    pub(crate) fn map_u32(name: &'static str, body: &str, pairs: &[(u32, u32)]) -> Self {
        Self::map(name, "u32", "", body, pairs)
    }

    /// Like [`Case::map_u32`], with extra declarations and with any four-byte type instead of
    /// `u32`.
    pub(crate) fn map<T: bytemuck::NoUninit + Copy>(
        name: &'static str,
        ty: &str,
        declarations: &str,
        body: &str,
        pairs: &[(T, T)],
    ) -> Self {
        let (inputs, outputs): (Vec<T>, Vec<T>) = pairs.iter().copied().unzip();
        let count = pairs.len();
        let wgsl = format!(
            "{declarations}
            @group(0) @binding(0) var<storage, read> input: array<{ty}>;
            @group(0) @binding(1) var<storage, read_write> output: array<{ty}>;
            fn f(a: {ty}, i: u32) -> {ty} {{ {body} }}
            @compute @workgroup_size({count})
            fn main(@builtin(global_invocation_id) id: vec3<u32>) {{ output[id.x] = f(input[id.x], id.x); }}"
        );
        Self::new(name, &wgsl).reads(&inputs).writes(&[], &outputs)
    }

    /// Adds a read-only buffer.
    pub(crate) fn reads<T: bytemuck::NoUninit>(mut self, data: &[T]) -> Self {
        self.buffers.push((bytemuck::cast_slice(data).to_vec(), Expected::Anything));
        self
    }

    /// Adds a buffer with the initial content `before` (zeros if empty) and the expected content
    /// `after`.
    pub(crate) fn writes<T: bytemuck::NoUninit>(mut self, before: &[T], after: &[T]) -> Self {
        let after: Vec<u8> = bytemuck::cast_slice(after).to_vec();
        let mut bytes: Vec<u8> = bytemuck::cast_slice(before).to_vec();
        bytes.resize(after.len(), 0);
        self.buffers.push((bytes, Expected::Bytes(after)));
        self
    }

    /// Adds a zeroed buffer with the expected content `after`, within a tolerance.
    pub(crate) fn writes_near(mut self, after: &[f32], tolerance: Tolerance) -> Self {
        self.buffers.push((vec![0; after.len() * 4], Expected::Floats(after.to_vec(), tolerance)));
        self
    }

    pub(crate) fn constants<T: bytemuck::NoUninit>(mut self, data: &[T]) -> Self {
        self.constants = bytemuck::cast_slice(data).to_vec();
        self
    }

    pub(crate) fn groups(mut self, groups: [u32; 3]) -> Self {
        self.groups = groups;
        self
    }

    pub(crate) fn subgroup_sizes(mut self, sizes: &'static [u32]) -> Self {
        self.subgroup_sizes = sizes;
        self
    }

    pub(crate) fn zero_workgroup_memory(mut self) -> Self {
        self.zero_workgroup_memory = true;
        self
    }

    /// Applies a change for which there is no dedicated method.
    pub(crate) fn with(mut self, change: impl FnOnce(&mut Case)) -> Self {
        change(&mut self);
        self
    }

    pub(crate) fn write(&self, options: &Options) -> Result<Output, Failed> {
        let (module, info) = parse(&self.wgsl)?;
        Ok(clc::write(&module, &info, Some(&self.wgsl), options)?)
    }

    /// Runs the program on PoCL and compares the buffers.
    pub(crate) fn run(&self, runner: &Runner, options: &Options) -> Result<(), Failed> {
        let mut output = self.write(options)?;
        if options.dialect == Dialect::AmdGcn {
            output.source = amdgcn::on_opencl(&output.source);
        }
        let entry = &output.entry_points[0];
        let program =
            runner.compile(&output.source, "-cl-std=CL1.2").map_err(|error| format!("{error}\n{}", output.source))?;
        let lengths: Vec<[u8; 4]> = entry.arguments.iter().map(|argument| self.length(argument)).collect();
        let mut buffers: Vec<Option<Vec<u8>>> = self.buffers.iter().map(|(bytes, _)| Some(bytes.clone())).collect();
        let mut contents: Vec<(usize, Vec<u8>)> = Vec::new();
        for argument in &entry.arguments {
            if let Argument::Binding { binding, .. } = *argument {
                let index = binding as usize;
                contents.push((index, buffers[index].take().ok_or("a binding is passed twice")?));
            }
        }
        let mut pointers = contents.iter_mut();
        let mut arguments = Vec::new();
        for (argument, length) in entry.arguments.iter().zip(&lengths) {
            arguments.push(match argument {
                Argument::Binding { .. } => match pointers.next() {
                    Some((_, bytes)) => Arg::Buffer(bytes),
                    None => return Err("more bindings than buffers".into()),
                },
                Argument::Constants { size } => {
                    if *size as usize != self.constants.len() {
                        return Err(format!("constants of {size} bytes").into());
                    }
                    Arg::Bytes(&self.constants)
                }
                Argument::ArrayLength { .. } => Arg::Bytes(length),
            });
        }
        program.run(&entry.name, self.groups, entry.workgroup_size, &mut arguments)?;
        for (index, bytes) in &contents {
            compare(bytes, &self.buffers[*index].1)
                .map_err(|error| format!("buffer {index}: {error}\n{}", output.source))?;
        }
        Ok(())
    }

    fn length(&self, argument: &Argument) -> [u8; 4] {
        match *argument {
            Argument::ArrayLength { binding, offset, stride, .. } => {
                let bytes = self.buffers[binding as usize].0.len() as u32;
                ((bytes - offset) / stride).to_le_bytes()
            }
            _ => [0; 4],
        }
    }
}

fn compare(got: &[u8], expected: &Expected) -> Result<(), String> {
    match expected {
        Expected::Anything => Ok(()),
        Expected::Bytes(bytes) if got == bytes => Ok(()),
        Expected::Bytes(bytes) => {
            let words =
                |bytes: &[u8]| -> Vec<u32> { bytes.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect() };
            Err(format!("got  {:x?}\nwant {:x?}", words(got), words(bytes)))
        }
        Expected::Floats(values, tolerance) => {
            let got: Vec<f32> = got.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
            tolerance.compare(&got, values).map_err(|error| format!("{error}\ngot  {got:?}\nwant {values:?}"))
        }
    }
}

/// Parses and validates WGSL.
pub(crate) fn parse(wgsl: &str) -> Result<(naga::Module, ModuleInfo), Failed> {
    let module = naga::front::wgsl::parse_str(wgsl).map_err(|error| error.emit_to_string(wgsl))?;
    let info = validate(&module, wgsl)?;
    Ok((module, info))
}

/// Validates with all of naga's capabilities: the writer itself rejects what it does not support.
pub(crate) fn validate(module: &naga::Module, wgsl: &str) -> Result<ModuleInfo, Failed> {
    let info = Validator::new(ValidationFlags::all(), Capabilities::all())
        .subgroup_stages(ShaderStages::COMPUTE)
        .subgroup_operations(SubgroupOperationSet::all())
        .validate(module)
        .map_err(|error| error.emit_to_string(wgsl))?;
    Ok(info)
}

/// Compiles a program that the writer must reject, and returns the error.
pub(crate) fn refusal(wgsl: &str, options: &Options) -> Result<Error, Failed> {
    let (module, info) = parse(wgsl)?;
    match clc::write(&module, &info, Some(wgsl), options) {
        Err(error) => Ok(error),
        Ok(output) => Err(format!("the writer accepted the program:\n{}", output.source).into()),
    }
}
