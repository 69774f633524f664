//! `roci emu run` and `trace` as processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use roci_testkit::require;
use roci_testkit::tools;
use serde_json::Value;

const SOURCE: &str = r#"
#define LANE ((uint)__builtin_amdgcn_workitem_id_x())
#define ITEM ((uint)(__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x()) + LANE)
kernel void saxpy(global const float *x, global float *y, float a, uint n) {
    if (ITEM < n) y[ITEM] += a * x[ITEM];
}
kernel void swap_ends(global const float *x, global float *y, local float *t) {
    t[LANE] = x[ITEM];
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    y[ITEM] = t[__builtin_amdgcn_workgroup_size_x() - 1 - LANE];
}
kernel void race(global const float *x, global float *y, local float *t) {
    t[LANE] = x[ITEM];
    y[ITEM] = t[63 - LANE];
}
kernel void beyond(global float *y, uint n) { y[ITEM + n] = 1.0f; }
kernel void endless(global volatile float *y) { for (;;) y[0] += 1.0f; }
kernel void kinds(global ulong *y, uchar a, short b, long c, double d) {
    y[ITEM] = a + b + c + (ulong)d + __builtin_amdgcn_grid_size_x();
}
"#;

/// A temporary folder with a code object for gfx1010 and one for gfx1100.
struct Folder(PathBuf);

