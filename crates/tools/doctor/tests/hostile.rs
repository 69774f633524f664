//! Hostile trees: files that would block or never end, and files with secrets.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use common::lay_out;
use roci_doctor::{Diagnosis, Identity, LogReader, Root, RuleSet, Snapshot, markdown, mask};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde::Serialize;

/// All test machines.
fn machines() -> Vec<String> {
    let files = fs::read_dir("tests/machines").expect("the machines are there");
    let name =
        |entry: std::io::Result<fs::DirEntry>| entry.expect("a file").path().file_stem()?.to_str().map(str::to_owned);
    files.filter_map(name).collect()
}

/// Regular files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let kind = entry.file_type().expect("it has a kind");
        if kind.is_dir() {
            found.extend(files(&entry.path()));
        } else if kind.is_file() {
            found.push(entry.path());
        }
    }
    found
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it is JSON")
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// Files that are read but that no test tree has.
const MORE: &[(&str, &str)] = &[
    ("etc/environment", "OLLAMA_HOST=http://naomi:PLANTED@nas:11434\nOLLAMA_API_KEY=PLANTED\n"),
    ("etc/environment.d/90-gpu.conf", "HSA_TOOLS_TOKEN=PLANTED\n"),
    ("etc/profile.d/gpu.sh", "export ROCM_SECRET=PLANTED\n"),
    (
        "etc/modprobe.d/gpu.conf",
        "options amdgpu gttsize=8192\noptions cifs password=PLANTED\noptions wifi serialno=PLANTED\n",
    ),
    ("etc/tmpfiles.d/gpu.conf", "w /sys/module/nfs/parameters/nfsroot - - - - PLANTED:/export\n"),
    (
        "etc/systemd/system/ollama.service",
        "[Service]\nUser=ollama\nEnvironment=OLLAMA_API_KEY=PLANTED OLLAMA_ORIGINS=http://u:PLANTED@h\nEnvironmentFile=/etc/default/ollama\n",
    ),
    ("etc/default/ollama", "OLLAMA_TOKEN=PLANTED\n"),
    ("etc/hostname", "PLANTED\n"),
    ("etc/passwd", "naomi:PLANTED:1000:1000:PLANTED:/home/naomi:/bin/sh\n"),
    ("etc/group", "render:PLANTED:109:naomi\n"),
    ("proc/1/environ", "SECRET=PLANTED\0container=podman\0"),
    ("proc/4711/comm", "PLANTED\n"),
    ("proc/4711/maps", "7f00-7f01 r-xp 0 00:00 0 /opt/PLANTED/libamdhip64.so.6\n"),
    ("proc/self/status", "Name:\tPLANTED\nUid:\t1000 1000 1000 1000\nGid:\t1000 1000 1000 1000\nGroups:\t109\n"),
    ("sys/class/kfd/kfd/proc/4711/pasid", "32770\n"),
    (
        "var/log/dmesg",
        "[    0.0] Command line: root=/dev/sda2 amdgpu.dc=1 serialno=PLANTED nfsroot=PLANTED:/x note=PLANTED\n\
         [    0.1] Unknown kernel command line parameters \"amdgpu.dc=1 foo=PLANTED\", will be passed to user space.\n\
         [    0.2]     drm_password=PLANTED\n\
         [    0.3] amdgpu 0000:03:00.0: mounting http://naomi:PLANTED@nas/x with password: PLANTED\n",
    ),
];

/// Secrets that a kernel command line could have.
const COMMAND_LINE: &str = " serialno=PLANTED nfsroot=nas:/PLANTED ip=PLANTED::eth0 rd.luks.uuid=PLANTED rd.iscsi.password=PLANTED \
    db.password=PLANTED api_key=PLANTED note=PLANTED init=\"/bin/sh -c PLANTED\" naomi@PLANTED http://u:PLANTED@h/ \
    amdgpu.note=\"PLANTED words\" -- PLANTED\n";

