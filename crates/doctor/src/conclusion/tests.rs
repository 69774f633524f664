//! Logs and what must be concluded from them: the programs that wrote them and the causes, in order. No cause is
//! silence.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::{Book, Conclusion, Reader, Severity};

use super::command;

/// Made for this, in `tests/logs`.
const LOGS: &[(&str, &str, &[&str])] = &[
    ("bytes-colour-crlf.txt", "dmesg", &["TMO-01"]),
    ("bytes-invalid.txt", "dmesg", &["KFD-04"]),
    ("bytes-utf16.txt", "pytorch", &["LIB-01"]),
    ("clinfo-none.txt", "clinfo", &["OCL-01"]),
    ("clinfo-rocm-healthy.txt", "clinfo", &[]),
    ("clinfo-rusticl-healthy.txt", "clinfo", &[]),
    ("dmesg-atomics-5700.txt", "dmesg", &["KFD-04b"]),
    ("dmesg-de-ring-timeout.txt", "dmesg", &["TMO-01"]),
    ("dmesg-firmware-missing.txt", "dmesg", &["FW-01"]),
    ("dmesg-flip.txt", "dmesg", &[]),
    ("dmesg-healthy-6900.txt", "dmesg", &[]),
    ("dmesg-healthy-7900.txt", "dmesg", &[]),
    ("dmesg-iommu-fault.txt", "dmesg", &["IOM-04"]),
    ("dmesg-ja-mes.txt", "dmesg", &["MES-01"]),
    ("dmesg-old-mes-response.txt", "dmesg", &["MES-01"]),
    ("dmesg-oom-killer.txt", "dmesg", &["MEM-08"]),
    ("dmesg-reset-failed-9070.txt", "dmesg", &["MES-07"]),
    ("dmesg-secure-boot.txt", "dmesg", &["DRV-04"]),
    ("hsa-illegal-instruction.txt", "hsa", &["FLT-09"]),
    ("hsa-out-of-resources.txt", "hsa", &["MEM-20"]),
    ("journal-fr-page-fault-7900.txt", "dmesg", &["FLT-03"]),
    ("journal-iso-comp-timeout.txt", "dmesg", &["VK-08"]),
    ("llama-healthy-bench-hip.txt", "llama.cpp", &[]),
    ("llama-healthy-cpu.txt", "llama.cpp", &[]),
    ("llama-healthy-server-vulkan.txt", "llama.cpp", &[]),
    ("llama-no-binary.txt", "hsa", &["LIB-02"]),
    ("llama-nvidia.txt", "llama.cpp", &[]),
    ("llama-override-5500.txt", "llama.cpp, hsa", &["OVR-04"]),
    ("llama-two-gpus.txt", "llama.cpp, hsa", &["SEL-01"]),
    ("llama-vulkan-oom.txt", "llama.cpp", &["MEM-20"]),
    ("miopen-no-device-code.txt", "pytorch", &["LIB-02"]),
    ("ollama-healthy-no-gpu.txt", "ollama", &[]),
    ("ollama-healthy.txt", "ollama", &[]),
    ("ollama-no-compatible.txt", "ollama", &["LC-05"]),
    ("ollama-permission.txt", "ollama", &["KFD-02b"]),
    ("other-code.txt", "", &[]),
    ("other-nginx.txt", "", &[]),
    ("other-nvidia-dmesg.txt", "dmesg", &[]),
    ("other-prose.txt", "", &[]),
    ("other-rustc.txt", "", &[]),
    ("pytorch-healthy-comfyui.txt", "pytorch", &[]),
    ("pytorch-healthy.txt", "pytorch", &[]),
    ("pytorch-no-hip.txt", "pytorch", &["KFD-11"]),
    ("pytorch-oom-dgpu.txt", "pytorch", &["MEM-20"]),
    ("rocblas-gfx1010-illegal-seek.txt", "pytorch", &["LIB-06"]),
    ("rocminfo-healthy-7900xt.txt", "rocminfo", &[]),
    ("rocminfo-not-loaded.txt", "rocminfo", &["KFD-01b"]),
    ("rocminfo-override-rdna1.txt", "rocminfo", &["OVR-04"]),
    ("rocminfo-permission.txt", "rocminfo", &["KFD-02b"]),
    ("sysfs-healthy-6600.txt", "sysfs", &[]),
    ("sysfs-mes83.txt", "sysfs", &["MES-03"]),
    ("vulkan-device-lost.txt", "vulkan", &[]),
    ("vulkaninfo-healthy-780m.txt", "vulkaninfo", &[]),
    ("vulkaninfo-healthy-no-gpu.txt", "vulkaninfo", &[]),
    ("vulkaninfo-llvmpipe.txt", "lspci, vulkaninfo", &["VK-01"]),
    ("vulkaninfo-nvidia.txt", "vulkaninfo", &[]),
];

