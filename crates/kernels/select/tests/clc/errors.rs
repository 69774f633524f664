//! Unsupported constructs are rejected with their name and line.

use libtest_mimic::{Failed, Trial};
use naga::{Expression, MathFunction, Module, Type, TypeInner};
use roci_kernels::clc::{self, Matrix, Options};

use super::case::{parse, refusal, validate};

/// A program, the options that it is rejected under, and the error message.
struct RejectedSource {
    name: &'static str,
    wgsl: &'static str,
    options: fn() -> Options,
    message: &'static str,
}

const REFUSED: &[RejectedSource] = &[
    RejectedSource {
        name: "texture",
        wgsl: "\n@group(0) @binding(0) var t: texture_2d<f32>;\n@compute @workgroup_size(1) fn main() { _ = textureDimensions(t); }",
        options: Options::opencl,
        message: "`texture_2d` is not supported in compute kernels (line 2)",
    },
    RejectedSource {
        name: "sampler",
        wgsl: "@group(0) @binding(0) var s: sampler;\n@compute @workgroup_size(1) fn main() { _ = s; }",
        options: Options::opencl,
        message: "`sampler` is not supported in compute kernels (line 1)",
    },
    RejectedSource {
        name: "f64",
        wgsl: "\n\nvar<private> x: f64;\n@compute @workgroup_size(1) fn main() { x = 1.0lf; }",
        options: Options::opencl,
        message: "`f64` is not supported in compute kernels (line 3)",
    },
    RejectedSource {
        name: "address_space",
        wgsl: "enable wgpu_mesh_shader;\nvar<task_payload> x: u32;\n@compute @workgroup_size(1) fn main() {}",
        options: Options::opencl,
        message: "`var<task_payload>` is not supported in compute kernels (line 2)",
    },
    RejectedSource {
        name: "override",
        wgsl: "\noverride n: u32;\n@group(0) @binding(0) var<storage, read_write> o: u32;\n@compute @workgroup_size(1) fn main() { o = n; }",
        options: Options::opencl,
        message: "override `n` must be resolved before writing (line 2)",
    },
    RejectedSource {
        name: "fragment",
        wgsl: "// @fragment fn main()\n@compute @workgroup_size(1) fn other() {}\n@fragment // not a kernel\nfn main() {}",
        options: Options::opencl,
        message: "`@fragment` is not supported in compute kernels (line 3)",
    },
    RejectedSource {
        name: "location",
        wgsl: "@compute @workgroup_size(1)\nfn main(@builtin(local_invocation_index) i: u32,\n        @location(0) x: f32) { _ = x; }",
        options: Options::opencl,
        message: "`@location` is not supported in compute kernels (line 3)",
    },
    RejectedSource {
        name: "location_of_a_member",
        wgsl: "struct In {\n    @builtin(local_invocation_index) i: u32,\n    @location(0) x: f32,\n}\n@compute @workgroup_size(1) fn main(in: In) { _ = in.x; }",
        options: Options::opencl,
        message: "`@location` is not supported in compute kernels (line 3)",
    },
    RejectedSource {
        name: "cooperative_matrix",
        wgsl: COOPERATIVE,
        options: Options::opencl,
        message: "`coop_mat8x8<f32, C>` needs matrix instructions, which the target lacks (line 5)",
    },
    RejectedSource {
        name: "shape_of_a_cooperative_matrix",
        wgsl: COOPERATIVE,
        options: || Options { matrix: Matrix::Wmma, ..Options::amdgcn() },
        message: "`coop_mat8x8<f32, C>` is not a shape of WMMA (line 5)",
    },
];

const COOPERATIVE: &str = "enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(32)
fn main() {
    let m = coopLoad<coop_mat8x8<f32, C>>(&c[0], 8u);
    coopStore(m, &c[0], 8u);
}";

/// An IR construct that WGSL cannot express but another naga front end can: a program, the change
/// to its module, and the error message.
struct MutatedModule {
    name: &'static str,
    wgsl: &'static str,
    change: fn(&mut Module),
    message: &'static str,
}

const CHANGED: &[MutatedModule] = &[
    MutatedModule {
        name: "stride",
        wgsl: "\n@group(0) @binding(0) var<storage, read_write> x:\n    array<u32, 4>;\n@compute @workgroup_size(1) fn main() { x[0] = 1u; }",
        change: widen_the_first_array,
        message: "`array` has a stride that C cannot express (line 2)",
    },
    MutatedModule {
        name: "stride_in_a_struct",
        wgsl: "\n\nstruct S {\n    x: u32,\n    y: array<array<u32, 4>, 2>,\n}\n@group(0) @binding(0) var<storage, read_write> s: S;\n@compute @workgroup_size(1) fn main() { s.x = 1u; }",
        change: widen_the_first_array,
        message: "`array` has a stride that C cannot express (line 3)",
    },
    MutatedModule {
        name: "inverse",
        wgsl: "@group(0) @binding(0) var<storage, read_write> x: mat2x2<f32>;\n@compute @workgroup_size(1)\nfn main() {\n    x = transpose(x);\n}",
        change: |module| {
            for (_, expression) in module.entry_points[0].function.expressions.iter_mut() {
                if let Expression::Math { fun, .. } = expression {
                    *fun = MathFunction::Inverse;
                }
            }
        },
        message: "`inverse` is not supported in compute kernels (line 4)",
    },
];

fn widen_the_first_array(module: &mut Module) {
    let widened = module.types.iter().find_map(|(handle, ty)| match ty.inner {
        TypeInner::Array { base, size, .. } => {
            Some((handle, Type { inner: TypeInner::Array { base, size, stride: 16 }, ..ty.clone() }))
        }
        _ => None,
    });
    let (handle, array) = widened.expect("an array");
    module.types.replace(handle, array);
}

/// naga does not validate such a kernel, so the module info comes from one that differs only in
/// that value.
fn built_in() -> Result<(), Failed> {
    const WGSL: &str = "// @builtin(vertex_index)\n@compute @workgroup_size(1)\nfn main(@builtin(workgroup_id) id: vec3<u32>,\n    @builtin(vertex_index) i: u32) {}";
    let (_, info) = parse(&WGSL.replace("vertex_index", "local_invocation_index"))?;
    let module = naga::front::wgsl::parse_str(WGSL)?;
    let refused = clc::write(&module, &info, Some(WGSL), &Options::opencl()).err();
    expect(refused, "`@builtin(vertex_index)` is not supported in compute kernels (line 4)")
}

fn changed(case: &MutatedModule) -> Result<(), Failed> {
    let (mut module, _) = parse(case.wgsl)?;
    (case.change)(&mut module);
    let info = validate(&module, case.wgsl)?;
    expect(clc::write(&module, &info, Some(case.wgsl), &Options::opencl()).err(), case.message)
}

fn expect(refused: Option<clc::Error>, message: &str) -> Result<(), Failed> {
    let error = refused.map(|error| error.to_string());
    if error.as_deref() == Some(message) { Ok(()) } else { Err(format!("got  {error:?}\nwant {message}").into()) }
}

pub(crate) fn trials() -> Vec<Trial> {
    let refused = |case: &'static RejectedSource| {
        Trial::test(format!("refused::{}", case.name), move || -> Result<(), Failed> {
            expect(Some(refusal(case.wgsl, &(case.options)())?), case.message)
        })
    };
    let mut trials: Vec<_> = REFUSED.iter().map(refused).collect();
    trials.extend(CHANGED.iter().map(|case| Trial::test(format!("refused::{}", case.name), || changed(case))));
    trials.push(Trial::test("refused::built_in", built_in));
    trials
}