impl Folder {
    /// `None` if there is no clang.
    fn new(name: &str) -> Option<Self> {
        let clang = require("clang", tools::clang())?;
        let path = std::env::temp_dir().join(format!("roci-emu-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("temporary files can be written");
        let folder = Self(path);
        std::fs::write(folder.path("source.cl"), SOURCE).expect("temporary files can be written");
        for chip in ["gfx1010", "gfx1100"] {
            let mut command = Command::new(clang.path());
            command.args(["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-O2"]);
            command.arg(format!("-mcpu={chip}")).arg(folder.path("source.cl"));
            let output = command.arg("-o").arg(folder.path(&format!("{chip}.co"))).output().expect("clang starts");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        Some(folder)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Runs `roci emu` in the folder.
    fn emu(&self, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
        command.arg("emu").args(line.split_whitespace()).env_clear().current_dir(&self.0).stdin(Stdio::null());
        command.output().expect("the binary was built for this test")
    }

    fn floats(&self, name: &str, values: &[f32]) {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}\n", values.len());
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        std::fs::write(self.path(name), bytes).expect("temporary files can be written");
    }

    fn read<const N: usize, T>(&self, name: &str, from: fn([u8; N]) -> T) -> Vec<T> {
        let bytes = std::fs::read(self.path(name)).expect("the kernel's result was written");
        let length = usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        bytes[10 + length..].as_chunks().0.iter().map(|chunk| from(*chunk)).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Checks the exit code and returns standard output and standard error.
#[track_caller]
fn ended(output: &Output, code: i32) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "stdout:\n{stdout}\nstderr:\n{stderr}");
    (stdout, stderr)
}

/// Checks the exit code, the error line and the hint line.
#[track_caller]
fn refused(output: &Output, code: i32, cause: &str, remedy: &str) {
    let (stdout, stderr) = ended(output, code);
    assert_eq!(stdout, "");
    let lines: Vec<_> = stderr.lines().filter(|line| !line.starts_with("note: ")).collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert!(lines[0].starts_with("error: ") && lines[0].contains(cause), "{stderr}");
    assert!(lines[1].starts_with("hint: ") && lines[1].contains(remedy), "{stderr}");
}

#[test]
fn arrays_are_read_and_written() {
    let Some(folder) = Folder::new("run") else { return };
    let x: Vec<f32> = (0..100).map(|value| value as f32).collect();
    folder.floats("x.npy", &x);
    folder.floats("y.npy", &[1.0; 100]);
    for chip in ["gfx1010", "gfx1100"] {
        // The last workgroup is partial, and its last lanes are beyond `n`.
        let arguments = "--arg in:x.npy --arg inout:y.npy:r.npy --arg f32:-2 --arg u32:90";
        let launch = format!("run {chip}.co --gpu {chip} --kernel saxpy --grid 100 --block 64 {arguments}");
        let (stdout, stderr) = ended(&folder.emu(&launch), 0);
        assert!(stdout.contains("lane-operations") && stdout.contains("scalar memory"), "{stdout}");
        assert!(stderr.contains(&format!("code: {chip}")) && stderr.contains("wrote r.npy"), "{stderr}");
        let result = folder.read("r.npy", f32::from_le_bytes);
        let expected: Vec<_> = x.iter().map(|&x| if x < 90.0 { 1.0 - 2.0 * x } else { 1.0 }).collect();
        assert_eq!(result, expected);
        let (stdout, _) = ended(&folder.emu(&format!("{launch} --json --threads 1 --check all")), 0);
        let value: Value = serde_json::from_str(&stdout).expect("one JSON value");
        assert_eq!((&value["schema"], &value["version"]), (&"roci.emu.run".into(), &1.into()));
        assert_eq!((&value["status"], &value["groups"], &value["threads"]), (&"ok".into(), &2.into(), &1.into()));
        assert_eq!(value["counts"]["bytes_written"], 4 * 90);
        assert_eq!(value["outputs"][0]["shape"][0], 100);
    }
}

#[test]
fn shared_memory_and_hidden_arguments_are_filled() {
    let Some(folder) = Folder::new("lds") else { return };
    folder.floats("x.npy", &(0..128).map(|value| value as f32).collect::<Vec<_>>());
    let arguments = "--arg in:x.npy --arg out:r.npy:f32:128 --arg lds:256 --check all";
    let launch = format!("run gfx1100.co --gpu gfx1100 --kernel swap_ends --grid 128 --block 64 {arguments}");
    ended(&folder.emu(&launch), 0);
    let result = folder.read("r.npy", f32::from_le_bytes);
    assert_eq!((result[0], result[63], result[64], result[127]), (63.0, 0.0, 127.0, 64.0));
    let arguments = "--arg out:k.npy:u64:8 --arg u8:1 --arg i16:-2 --arg i64:-3 --arg f64:1e3";
    ended(&folder.emu(&format!("run gfx1010.co --gpu gfx1010 --kernel kinds --grid 8 --block 8 {arguments}")), 0);
    assert_eq!(folder.read("k.npy", u64::from_le_bytes), [1004; 8]);
}

#[test]
fn invalid_arguments_are_errors_before_anything_runs() {
    let Some(folder) = Folder::new("usage") else { return };
    folder.floats("x.npy", &[0.0; 4]);
    std::fs::write(folder.path("bad.npy"), b"PK").expect("temporary files can be written");
    let run = |rest: &str| folder.emu(&format!("run gfx1010.co --gpu gfx1010 --grid 4 --block 4 {rest}"));
    refused(&run("--kernel nonsense"), 2, "no kernel `nonsense`", "saxpy");
    refused(&run("--kernel beyond"), 2, "takes 2 arguments, but 0 were given", "buffer, by value, 4 bytes");
    refused(&run("--kernel beyond --arg u32:1 --arg u32:1"), 2, "argument 1", "in:FILE.npy");
    refused(&run("--kernel beyond --arg in:x.npy --arg f64:1"), 2, "it has 8 bytes", "u32:5");
    refused(&run("--kernel beyond --arg in:x.npy --arg u32:-1"), 2, "`u32:-1`", "u32:5");
    refused(&run("--kernel beyond --arg in:bad.npy --arg u32:1"), 2, "not a .npy file", "numpy.save");
    refused(&run("--kernel beyond --arg in:none.npy --arg u32:1 --check wait"), 2, "unknown check \"wait\"", "waits");
    refused(&run("--kernel beyond --arg out:o.npy:f32:99999999999999999 --arg u32:1"), 2, "cannot allocate", "smaller");
    refused(&folder.emu("run gfx1010.co --gpu gfx906 --kernel beyond --grid 1 --block 1"), 3, "gfx906", "gfx1010");
    refused(&folder.emu("run gfx1010.co --gpu gfx1100 --kernel beyond --grid 1 --block 1"), 2, "no code", "gfx1010");
    let big = "run gfx1010.co --gpu gfx1010 --kernel endless --grid 1 --block 2048 --arg in:x.npy";
    refused(&folder.emu(big), 2, "256 work-items, not 2048", "--block 256");
    assert!(!folder.path("o.npy").exists());
}

#[test]
fn faults_name_their_location_and_leave_no_results() {
    let Some(folder) = Folder::new("faults") else { return };
    let launch = "run gfx1010.co --gpu gfx1010 --kernel beyond --grid 64 --block 64 --arg out:r.npy:f32:64 --arg u32:4";
    refused(&folder.emu(launch), 4, "memory fault: write of 4 bytes at 0x", "index beyond");
    let (_, stderr) = ended(&folder.emu(launch), 4);
    for part in ["by lane 28", "kernel beyond", "workgroup (0, 0, 0), wave 1", "global_store_dword"] {
        assert!(stderr.contains(part), "{part} is not in {stderr}");
    }
    let output = folder.emu(&format!("{launch} --json"));
    let value: Value = serde_json::from_slice(&output.stdout).expect("one JSON value");
    assert_eq!((&value["status"], &value["fault"]["wave"]), (&"fault".into(), &1.into()));
    assert_eq!(output.status.code(), Some(4));
    assert!(!folder.path("r.npy").exists(), "nothing is written when the kernel fails");
    let endless = "run gfx1100.co --gpu gfx1100 --kernel endless --grid 64 --block 64 --arg out:r.npy:f32:64";
    refused(&folder.emu(&format!("{endless} --timeout 0.3")), 4, "did not end within 0.3 s", "--timeout");
    folder.floats("x.npy", &[0.0; 64]);
    let race = "run gfx1100.co --gpu gfx1100 --kernel race --grid 64 --block 64 --arg in:x.npy --arg out:r.npy:f32:64";
    ended(&folder.emu(&format!("{race} --arg lds:256")), 0);
    refused(&folder.emu(&format!("{race} --arg lds:256 --check races")), 4, "LDS race", "depend on timing");
}

#[test]
fn a_trace_shows_instructions_with_values() {
    let Some(folder) = Folder::new("trace") else { return };
    let arguments = "--arg out:r.npy:f32:64 --arg u32:0";
    let launch = format!("trace gfx1010.co --gpu gfx1010 --kernel beyond --grid 64 --block 64 {arguments}");
    let (stdout, _) = ended(&folder.emu(&launch), 0);
    let lines: Vec<_> = stdout.lines().collect();
    assert!(lines[0].starts_with("w0 0x0000  "), "{stdout}");
    assert!(lines.iter().any(|line| line.starts_with("w1 ")), "{stdout}");
    let store = lines.iter().find(|line| line.contains("global_store_dword")).expect("it stores");
    assert!(store.contains("=[0x3f800000 0x3f800000 0x3f800000 0x3f800000]"), "{store}");
    assert!(stdout.contains("s_endpgm") && folder.path("r.npy").exists());
    let (stdout, stderr) = ended(&folder.emu(&format!("{launch} --wave 1 --lanes 5 --limit 2")), 0);
    assert!(stdout.lines().count() == 2 && stdout.lines().all(|line| line.starts_with("w1 ")), "{stdout}");
    assert!(stderr.contains("stopped after 2 lines"), "{stderr}");
    let (stdout, stderr) = ended(&folder.emu(&format!("{launch} --wave 9 --pc 0x10..0x20")), 0);
    assert!(stdout.is_empty() && stderr.contains("no instruction was executed"), "{stdout}{stderr}");
    let (stdout, _) = ended(&folder.emu(&format!("{launch} --wave 0 --pc 0..1 --json")), 0);
    let value: Value = serde_json::from_str(&stdout).expect("one line, one JSON value");
    assert_eq!((&value["schema"], &value["offset"], &value["wave"]), (&"roci.emu.trace".into(), &0.into(), &0.into()));
}

#[test]
fn code_is_found_in_files_with_code_for_other_chips() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../amd/codeobj/fixtures");
    let gather = |file: &str, gpu: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
        command.args(["emu", "run"]).arg(fixtures.join(file)).args(["--gpu", gpu]).env_clear();
        command.args("--kernel gather --grid 1 --block 1 --arg u64:0".split(' '));
        command.output().expect("the binary was built for this test")
    };
    // One argument is missing: the kernel was found, and nothing ran.
    refused(&gather("fat.so", "gfx1010"), 2, "takes 2 arguments, but 1 were given", "buffer");
    refused(&gather("gfx10-1-generic-v6.co", "gfx1013"), 2, "takes 2 arguments, but 1 were given", "buffer");
    refused(&gather("/dev/zero", "gfx1010"), 2, "exceeds the limit of 256 MiB", "not a pipe");
    refused(&gather("fat.so", "gfx1100"), 2, "no code that runs on gfx1100", "it has code for gfx1010");
}
