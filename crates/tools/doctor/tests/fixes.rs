//! Every kind of change on every distribution: what it changes, and that `undo` restores every
//! byte.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use roci_doctor::fix::{Change, FixError, Plan, System};
use roci_doctor::{Root, RuleSet, Snapshot};

const DISTRIBUTIONS: &[&str] = &["debian", "ubuntu", "fedora", "bazzite", "arch", "cachyos", "cachyos-limine", "nixos"];

fn changes() -> Vec<Change> {
    let text = str::to_owned;
    vec![
        Change::KernelParameter(text("amdgpu.cwsr_enable=0")),
        Change::RemoveParameter(text("amdgpu.sched_policy")),
        Change::ModuleOption(text("amdgpu.lockup_timeout=10000,60000,10000,10000")),
        Change::RemoveBlacklist(text("amdgpu")),
        Change::Groups(text("render,video")),
        Change::Environment(text("HSA_ENABLE_SDMA=0")),
        Change::RemoveEnvironment(text("HSA_OVERRIDE_GFX_VERSION")),
        Change::UdevRule(text("KERNEL==\"kfd\", GROUP=\"render\", MODE=\"0660\"")),
    ]
}

fn system(folder: &Path) -> System {
    let root = Root::at(folder);
    System::new(&root, Snapshot::gather_copy(&root).facts(), None)
}

/// A distribution as a tree.
fn tree(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    common::lay_out(&format!("../distributions/{name}"), folder.path());
    folder
}

/// Everything below a folder: contents, targets of links, owners and permissions.
fn all_of(folder: &Path) -> BTreeMap<String, (Vec<u8>, u32, u32, u32)> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let metadata = path.symlink_metadata().expect("it exists");
        let contents = if metadata.is_symlink() {
            fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
        } else if metadata.is_dir() {
            open.extend(fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("an entry").path()));
            Vec::new()
        } else {
            fs::read(&path).expect("a file")
        };
        let name = path.strip_prefix(folder).expect("it is below").display().to_string();
        found.insert(name, (contents, metadata.mode(), metadata.uid(), metadata.gid()));
    }
    found
}

fn nothing(_: &[String]) -> Result<(), String> {
    panic!("commands are never run for a copy of a machine")
}

fn shown(plan: &Plan) -> String {
    plan.view().text("")
}

#[test]
fn each_change_is_undone_byte_by_byte_on_each_distribution() {
    for name in DISTRIBUTIONS {
        let folder = tree(name);
        let system = system(folder.path());
        // An unusual mode must survive.
        for path in ["etc/environment", "etc/default/grub", "etc/modprobe.d/amdgpu.conf"] {
            let path = folder.path().join(path);
            if path.is_file() {
                fs::set_permissions(path, fs::Permissions::from_mode(0o640)).expect("its owner may");
            }
        }
        let before = all_of(folder.path());
        for change in changes() {
            let plan = system
                .plan(std::slice::from_ref(&change))
                .unwrap_or_else(|error| panic!("{name}: {change:?}: {error}"));
            let view = plan.view();
            if *name == "nixos" {
                assert!(plan.is_empty() && !view.options.is_empty(), "{name}: {change:?}: {view:?}");
            } else {
                assert!(view.options.is_empty(), "{name}: {change:?}: {view:?}");
            }
            assert_eq!(all_of(folder.path()), before, "{name}: {change:?}: a plan changes nothing");
            if plan.is_empty() {
                continue;
            }
            let done =
                system.apply("X-01", "title", &plan, &mut nothing).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(done.files.len(), view.files.len());
            // A second application finds nothing to do in files.
            let again = system.plan(std::slice::from_ref(&change)).expect("it is possible");
            assert_eq!(again.view().files, [], "{name}: {change:?}");
            let undone = system.undo(None, false, &mut nothing).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(undone.files, done.files);
            assert_eq!(all_of(folder.path()), before, "{name}: {change:?}");
        }
    }
}

