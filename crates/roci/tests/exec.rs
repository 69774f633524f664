//! `roci emu exec` as a process: the environment and the files that the program sees.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A temporary cache folder of one test.
struct Cache(PathBuf);

impl Cache {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("exec-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("cargo's folder can be written");
        Self(path)
    }

    /// `roci emu exec` in an environment that only the test sets.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_roci"));
        command.args(["emu", "exec"]).args(arguments).env_clear().stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", &self.0).env("PATH", "/usr/bin:/bin");
        command
    }

    /// Runs a shell script on an emulated GPU.
    fn shell(&self, script: &str) -> Output {
        run(&mut self.command(&["--gpu", "gfx1010", "--", "sh", "-c", script]))
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the binary was built for this test")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is UTF-8")
}

#[test]
fn the_exit_code_is_that_of_the_program_and_a_note_names_the_chips() {
    let cache = Cache::new("code");
    let output = cache.shell("echo out; echo error >&2; exit 7");
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    assert_eq!(stdout(&output), "out\n");
    assert_eq!(stderr(&output), "note: `sh` runs on emulated GPUs: gfx1010\nerror\n");
    let output = run(&mut cache.command(&["--quiet", "--gpu", "gfx1010", "--", "sh", "-c", "kill -9 $$"]));
    assert_eq!((output.status.code(), stderr(&output).as_str()), (None, ""), "a signal is passed on, too");
}

#[test]
fn errors_are_reported_before_the_program_runs() {
    let cache = Cache::new("wrong");
    for (arguments, code, cause) in [
        (&["--gpu", "gfx1010", "--", "no-such-program"][..], 127, "cannot start `no-such-program`"),
        (&["--gpu", "gfx1010,gfx906", "--", "true"][..], 3, "the GPU `gfx906` is not emulated"),
        (&["--gpu", "gfx1010", "--check", "luck", "--", "true"][..], 2, "luck"),
        (&["--gpu", "gfx1010", "--memory", "much", "--", "true"][..], 2, "expected a memory size"),
        (&["--gpu", "gfx1010"][..], 2, "PROGRAM"),
    ] {
        let output = run(&mut cache.command(arguments));
        assert_eq!(output.status.code(), Some(code), "{}", stderr(&output));
        assert!(stderr(&output).contains(cause), "{}", stderr(&output));
    }
}

#[test]
fn without_the_libraries_the_error_names_them_and_the_remedy() {
    let cache = Cache::new("alone");
    let folder = cache.0.join("bin");
    std::fs::create_dir(&folder).expect("cargo's folder can be written");
    // As `cargo install` does it: the program alone.
    let alone = folder.join("roci");
    std::fs::hard_link(env!("CARGO_BIN_EXE_roci"), &alone).expect("both folders are cargo's");
    let mut command = Command::new(&alone);
    command.args(["emu", "exec", "--gpu", "gfx1010", "--", "true"]).env_clear().env("XDG_CACHE_HOME", &cache.0);
    let output = run(&mut command);
    let stderr_text = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{stderr_text}");
    let (error, hint) = stderr_text.split_once("\nhint: ").expect("an error and its remedy");
    for part in ["libhsa_runtime64.so", "libroci_emu_preload.so", &*folder.to_string_lossy(), "lib/roci"] {
        assert!(error.contains(part), "no `{part}` in {error}");
    }
    assert!(hint.contains("`cargo build --release`") && hint.contains("`target/release`"), "{hint}");
}

