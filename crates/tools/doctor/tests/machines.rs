//! Other machines as file trees (`machines/*.txt`): the facts found there, and the findings.

mod common;

use std::fs;
use std::os::unix::fs::symlink;

use common::lay_out;
use roci_doctor::{
    Diagnosis, Facts, LogReader, Root, RouteKind, RuleSet, Severity, Snapshot, Step, known_good, memory, routes,
};

fn snapshot(name: &str) -> Snapshot {
    snapshot_with(name, &[])
}

/// A machine with additional variables.
fn snapshot_with(name: &str, more: &[(&str, &str)]) -> Snapshot {
    let folder = tempfile::tempdir().expect("a folder");
    let mut env = lay_out(name, folder.path());
    env.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Snapshot::gather(&Root::at(folder.path()), env.into_iter())
}

/// The rules that fire, with severities.
fn fired(rule_set: &RuleSet, snapshot: &Snapshot) -> Vec<(String, Severity)> {
    let log = snapshot.kernel_log.clone().unwrap_or_default();
    let findings = rule_set.findings(&snapshot.facts(), &log);
    findings.iter().map(|finding| (finding.rule.id.clone(), finding.rule.severity)).collect()
}

fn open(facts: &Facts, gpu: usize) -> Vec<RouteKind> {
    routes(facts, gpu).into_iter().filter(|route| route.obstacle.is_none()).map(|route| route.kind).collect()
}

/// A machine, the targets of its GPUs with their routes, the rules that must fire, and the lowest
/// severity at which no other rule may fire.
type Case = (&'static str, &'static [(&'static str, &'static [RouteKind])], &'static [&'static str], Severity);

const CASES: &[Case] = &[
    ("rx5600xt-override", &[("gfx1010", &[RouteKind::Vulkan])], &["OVR-01", "OVR-04"], Severity::High),
    (
        "bc250-stock",
        &[("gfx1013", &[RouteKind::Vulkan, RouteKind::RustIcl])],
        &["BC-08", "OCL-08", "CLK-02", "SDMA-02"],
        Severity::High,
    ),
    (
        "bc250-patched",
        &[("gfx1013", &[RouteKind::Native, RouteKind::Vulkan, RouteKind::RustIcl])],
        &["BC-05"],
        Severity::High,
    ),
    ("strix-halo-bad-mes", &[("gfx1151", &[RouteKind::Native, RouteKind::Vulkan])], &["MES-03"], Severity::High),
    (
        "igpu-and-dgpu",
        &[("gfx1100", &[RouteKind::Native, RouteKind::Vulkan]), ("gfx1036", &[RouteKind::Vulkan])],
        &["SEL-01b"],
        Severity::Medium,
    ),
    ("container-without-devices", &[("gfx1100", &[])], &["CON-01"], Severity::High),
    ("rx7900xtx-healthy", &[("gfx1100", &[RouteKind::Native, RouteKind::Vulkan])], &[], Severity::Medium),
    ("no-amd-gpu", &[], &[], Severity::Medium),
    (
        "mi210",
        &[("gfx90a", &[RouteKind::Native, RouteKind::Vulkan]), ("gfx90a", &[RouteKind::Native, RouteKind::Vulkan])],
        &[],
        Severity::Medium,
    ),
];

