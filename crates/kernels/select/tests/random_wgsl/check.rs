//! Runs one program through the translations and compares it with direct evaluation.

use roci_kernels::clc::{Argument, Options, Output, Subgroups};
use roci_kernels::{Compiled, Source, SpirvOptions, clc};
use roci_testkit::opencl::{Arg, Runner};
use roci_testkit::tools::Tool;

use super::ast::{Program, Type};
use super::{eval, print};

/// Subgroup sizes that are emulated on PoCL.
pub(crate) const SUBGROUP_SIZES: [u32; 2] = [8, 32];

/// A failure of a program.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The program has no unique result; a bug of the generator.
    Undefined(String),
    /// naga or a kernel rule rejects the program.
    Refused(String),
    /// The OpenCL C writer fails, or its output does not compile.
    NotWritten(String),
    /// A tool rejects the generated code.
    Tool(String),
    /// The result is wrong.
    Differs(String),
    /// The result is wrong, but correct with [`hide_conditions`].
    Pocl(String),
}

impl Fault {
    /// Whether a smaller program shows the same fault. A rejected program only shows that the
    /// reduction broke it.
    pub(crate) fn is_like(&self, other: &Fault) -> bool {
        let shrinks = !matches!(self, Fault::Undefined(_) | Fault::Refused(_));
        shrinks && std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (what, text) = match self {
            Fault::Undefined(text) => ("the program has no one result", text),
            Fault::Refused(text) => ("the WGSL is refused", text),
            Fault::NotWritten(text) => ("no OpenCL C that compiles", text),
            Fault::Tool(text) => ("a tool refuses the translation", text),
            Fault::Differs(text) => ("PoCL differs", text),
            Fault::Pocl(text) => ("PoCL differs by its own fault", text),
        };
        write!(f, "{what}: {text}")
    }
}

fn options(program: &Program, size: u32) -> Options {
    Options {
        subgroups: Subgroups::Emulated { size },
        zero_workgroup_memory: program.reads_fresh_workgroup,
        fp_contract: false,
        ..Options::opencl()
    }
}

pub(crate) fn parse(program: &Program) -> Result<Compiled, Fault> {
    Source::parse("random.wgsl", &print::program(program), &[]).map_err(|error| Fault::Refused(error.to_string()))
}

pub(crate) fn opencl_c(program: &Program, size: u32) -> Result<Output, Fault> {
    parse(program)?.opencl_c(&options(program, size)).map_err(|error| Fault::NotWritten(error.to_string()))
}

/// Runs a program on PoCL and compares every byte except padding.
pub(crate) fn pocl(runner: &Runner, program: &Program, size: u32) -> Result<(), Fault> {
    let fault = match pocl_as(runner, program, size, |source| source) {
        Err(Fault::Differs(text)) => text,
        other => return other,
    };
    match pocl_as(runner, program, size, hide_conditions) {
        Ok(()) => Err(Fault::Pocl(fault)),
        Err(_) => Err(Fault::Differs(fault)),
    }
}