#[test]
fn all_changes_together_are_undone_in_reverse() {
    for name in DISTRIBUTIONS {
        let folder = tree(name);
        let system = system(folder.path());
        let before = all_of(folder.path());
        let mut applied = 0;
        for (number, change) in changes().into_iter().enumerate() {
            let plan = system.plan(&[change]).expect("it is possible");
            if !plan.is_empty() {
                system.apply(&format!("X-{number:02}"), "title", &plan, &mut nothing).expect("it is possible");
                applied += 1;
            }
        }
        assert_eq!(system.applied().expect("they are readable").len(), applied);
        for _ in 0..applied {
            system.undo(None, false, &mut nothing).expect("it is possible");
        }
        assert_eq!(all_of(folder.path()), before, "{name}");
        assert!(matches!(system.undo(None, false, &mut nothing), Err(FixError::NotApplied { .. })));
    }
}

/// The plan of one change, as text.
fn planned(name: &str, change: Change) -> String {
    let folder = tree(name);
    shown(&system(folder.path()).plan(&[change]).expect("it is possible"))
}

#[test]
fn kernel_parameters_go_where_the_boot_loader_takes_them_from() {
    let set = |name: &str| planned(name, Change::KernelParameter("amdgpu.cwsr_enable=0".into()));
    assert_eq!(
        set("debian"),
        "/etc/default/grub\n    7 -GRUB_CMDLINE_LINUX_DEFAULT=\"quiet amdgpu.sched_policy=2\"\n    \
         7 +GRUB_CMDLINE_LINUX_DEFAULT=\"quiet amdgpu.sched_policy=2 amdgpu.cwsr_enable=0\"\n# update-grub\n"
    );
    assert_eq!(
        set("ubuntu"),
        "/etc/default/grub.d/50-cloudimg-settings.cfg\n    3 -GRUB_CMDLINE_LINUX_DEFAULT=\"console=MASKED console=MASKED\"\n    \
         3 +GRUB_CMDLINE_LINUX_DEFAULT=\"console=MASKED console=MASKED amdgpu.cwsr_enable=0\"\n# update-grub\n"
    );
    assert_eq!(set("fedora"), "# grubby --update-kernel=ALL --args=amdgpu.cwsr_enable=0\n");
    assert_eq!(set("bazzite"), "# rpm-ostree kargs --append-if-missing=amdgpu.cwsr_enable=0\n");
    let arch = set("arch");
    assert!(arch.contains("/boot/loader/entries/arch.conf") && arch.contains("/arch-fallback.conf"), "{arch}");
    assert!(!arch.contains("memtest") && !arch.contains("0a1b2c3d"), "{arch}");
    assert!(set("cachyos").ends_with("splash amdgpu.sched_policy=2 amdgpu.cwsr_enable=0\"\n# sdboot-manage gen\n"));
    assert!(set("cachyos-limine").ends_with("# limine-mkinitcpio\n"));
    assert_eq!(set("nixos"), "boot.kernelParams = [ \"amdgpu.cwsr_enable=0\" ];\n");
}

#[test]
fn a_removed_parameter_is_removed_everywhere() {
    let remove = |name: &str| planned(name, Change::RemoveParameter("amdgpu.sched_policy".into()));
    let debian = remove("debian");
    assert!(debian.contains("+GRUB_CMDLINE_LINUX_DEFAULT=\"quiet\"\n"), "{debian}");
    assert!(debian.contains("    2 +options amdgpu mcbp=1\n"), "{debian}");
    assert!(debian.ends_with("# update-grub\n# update-initramfs -u -k all\n"), "{debian}");
    assert!(remove("ubuntu").contains("+GRUB_CMDLINE_LINUX=\"\"\n"));
    let fedora = remove("fedora");
    assert!(fedora.contains("# grubby --update-kernel=ALL --remove-args=amdgpu.sched_policy=2\n"), "{fedora}");
    assert!(remove("bazzite").contains("# rpm-ostree kargs --delete-if-present=amdgpu.sched_policy=2\n"));
    assert_eq!(remove("nixos"), "boot.kernelParams: remove \"amdgpu.sched_policy=2\"\n");
}

