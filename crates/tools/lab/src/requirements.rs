//! Checks a strategy's requirements on this machine, and describes the changes that would meet
//! them.

use std::cmp::Ordering;
use std::path::Path;

use roci_doctor::{Facts, Table, compare};

use crate::experiment::{Comparison, Range, Requirement};

/// Changes that would meet all requirements; empty if they are met.
pub fn changes(needs: &[Requirement], facts: &Facts, environment: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    needs.iter().filter_map(|need| change(need, facts, environment)).collect()
}

fn change(need: &Requirement, facts: &Facts, environment: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let machine = &facts.machine;
    match need {
        Requirement::KernelParameter { name, value } => {
            let now: Vec<&str> =
                machine.get(&format!("cmdline.{name}")).iter().map(|fact| fact.value.as_str()).collect();
            let holds = !now.is_empty() && value.as_deref().is_none_or(|value| now.contains(&value));
            let word = value.as_ref().map_or_else(|| name.clone(), |value| format!("{name}={value}"));
            (!holds).then(|| boot(&word, now.first().copied(), machine))
        }
        Requirement::Kernel { range } => {
            let now = machine.first("kernel.release").unwrap_or("unknown");
            (!holds(range, now)).then(|| format!("boot kernel {} (this is {now})", describe(range)))
        }
        Requirement::ModuleParameter { module, name, value } => {
            let known = machine.first(&format!("param.{module}.{name}")).map(str::to_owned);
            let live = || std::fs::read_to_string(format!("/sys/module/{module}/parameters/{name}")).ok();
            let now = known.or_else(live).map(|text| text.trim().to_owned());
            let same = now
                .as_deref()
                .is_some_and(|now| now == value || truth(now).is_some_and(|now| Some(now) == truth(value)));
            (!same).then(|| {
                let is = now.map_or_else(|| format!("module {module} is not loaded or has no such parameter"), |now| format!("now {now}"));
                format!(
                    "write `options {module} {name}={value}` to /etc/modprobe.d/{module}.conf, make the initramfs again \
                     and reboot, or boot with `{module}.{name}={value}` ({is})"
                )
            })
        }
        Requirement::Package { name, range } => {
            let now = package(name, machine);
            match now {
                None => Some(install(name, range, machine)),
                Some(now) if !holds(range, &now) => {
                    Some(format!("{} (version {now} is installed)", install(name, range, machine)))
                }
                Some(_) => None,
            }
        }
        Requirement::File { path } => file(path),
        Requirement::Environment { name, value } => {
            let now = environment(name);
            let holds = now.is_some() && value.as_ref().is_none_or(|value| now.as_ref() == Some(value));
            let value = value.as_deref().unwrap_or("VALUE");
            (!holds).then(|| format!("set the variable before roci is started: export {name}={value}"))
        }
        Requirement::Manual { change } => Some(change.clone()),
        Requirement::Fact { name, value } => {
            let tables = || std::iter::once(machine).chain(&facts.gpus);
            let mut values = tables().flat_map(|table| table.get(name)).map(|fact| fact.value.as_str());
            let now = tables().find_map(|table| table.first(name));
            let holds = values.any(|now| value.as_deref().is_none_or(|value| now == value));
            let expected = value.as_deref().unwrap_or("something");
            (!holds).then(|| format!("run it where {name} is {expected} (here it is {})", now.unwrap_or("nothing")))
        }
    }
}

/// Remedy for a missing file, or for a device without permission.
fn file(path: &Path) -> Option<String> {
    use rustix::fs::{Access, access};
    let shown = path.display();
    let gpu = path == Path::new("/dev/kfd") || path.starts_with("/dev/dri");
    let usable = || access(path, Access::READ_OK | Access::WRITE_OK).is_ok();
    match path.starts_with("/dev") {
        false => (!path.exists()).then(|| format!("put a file at {shown}")),
        true if !path.exists() && gpu => Some(format!(
            "get the GPU's device {shown}: load its driver (sudo modprobe amdgpu), or, in a container or a virtual machine, have \
             the device passed through (--device /dev/kfd --device /dev/dri)"
        )),
        true if !path.exists() => {
            Some(format!("make the device {shown} available: load its driver, or pass it through to this machine"))
        }
        true if gpu && !usable() => {
            Some(format!("get permission to use {shown}: sudo usermod -aG render,video $USER, then log in again"))
        }
        true => None,
    }
}