#[test]
fn options_become_variables_and_lists_are_extended() {
    let cache = Cache::new("variables");
    let options = ["--gpu", "gfx1010, gfx1151", "--memory", "2GiB", "--check", "waits,races", "--threads", "3"];
    let mut command = cache.command(&options);
    command.env("LD_LIBRARY_PATH", "/some/folder").env("HSA_OVERRIDE_GFX_VERSION", "10.3.0");
    // Overrides of single nodes are removed too.
    command.env("HSA_OVERRIDE_GFX_VERSION_1", "10.3.0");
    let output = run(command.args(["--", "env"]));
    let text = stdout(&output);
    for line in
        ["ROCI_EMU=gfx1010,gfx1151", "ROCI_EMU_MEMORY=2147483648", "ROCI_EMU_CHECK=waits,races", "ROCI_EMU_THREADS=3"]
    {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    let folders = text.lines().find_map(|line| line.strip_prefix("LD_LIBRARY_PATH=")).expect("it is set");
    let (own, others) = folders.split_once(':').expect("there are two");
    assert!(Path::new(own).join("libhsa-runtime64.so.1").is_file() && others == "/some/folder", "{folders}");
    assert!(!text.contains("HSA_OVERRIDE"), "{text}");
    for name in ["HSA_OVERRIDE_GFX_VERSION", "HSA_OVERRIDE_GFX_VERSION_1"] {
        assert!(stderr(&output).contains(&format!("note: {name} is unset for the program")), "{}", stderr(&output));
    }

    let mut command = cache.command(&["--gpu", "gfx1010", "--keep-env", "--", "env"]);
    let output = run(command.env("HSA_OVERRIDE_GFX_VERSION", "10.3.0"));
    assert!(stdout(&output).contains("HSA_OVERRIDE_GFX_VERSION=10.3.0"), "{}", stdout(&output));
}

#[test]
fn a_shell_can_evaluate_the_environment() {
    let cache = Cache::new("print");
    let mut command = cache.command(&["--gpu", "gfx1030", "--print"]);
    let printed = stdout(&run(command.env("HSA_OVERRIDE_GFX_VERSION", "10.3.0")));
    let script =
        format!("{printed}echo $ROCI_EMU; grep -c '^amdgpu ' /proc/modules; echo ${{HSA_OVERRIDE_GFX_VERSION-none}}");
    let output = run(Command::new("sh").args(["-c", &script]).env("HSA_OVERRIDE_GFX_VERSION", "10.3.0"));
    assert_eq!(stdout(&output), "gfx1030\n1\nnone\n", "{}", stderr(&output));
}

#[test]
fn the_files_of_the_driver_are_simulated_and_others_are_unchanged() {
    let cache = Cache::new("files");
    let output = cache.shell(
        "cat /sys/module/amdgpu/initstate
         test -d /sys/module/amdgpu/holders && ls -A /sys/module/amdgpu/holders
         grep -c '^amdgpu ' /proc/modules
         : <>/dev/kfd && test -e /dev/kfd && echo kfd
         sh -c 'wc -l </sys/module/amdgpu/refcnt'
         test -e /dev/kfd/x || test -e /dev/kfdx || test -e /sys/module/amdgpux || echo no more
         cmp /proc/self/exe /proc/self/exe && cat /proc/version",
    );
    let version = std::fs::read_to_string("/proc/version").expect("Linux has it");
    assert_eq!(stdout(&output), format!("live\n1\nkfd\n1\nno more\n{version}"), "{}", stderr(&output));
    // Without ROCI_EMU_EXEC, the preload library does nothing.
    let output = cache.shell("unset ROCI_EMU_EXEC; cat /sys/module/amdgpu/initstate");
    let real = std::fs::read_to_string("/sys/module/amdgpu/initstate").unwrap_or_default();
    assert_eq!(stdout(&output), real);
}

#[test]
fn concurrent_processes_share_one_copy() {
    let cache = Cache::new("many");
    let spawn = || {
        let mut command =
            cache.command(&["--gpu", "gfx1010", "--", "sh", "-c", "echo $LD_PRELOAD; cat \"$LD_PRELOAD\" | wc -c"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary was built for this test")
    };
    let running: Vec<_> = (0..6).map(|_| spawn()).collect();
    let outputs: Vec<String> =
        running.into_iter().map(|child| stdout(&child.wait_with_output().expect("it ends"))).collect();
    assert!(outputs.iter().all(|text| *text == outputs[0] && !text.is_empty()), "{outputs:?}");
    let folders: Vec<_> = std::fs::read_dir(cache.0.join("roci")).expect("it exists").collect();
    assert_eq!(folders.len(), 1);
    let folder = folders[0].as_ref().expect("it exists").path();
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .expect("it exists")
        .map(|entry| entry.expect("it exists").file_name().into_string().expect("our names are text"))
        .collect();
    names.sort();
    assert_eq!(names, ["amdgpu", "libhsa-runtime64.so", "libhsa-runtime64.so.1", "libroci_emu_preload.so", "modules"]);
}

#[test]
fn without_a_cache_the_libraries_are_temporary_files_unless_others_may_write_to_them() {
    use std::os::unix::fs::PermissionsExt;

    let cache = Cache::new("temporary");
    let start = || {
        let mut command = cache.command(&["--gpu", "gfx1010", "--", "true"]);
        run(command.env("XDG_CACHE_HOME", "/proc/nowhere").env("TMPDIR", &cache.0))
    };
    let output = start();
    assert!(output.status.success(), "{}", stderr(&output));
    let folder = std::fs::read_dir(&cache.0).expect("it exists").next().expect("one was made").expect("it exists");
    assert!(folder.file_name().to_string_lossy().starts_with("roci-"));
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o777)).expect("it is ours");
    let output = start();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("other users may write to it"), "{}", stderr(&output));
}