#[test]
fn groups_of_images_are_added_before_users_join_them() {
    let join = |name: &str| planned(name, Change::Groups("render,video".into()));
    let bazzite = join("bazzite");
    assert!(bazzite.starts_with("/etc/group\n    4 +render:x:105:\n    5 +video:x:39:\n"), "{bazzite}");
    assert!(bazzite.contains("# usermod -aG render,video bazzite\n"), "{bazzite}");
    let ubuntu = join("ubuntu");
    assert!(ubuntu.starts_with("/etc/group (by the command)\n"), "{ubuntu}");
    assert!(ubuntu.ends_with("# usermod -aG render ubuntu\n"), "{ubuntu}");
    assert!(join("cachyos").contains("alex is in the groups already"));
    assert_eq!(join("nixos"), "users.users.amos.extraGroups = [ \"render\" \"video\" ];\n");
}

#[test]
fn variables_are_removed_from_logins_and_services() {
    let remove = |name: &str| planned(name, Change::RemoveEnvironment("HSA_OVERRIDE_GFX_VERSION".into()));
    let ubuntu = remove("ubuntu");
    assert!(ubuntu.contains("/etc/environment\n    2 -HSA_OVERRIDE_GFX_VERSION=10.3.0\n"), "{ubuntu}");
    assert!(ubuntu.contains("+Environment=\"OLLAMA_HOST=0.0.0.0\"\n"), "{ubuntu}");
    assert!(ubuntu.ends_with("# systemctl daemon-reload\n# systemctl restart ollama.service\n"), "{ubuntu}");
    assert!(remove("arch").contains("1 -export HSA_OVERRIDE_GFX_VERSION"));
    assert!(remove("bazzite").contains("1 -HSA_OVERRIDE_GFX_VERSION=10.3.0; export HSA_OVERRIDE_GFX_VERSION"));
}

#[test]
fn later_edits_are_not_overwritten() {
    let folder = tree("debian");
    let system = system(folder.path());
    let path = folder.path().join("etc/default/grub");
    let plan = system.plan(&[Change::KernelParameter("iommu=pt".into())]).expect("it is possible");
    let original = fs::read(&path).expect("a file");
    // Between the plan and its application.
    fs::write(&path, "GRUB_CMDLINE_LINUX_DEFAULT=\"mine\"\n").expect("a file");
    let error = system.apply("X-01", "title", &plan, &mut nothing).expect_err("the file is another one");
    assert_eq!(error.to_string(), "`/etc/default/grub` was changed since");
    assert!(!folder.path().join("var/lib/roci").exists());
    // Between application and undo.
    fs::write(&path, &original).expect("a file");
    system.apply("X-01", "title", &plan, &mut nothing).expect("the file is as planned");
    let applied = fs::read(&path).expect("a file");
    fs::write(&path, [applied.as_slice(), b"# mine\n"].concat()).expect("a file");
    let error = system.undo(Some("x-01"), false, &mut nothing).expect_err("the file is another one");
    assert_eq!(error.to_string(), "`/etc/default/grub` was changed since");
    assert!(fs::read(&path).expect("a file").ends_with(b"# mine\n"));
    system.undo(Some("X-01"), true, &mut nothing).expect("it is forced");
    assert_eq!(fs::read(&path).expect("a file"), original);
}