#[test]
fn each_machine_has_the_expected_routes_and_findings() {
    let rule_set = RuleSet::builtin().expect("the rules are right");
    let mut wrong = Vec::new();
    for (name, gpus, rule_ids, mildest) in CASES {
        let found = snapshot(name);
        let facts = found.facts();
        let amd = found.gpus.iter().enumerate().filter(|(_, gpu)| gpu.is_amd());
        let ways: Vec<_> =
            amd.map(|(index, gpu)| (gpu.target.clone().unwrap_or_default(), open(&facts, index))).collect();
        let expected: Vec<_> = gpus.iter().map(|(target, ways)| ((*target).to_owned(), ways.to_vec())).collect();
        if ways != expected {
            wrong.push(format!("{name}: {ways:?} instead of {expected:?}"));
        }
        let rules = fired(&rule_set, &found);
        let missing = rule_ids.iter().filter(|id| rules.iter().all(|(rule, _)| rule != *id));
        wrong.extend(missing.map(|id| format!("{name}: {id} is silent")));
        let more = rules.iter().filter(|(rule, severity)| severity <= mildest && !rule_ids.contains(&rule.as_str()));
        wrong.extend(more.map(|(rule, severity)| format!("{name}: {rule} ({severity:?}) fires")));
        assert!(found.unreadable.is_empty(), "{name}: {:?}", found.unreadable);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_card_is_one_gpu_with_its_real_target() {
    let found = snapshot_with("rx5600xt-override", &[("SECRET", "x")]);
    let [gpu] = found.gpus.as_slice() else { panic!("{:?}", found.gpus) };
    assert_eq!((gpu.target.as_deref(), gpu.forced.as_deref()), (Some("gfx1010"), Some("gfx1030")));
    assert_eq!((gpu.cu, gpu.atomics, gpu.driver.as_deref()), (Some(36), Some(true), Some("amdgpu")));
    assert_eq!((gpu.card.as_deref(), gpu.render.as_deref()), (Some("card1"), Some("renderD128")));
    assert_eq!((gpu.hip, gpu.visible, gpu.rocblas.as_deref()), (Some(0), Some(true), Some("exact")));
    let facts = found.facts();
    let first = |name: &str| facts.machine.first(name).map(str::to_owned);
    assert_eq!(first("kernel.release").as_deref(), Some("6.14.0-34-generic"));
    assert_eq!(first("rocm.version").as_deref(), Some("6.2.4-139"));
    assert_eq!(first("rocm.series").as_deref(), Some("6.2"));
    assert_eq!(first("rocm.count").as_deref(), Some("1"), "a link to a prefix is not a second prefix");
    assert_eq!(first("wheel.torch.rocm.series").as_deref(), Some("6.2"));
    assert_eq!(first("env.SECRET"), None, "private variables are omitted");
    assert_eq!(facts.gpus[0].first("gpu.firmware.mec"), Some("145"));
}

#[test]
fn hiding_a_gpu_hides_it_from_rocm() {
    let found = snapshot_with("igpu-and-dgpu", &[("ROCR_VISIBLE_DEVICES", "GPU-9ecafe5536937880")]);
    assert_eq!(found.gpus.iter().map(|gpu| gpu.visible).collect::<Vec<_>>(), [Some(false), Some(false)]);
    let found = snapshot_with("igpu-and-dgpu", &[("ROCR_VISIBLE_DEVICES", "0")]);
    assert_eq!(found.gpus.iter().map(|gpu| gpu.hip).collect::<Vec<_>>(), [Some(0), None]);
    let rule_set = RuleSet::builtin().expect("the rules are right");
    assert!(fired(&rule_set, &found).iter().all(|(rule, _)| rule != "SEL-01b"));
}

#[test]
fn the_memory_of_an_apu_is_one_pool() {
    let found = snapshot("bc250-patched");
    let memory_of = |found: &Snapshot| memory(&found.facts(), 0).expect("it has memory");
    let patched = memory_of(&found);
    assert!(patched.usable < 12 << 30, "GTT is larger than what the system can spare: {patched:?}");
    let halo = memory_of(&snapshot("strix-halo-bad-mes"));
    assert_eq!((halo.usable, halo.target), (64 << 30, Some(109 << 30)));
    let lines: Vec<_> =
        halo.raise.iter().filter_map(|step| if let Step::Run(line) = step { Some(line) } else { None }).collect();
    assert!(lines[0].starts_with("sudo grubby --update-kernel=ALL --args=\"ttm.pages_limit=28573696 "), "{lines:?}");
    assert_eq!(memory_of(&snapshot("rx7900xtx-healthy")).usable, 25_753_026_560);
    for name in ["bc250-stock", "strix-halo-bad-mes", "rx7900xtx-healthy"] {
        let target = snapshot(name).gpus[0].target.clone().expect("it is known");
        assert!(known_good(&target).is_some(), "{target}");
    }
}

#[test]
fn an_empty_tree_is_a_machine_without_a_gpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = Snapshot::gather(&Root::at(folder.path()), std::iter::empty());
    assert!(found.gpus.is_empty() && found.unreadable.is_empty(), "{found:?}");
    assert_eq!(found.facts().machine.first("gpus.amd"), None, "unknown without /sys");
    fs::create_dir(folder.path().join("sys")).expect("a folder");
    let found = Snapshot::gather(&Root::at(folder.path()), std::iter::empty());
    assert_eq!(found.facts().machine.first("gpus.amd"), Some("0"));
}

#[test]
fn missing_trees_of_a_copy_are_unknown() {
    let folder = tempfile::tempdir().expect("a folder");
    let env = lay_out("rx7900xtx-healthy", folder.path());
    for tree in ["dev", "usr", "opt"] {
        fs::remove_dir_all(folder.path().join(tree)).expect("it existed");
    }
    let found = Snapshot::gather(&Root::at(folder.path()), env.into_iter());
    assert_eq!(found.missing, ["/dev", "/usr"]);
    let rule_set = RuleSet::builtin().expect("the rules are right");
    let weighty: Vec<_> =
        fired(&rule_set, &found).into_iter().filter(|(_, severity)| *severity <= Severity::Medium).collect();
    assert_eq!(weighty, []);
    let ways = routes(&found.facts(), 0);
    assert!(ways.iter().any(|route| route.kind == RouteKind::Vulkan && route.unknown), "{ways:?}");
    let reader = LogReader::new().expect("the file is right");
    let verdict = Diagnosis::new(&rule_set, &reader, &found).verdict;
    assert!(verdict.contains("It is unknown whether"), "{verdict}");
    let card = Diagnosis::new(&rule_set, &reader, &found).gpus.swap_remove(0);
    assert_eq!(card.best(), "unknown");
}

/// A copied machine, with additional files.
fn copy(name: &str, more: &[(&str, &str)]) -> Snapshot {
    let folder = tempfile::tempdir().expect("a folder");
    lay_out(name, folder.path());
    for (path, text) in more {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    Snapshot::gather_copy(&Root::at(folder.path()))
}

#[test]
fn variables_of_a_copy_are_unknown_unless_its_files_set_them() {
    let (rule_set, reader) =
        (RuleSet::builtin().expect("the rules are right"), LogReader::new().expect("the file is right"));
    let patched = copy("bc250-patched", &[]);
    assert!(fired(&rule_set, &patched).iter().all(|(rule, _)| rule != "SDMA-02"), "{:?}", fired(&rule_set, &patched));
    let stock = routes(&copy("bc250-stock", &[]).facts(), 0);
    let rusticl = stock.iter().find(|route| route.kind == RouteKind::RustIcl).expect("it is listed");
    assert!(rusticl.unknown, "{rusticl:?}");
    let forced = copy("rx5600xt-override", &[]);
    let found = Diagnosis::new(&rule_set, &reader, &forced);
    assert!(found.verdict.contains("environment variables"), "{}", found.verdict);
    let forced = copy("rx5600xt-override", &[("etc/environment", "HSA_OVERRIDE_GFX_VERSION=10.3.0\n")]);
    assert_eq!(forced.gpus[0].forced.as_deref(), Some("gfx1030"));
    assert!(fired(&rule_set, &forced).iter().any(|(rule, _)| rule == "OVR-04"));
}

#[test]
fn a_card_bound_to_vfio_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let env = lay_out("rx7900xtx-healthy", folder.path());
    fs::remove_dir_all(folder.path().join("sys/class/kfd")).expect("it existed");
    let driver = folder.path().join("sys/bus/pci/devices/0000:0e:00.0/driver");
    fs::remove_file(&driver).expect("it existed");
    symlink("../../../drivers/vfio-pci", driver).expect("a link");
    let found = Snapshot::gather(&Root::at(folder.path()), env.into_iter());
    let (rule_set, reader) =
        (RuleSet::builtin().expect("the rules are right"), LogReader::new().expect("the file is right"));
    let found = Diagnosis::new(&rule_set, &reader, &found);
    assert!(found.findings.iter().any(|cause| cause.id == "DRV-10"), "{found:?}");
    assert!(!found.verdict.contains("No known problem was found"), "{}", found.verdict);
}

#[test]
fn unreadable_files_are_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let env = lay_out("rx7900xtx-healthy", folder.path());
    // Even root cannot read a folder as a file.
    let file = folder.path().join("sys/bus/pci/devices/0000:0e:00.0/mem_info_vram_total");
    fs::remove_file(&file).expect("it existed");
    fs::create_dir(&file).expect("a folder");
    let found = Snapshot::gather(&Root::at(folder.path()), env.into_iter());
    assert_eq!((found.gpus[0].vram, found.gpus[0].target.as_deref()), (None, Some("gfx1100")));
    let [unreadable] = found.unreadable.as_slice() else { panic!("{:?}", found.unreadable) };
    assert!(unreadable.starts_with("/sys/bus/pci/devices/0000:0e:00.0/mem_info_vram_total: "), "{unreadable}");
}

