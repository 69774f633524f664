//! User WGSL on every driver: correct results on devices that compile it, a clear error on others.

use std::process::Command;

use roci_base::Hint;
use rocinante::{Device, Error};

const SCALE: &str = "
struct Params { count: u32, factor: f32 }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn scale(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.count {
        y[id.x] = params.factor * x[id.x];
    }
}

@compute @workgroup_size(32)
fn negate(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < params.count {
        y[id.x] = -x[id.x];
    }
}";

/// Opens the device. Returns `None` if the machine lacks `what` and the environment does not
/// require it.
fn open(what: &str, uri: &str) -> Option<Device> {
    roci_testkit::require(what, rocinante::open(uri))
}

/// Checks that both entry points compute on the device.
fn compute(device: &Device) -> Result<(), Error> {
    let module = device.wgsl(SCALE)?;
    assert_eq!(module.names(), ["scale", "negate"]);
    let values: Vec<f32> = (0..100u8).map(f32::from).collect();
    let (x, y) = (device.array(&values)?, device.zeros::<f32>(100)?);
    module.kernel("scale")?.run([2, 1, 1], &[&x, &y], &[100, 2.5f32.to_bits()])?;
    assert_eq!(y.read()?, values.iter().map(|x| 2.5 * x).collect::<Vec<_>>());
    module.kernel("negate")?.run([4, 1, 1], &[&x, &y], &[100u32, 0])?;
    assert_eq!(y.read()?, values.iter().map(|x| -x).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn vulkan_computes() -> Result<(), Error> {
    open("vulkan", "vulkan:0").map_or(Ok(()), |device| compute(&device))
}

#[test]
fn opencl_computes() -> Result<(), Error> {
    open("opencl", "opencl:0").map_or(Ok(()), |device| compute(&device))
}

#[test]
fn an_emulated_amd_gpu_computes_by_clang() -> Result<(), Error> {
    if roci_testkit::require("clang", roci_testkit::tools::clang()).is_none() {
        return Ok(());
    }
    compute(&rocinante::open("emu://gfx1010")?)
}

/// Runs the next test in a process whose PATH has no clang.
#[test]
fn without_clang_an_amd_gpu_names_what_to_install() {
    let empty = tempfile::tempdir().expect("a temporary folder");
    let mut child = Command::new(std::env::current_exe().expect("the test is a file"));
    child.args(["--exact", "the_error_without_clang", "--ignored"]).env("PATH", empty.path());
    let output = child.output().expect("this binary starts");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}");
}

#[test]
#[ignore = "another test runs it without clang on PATH"]
fn the_error_without_clang() -> Result<(), Error> {
    let error = rocinante::open("emu://gfx1010")?.wgsl(SCALE).expect_err("there is no clang");
    assert!(matches!(error, Error::Clang { .. }), "{error}");
    assert_eq!(error.to_string(), "clang cannot compile WGSL for gfx1010: no clang is on PATH");
    assert!(error.hint().is_some_and(|hint| hint.contains("install clang and lld") && hint.contains("clang-22")));
    Ok(())
}

#[test]
fn the_cpu_rejects_wgsl_and_names_devices_that_run_it() -> Result<(), Error> {
    let error = rocinante::open("cpu")?.wgsl(SCALE).expect_err("it runs native code only");
    assert!(matches!(error, Error::NoWgsl { .. }), "{error}");
    assert_eq!(error.to_string(), "`cpu` cannot run WGSL: its driver takes Native code only");
    assert!(error.hint().is_some_and(|hint| hint.contains("Vulkan or OpenCL")));
    Ok(())
}

#[test]
fn compile_errors_have_a_line() -> Result<(), Error> {
    let Some(device) = open("vulkan", "vulkan:0") else { return Ok(()) };
    let error = device.wgsl("fn main() {\n    let x: f32 = 1u;\n}").expect_err("types differ");
    assert!(matches!(error, Error::Wgsl(_)), "{error}");
    assert!(error.to_string().contains('2'), "{error}");
    Ok(())
}

#[test]
fn bindings_and_parameters_are_checked_against_the_source() -> Result<(), Error> {
    let Some(device) = open("vulkan", "vulkan:0") else { return Ok(()) };
    let module = device.wgsl(SCALE)?;
    let x = device.array(&[1.0f32; 64])?;
    assert!(module.kernel("sclae").is_err_and(|error| error.to_string().contains("scale")));
    let scale = module.kernel("scale")?;
    assert!(scale.run([1, 1, 1], &[&x], &[64u32, 0]).is_err(), "one binding is missing");
    let y = device.zeros::<f32>(64)?;
    assert!(scale.run([1, 1, 1], &[&x, &y], &[64u32]).is_err(), "one parameter is missing");
    assert!(scale.run([1, 1, 1], &[&x, &x], &[64u32, 0]).is_err(), "an output aliases an input");
    scale.run([1, 1, 1], &[&x, &y], &[64u32, 1.0f32.to_bits()])
}

#[test]
fn bytes_of_any_length_round_trip() -> Result<(), Error> {
    let device = rocinante::open("cpu")?;
    for length in [1, 2, 3, 4, 5, 127] {
        let bytes: Vec<u8> = (0..length).collect();
        assert_eq!(device.array(&bytes)?.read()?, bytes);
    }
    assert!(device.array::<f32>(&[]).is_err(), "devices have no empty buffers");
    Ok(())
}

#[test]
fn handles_implement_debug() -> Result<(), Error> {
    let device = rocinante::open("cpu")?;
    assert_eq!(format!("{device:?}"), "Device(\"cpu\")");
    assert_eq!(format!("{:?}", device.zeros::<u32>(3)?), "Array<u32>(3 on cpu)");
    Ok(())
}
