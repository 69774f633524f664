//! clang checks what PoCL cannot run.

use libtest_mimic::{Failed, Trial};
use roci_kernels::clc::{self, Matrix, Options, Subgroups};
use roci_testkit::tools::Tool;

use super::case::Case;

/// Targets for a program: all of them if its code may depend on the target, else one per
/// generation.
///
/// Another test compiles the kernels themselves for all targets.
pub(crate) fn targets(case: &Case) -> &'static [&'static str] {
    let depends = ["subgroup", "packed_dot", "f16", "atomic", "workgroup"];
    if depends.iter().any(|word| case.name.contains(word)) {
        &["gfx1010", "gfx1013", "gfx1030", "gfx1100", "gfx1151", "gfx10-1-generic"]
    } else {
        &["gfx1010", "gfx1100"]
    }
}

/// Compiles and links: a call of a missing library function only fails at link time.
pub(crate) fn links(clang: &Tool, source: &str, target: &str, subgroups: Subgroups) -> Result<(), Failed> {
    let mut arguments = clc::clang_arguments(target, subgroups);
    let file = tempfile::NamedTempFile::new()?;
    let path = file.path().display().to_string();
    arguments.extend(["-Werror", "-o", &path, "-"].map(str::to_owned));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    clang.accepts(&arguments, source.as_bytes()).map_err(|error| format!("{error}\n{source}").into())
}

/// Compiles for a generic OpenCL device with every extension.
pub(crate) fn accepts_opencl(clang: &Tool, source: &str) -> Result<(), Failed> {
    let mut arguments =
        vec!["-x", "cl", "-cl-std=CL3.0", "-target", "spir64-unknown-unknown", "-Xclang", "-cl-ext=+all"];
    arguments.extend(["-Xclang", "-finclude-default-header", "-fsyntax-only", "-Wall", "-Werror"]);
    arguments.extend(["-Wno-unused-variable", "-Wno-unused-value", "-Wno-sometimes-uninitialized", "-"]);
    clang.accepts(&arguments, source.as_bytes()).map_err(|error| format!("{error}\n{source}").into())
}

/// Adapts the amdgcn dialect to an OpenCL device: replaces clang's builtins by library functions,
/// so that the surrounding code and the prelude's function library can run without an AMD GPU.
pub(crate) fn on_opencl(source: &str) -> String {
    let mut text = String::new();
    for axis in 0..3 {
        let letter = ["x", "y", "z"][axis];
        text += &format!(
            "#define __builtin_amdgcn_workitem_id_{letter}() ((uint)get_local_id({axis}))\n\
             #define __builtin_amdgcn_workgroup_id_{letter}() ((uint)get_group_id({axis}))\n\
             #define __builtin_amdgcn_grid_size_{letter}() ((uint)get_global_size({axis}))\n"
        );
    }
    for (element_wise, name) in [
        ("abs", "fabs"),
        ("minnum", "fmin"),
        ("maxnum", "fmax"),
        ("min", "min"),
        ("max", "max"),
        ("ceil", "ceil"),
        ("floor", "floor"),
        ("roundeven", "rint"),
        ("trunc", "trunc"),
        ("fma", "fma"),
        ("sqrt", "sqrt"),
        ("exp", "exp"),
        ("exp2", "exp2"),
        ("log", "log"),
        ("log2", "log2"),
    ] {
        text += &format!("#define __builtin_elementwise_{element_wise} {name}\n");
    }
    for name in ["fmin", "fmax", "floor", "fma", "sqrt", "fabs", "ldexp", "fmod"] {
        text += &format!("#define __builtin_{name}f {name}\n");
    }
    for (fetch, name) in [("add", "add"), ("sub", "sub"), ("and", "and"), ("or", "or"), ("xor", "xor")]
        .into_iter()
        .chain([("min", "min"), ("max", "max")])
    {
        text += &format!("#define __scoped_atomic_fetch_{fetch}(p, v, order, scope) atomic_{name}(p, v)\n");
    }
    text + REST + &without_fences(source)
}

/// Replaces clang's fence by OpenCL's. Its number of arguments varies, and OpenCL C has no variadic
/// macros.
fn without_fences(source: &str) -> String {
    let mut parts = source.split("__builtin_amdgcn_fence(");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // The arguments are names and strings that contain no parenthesis.
        let (_, rest) = part.split_once(')').unwrap_or((part, ""));
        text += "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)";
        text += rest;
    }
    text
}