#[test]
fn an_older_fix_of_the_same_file_is_undone_after_the_newer_one() {
    let folder = tree("debian");
    let system = system(folder.path());
    let before = all_of(folder.path());
    for (id, parameter) in [("X-01", "iommu=pt"), ("X-02", "amdgpu.dc=1")] {
        let plan = system.plan(&[Change::KernelParameter(parameter.into())]).expect("it is possible");
        system.apply(id, "title", &plan, &mut nothing).expect("it is possible");
    }
    let error = system.undo(Some("X-01"), false, &mut nothing).expect_err("X-02 came later");
    assert_eq!(error.to_string(), "`/etc/default/grub` was changed again by the fix of X-02");
    for id in ["X-02", "1"] {
        system.undo(Some(id), false, &mut nothing).expect("it is possible");
    }
    assert_eq!(all_of(folder.path()), before);
}

#[test]
fn unexpected_files_are_refused_with_one_line() {
    let refused = |path: &str, text: &str, change: Change, expected: &str| {
        let folder = tree("debian");
        fs::write(folder.path().join(path), text).expect("a file");
        let before = all_of(folder.path());
        let error = system(folder.path()).plan(&[change]).expect_err("the file is unusual").to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
        assert_eq!(all_of(folder.path()), before);
    };
    let parameter = || Change::KernelParameter("iommu=pt".into());
    refused("etc/default/grub", "GRUB_TIMEOUT=5\n", parameter(), "no line sets GRUB_CMDLINE_LINUX_DEFAULT");
    refused("etc/default/grub", "GRUB_CMDLINE_LINUX=\"a\nb\"\n", parameter(), "line 1 has no closing quote");
    let remove = || Change::RemoveParameter("amdgpu.sched_policy".into());
    refused("etc/modprobe.d/gpu.conf", "options amdgpu sched_policy=2 \\\n mcbp=1\n", remove(), "continued");
    let variable = || Change::RemoveEnvironment("HSA_OVERRIDE_GFX_VERSION".into());
    let line = "HSA_OVERRIDE_GFX_VERSION=10.3.0 ollama serve\n";
    refused("etc/profile.d/rocm.sh", line, variable(), "line 1 does more than to set HSA_OVERRIDE_GFX_VERSION");
    refused("etc/passwd", "root:x:0:0::/root:/bin/sh\n", Change::Groups("render".into()), "which user");
    refused("etc/group", "root:x:0:\n", Change::Environment("PATH=/tmp".into()), "not a valid value");
}

#[test]
fn the_remedy_of_each_rule_is_undone_byte_by_byte_on_each_distribution() {
    let rule_set = RuleSet::builtin().expect("the rules are right");
    let (mut remedies, mut applied) = (0, 0);
    for name in DISTRIBUTIONS {
        let folder = tree(name);
        let root = Root::at(folder.path());
        let mut facts = Snapshot::gather_copy(&root).facts();
        // What remedies name.
        facts.machine.add("gpus.discrete_numbers", "0,1", "the test");
        facts.machine.add("service.user", "ollama", "the test");
        let system = System::new(&root, facts.clone(), None);
        let before = all_of(folder.path());
        for rule in rule_set.rules().iter().filter(|rule| !rule.fix.is_empty()) {
            let changes = rule_set.changes(&rule.id, &facts).expect("the rule exists");
            let plan = system.plan(&changes).unwrap_or_else(|error| panic!("{name}: {}: {error}", rule.id));
            remedies += 1;
            if plan.is_empty() {
                continue;
            }
            applied += 1;
            let done = system.apply(&rule.id, &rule.title, &plan, &mut nothing);
            done.unwrap_or_else(|error| panic!("{name}: {}: {error}", rule.id));
            assert_eq!(system.plan(&changes).expect("it is possible").view().files, [], "{name}: {}", rule.id);
            let undone = system.undo(Some(&rule.id), false, &mut nothing);
            undone.unwrap_or_else(|error| panic!("{name}: {}: {error}", rule.id));
            assert_eq!(all_of(folder.path()), before, "{name}: {}", rule.id);
        }
    }
    assert!(remedies > 60 * DISTRIBUTIONS.len() && applied > 200, "{applied} of {remedies}");
}
