//! `roci doctor` as a process: verdicts and exit codes, for machines that are trees of files.

mod fix;
mod hostile;
#[path = "../../../tools/doctor/tests/common/mod.rs"]
mod machines;
mod watch;

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Output, Stdio};

use super::{assert_code, assert_error, command, json, roci, stderr, stdout};

/// A machine with a Radeon RX 5600 XT, a working driver and Vulkan by RADV.
fn machine(folder: &Path) {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let card = "sys/bus/pci/devices/0000:03:00.0";
    for (file, text) in [
        ("class", "0x030000\n"),
        ("vendor", "0x1002\n"),
        ("device", "0x731f\n"),
        ("mem_info_vram_total", "6425673728\n"),
        ("mem_info_gtt_total", "16777216000\n"),
        ("drm/card1/dev", "226:1\n"),
        ("drm/renderD128/dev", "226:128\n"),
    ] {
        write(&format!("{card}/{file}"), text);
    }
    write("sys/bus/pci/drivers/amdgpu/uevent", "");
    symlink("../../../../bus/pci/drivers/amdgpu", folder.join(card).join("driver")).expect("a link");
    let node = "sys/class/kfd/kfd/topology/nodes/1";
    write(
        &format!("{node}/properties"),
        "simd_count 72\nsimd_per_cu 2\ngfx_target_version 100100\nlocation_id 768\ndomain 0\ndrm_render_minor 128\n",
    );
    write(&format!("{node}/io_links/0/properties"), "type 2\nflags 1\n");
    write("proc/sys/kernel/osrelease", "6.12.9-arch1-1\n");
    write("proc/sys/kernel/hostname", "ceres\n");
    write("proc/cmdline", "root=UUID=0a1b2c3d-1111-2222-3333-444455556666 quiet\n");
    write("proc/meminfo", "MemTotal:       32768000 kB\nSwapTotal:             0 kB\n");
    write("etc/os-release", "ID=arch\nPRETTY_NAME=\"Arch Linux\"\n");
    write("sys/module/amdgpu/srcversion", "1\n");
    write("dev/kfd", "");
    write("dev/dri/renderD128", "");
    write("usr/share/vulkan/icd.d/radeon_icd.x86_64.json", "{}");
    write("usr/lib/libvulkan.so.1", "");
}

#[test]
fn the_verdict_is_printed_first() {
    let folder = tempfile::tempdir().expect("a folder");
    machine(folder.path());
    let root = folder.path().to_str().expect("its name is text");
    let output = roci(&["doctor", "--root", root]);
    let text = stdout(&output);
    assert!(text.lines().next().is_some_and(|line| line.contains("gfx1010) can compute with Vulkan")), "{text}");
    assert!(text.contains("0000:03:00.0"), "{text}");
    let value = json(&roci(&["doctor", "--json", "--root", root]), "roci.doctor");
    assert_eq!(value["gpus"][0]["route"], "vulkan");
    assert_eq!(output.status.code(), Some(if value["healthy"] == true { 0 } else { 1 }));
    let verbose = stdout(&roci(&["doctor", "-v", "--root", root]));
    assert!(verbose.contains("renderD128"), "{verbose}");
}

#[test]
fn a_machine_without_a_gpu_is_a_problem() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().to_str().expect("its name is text");
    assert_error(&roci(&["doctor", "--root", name]), 2, "has none of the folders of a machine", "/sys");
    fs::create_dir(folder.path().join("etc")).expect("a folder");
    let output = roci(&["doctor", "--root", name]);
    assert_code(&output, 1);
    assert!(stdout(&output).contains("AMD GPU"), "{}", stdout(&output));
}

#[test]
fn a_snapshot_gives_the_same_diagnosis_and_is_masked() {
    let folder = tempfile::tempdir().expect("a folder");
    machine(folder.path());
    let root = folder.path().to_str().expect("its name is text");
    let file = folder.path().join("me.json");
    let name = file.to_str().expect("its name is text");
    let here = roci(&["doctor", "--json", "--root", root, "--capture", name]);
    assert!(stderr(&here).contains("masked: 2 x secret or kernel parameter"), "{}", stderr(&here));
    let there = roci(&["doctor", "--json", "--snapshot", name]);
    assert_eq!(json(&here, "roci.doctor"), json(&there, "roci.doctor"));
    let saved = fs::read_to_string(&file).expect("it was written");
    assert!(!saved.contains("0a1b2c3d") && saved.contains("root=MASKED quiet"), "{saved}");
}

#[test]
fn a_report_is_written_as_markdown_and_json() {
    let folder = tempfile::tempdir().expect("a folder");
    machine(folder.path());
    let root = folder.path().to_str().expect("its name is text");
    let file = folder.path().join("gpu");
    roci(&["doctor", "--root", root, "--report", file.to_str().expect("its name is text")]);
    let text = fs::read_to_string(file.with_extension("md")).expect("it was written");
    assert!(text.contains("## Steps to reproduce") && text.contains("0000:03:00.0"), "{text}");
    let bytes = fs::read(file.with_extension("json")).expect("it was written");
    let value: serde_json::Value = serde_json::from_slice(&bytes).expect("it is JSON");
    assert_eq!(value["schema"], "roci.doctor.report");
}

