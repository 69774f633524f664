//! Logs and the conclusions expected from them: programs and causes, in order. An empty list means
//! no cause.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::{Conclusion, LogReader, RuleSet, Severity};

use super::command;

/// Written for these tests, in `tests/logs`.
const LOGS: &[(&str, &str, &[&str])] = &[
    ("bytes-color-crlf.txt", "dmesg", &["TMO-01"]),
    ("bytes-invalid.txt", "dmesg", &["KFD-04"]),
    ("bytes-utf16.txt", "pytorch", &["LIB-01"]),
    ("clinfo-none.txt", "clinfo", &["OCL-01"]),
    ("clinfo-rocm-healthy.txt", "clinfo", &[]),
    ("clinfo-rusticl-healthy.txt", "clinfo", &[]),
    ("dmesg-atomics-5700.txt", "dmesg", &["KFD-04b"]),
    ("dmesg-de-ring-timeout.txt", "dmesg", &["TMO-08"]),
    ("dmesg-firmware-missing.txt", "dmesg", &["FW-01"]),
    ("dmesg-flip.txt", "dmesg", &["DSP-01"]),
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
    ("vulkan-device-lost.txt", "vulkan", &["TMO-10"]),
    ("vulkaninfo-healthy-780m.txt", "vulkaninfo", &[]),
    ("vulkaninfo-healthy-no-gpu.txt", "vulkaninfo", &[]),
    ("vulkaninfo-llvmpipe.txt", "lspci, vulkaninfo", &["VK-01"]),
    ("vulkaninfo-nvidia.txt", "vulkaninfo", &[]),
];

/// Captured logs that are not part of the repository.
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

/// Logs with expectations of others (EXPECTED.md); not part of the repository. Without a cause: two
/// that compare values of several lines.
const JUDGED: &[(&str, &str, &[&str])] = &[
    ("app-memory-fault-nil-address-stale-override.txt", "hsa", &["OVR-02b"]),
    ("app-rocblas-tensile-missing-gfx1036.txt", "pytorch", &["LIB-01"]),
    ("app-rocblas-tensile-missing-gfx906-rocm640.txt", "pytorch", &["LIB-06"]),
    ("clinfo-two-gpus-both-gfx1201-stale-override.txt", "clinfo", &[]),
    ("dmesg-7840u-mes-recovery-disabled.txt", "dmesg", &["MES-01", "MES-05"]),
    ("dmesg-kfd-pci-rejects-atomics-rx550-laptop.txt", "dmesg", &["KFD-04"]),
    ("dmesg-rx580-comp-ring-soft-recovered.txt", "dmesg", &["TMO-02"]),
    ("journal-apu-gfx-ring-timeout-soft-recovery.txt", "dmesg, sysfs", &["TMO-01b"]),
    ("journal-bc250-sdma0-timeout-mode1-reset.txt", "dmesg, sysfs", &["BC-01", "SDMA-03", "RST-02"]),
    ("miopen-gfx1031-override-memory-access-fault.txt", "hsa", &["FLT-05"]),
    ("miopen-vega56-comgr-invalid-isa-name.txt", "pytorch", &["VER-03", "MIO-06", "MIO-01"]),
    ("rocm-smi-ollama-apu-memory-overcount.txt", "", &[]),
    ("rocminfo-container-permission-denied.txt", "rocminfo", &["KFD-02b"]),
    ("rocminfo-gfx1035-680m-1gib.txt", "rocminfo", &["MEM-02c"]),
    ("rocminfo-kfd-invalid-argument-rx9070xt.txt", "rocminfo", &["KFD-03b"]),
];

static READER: LazyLock<LogReader> = LazyLock::new(|| LogReader::new().expect("the files are right"));
static RULES: LazyLock<RuleSet> = LazyLock::new(|| RuleSet::builtin().expect("the rules are right"));

pub(super) fn conclude(log: &str) -> Conclusion {
    Conclusion::of(&READER, &RULES, log)
}

fn read(folder: &Path, table: &[(&str, &str, &[&str])]) {
    let mut wrong = Vec::new();
    for (file, kinds, causes) in table {
        let bytes = std::fs::read(folder.join(file)).expect("the log exists");
        let conclusion = conclude(&LogReader::decode(&bytes));
        let found: Vec<_> = conclusion.causes.iter().map(|cause| cause.id.as_str()).collect();
        if found != *causes || conclusion.programs.join(", ") != *kinds {
            wrong.push(format!("{file}: {:?} {found:?}, not {kinds:?} {causes:?}", conclusion.programs));
        }
        let happened = conclusion.events.iter().map(|event| event.severity);
        let weighty =
            conclusion.causes.iter().map(|cause| cause.severity).chain(happened).any(|one| one <= Severity::Medium);
        let failed = !conclusion.failures.is_empty();
        assert_eq!(conclusion.problems(), weighty || failed, "{file}");
        assert!(!(file.contains("healthy") && (weighty || failed)), "{file}: a false alarm");
        let clear = conclusion.text(true).to_lowercase().contains("no known problem");
        assert!(!(clear && failed), "{file}: a false all-clear");
        assert!(serde_json::to_string(&conclusion).is_ok(), "{file}");
        assert!(conclusion.text(false).len() <= conclusion.text(true).len(), "{file}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/logs")
}

#[test]
fn logs_have_the_expected_causes() {
    read(&own(), LOGS);
    let there = std::fs::read_dir(own()).expect("the folder is there").count();
    assert_eq!(there, LOGS.len(), "a log without an expectation");
}

#[test]
fn captured_logs_have_the_expected_causes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/fixtures");
    if !folder.is_dir() {
        roci_testkit::absent("the logs of others (../shared/fixtures)");
        return;
    }
    read(&folder, FIXTURES);
    read(&folder.join("judged"), JUDGED);
}