#[test]
fn planted_secrets_are_in_no_output() {
    let (rule_set, reader) =
        (RuleSet::builtin().expect("the rules are right"), LogReader::new().expect("the file is right"));
    for name in machines() {
        let folder = tempfile::tempdir().expect("a folder");
        let env = lay_out(&name, folder.path());
        for (path, text) in MORE {
            write(folder.path(), path, text);
        }
        for file in files(folder.path()) {
            let mut bytes = fs::read(&file).expect("it can be read");
            bytes.extend_from_slice(b"\nserialno=PLANTED\npassword=PLANTED nfsroot=PLANTED:/x http://u:PLANTED@h/\n");
            fs::write(&file, bytes).expect("it can be written");
        }
        let line = fs::read_to_string(folder.path().join("proc/cmdline")).unwrap_or_default();
        write(folder.path(), "proc/cmdline", &(line.trim().to_owned() + COMMAND_LINE));
        let root = Root::at(folder.path());
        for snapshot in [Snapshot::gather(&root, env.into_iter()), Snapshot::gather_copy(&root)] {
            let diagnosis = Diagnosis::new(&rule_set, &reader, &snapshot);
            let masked = mask(&snapshot, &Identity::default()).expect("it is one afterwards");
            for (form, text) in [
                ("snapshot", json(&snapshot)),
                ("capture", json(&masked.value)),
                ("diagnosis", json(&diagnosis)),
                ("facts", format!("{:?}", snapshot.facts())),
                ("report", markdown(&masked.value, &diagnosis, None, "roci")),
            ] {
                let at = text.find("PLANTED").map(|at| &text[at.saturating_sub(80)..(at + 40).min(text.len())]);
                assert_eq!(at, None, "{name}: the {form} has a secret");
            }
            assert!(json(&snapshot).contains("serialno"), "{name}: the name of a parameter stays");
        }
    }
}

#[test]
fn secrets_in_an_earlier_snapshot_are_masked_when_it_is_read() {
    let old = r#"{"schema":"roci.snapshot","version":1,"kernel":{"command_line":"quiet serialno=PLANTED amdgpu.dc=1"},
        "cmdline":{"quiet":"","serialno":"PLANTED","amdgpu.dc":"1"},"configured":{"db":{"password":["PLANTED"]}},
        "kernel_log":"Command line: note=PLANTED amdgpu.dc=1","env":{"OLLAMA_HOST":"http://u:PLANTED@h"}}"#;
    let snapshot = Snapshot::parse(old.as_bytes()).expect("it is a snapshot");
    let text = json(&snapshot);
    assert!(!text.contains("PLANTED") && text.contains("serialno") && text.contains("amdgpu.dc=1"), "{text}");
}

/// Timeout, far above what a machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Replaces a file.
type Replace = fn(&Path);

const KINDS: &[(&str, Replace)] = &[
    ("a pipe", |path| mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe")),
    // The path may be too long for a socket; the file is then missing.
    ("a socket", |path| drop(UnixListener::bind(path))),
    ("an endless device", |path| symlink("/dev/zero", path).expect("a link")),
    ("a folder", |path| fs::create_dir(path).expect("a folder")),
    ("a link to itself", |path| symlink(path, path).expect("a link")),
];

fn remove(path: &Path) {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir(path).expect("it can be removed"),
        Ok(_) => fs::remove_file(path).expect("it can be removed"),
        Err(_) => {}
    }
}

#[test]
fn no_file_of_a_tree_blocks() {
    let folder = tempfile::tempdir().expect("a folder");
    lay_out("rx5600xt-override", folder.path());
    for (path, text) in MORE {
        write(folder.path(), path, text);
    }
    let (sender, receiver) = mpsc::channel();
    let root = folder.path().to_owned();
    std::thread::spawn(move || {
        for file in files(&root) {
            let text = fs::read(&file).expect("it can be read");
            for (kind, replace) in KINDS {
                remove(&file);
                replace(&file);
                if sender.send(Some(format!("{kind} in the place of {}", file.display()))).is_err() {
                    return;
                }
                let tree = Root::at(&root);
                Identity::gather(&tree, &BTreeMap::new());
                Snapshot::gather_copy(&tree);
            }
            remove(&file);
            fs::write(&file, text).expect("it can be written");
        }
        let _ = sender.send(None);
    });
    let mut last = String::new();
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(Some(next)) => last = next,
            Ok(None) => break,
            Err(error) => panic!("{last}: {error}"),
        }
    }
}

#[test]
fn an_endless_file_is_truncated() {
    let folder = tempfile::tempdir().expect("a folder");
    lay_out("rx7900xtx-healthy", folder.path());
    for path in ["etc/os-release", "proc/cmdline", "var/log/dmesg"] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        // A sparse file, far larger than memory.
        fs::File::create(path).expect("a file").set_len(1 << 40).expect("it can have holes");
    }
    assert_eq!(Snapshot::gather_copy(&Root::at(folder.path())).gpus.len(), 1);
}