/// Captured by others; they do not come along.
const FIXTURES: &[(&str, &str, &[&str])] = &[
    ("amd-ttm-strix-halo-half-ram.txt", "sysfs", &[]),
    ("amdgpu_top-dump.json.txt", "amdgpu_top", &[]),
    ("amdgpu_top-system-info-gfx1151.json.txt", "amdgpu_top", &[]),
    ("app-bc250-rocblas-sgemm-memory-access-fault.txt", "hsa, dmesg", &["BC-03b"]),
    ("app-rocblas-tensile-missing-gfx1103.txt", "pytorch", &["LIB-01"]),
    ("clinfo-rx5500xt-clover-and-rusticl-without-devices.txt", "clinfo", &["OCL-02", "OCL-07"]),
    ("debugfs-amdgpu_firmware_info-gfx1151-mes80.txt", "sysfs", &[]),
    ("debugfs-amdgpu_firmware_info-vega.txt", "sysfs", &[]),
    ("dmesg-780m-mes-remove-queue-reset-loop.txt", "dmesg", &["MES-01"]),
    ("dmesg-bc250-boot-patched-module.txt", "dmesg", &[]),
    ("dmesg-bc250-gfxhub-page-fault-tcp.txt", "dmesg", &["BC-03b"]),
    ("dmesg-bc250-kiq-fence-reset-sdma-dead.txt", "dmesg", &["BC-01", "BC-02"]),
    ("dmesg-bc250-svm-limit.txt", "dmesg", &["MEM-13"]),
    ("dmesg-gfx1151-gfxhub-page-fault-llama-bench.txt", "dmesg", &["FLT-01"]),
    ("dmesg-kfd-pci-rejects-atomics-rx580.txt", "dmesg", &["KFD-04"]),
    ("dmesg-kfd-pci-rejects-atomics-w5500-mec-too-old.txt", "dmesg", &["KFD-04b"]),
    ("dmesg-strix-halo-gtt-ready.txt", "dmesg", &[]),
    ("io_links-flags-rx5700xt.txt", "sysfs", &[]),
    ("journal-strix-halo-vulkan-comp-ring-timeout.txt", "dmesg, sysfs", &["TMO-01"]),
    ("kfd-topology-mi210-gfx90a.txt", "sysfs", &[]),
    ("kfd-topology-vangogh-gfx1033.txt", "sysfs", &[]),
    ("kfd-topology-vega10-old-kernel.txt", "dmesg, sysfs", &[]),
    ("llamacpp-bc250-hip-aperture-violation.txt", "llama.cpp, hsa", &["FLT-04"]),
    ("llamacpp-bc250-vulkan-device-line.txt", "llama.cpp", &[]),
    ("llamacpp-gfx1151-radv-healthy.txt", "llama.cpp", &[]),
    ("llamacpp-gfx1151-rocm71-flash-attn-hw-exception.txt", "llama.cpp, hsa", &["LLH-02"]),
    ("llamacpp-gfx906-two-devices.txt", "llama.cpp", &[]),
    ("llamacpp-opencl-rusticl-dropped-no-fp16.txt", "llama.cpp", &["OCL-04"]),
    ("llamacpp-rx5700xt-vulkan-device-lost-on-load.txt", "llama.cpp", &["TMO-04"]),
    ("ollama-gfx1151-vulkan-ring-timeout.txt", "ollama, dmesg", &["TMO-01"]),
    ("ollama-linux-no-amdgpu-version-file.txt", "ollama", &[]),
    ("pytorch-apu-out-of-memory-512mib-carveout.txt", "pytorch", &["MEM-02"]),
    ("pytorch-bc250-stock-wheel-probe.txt", "pytorch", &["LIB-02"]),
    ("pytorch-gfx1151-override-1100-memory-access-fault.txt", "hsa", &["OVR-07"]),
    ("pytorch-glibc241-execstack-rx5700xt.txt", "pytorch", &["VER-07"]),
    ("pytorch-hipblaslt-unsupported-warning.txt", "pytorch", &["LIB-10"]),
    ("pytorch-rx5500xt-override-1030-aperture-violation.txt", "hsa", &["MIO-03"]),
    ("pytorch-rx5700xt-invalid-device-function.txt", "pytorch", &["LIB-02"]),
    ("rocm-smi-780m.json.txt", "rocm-smi", &[]),
    ("rocminfo-gfx1010-rx5600xt.txt", "rocminfo", &[]),
    ("rocminfo-gfx1013-bc250.txt", "rocminfo", &[]),
    ("rocminfo-gfx1100-7900xtx.txt", "rocminfo", &[]),
    ("rocminfo-gfx1151-strix-halo.txt", "rocminfo", &[]),
    ("rocminfo-gfx900-mi25-multi.txt", "rocminfo", &[]),
    ("rocminfo-kfd-cannot-allocate-memory-pitcairn.txt", "rocminfo, hsa, dmesg", &["KFD-05"]),
    ("rocminfo-module-not-loaded-wsl.txt", "rocminfo, hsa", &["KFD-01b"]),
    ("rocminfo-wsl-unsupported-gpu.txt", "rocminfo, hsa", &["CON-10"]),
    ("sysfs-phoenix-780m-gfx1103.txt", "sysfs", &[]),
    ("sysfs-rx5500xt-gfx1012.txt", "sysfs", &[]),
    ("sysfs-rx5700xt-gfx1010.txt", "sysfs", &[]),
    ("sysfs-vega56-gfx900.txt", "sysfs", &["PCI-02"]),
    ("vulkaninfo-rx5500xt-radv-excerpt.txt", "vulkaninfo", &[]),
];