#[test]
fn a_healthy_log_is_named_and_left_alone() {
    let text = conclude("ROCk module is loaded\n  Name:                    gfx1100\n*** Done ***\n").text(false);
    assert!(text.starts_with("The log shows no known problem."), "{text}");
    assert!(text.contains("rocminfo") && text.contains("gfx1100"), "{text}");
    assert!(conclude("").text(false).starts_with("Unrecognized log format"), "an empty log is unrecognized");
    // The beginning of a log says nothing about its end.
    for log in ["", "ROCk module is loaded\n", "ROCk module is loaded\n  Name:                    gfx1100\n"] {
        let text = conclude(log).text(false);
        assert!(text.contains("no all-clear") && !text.contains("no known problem"), "{text}");
    }
}

#[test]
fn excluded_causes_and_missing_facts_are_reported() {
    let fault = "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f00. \
                 Reason: Page not present or supervisor privilege.";
    let unknown = conclude(fault);
    // A cause of one chip is only a reason for a check, unless the log names the chip.
    assert!(!unknown.possible.iter().any(|cause| cause.id == "MES-04"), "{:?}", unknown.possible);
    let check = unknown.next.iter().find(|check| check.run == "uname -r").expect("the kernel is asked for");
    assert!(check.decides.iter().any(|id| id == "MES-04"), "{check:?}");
    let named =
        conclude(&format!("ggml_vulkan: 0 = AMD Radeon 8060S Graphics (RADV GFX1151) (radv) | uma: 1\n{fault}"));
    assert!(named.possible.iter().any(|cause| cause.id == "MES-04"), "{:?}", named.possible);
    let known =
        conclude(&format!("  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32\n{fault}"));
    let excluded = known.excluded.iter().find(|excluded| excluded.id == "MES-04").expect("it is ruled out");
    assert_eq!(excluded.evidence[0].value.as_deref(), Some("gfx1100"));
}

#[test]
fn failures_of_other_vendors_and_programs_have_no_cause() {
    let failed = [
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "out-of-memory"),
        (
            "RuntimeError: CUDA error: no kernel image is available for execution on the device\nNVIDIA GeForce GTX 1080",
            "missing-code",
        ),
        (
            "ggml_vulkan: 0 = NVIDIA GeForce RTX 3060 (NVIDIA) | uma: 0 | fp16: 1\nvk::Queue::submit: ErrorDeviceLost",
            "gpu-lost",
        ),
        ("[    9.1] i915 0000:00:02.0: [drm] *ERROR* [CRTC:80:pipe A] flip_done timed out", "driver-error"),
        ("[  12.1] nouveau 0000:01:00.0: fifo: ring gr timeout", "gpu-hang"),
        ("2025-01-01 django ERROR failed to load model app.User", "error"),
    ];
    for (log, kind) in failed {
        let conclusion = conclude(log);
        let kinds: Vec<_> = conclusion.failures.iter().map(|failure| failure.kind.as_str()).collect();
        assert_eq!(kinds, [kind], "{log}");
        assert!(conclusion.problems() && conclusion.causes.is_empty() && conclusion.notes.is_empty(), "{log}");
    }
    assert!(conclude(failed[2].0).text(false).contains("another vendor"), "{}", conclude(failed[2].0).text(false));
}

#[test]
fn other_vendors_and_prose_raise_no_alarm() {
    let quiet = [
        "If you see \"ring gfx timeout\" in your log, then set HSA_OVERRIDE_GFX_VERSION=10.3.0, people say.",
        "ggml_vulkan: No devices found.\nload_backend: loaded CPU backend from /app/libggml-cpu-haswell.so",
        // An AMD machine, but the line is from another driver.
        "[ 1.1] amdgpu 0000:03:00.0: amdgpu: 16368M of VRAM memory ready\n\
         [ 3.2] i2c_designware: probe of AMDI0010:03 failed with error -110",
        "[ 1.1] amdgpu 0000:03:00.0: amdgpu: 16368M of VRAM memory ready\n\
         [ 9.1] i915 0000:00:02.0: [drm] *ERROR* flip_done timed out",
        // Optional firmware.
        "amdgpu 0000:04:00.0: Direct firmware load for amdgpu/gc_11_0_1_mes_2.bin failed with error -2\n\
         [drm] try to fall back to amdgpu/gc_11_0_1_mes.bin",
        "amdgpu 0000:03:00.0: Direct firmware load for amdgpu/navi10_ta.bin failed with error -2\n\
         amdgpu 0000:03:00.0: amdgpu: RAS: optional ras ta ucode is not available",
        "amdgpu 0000:01:00.0: Direct firmware load for amdgpu/polaris10_k_smc.bin failed with error -2",
    ];
    for log in quiet {
        let conclusion = conclude(log);
        assert!(!conclusion.problems() && conclusion.notes.is_empty(), "{log}\n{}", conclusion.text(false));
    }
    assert_eq!(conclude(quiet[1]).possible.first().map(|cause| cause.id.as_str()), Some("VK-01c"));
}