/// How to add a kernel command line option, by distribution.
fn boot(word: &str, now: Option<&str>, machine: &Table) -> String {
    let systems: Vec<&str> =
        ["os.id", "os.like"].iter().flat_map(|name| machine.get(name)).map(|fact| fact.value.as_str()).collect();
    let how = if systems.contains(&"talos") {
        format!(
            "add `- {word}` under machine.install.extraKernelArgs of the machine's configuration, then talosctl upgrade"
        )
    } else if systems.contains(&"fedora") || systems.contains(&"rhel") {
        format!("sudo grubby --update-kernel=ALL --args={word}, then reboot")
    } else if systems.contains(&"debian") || systems.contains(&"ubuntu") {
        format!("add {word} to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, run sudo update-grub, then reboot")
    } else {
        "add it to the boot loader's configuration, then reboot".to_owned()
    };
    let is = now.map(|now| format!(" (it is {now} now)")).unwrap_or_default();
    format!("boot with the kernel parameter {word}{is}: {how}")
}

fn install(name: &str, range: &Range, machine: &Table) -> String {
    let systems: Vec<&str> =
        ["os.id", "os.like"].iter().flat_map(|name| machine.get(name)).map(|fact| fact.value.as_str()).collect();
    let how = match () {
        () if systems.contains(&"fedora") || systems.contains(&"rhel") => format!(": sudo dnf install {name}"),
        () if systems.contains(&"arch") => format!(": sudo pacman -S {name}"),
        () if systems.contains(&"debian") || systems.contains(&"ubuntu") => format!(": sudo apt install {name}"),
        () => String::new(),
    };
    let version = if range.0.is_empty() { String::new() } else { format!(" {}", describe(range)) };
    format!("install the package {name}{version}{how}")
}

/// Version of a package: from the doctor, from the databases of dpkg and pacman, or from `rpm`.
fn package(name: &str, machine: &Table) -> Option<String> {
    let known = machine.first(&format!("package.{name}")).map(str::to_owned);
    known.or_else(|| dpkg(name)).or_else(|| pacman(name)).or_else(|| rpm(name))
}

fn dpkg(name: &str) -> Option<String> {
    let text = std::fs::read_to_string("/var/lib/dpkg/status").ok()?;
    let entry = text.split("\n\n").find(|entry| entry.lines().next() == Some(format!("Package: {name}").as_str()))?;
    let field = |name: &str| entry.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    let version =
        field("Version:").filter(|_| field("Status:").is_some_and(|status| status.ends_with(" installed")))?;
    // The epoch is not part of the version.
    Some(version.split_once(':').map_or(version, |(_, version)| version).to_owned())
}

fn pacman(name: &str) -> Option<String> {
    let folder = std::fs::read_dir("/var/lib/pacman/local").ok()?;
    folder.filter_map(Result::ok).find_map(|entry| {
        let file = entry.file_name().into_string().ok()?;
        let mut parts = file.rsplitn(3, '-');
        let (release, version) = (parts.next()?, parts.next()?);
        (parts.next()? == name).then(|| format!("{version}-{release}"))
    })
}

fn rpm(name: &str) -> Option<String> {
    if !Path::new("/usr/bin/rpm").exists() || name.starts_with('-') {
        return None;
    }
    let output =
        std::process::Command::new("/usr/bin/rpm").args(["-q", "--qf", "%{VERSION}-%{RELEASE}", name]).output();
    let output = output.ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()
}

fn holds(range: &Range, version: &str) -> bool {
    range.0.iter().all(|(comparison, bound)| {
        let Some(order) = compare(version, bound) else { return false };
        match comparison {
            Comparison::Below => order == Ordering::Less,
            Comparison::AtMost => order != Ordering::Greater,
            Comparison::Is => order == Ordering::Equal,
            Comparison::IsNot => order != Ordering::Equal,
            Comparison::AtLeast => order != Ordering::Less,
            Comparison::Above => order == Ordering::Greater,
        }
    })
}

/// Description of a version range.
fn describe(range: &Range) -> String {
    let part = |(comparison, version): &(Comparison, String)| {
        let sign = match comparison {
            Comparison::Below => "<",
            Comparison::AtMost => "<=",
            Comparison::Is => "=",
            Comparison::IsNot => "!=",
            Comparison::AtLeast => ">=",
            Comparison::Above => ">",
        };
        format!("{sign}{version}")
    };
    if range.0.is_empty() { "of any version".into() } else { range.0.iter().map(part).collect::<Vec<_>>().join(", ") }
}

