//! Machines that the tests do not run on, as trees of files: what is found there, and what the rules say of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use roci_doctor::{Book, Reader, Root, Snapshot};

/// A machine with an AMD GPU of this PCI number and target version.
fn machine(folder: &Path, device: &str, version: u32) {
    let write = |path: &str, text: &str| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let card = "sys/bus/pci/devices/0000:03:00.0";
    for (file, text) in [
        ("class", "0x030000\n"),
        ("vendor", "0x1002\n"),
        ("device", device),
        ("mem_info_vram_total", "8573157376\n"),
        ("mem_info_gtt_total", "16777216000\n"),
        ("fw_version/mec_fw_version", "0x00000091\n"),
        ("drm/card1/dev", "226:1\n"),
        ("drm/renderD128/dev", "226:128\n"),
        ("pp_dpm_sclk", "0: 300Mhz *\n1: 2100Mhz\n"),
    ] {
        write(&format!("{card}/{file}"), text);
    }
    write("sys/bus/pci/drivers/amdgpu/uevent", "");
    symlink("../../../../bus/pci/drivers/amdgpu", folder.join(card).join("driver")).expect("a link");
    let nodes = "sys/class/kfd/kfd/topology/nodes";
    write(&format!("{nodes}/0/properties"), "cpu_cores_count 12\nsimd_count 0\n");
    let properties = format!(
        "cpu_cores_count 0\nsimd_count 80\nsimd_per_cu 2\ngfx_target_version {version}\nlocation_id 768\ndomain 0\ndrm_render_minor 128\n"
    );
    write(&format!("{nodes}/1/properties"), &properties);
    write(&format!("{nodes}/1/mem_banks/0/properties"), "heap_type 1\nsize_in_bytes 8573157376\n");
    write(&format!("{nodes}/1/io_links/0/properties"), "type 2\nflags 1\n");
    write("sys/module/amdgpu/parameters/cwsr_enable", "1\n");
    write("proc/sys/kernel/osrelease", "6.12.9-arch1-1\n");
    write("proc/cmdline", "root=/dev/sda1 amdgpu.gttsize=8192 quiet\n");
    write("proc/meminfo", "MemTotal:       32768000 kB\nSwapTotal:             0 kB\n");
    write("etc/os-release", "ID=arch\nPRETTY_NAME=\"Arch Linux\"\n");
    write("etc/modprobe.d/x.conf", "options ttm pages_limit=4194304\n");
    write("opt/rocm-6.2.0/.info/version", "6.2.0-66\n");
    write("opt/rocm-6.2.0/lib/rocblas/library/TensileLibrary_lazy_gfx1030.dat", "");
}

fn snapshot(folder: &Path, env: &[(&str, &str)]) -> Snapshot {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Snapshot::gather(&Root::at(folder), env)
}

fn fired(snapshot: &Snapshot) -> Vec<String> {
    let book = Book::builtin().expect("the rules are right");
    let log = snapshot.kernel_log.clone().unwrap_or_default();
    book.judge(&snapshot.facts(), &log).iter().map(|finding| finding.rule.id.clone()).collect()
}

#[test]
fn one_card_is_one_gpu_with_its_true_target() {
    let folder = tempfile::tempdir().expect("a folder");
    machine(folder.path(), "0x731f\n", 100_100);
    let found = snapshot(folder.path(), &[("HSA_OVERRIDE_GFX_VERSION", "10.3.0"), ("SECRET", "x")]);
    let [gpu] = found.gpus.as_slice() else { panic!("{:?}", found.gpus) };
    assert_eq!((gpu.target.as_deref(), gpu.forced.as_deref()), (Some("gfx1010"), Some("gfx1030")));
    assert_eq!((gpu.cu, gpu.atomics, gpu.driver.as_deref()), (Some(40), Some(true), Some("amdgpu")));
    assert_eq!((gpu.card.as_deref(), gpu.render.as_deref()), (Some("card1"), Some("renderD128")));
    let facts = found.facts();
    let first = |name: &str| facts.machine.first(name).map(str::to_owned);
    assert_eq!(first("kernel.release").as_deref(), Some("6.12.9-arch1-1"));
    assert_eq!(first("configured.ttm.pages_limit").as_deref(), Some("4194304"));
    assert_eq!(first("rocm.version").as_deref(), Some("6.2.0-66"));
    assert_eq!(first("library.rocblas.target").as_deref(), Some("gfx1030"));
    assert_eq!(first("env.SECRET"), None, "what is nobody's business is left out");
    assert_eq!(facts.gpus[0].first("gpu.firmware.mec"), Some("145"));
    assert!(fired(&found).contains(&"OVR-04".to_owned()), "{:?}", fired(&found));
}

#[test]
fn without_the_override_it_is_not_blamed() {
    let folder = tempfile::tempdir().expect("a folder");
    machine(folder.path(), "0x731f\n", 100_100);
    let rules = fired(&snapshot(folder.path(), &[]));
    assert!(rules.iter().all(|rule| !rule.starts_with("OVR-0")), "{rules:?}");
    assert!(rules.contains(&"MEM-04".to_owned()), "gttsize is on the command line: {rules:?}");
}

#[test]
fn an_empty_tree_is_a_machine_without_a_gpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = snapshot(folder.path(), &[]);
    assert!(found.gpus.is_empty() && found.unreadable.is_empty(), "{found:?}");
    assert_eq!(found.facts().machine.first("gpus.amd"), Some("0"));
}

#[test]
fn a_snapshot_survives_being_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    machine(folder.path(), "0x13fe\n", 100_103);
    let found = snapshot(folder.path(), &[]);
    let text = serde_json::to_string(&found).expect("it is JSON");
    let read: Snapshot = serde_json::from_str(&text).expect("it is the same");
    assert_eq!(fired(&read), fired(&found));
    assert_eq!(read.gpus[0].target.as_deref(), Some("gfx1013"));
}

#[test]
fn a_pasted_log_is_judged_by_what_it_tells() {
    let book = Book::builtin().expect("the rules are right");
    let reader = Reader::new().expect("the file is right");
    let judged = |text: &str| {
        let log = reader.read(text);
        book.judge(&log.facts, text).iter().map(|finding| finding.rule.id.clone()).collect::<Vec<_>>()
    };
    let timeout = "kernel: amdgpu 0000:c5:00.0: ring comp_1.2.0 timeout, signaled seq=608714, emitted seq=608716\n\
                   llama_model_load: error loading model: vk::Queue::submit: ErrorDeviceLost\n";
    assert!(judged(timeout).contains(&"TMO-01".to_owned()), "{:?}", judged(timeout));
    let healthy = "[    5.7] amdgpu 0000:03:00.0: amdgpu: amdgpu: 8176M of VRAM memory ready\n\
                   [    5.8] [drm] Initialized amdgpu 3.59.0 20150101 for 0000:03:00.0 on minor 1\n";
    assert_eq!(judged(healthy), Vec::<String>::new());
    assert_eq!(judged("nothing to see here\n"), Vec::<String>::new());
}