static READER: LazyLock<Reader> = LazyLock::new(|| Reader::new().expect("the files are right"));
static BOOK: LazyLock<Book> = LazyLock::new(|| Book::builtin().expect("the rules are right"));

fn conclude(log: &str) -> Conclusion {
    Conclusion::of(&READER, &BOOK, log)
}

fn read(folder: &Path, table: &[(&str, &str, &[&str])]) {
    let mut wrong = Vec::new();
    for (file, kinds, causes) in table {
        let bytes = std::fs::read(folder.join(file)).expect("the log is there");
        let conclusion = conclude(&Reader::decode(&bytes));
        let found: Vec<_> = conclusion.causes.iter().map(|cause| cause.id.as_str()).collect();
        if found != *causes || conclusion.kinds.join(", ") != *kinds {
            wrong.push(format!("{file}: {:?} {found:?}, not {kinds:?} {causes:?}", conclusion.kinds));
        }
        let happened = conclusion.events.iter().map(|event| event.severity);
        let weighty =
            conclusion.causes.iter().map(|cause| cause.severity).chain(happened).any(|one| one <= Severity::Medium);
        assert_eq!(conclusion.problems(), weighty, "{file}");
        assert!(!(file.contains("healthy") && weighty), "{file}: a false alarm");
        assert!(serde_json::to_string(&conclusion).is_ok(), "{file}");
        assert!(conclusion.text(false).len() <= conclusion.text(true).len(), "{file}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs")
}

#[test]
fn logs_conclude_as_they_should() {
    read(&own(), LOGS);
    let there = std::fs::read_dir(own()).expect("the folder is there").count();
    assert_eq!(there, LOGS.len(), "a log without an expectation");
}

#[test]
fn logs_of_others_conclude_as_they_should() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/fixtures");
    if !folder.is_dir() {
        roci_testkit::absent("the logs of others (../shared/fixtures)");
        return;
    }
    read(&folder, FIXTURES);
}