/// A requirement in a few words: `kernel parameter amdgpu.cwsr_enable=0`.
pub(crate) fn in_words(need: &Requirement) -> String {
    let valued = |name: &str, value: &Option<String>| match value {
        Some(value) => format!("{name}={value}"),
        None => name.to_owned(),
    };
    match need {
        Requirement::KernelParameter { name, value } => format!("kernel parameter {}", valued(name, value)),
        Requirement::Kernel { range } => format!("kernel {}", describe(range)),
        Requirement::ModuleParameter { module, name, value } => format!("module parameter {module}.{name}={value}"),
        Requirement::Package { name, range } => format!("package {name} {}", describe(range)).trim_end().to_owned(),
        Requirement::File { path } => format!("file {}", path.display()),
        Requirement::Environment { name, value } => format!("variable {}", valued(name, value)),
        Requirement::Manual { change } => format!("by hand: {change}"),
        Requirement::Fact { name, value } => format!("fact {}", valued(name, value)),
    }
}

/// Boolean module parameters read as `Y` and `N` and are written as numbers.
fn truth(text: &str) -> Option<bool> {
    match text {
        "Y" | "y" | "1" => Some(true),
        "N" | "n" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let mut facts = Facts::complete();
        for (name, value) in [
            ("cmdline.amdgpu.cwsr_enable", "1"),
            ("cmdline.quiet", ""),
            ("kernel.release", "6.17.4-arch1"),
            ("param.amdgpu.noretry", "N"),
            ("package.linux-firmware", "20250901"),
            ("os.id", "ubuntu"),
        ] {
            facts.machine.add(name, value, "test");
        }
        let mut gpu = Table::default();
        gpu.add("gpu.target", "gfx1151", "test");
        facts.gpus.push(gpu);
        facts
    }

    fn changed(need: Requirement) -> Option<String> {
        let environment = |name: &str| (name == "HF_HOME").then(|| "/models".to_owned());
        changes(&[need], &facts(), &environment).pop()
    }

    fn range(comparison: Comparison, version: &str) -> Range {
        Range(vec![(comparison, version.into())])
    }

    #[test]
    fn met_needs_require_no_change() {
        let text = str::to_owned;
        for need in [
            Requirement::KernelParameter { name: text("quiet"), value: None },
            Requirement::KernelParameter { name: text("amdgpu.cwsr_enable"), value: Some(text("1")) },
            Requirement::Kernel {
                range: Range(vec![(Comparison::AtLeast, text("6.16")), (Comparison::Below, text("6.18"))]),
            },
            Requirement::ModuleParameter { module: text("amdgpu"), name: text("noretry"), value: text("0") },
            Requirement::Package { name: text("linux-firmware"), range: range(Comparison::AtLeast, "20250101") },
            Requirement::File { path: "/proc/self/stat".into() },
            Requirement::Environment { name: text("HF_HOME"), value: None },
            Requirement::Fact { name: text("gpu.target"), value: Some(text("gfx1151")) },
        ] {
            assert_eq!(changed(need.clone()), None, "{need:?}");
        }
    }

    #[test]
    fn unmet_needs_name_the_exact_change() {
        let text = str::to_owned;
        let says = |need: Requirement, parts: &[&str]| {
            let change = changed(need.clone()).unwrap_or_default();
            assert!(parts.iter().all(|part| change.contains(part)), "{need:?}: {change}");
        };
        let name = text("amdgpu.cwsr_enable");
        says(
            Requirement::KernelParameter { name, value: Some(text("0")) },
            &["amdgpu.cwsr_enable=0", "it is 1 now", "update-grub"],
        );
        says(Requirement::Kernel { range: range(Comparison::AtLeast, "6.18") }, &[">=6.18", "6.17.4-arch1"]);
        let module = Requirement::ModuleParameter { module: text("amdgpu"), name: text("noretry"), value: text("1") };
        says(module, &["options amdgpu noretry=1", "now N"]);
        let firmware =
            Requirement::Package { name: text("linux-firmware"), range: range(Comparison::Above, "20251030") };
        says(firmware, &["linux-firmware >20251030", "apt install", "20250901"]);
        says(
            Requirement::Package { name: text("no-such-package-at-all"), range: Range::default() },
            &["install the package no-such"],
        );
        says(Requirement::File { path: "/nowhere/model.gguf".into() }, &["put a file at /nowhere/model.gguf"]);
        says(Requirement::File { path: "/dev/dri/no-such".into() }, &["modprobe amdgpu", "passed through"]);
        says(Requirement::File { path: "/dev/no-such".into() }, &["the device /dev/no-such", "load its driver"]);
        says(Requirement::Environment { name: text("HF_HOME"), value: Some(text("/x")) }, &["export HF_HOME=/x"]);
        says(Requirement::Fact { name: text("gpu.target"), value: Some(text("gfx1010")) }, &["gfx1010", "gfx1151"]);
        says(Requirement::Manual { change: text("build an image") }, &["build an image"]);
    }
}
