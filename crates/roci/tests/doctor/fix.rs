//! `roci doctor fix` on copies of a machine: it shows, applies and takes back.

use std::fs;
use std::path::Path;

use super::super::{assert_code, assert_error, json, roci, stderr, stdout};
use super::machine;

const GRUB: &str = "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"quiet serialno=PLANTED\"\n";

const RULE: &str = r#"
[[rule]]
id = "MY-01"
title = "Mine"
severity = "high"
confidence = "D"
when = { "gpu.target" = "gfx1010" }
meaning = "m"
steps = [{ say = "s" }]
reboot = "reboot"
fix = [{ kernel_parameter = "iommu=pt" }, { module_option = "amdgpu.gpu_recovery=1" }]
sources = ["https://example.org"]
fires = [{ "gpu.target" = "gfx1010" }]
silent = [{ "gpu.target" = "gfx1030" }]
"#;

/// A machine with GRUB and a rule of the user, and the arguments for both.
fn laid_out(folder: &Path) -> Vec<String> {
    let root = folder.join("root");
    fs::create_dir(&root).expect("a folder");
    machine(&root);
    for (path, text) in [
        ("etc/default/grub", GRUB),
        ("usr/sbin/update-grub", ""),
        ("usr/bin/mkinitcpio", ""),
        ("etc/modprobe.d/mine.conf", "options amdgpu dc=1\n"),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let rules = folder.join("rules");
    fs::create_dir(&rules).expect("a folder");
    fs::write(rules.join("mine.toml"), RULE).expect("a file");
    let text = |path: &Path| path.to_str().expect("its name is text").to_owned();
    vec!["doctor".into(), "--rules".into(), text(&rules), "fix".into(), "--root".into(), text(&root)]
}

fn run(arguments: &[String], more: &[&str]) -> std::process::Output {
    let all: Vec<_> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    roci(&all)
}

#[test]
fn a_remedy_is_shown_and_nothing_is_changed_without_a_yes() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = laid_out(folder.path());
    let grub = folder.path().join("root/etc/default/grub");
    // Without a terminal it cannot ask; with one, `--dry-run` does not ask.
    for more in [&[][..], &["--dry-run"], &["MY-01"], &["--dry-run", "--yes", "MY-01"], &["--json"]] {
        let output = run(&arguments, more);
        assert_code(&output, 1);
        assert_eq!(fs::read_to_string(&grub).expect("it is text"), GRUB, "{more:?}");
        assert!(!folder.path().join("root/var/lib/roci").exists(), "{more:?}");
        assert!(!stdout(&output).contains("PLANTED"), "{}", stdout(&output));
    }
    let text = stdout(&run(&arguments, &[]));
    for expected in [
        "high MY-01 Mine",
        "/etc/default/grub\n      2 -GRUB_CMDLINE_LINUX_DEFAULT=\"quiet serialno=MASKED\"\n      2 +GRUB_CMDLINE_LINUX_DEFAULT=\"quiet serialno=MASKED iommu=pt\"\n",
        "/etc/modprobe.d/roci-doctor.conf (new file)\n      1 +options amdgpu gpu_recovery=1\n",
        "# update-grub\n  # mkinitcpio -P\n  Takes effect after a reboot.\n",
        "roci doctor fix --yes MY-01",
    ] {
        assert!(text.contains(expected), "{expected} is missing:\n{text}");
    }
    let value = json(&run(&arguments, &["--json"]), "roci.doctor.fix");
    let remedy = &value["remedies"][0];
    assert_eq!((&remedy["id"], &remedy["state"]), (&"MY-01".into(), &"proposed".into()), "{value}");
    assert_eq!(remedy["plan"]["files"][1]["lines"][0]["text"], "options amdgpu gpu_recovery=1");
    assert_eq!(remedy["plan"]["commands"][0], "update-grub");
}

#[test]
fn a_remedy_is_applied_by_name_and_taken_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = laid_out(folder.path());
    let root = folder.path().join("root");
    let grub = root.join("etc/default/grub");
    let applied = run(&arguments, &["--yes", "my-01"]);
    assert!(stdout(&applied).contains("Applied to the copy"), "{}", stdout(&applied));
    let changed = fs::read_to_string(&grub).expect("it is text");
    assert!(changed.contains("quiet serialno=PLANTED iommu=pt"), "{changed}");
    let again = stdout(&run(&arguments, &["MY-01"]));
    assert!(again.contains("Nothing to change") && again.contains("--undo: MY-01"), "{again}");
    fs::write(&grub, format!("{changed}# mine\n")).expect("a file");
    assert_error(&run(&arguments, &["--undo"]), 2, "`/etc/default/grub` was changed since", "--force");
    fs::write(&grub, changed).expect("a file");
    let value = json(&run(&arguments, &["--undo", "--json"]), "roci.doctor.fix.undo");
    assert_eq!(value["undone"]["files"].as_array().map(Vec::len), Some(2), "{value}");
    assert_eq!(fs::read_to_string(&grub).expect("it is text"), GRUB);
    assert!(!root.join("etc/modprobe.d/roci-doctor.conf").exists() && !root.join("var/lib/roci").exists());
    assert_error(&run(&arguments, &["--undo"]), 2, "no applied change is recorded", "--undo");
}

#[test]
fn names_and_files_that_do_not_fit_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = laid_out(folder.path());
    assert_error(&run(&arguments, &["--yes", "OVR-999"]), 2, "there is no rule `OVR-999`", "OVR-04");
    assert_error(&run(&arguments, &["OVR-11"]), 2, "`OVR-11` does not apply to this machine", "doctor fix");
    assert_error(&run(&arguments, &["--yes", "OVR-11"]), 2, "`OVR-11` does not apply", "doctor fix");
    let file = folder.path().join("root/etc/default/grub");
    fs::remove_file(&file).expect("it exists");
    std::os::unix::fs::symlink("/etc/hostname", &file).expect("a link");
    let output = run(&arguments, &["--yes", "MY-01"]);
    assert_code(&output, 1);
    let text = stdout(&output) + &stderr(&output);
    assert!(text.contains("Refused: `/etc/default/grub` is a symbolic link"), "{text}");
    assert!(!folder.path().join("root/etc/modprobe.d/roci-doctor.conf").exists(), "all or nothing");
}

#[test]
fn the_memory_of_an_apu_can_be_raised() {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = laid_out(folder.path());
    assert_error(&run(&arguments, &["MEMORY"]), 2, "`MEMORY` does not apply to this machine", "doctor fix");
    let root = folder.path().join("root");
    let card = root.join("sys/bus/pci/devices/0000:03:00.0");
    // Strix Halo with 32 GB, of which the firmware takes 512 MiB.
    for (file, text) in [("device", "0x1586\n"), ("mem_info_vram_total", "536870912\n")] {
        fs::write(card.join(file), text).expect("a file");
    }
    let node = root.join("sys/class/kfd/kfd/topology/nodes/1/properties");
    let text =
        "simd_count 80\nsimd_per_cu 2\ngfx_target_version 110501\nlocation_id 768\ndomain 0\ndrm_render_minor 128\n";
    fs::write(node, text).expect("a file");
    let shown = stdout(&run(&arguments, &["memory"]));
    let expected =
        "+GRUB_CMDLINE_LINUX_DEFAULT=\"quiet serialno=MASKED ttm.pages_limit=7077888 ttm.page_pool_size=7077888\"";
    assert!(shown.contains("info MEMORY ") && shown.contains(expected), "{shown}");
    let root = root.to_str().expect("its name is text");
    assert!(stdout(&roci(&["doctor", "--root", root])).contains("Or: roci doctor fix MEMORY"));
}