#[test]
fn this_machine_is_diagnosed_without_starting_hsa_or_opencl() {
    let value = json(&roci(&["doctor", "--json"]), "roci.doctor");
    assert!(value["verdict"].is_string() && value["findings"].is_array());
}

#[test]
fn rules_are_listed_and_explained() {
    let value = json(&roci(&["doctor", "rules", "--json"]), "roci.doctor.rules");
    assert!(value["rules"].as_array().expect("a list").len() >= 150);
    let some = roci(&["doctor", "rules", "override"]);
    assert!(stdout(&some).contains("OVR-"), "{}", stdout(&some));
    let none = roci(&["doctor", "rules", "no-such-word"]);
    assert_code(&none, 1);
    assert!(stderr(&none).contains("no rule has `no-such-word`"), "{}", stderr(&none));
    let one = roci(&["doctor", "explain", "ovr-04"]);
    assert_code(&one, 0);
    assert!(stdout(&one).starts_with("OVR-04 "), "{}", stdout(&one));
    assert_error(&roci(&["doctor", "explain", "OVR-999"]), 2, "there is no rule `OVR-999`", "OVR-04");
}

#[test]
fn rules_of_the_user_are_read_and_invalid_ones_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let name = folder.path().to_str().expect("its name is text");
    fs::write(folder.path().join("mine.toml"), "[[rule]]\nid = 3\n").expect("a file");
    assert_error(&roci(&["doctor", "rules", "--rules", name]), 2, "mine.toml:2: ", "docs/reference/rules.md");
    assert_error(&roci(&["doctor", "--rules", name, "rules"]), 2, "mine.toml:2: ", "docs/reference/rules.md");
    assert_error(&roci(&["doctor", "--rules", "/nowhere/at/all"]), 2, "there is no folder", ".toml");
    assert_error(
        &roci(&["doctor", "--log", "-", "rules"]),
        2,
        "`--log` does not apply to `rules` and `explain`",
        "leave it out",
    );
}

/// Analyzes a log from standard input.
fn analyze(text: &str) -> Output {
    let mut child = command(&["doctor", "--log", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    child.stdin.take().expect("it is piped").write_all(text.as_bytes()).expect("it is read");
    child.wait_with_output().expect("it ends")
}

#[test]
fn a_log_is_analyzed() {
    let bad = analyze(
        "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1010\n",
    );
    assert_code(&bad, 1);
    assert!(stdout(&bad).contains("gfx1010"), "{}", stdout(&bad));
    let fine = analyze("127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] \"GET /index.html HTTP/1.0\" 200 2326\n");
    assert_code(&fine, 0);
    assert!(stdout(&fine).contains("no all-clear"), "{}", stdout(&fine));
}

#[test]
fn invalid_input_is_an_error_of_one_line_with_a_remedy() {
    assert_error(&roci(&["doctor", "--log", "/nowhere/at/all"]), 2, "cannot read", "standard input");
    assert_error(&roci(&["doctor", "--snapshot", "/nowhere/at/all"]), 2, "cannot read", "standard input");
    assert_error(&roci(&["doctor", "--root", "/nowhere/at/all"]), 2, "is not a folder", "/sys");
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), "{\"schema\": \"other\"}").expect("it can be written");
    let name = file.path().to_str().expect("its name is text");
    assert_error(&roci(&["doctor", "--snapshot", name]), 2, "is not a snapshot", "--capture");
    assert_error(&roci(&["devices", "--driver", "cuda"]), 2, "there is no driver `cuda`", "vulkan");
}

/// The nine machines of the doctor's tests.
const MACHINES: &[&str] = &[
    "bc250-patched",
    "bc250-stock",
    "container-without-devices",
    "igpu-and-dgpu",
    "mi210",
    "no-amd-gpu",
    "rx5600xt-override",
    "rx7900xtx-healthy",
    "strix-halo-bad-mes",
];

#[test]
fn every_machine_is_told_in_full_by_each_form_of_output() {
    for name in MACHINES {
        let folder = tempfile::tempdir().expect("a folder");
        machines::lay_out(name, folder.path());
        let root = folder.path().to_str().expect("its name is text");
        let page = tempfile::NamedTempFile::new().expect("a file");
        let short = roci(&["doctor", "--root", root]);
        let long = roci(&["doctor", "-v", "--root", root, "--html", page.path().to_str().expect("its name is text")]);
        let (short, long) = (stdout(&short), stdout(&long));
        let verdict = short.lines().next().expect("a verdict");
        assert_eq!(long.lines().next(), Some(verdict), "{name}");
        assert!(long.lines().count() > short.lines().count() + 20, "{name}: -v says more\n{long}");
        for part in ["Looked at:", "/sys/bus/pci/devices", "kernel.release"] {
            assert!(long.contains(part), "{name}: {part} is missing\n{long}");
        }
        let page = fs::read_to_string(page.path()).expect("it was written");
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{name}: {page}");
        if *name == "no-amd-gpu" {
            assert!(short.contains("Looked at:") && short.contains("display devices of others: 8086:9a49"), "{short}");
        }
    }
}