#[test]
fn a_healthy_log_is_named_and_left_alone() {
    let text = conclude("ROCk module is loaded\n  Name:                    gfx1100\n").text(false);
    assert!(text.starts_with("Nothing known matches"), "{text}");
    assert!(text.contains("rocminfo") && text.contains("gfx1100"), "{text}");
    assert!(conclude("").text(false).starts_with("This is no log"), "nothing is no log");
}

#[test]
fn what_is_ruled_out_and_what_is_missing_is_said() {
    let fault = "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f00. \
                 Reason: Page not present or supervisor privilege.";
    let unknown = conclude(fault);
    assert!(unknown.possible.iter().any(|cause| cause.id == "MES-04"), "{:?}", unknown.possible);
    assert!(unknown.next.iter().any(|look| look.run == "uname -r"), "{:?}", unknown.next);
    let known =
        conclude(&format!("  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n{fault}"));
    let excluded = known.excluded.iter().find(|excluded| excluded.id == "MES-04").expect("it is ruled out");
    assert_eq!(excluded.because[0].value.as_deref(), Some("gfx1100"));
}

#[test]
fn a_cause_stands_above_what_it_explains() {
    let log = "amdgpu 0000:c5:00.0: amdgpu: initializing kernel modesetting (X 0x1002:0x15BF 0x1:0x2 0xC1).\n\
               amdgpu 0000:c5:00.0: amdgpu: MES failed to respond to msg=REMOVE_QUEUE\n\
               amdgpu 0000:c5:00.0: amdgpu: GPU reset begin!\n";
    let conclusion = conclude(log);
    let ids: Vec<_> = conclusion.causes.iter().map(|cause| cause.id.as_str()).collect();
    assert_eq!(ids, ["MES-06"]);
    let explained: Vec<_> = conclusion.causes[0].explains.iter().map(|explained| explained.id.as_str()).collect();
    assert_eq!(explained, ["RST-01", "MES-01"]);
    assert_eq!(conclusion.events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["mes-hang", "reset"]);
}

#[test]
fn facts_have_commands() {
    assert_eq!(command("kernel.release").as_deref(), Some("uname -r"));
    let parameter = command("param.amdgpu.cwsr_enable");
    assert_eq!(parameter.as_deref(), Some("cat /sys/module/amdgpu/parameters/cwsr_enable"));
    assert_eq!(command("env.HSA_XNACK").as_deref(), Some("env | grep HSA_XNACK"));
    assert_eq!(command("log.kind"), None);
}

/// Pieces of the logs here, and bytes that are none.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    static LINES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let files = LOGS.iter().map(|(file, ..)| std::fs::read(own().join(file)).expect("the log is there"));
        files
            .flat_map(|bytes| bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
            .collect()
    });
    let line = (any::<proptest::sample::Index>(), any::<proptest::sample::Index>(), any::<(bool, u8)>());
    let damaged = line.prop_map(|(line, at, (damage, byte))| {
        let mut line = line.get(&LINES).clone();
        let at = at.index(line.len());
        match (damage, byte % 4) {
            (true, 0) => line.truncate(at),
            (true, 1) => line.insert(at, byte),
            (true, 2) => line[at] = byte,
            (true, _) => line.drain(..at).for_each(drop),
            (false, _) => {}
        }
        line
    });
    vec(prop_oneof![4 => damaged, 1 => vec(any::<u8>(), 0..80)], 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_log_is_too_strange(bytes in pieces()) {
        let text = Reader::decode(&bytes);
        let lines = text.split('\n').count();
        let conclusion = conclude(&text);
        let told = conclusion.causes.iter().chain(&conclusion.possible).chain(&conclusion.notes);
        let events = conclusion.events.iter().flat_map(|event| &event.lines);
        let numbers = told.flat_map(|cause| &cause.lines).chain(events);
        for line in numbers {
            prop_assert!((1..=lines).contains(&line.number), "line {} of {lines}", line.number);
        }
        for verbose in [false, true] {
            let shown = conclusion.text(verbose);
            prop_assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
}