#[test]
fn common_errors_have_a_cause() {
    let known = [
        ("RuntimeError: HIP error: an illegal memory access was encountered", "FLT-10"),
        ("RuntimeError: miopenStatusUnknownError", "MIO-06"),
        ("rocBLAS error: Could not load /opt/rocm/lib/rocblas/library/TensileLibrary_lazy_gfx1032.dat", "LIB-01"),
        ("rocBLAS error: Could not initialize Tensile host: No devices found", "KFD-11"),
        ("ImportError: libroctracer64.so.4: cannot open shared object file: No such file or directory", "LIB-14"),
        ("[ 1.0] [drm:amdgpu_cs_ioctl [amdgpu]] *ERROR* Failed to initialize parser -125!", "RST-03"),
        ("[ 1.0] amdgpu: Queue preemption failed for queue with doorbell_id: 80004008", "HWS-01"),
        ("amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=9, emitted seq=11", "TMO-08b"),
        (
            "amdgpu 0000:03:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=9, emitted seq=11\n\
             amdgpu 0000:03:00.0: amdgpu:  Process llama-server pid 1 thread llama-server pid 2",
            "TMO-01b",
        ),
        ("kfd kfd: amdgpu: NAVI21 VF not supported in kfd", "KFD-05c"),
    ];
    for (log, id) in known {
        let conclusion = conclude(log);
        let ids: Vec<_> = conclusion.causes.iter().map(|cause| cause.id.as_str()).collect();
        assert_eq!((ids.as_slice(), conclusion.problems()), ([id].as_slice(), true), "{log}");
    }
    let hip = conclude("terminate called after throwing an instance: hipErrorNotInitialized");
    assert_eq!(hip.events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["hip-error"]);
    let unknown = conclude("amdgpu 0000:03:00.0: [drm] *ERROR* dc_dmub_srv_log_diagnostic_data: DMCUB error");
    assert!(unknown.problems());
    assert!(unknown.text(false).starts_with("Line 1 reports an error of the GPU driver. No rule explains it."));
}

#[test]
fn certain_blockers_come_first() {
    let conclusion = conclude(
        "[   10.1] amdgpu 0000:c5:00.0: amdgpu: initializing kernel modesetting (X 0x1002:0x15BF 0x1:0x2 0xC1).\n\
         [   10.3] Out of memory: Killed process 99 (llama-server) total-vm:1kB\n\
         rocBLAS error: Cannot read /lib/TensileLibrary.dat: Illegal seek for GPU arch : gfx1103",
    );
    assert_eq!(conclusion.causes[0].id, "LIB-01", "{}", conclusion.text(false));
}

#[test]
fn remedies_name_the_chip_of_the_log() {
    let error = "RuntimeError: HIP error: invalid device function";
    let steps = |log: &str| format!("{:?}", conclude(log).causes[0].steps);
    assert!(steps(&format!("AMD arch: gfx1013\n{error}")).contains("roci objects --for gfx1013 "));
    assert!(steps(error).contains("roci objects --for TARGET "));
}

#[test]
fn a_cause_precedes_its_consequences() {
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
fn every_fact_has_a_command_that_shows_it() {
    assert_eq!(command("kernel.release").as_deref(), Some("uname -r"));
    let parameter = command("param.amdgpu.cwsr_enable");
    assert_eq!(parameter.as_deref(), Some("cat /sys/module/amdgpu/parameters/cwsr_enable"));
    assert_eq!(command("env.HSA_XNACK").as_deref(), Some("env | grep HSA_XNACK"));
    assert_eq!(command("log.kind"), None);
}

/// Parts of these logs and invalid bytes.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    static LINES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let files = LOGS.iter().map(|(file, ..)| std::fs::read(own().join(file)).expect("the log exists"));
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
    fn arbitrary_logs_do_not_panic(bytes in pieces()) {
        let text = LogReader::decode(&bytes);
        let lines = text.split('\n').count();
        let conclusion = conclude(&text);
        let causes = conclusion.causes.iter().chain(&conclusion.possible).chain(&conclusion.notes);
        let events = conclusion.events.iter().flat_map(|event| &event.lines);
        let numbers = causes.flat_map(|cause| &cause.lines).chain(events);
        for line in numbers {
            prop_assert!((1..=lines).contains(&line.number), "line {} of {lines}", line.number);
        }
        for verbose in [false, true] {
            let text_of_log = conclusion.text(verbose);
            prop_assert!(!text_of_log.chars().any(|c| c.is_control() && c != '\n'), "{text_of_log:?}");
        }
    }
}