#[test]
fn a_snapshot_survives_being_saved() {
    let found = snapshot("bc250-stock");
    let text = serde_json::to_string(&found).expect("it is JSON");
    let read: Snapshot = serde_json::from_str(&text).expect("it is the same");
    let rule_set = RuleSet::builtin().expect("the rules are right");
    assert_eq!(fired(&rule_set, &read), fired(&rule_set, &found));
    assert_eq!(read.gpus[0].target.as_deref(), Some("gfx1013"));
}

#[test]
fn a_pasted_log_is_diagnosed_from_its_facts() {
    let rule_set = RuleSet::builtin().expect("the rules are right");
    let reader = LogReader::new().expect("the file is right");
    let judged = |text: &str| {
        let log = reader.read(text);
        rule_set.findings(&log.facts, text).iter().map(|finding| finding.rule.id.clone()).collect::<Vec<_>>()
    };
    let timeout = "kernel: amdgpu 0000:c5:00.0: ring comp_1.2.0 timeout, signaled seq=608714, emitted seq=608716\n\
                   llama_model_load: error loading model: vk::Queue::submit: ErrorDeviceLost\n";
    assert!(judged(timeout).contains(&"TMO-01".to_owned()), "{:?}", judged(timeout));
    let healthy = "[    5.7] amdgpu 0000:03:00.0: amdgpu: amdgpu: 8176M of VRAM memory ready\n\
                   [    5.8] [drm] Initialized amdgpu 3.59.0 20150101 for 0000:03:00.0 on minor 1\n";
    assert_eq!(judged(healthy), Vec::<String>::new());
    assert_eq!(judged("nothing to see here\n"), Vec::<String>::new());
}
