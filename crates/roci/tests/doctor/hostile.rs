//! Hostile machines and logs: pipes instead of files, pipes as logs, secrets, and failures without
//! a rule.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::super::{assert_code, command, json, roci, stderr, stdout};
use super::{analyze, machine};

/// Longer than any command takes; later, the command hangs.
const TIMEOUT: Duration = Duration::from_secs(120);

fn pipe(path: &Path) {
    node(path, FileType::Fifo);
}

fn node(path: &Path, kind: FileType) {
    mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, 0).expect("a node");
}

/// Waits for the end of a command, and fails after [`TIMEOUT`].
fn ends(mut command: Command) -> Output {
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.expect("the binary was built for this test");
    let begun = Instant::now();
    // Its output fits into the pipes.
    while child.try_wait().expect("it is a child").is_none() {
        if begun.elapsed() > TIMEOUT {
            child.kill().expect("it still runs");
            child.wait().expect("it was killed");
            panic!("{command:?} waits for ever");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().expect("it has ended")
}

#[test]
fn a_pipe_instead_of_a_file_does_not_block() {
    for file in [
        "proc/cmdline",
        "proc/sys/kernel/hostname",
        "etc/os-release",
        "etc/passwd",
        "proc/7/comm",
        "sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total",
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        machine(folder.path());
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        let _ = fs::remove_file(&path);
        pipe(&path);
        let root = folder.path().to_str().expect("its name is text");
        let report = folder.path().join("report");
        let report = report.to_str().expect("its name is text");
        let output = ends(command(&["doctor", "--root", root, "--report", report]));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{file}: {}", stderr(&output));
        assert!(stdout(&output).contains("0000:03:00.0"), "{file}: {}", stdout(&output));
    }
}

#[test]
fn a_tree_of_pipes_or_sockets_does_not_block() {
    for kind in [FileType::Fifo, FileType::Socket] {
        let folder = tempfile::tempdir().expect("a folder");
        machine(folder.path());
        let mut open = vec![folder.path().to_owned()];
        while let Some(path) = open.pop() {
            let metadata = path.symlink_metadata().expect("it exists");
            if metadata.is_dir() {
                open.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
            } else if metadata.is_file() {
                fs::remove_file(&path).expect("it exists");
                node(&path, kind);
            }
        }
        let root = folder.path().to_str().expect("its name is text");
        for arguments in [&["doctor", "-v", "--root", root][..], &["doctor", "fix", "--root", root]] {
            let output = ends(command(arguments));
            assert!(matches!(output.status.code(), Some(0 | 1)), "{arguments:?}: {}", stderr(&output));
        }
    }
}

#[test]
fn a_pipe_can_be_given_as_a_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log");
    pipe(&path);
    let writer = std::thread::spawn({
        let path = path.clone();
        move || fs::OpenOptions::new().write(true).open(path)?.write_all(b"Segmentation fault (core dumped)\n")
    });
    let output = ends(command(&["doctor", "--log", path.to_str().expect("its name is text")]));
    writer.join().expect("it wrote").expect("there was a reader");
    assert_code(&output, 1);
    let mut shell = Command::new("bash");
    shell.args(["-c", "\"$0\" doctor --log <(echo 'Bus error (core dumped)')", env!("CARGO_BIN_EXE_roci")]);
    let output = ends(shell);
    assert_code(&output, 1);
    assert!(stdout(&output).starts_with("Line 1 reports a bus error"), "{}", stdout(&output));
}

#[test]
fn a_failure_without_a_rule_is_a_problem() {
    let output = analyze("starting\nAborted (core dumped)\n");
    assert_code(&output, 1);
    let text = stdout(&output);
    assert!(text.starts_with("Line 2 reports an abort (SIGABRT). No rule explains it."), "{text}");
    assert!(text.contains("coredumpctl") && !text.to_lowercase().contains("no known problem"), "{text}");
}

const CASES: &[(&str, &str)] = &[
    (
        "proc/cmdline",
        "quiet serialno=PLANTED nfsroot=PLANTED:/x ip=PLANTED db.password=PLANTED amdgpu.dc=1 -- PLANTED\n",
    ),
    ("etc/modprobe.d/x.conf", "options cifs password=PLANTED\n"),
    ("etc/environment", "OLLAMA_API_KEY=PLANTED\nOLLAMA_HOST=http://u:PLANTED@nas\n"),
    (
        "var/log/dmesg",
        "[ 0.0] Command line: amdgpu.dc=1 serialno=PLANTED note=PLANTED\n[ 0.1] amdgpu token=PLANTEDPLANTED\n",
    ),
];

#[test]
fn secrets_are_masked_in_every_output() {
    let folder = tempfile::tempdir().expect("a folder");
    machine(folder.path());
    for (path, text) in CASES {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let grub = "GRUB_CMDLINE_LINUX_DEFAULT=\"amdgpu.gpu_recovery=0 rd.iscsi.password=PLANTED\"\n";
    fs::create_dir_all(folder.path().join("etc/default")).expect("a folder");
    fs::write(folder.path().join("etc/default/grub"), grub).expect("a file");
    let place = |name: &str| folder.path().join(name).to_str().expect("its name is text").to_owned();
    let (root, capture, report, log) = (place(""), place("capture.json"), place("report"), place("var/log/dmesg"));
    let page = place("page.html");
    // A user's rule shows the value that it matches.
    let rules = folder.path().join("rules");
    fs::create_dir(&rules).expect("a folder");
    let rule = "[[rule]]\nid = \"MY-01\"\ntitle = \"Mine: {cmdline.serialno}\"\nseverity = \"low\"\nconfidence = \"D\"\n\
                when = { \"cmdline.serialno\" = \"present\" }\nmeaning = \"x\"\nsteps = [{ say = \"x\" }]\nreboot = \"none\"\n\
                fix = [{ remove_parameter = \"amdgpu.gpu_recovery\" }]\n\
                sources = [\"https://example.org\"]\nfires = [{ \"cmdline.serialno\" = \"1\" }]\nsilent = [{ \"cmdline.quiet\" = \"\" }]\n";
    fs::write(rules.join("mine.toml"), rule).expect("a file");
    let rules = rules.to_str().expect("its name is text");
    let machine = ["doctor", "--rules", rules, "--root", &root];
    let mut outputs = Vec::new();
    for more in [&["-v"][..], &["--json"], &["--capture", &capture], &["--report", &report, "--html", &page]] {
        let output = roci(&[&machine, more].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        outputs.push(stdout(&output) + &stderr(&output));
    }
    for more in [&["-v"][..], &["--json"]] {
        let output = roci(&[&["doctor", "--log", &log], more].concat());
        outputs.push(stdout(&output) + &stderr(&output));
        let output = roci(&[&["doctor", "--rules", rules, "--snapshot", &capture], more].concat());
        outputs.push(stdout(&output) + &stderr(&output));
    }
    for more in [&[][..], &["--json"]] {
        let output = roci(&[&["doctor", "--rules", rules, "fix", "--root", &root], more].concat());
        let text = stdout(&output) + &stderr(&output);
        assert!(text.contains("GRUB_CMDLINE_LINUX_DEFAULT="), "{text}");
        outputs.push(text);
    }
    for file in [capture.clone(), format!("{report}.md"), format!("{report}.json"), page.clone()] {
        outputs.push(fs::read_to_string(file).expect("it was written"));
    }
    for output in &outputs {
        let at = output.find("PLANTED").map(|at| &output[at.saturating_sub(80)..(at + 40).min(output.len())]);
        assert_eq!(at, None, "a secret");
    }
    assert!(outputs[0].contains("Mine: MASKED"), "{}", outputs[0]);
    assert!(outputs[10].contains("serialno") && outputs[10].contains("amdgpu.dc"), "{}", outputs[10]);
    let value = json(&roci(&["doctor", "--json", "--log", &log]), "roci.doctor.log");
    assert!(value["failures"].is_array(), "{value}");
}

#[test]
fn names_and_addresses_are_masked_in_what_is_published() {
    let folder = tempfile::tempdir().expect("a folder");
    machine(folder.path());
    for (path, text) in [
        ("etc/os-release", "ID=nauvoo\nPRETTY_NAME=\"Nauvoo\"\n"),
        ("proc/sys/kernel/hostname", "rocihost\n"),
        ("etc/passwd", "holden:x:1000:1000::/home/holden:/bin/bash\nnauvoo:x:1001:1001::/home/nauvoo:/bin/bash\n"),
        (
            "var/log/dmesg",
            "rocihost kernel: amdgpu: vgholden rocihost7 2001:db8:1:2:3:4:5:6 fd00:7::9 [2a02:8071::1] nauvoo amdgpu: \
             10.1.2.3 /home/holden/m.gguf holden@example.org\n",
        ),
        ("etc/environment", "HSA_HOLDENS=1\nOLLAMA_MODELS=/srv/holden/models\nOLLAMA_HOST=rocihost:11434\n"),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let place = |name: &str| folder.path().join(name).to_str().expect("its name is text").to_owned();
    let (capture, report, page) = (place("capture.json"), place("report"), place("page.html"));
    let root = place("");
    let output = roci(&["doctor", "--root", &root, "--capture", &capture, "--report", &report, "--html", &page]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    for file in [capture, format!("{report}.md"), format!("{report}.json"), page] {
        let text = fs::read_to_string(&file).expect("it was written").replace(&root, "").to_lowercase();
        for name in [
            "/home/holden",
            "vgholden",
            "srv/holden",
            "rocihost",
            "2001:db8",
            "fd00:7",
            "2a02:8071",
            "10.1.2.3",
            "example.org",
        ] {
            let at = text.find(name).map(|at| &text[at.saturating_sub(60)..(at + 40).min(text.len())]);
            assert_eq!(at, None, "{name} in {file}");
        }
        // The distribution keeps its name, and the user of that name does not.
        assert!(text.contains("nauvoo"), "{file}");
        assert!(!text.contains("nauvoo amdgpu"), "{file}");
    }
}