/// The output of [`on_opencl`] compiles as strict OpenCL 1.2: some compilers reject C extensions
/// that clang, and therefore PoCL, accepts.
fn strict_opencl(clang: &Tool) -> Result<(), Failed> {
    let all = super::cases();
    let case = all.iter().find(|case| case.wgsl.contains("workgroupBarrier")).ok_or("no program has a barrier")?;
    let source = on_opencl(&case.write(&Options::amdgcn())?.source);
    if !source.contains("mem_fence") {
        return Err(format!("the program has no fence\n{source}").into());
    }
    let mut arguments = vec!["-x", "cl", "-cl-std=CL1.2", "-target", "spir64-unknown-unknown", "-fsyntax-only"];
    arguments.extend(["-Xclang", "-finclude-default-header", "-pedantic-errors", "-"]);
    clang.accepts(&arguments, source.as_bytes()).map_err(|error| format!("{error}\n{source}").into())
}

const REST: &str = "
#define __builtin_roundevenf rint
#define __builtin_convertvector(v, type) convert_##type(v)
#define __builtin_amdgcn_s_barrier() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define __scoped_atomic_load_n(p, order, scope) (*(p))
#define __scoped_atomic_store_n(p, v, order, scope) (*(p) = (v))
#define __scoped_atomic_exchange_n(p, v, order, scope) atomic_xchg(p, v)
#define __scoped_atomic_compare_exchange_n(p, expected, v, weak, success, failure, scope) \\
    (*(expected) = atomic_cmpxchg(p, *(expected), v))
static float shim_mantissa(float a) { int e; return frexp(a, &e); }
static int shim_exponent(float a) { int e; frexp(a, &e); return e; }
#define __builtin_amdgcn_frexp_mantf shim_mantissa
#define __builtin_amdgcn_frexp_expf shim_exponent
";

/// Whether [`on_opencl`] covers the builtins that a program uses.
pub(crate) fn runs_on_opencl(wgsl: &str) -> bool {
    !["f16", "float", "F16", "atomic<f32>", "atomic<u64>"].iter().any(|word| wgsl.contains(word))
}

const COOPERATIVE: &str = "
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read> a: array<f16>;
@group(0) @binding(1) var<storage, read> b: array<f16>;
@group(0) @binding(2) var<storage, read_write> c: array<f32>;
@compute @workgroup_size(32)
fn main() {
    var sum = coopLoad<coop_mat16x16<f32, C>>(&c[0], 16u);
    for (var k = 0u; k < 4u; k++) {
        let x = coopLoadT<coop_mat16x16<f16, A>>(&a[k * 256u], 16u);
        let y = coopLoad<coop_mat16x16<f16, B>>(&b[k * 256u], 16u);
        sum = coopMultiplyAdd(x, y, sum);
    }
    coopStore(sum, &c[0], 16u);
}";

/// Tests of features that only some targets have.
pub(crate) fn trials(clang: Option<&Tool>) -> Vec<Trial> {
    let absent = clang.is_none();
    let strict = clang.cloned();
    let strict = move || strict.map_or(Ok(()), |clang| strict_opencl(&clang));
    let mut trials = vec![Trial::test("amdgcn_on_opencl::clang::strict", strict).with_ignored_flag(absent)];
    for target in ["gfx1100", "gfx1151"] {
        let clang = clang.cloned();
        let options = Options { matrix: Matrix::Wmma, ..Options::amdgcn() };
        let run = move || {
            clang.map_or(Ok(()), |clang| {
                let source = Case::new("cooperative", COOPERATIVE).write(&options)?.source;
                links(&clang, &source, target, options.subgroups)
            })
        };
        trials.push(Trial::test(format!("cooperative_matrix::clang::{target}"), run).with_ignored_flag(absent));
    }
    for case in super::cases().into_iter().filter(|case| case.name.starts_with("subgroup")) {
        let clang = clang.cloned();
        let options = Options { subgroups: Subgroups::Native { size: 64 }, ..Options::amdgcn() };
        let name = format!("{}::clang::gfx906-wave64", case.name);
        let run = move || {
            clang.map_or(Ok(()), |clang| links(&clang, &case.write(&options)?.source, "gfx906", options.subgroups))
        };
        trials.push(Trial::test(name, run).with_ignored_flag(absent));
    }
    trials
}