/// Chips and IDs that the amdgpu driver lists on the emulated library.
fn visible(cache: &Cache, list: Option<&str>) -> Vec<(String, String)> {
    let roci = env!("CARGO_BIN_EXE_roci");
    let mut command = cache.command(&["--gpu", "gfx1010,gfx1030,gfx1151", "--", roci, "devices", "--json"]);
    if let Some(list) = list {
        command.env("ROCR_VISIBLE_DEVICES", list);
    }
    let output = run(&mut command);
    assert!(output.status.success(), "{}", stderr(&output));
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let drivers = value["drivers"].as_array().expect("a list");
    let amdgpu = drivers.iter().find(|driver| driver["driver"] == "amdgpu").expect("it is always there");
    assert_eq!(amdgpu["error"], serde_json::Value::Null);
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let devices = amdgpu["devices"].as_array().expect("a list");
    devices.iter().map(|device| (text(&device["target"]), text(&device["uuid"]))).collect()
}

#[test]
fn the_amdgpu_driver_obeys_rocr_visible_devices() {
    let cache = Cache::new("visible");
    let all = visible(&cache, None);
    let chips = |list: Option<&str>| visible(&cache, list).into_iter().map(|(chip, _)| chip).collect::<Vec<_>>();
    assert_eq!(all.iter().map(|(chip, _)| chip.as_str()).collect::<Vec<_>>(), ["gfx1010", "gfx1030", "gfx1151"]);
    assert_eq!(chips(Some("2,0")), ["gfx1151", "gfx1010"]);
    assert_eq!(chips(Some("")), [""; 0]);
    // An ID may be a prefix; an unknown or repeated one ends the list.
    assert_eq!(chips(Some(&format!("{},0", &all[1].1[..12]))), ["gfx1030", "gfx1010"]);
    assert_eq!(chips(Some("1,GPU-0,0")), ["gfx1030"]);
    assert_eq!(chips(Some("0,0,2")), ["gfx1010"]);
}

#[test]
fn the_amdgpu_driver_computes_on_the_emulated_library() {
    let cache = Cache::new("demo");
    let roci = env!("CARGO_BIN_EXE_roci");
    // Two GPUs of one chip as one logical device, and one of them alone.
    let arguments = [
        "--gpu",
        "gfx1030,gfx1030",
        "--",
        roci,
        "demo",
        "--quick",
        "fill",
        "softmax",
        "-d",
        "amdgpu",
        "-d",
        "amdgpu:1",
    ];
    let output = run(&mut cache.command(&arguments));
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    // An override breaks the emulated chip; `--keep-env` keeps it.
    let override_of = |uri: &str| {
        let mut command =
            cache.command(&["--gpu", "gfx1010", "--keep-env", "--", roci, "demo", "--quick", "fill", "-d", uri]);
        run(command.env("HSA_OVERRIDE_GFX_VERSION", "10.3.0"))
    };
    let refused = override_of("amdgpu");
    assert_eq!(refused.status.code(), Some(3), "{}", stderr(&refused));
    assert!(
        stderr(&refused).contains("HSA_OVERRIDE_GFX_VERSION=10.3.0 makes it load another chip's code"),
        "{}",
        stderr(&refused)
    );
    let allowed = override_of("amdgpu?override=allow");
    assert!(allowed.status.success(), "{}", stderr(&allowed));
}