/// The source with every selector and condition read through a volatile variable.
///
/// PoCL 3.1 drops a uniform branch inside a `switch` with divergent selectors although both
/// selectors have the right value, probably because of barriers that it adds around branches that
/// it considers uniform. It does not consider these uniform, and nothing else changes.
fn hide_conditions(source: String) -> String {
    let mut hidden = ["bool", "int", "uint"].map(|ty| {
        format!(
            "static __attribute__((overloadable)) {ty} hide({ty} a) {{\n    volatile {ty} b = a;\n    return b;\n}}\n"
        )
    });
    hidden[0].insert_str(0, "#pragma OPENCL FP_CONTRACT OFF\n");
    let mut text = hidden.concat();
    for line in source.lines() {
        let condition = ["if (", "switch ("].into_iter().find_map(|start| {
            let rest = line.trim_start().strip_prefix(start)?.strip_suffix(") {")?;
            Some((start, rest))
        });
        match condition {
            Some(("if (", condition)) => text.push_str(&format!("if (hide((bool)({condition}))) {{")),
            Some((start, condition)) => text.push_str(&format!("{start}hide({condition})) {{")),
            None => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// Like [`pocl`], with a transformation of the OpenCL C before compilation.
pub(crate) fn pocl_as(
    runner: &Runner,
    program: &Program,
    size: u32,
    change: impl Fn(String) -> String,
) -> Result<(), Fault> {
    let want = eval::run(program, size).map_err(Fault::Undefined)?;
    let mut output = opencl_c(program, size)?;
    output.source = change(output.source);
    let got = run(runner, program, &output).map_err(Fault::NotWritten)?;
    for (index, (got, want)) in got.iter().zip(&want).enumerate() {
        compare(program, index, got, want)?;
    }
    Ok(())
}

fn run(runner: &Runner, program: &Program, output: &Output) -> Result<Vec<Vec<u8>>, String> {
    let text = |error: roci_testkit::opencl::Error| error.to_string();
    let compiled = runner.compile(&output.source, "-cl-std=CL1.2").map_err(text)?;
    let entry = &output.entry_points[0];
    let mut buffers: Vec<Vec<u8>> = program.buffers.iter().map(|buffer| buffer.data.clone()).collect();
    let mut by_binding: Vec<Option<&mut Vec<u8>>> = buffers.iter_mut().map(Some).collect();
    let mut arguments = Vec::new();
    for argument in &entry.arguments {
        arguments.push(match *argument {
            Argument::Binding { binding, .. } => {
                Arg::Buffer(by_binding[binding as usize].take().ok_or("a buffer is bound twice")?)
            }
            Argument::Constants { .. } => Arg::Bytes(&program.params.1),
            Argument::ArrayLength { .. } => return Err("kernels may not use `arrayLength`".into()),
        });
    }
    compiled.run(&entry.name, [program.groups, 1, 1], entry.workgroup_size, &mut arguments).map_err(text)?;
    drop(arguments);
    Ok(buffers)
}

fn compare(program: &Program, index: usize, got: &[u8], want: &[u8]) -> Result<(), Fault> {
    let buffer = &program.buffers[index];
    let mut first = None;
    let whole = Type::array(buffer.element.clone(), buffer.length);
    program.each_scalar(&whole, 0, &mut |scalar, at| {
        let range = at..at + scalar.bytes();
        if first.is_none() && got[range.clone()] != want[range.clone()] {
            let [got, want] = [got, want]
                .map(|bytes| bytes[range.clone()].iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>());
            first = Some(format!("b{index} at byte {at} ({scalar:?}): got 0x{got}, want 0x{want}"));
        }
    });
    first.map_or(Ok(()), |text| Err(Fault::Differs(text)))
}

/// naga's SPIR-V of a program is valid.
pub(crate) fn spirv(validator: &Tool, program: &Program) -> Result<(), Fault> {
    let words =
        parse(program)?.spirv(&SpirvOptions::default()).map_err(|error| Fault::NotWritten(error.to_string()))?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    validator.accepts(&["--target-env", "vulkan1.1", "-"], &bytes).map_err(|error| Fault::Tool(error.to_string()))
}

/// clang compiles a program for an AMD GPU without a warning.
pub(crate) fn amdgcn(clang: &Tool, program: &Program) -> Result<(), Fault> {
    let options = Options { zero_workgroup_memory: program.reads_fresh_workgroup, ..Options::amdgcn() };
    let source = parse(program)?.opencl_c(&options).map_err(|error| Fault::NotWritten(error.to_string()))?.source;
    let mut arguments = clc::clang_arguments("gfx1010", options.subgroups);
    // A comparison that is always true is a property of the random program, not of the writer.
    arguments.extend(["-Wno-tautological-compare", "-Wno-tautological-constant-compare"].map(str::to_owned));
    arguments.extend(["-Werror", "-c", "-o", "/dev/null", "-"].map(str::to_owned));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    clang.accepts(&arguments, source.as_bytes()).map_err(|error| Fault::Tool(format!("{error}\n{source}")))
}
