//! The machine: distribution, memory, confinement and user.

use serde::{Deserialize, Serialize};

use crate::root::Root;

/// Distribution, memory, confinement and user.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Machine {
    os: Os,
    arch: Option<String>,
    memory: MemorySizes,
    zram: bool,
    secure_boot: Option<bool>,
    container: Option<String>,
    wsl: bool,
    flatpak: bool,
    snap: bool,
    virtual_machine: Option<String>,
    selinux: Option<String>,
    user: User,
    power: Power,
    cpu: Cpu,
    board: Board,
    bios: Bios,
    iommu: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Os {
    id: Option<String>,
    like: Vec<String>,
    version: Option<String>,
    name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct MemorySizes {
    ram: Option<u64>,
    swap: Option<u64>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct User {
    root: Option<bool>,
    groups: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Power {
    profile: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Cpu {
    model: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Board {
    vendor: Option<String>,
    name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct Bios {
    version: Option<String>,
    date: Option<String>,
}

impl Machine {
    /// Bytes of RAM.
    pub(super) fn ram(&self) -> Option<u64> {
        self.memory.ram
    }

    pub(super) fn is_container(&self) -> bool {
        self.container.is_some()
    }

    pub(super) fn gather(root: &Root) -> Self {
        let version = root.text("/proc/version").unwrap_or_default();
        Self {
            os: os(root),
            arch: root.is_here().then(|| std::env::consts::ARCH.to_owned()),
            memory: memory(root),
            zram: root.has("/sys/block/zram0"),
            secure_boot: secure_boot(root),
            container: container(root),
            wsl: version.to_ascii_lowercase().contains("microsoft"),
            flatpak: root.has("/.flatpak-info"),
            snap: root.has("/snap/core-environment"),
            virtual_machine: virtual_machine(root),
            selinux: root
                .text("/sys/fs/selinux/enforce")
                .map(|enforce| if enforce == "1" { "enforcing" } else { "permissive" }.to_owned()),
            user: user(root),
            power: Power { profile: power_profile(root) },
            cpu: Cpu { model: processor(root) },
            board: Board { vendor: dmi(root, "board_vendor"), name: dmi(root, "board_name") },
            bios: Bios { version: dmi(root, "bios_version"), date: dmi(root, "bios_date") },
            iommu: root.has("/sys/class").then(|| !root.list("/sys/class/iommu").is_empty()),
        }
    }
}

fn os(root: &Root) -> Os {
    let text = root.text("/etc/os-release").or_else(|| root.text("/usr/lib/os-release")).unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='))?;
        Some(line.trim_matches(['"', '\'']).to_owned())
    };
    Os {
        id: value("ID"),
        like: value("ID_LIKE").map(|like| like.split_whitespace().map(str::to_owned).collect()).unwrap_or_default(),
        version: value("VERSION_ID"),
        name: value("PRETTY_NAME"),
    }
}

fn memory(root: &Root) -> MemorySizes {
    let text = root.text("/proc/meminfo").unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
    };
    MemorySizes { ram: value("MemTotal"), swap: value("SwapTotal") }
}

/// The state is the fifth byte of the EFI variable.
fn secure_boot(root: &Root) -> Option<bool> {
    let folder = "/sys/firmware/efi/efivars";
    let name = root.list(folder).into_iter().find(|name| name.starts_with("SecureBoot-"))?;
    root.bytes(&format!("{folder}/{name}"))?.get(4).map(|byte| *byte == 1)
}

fn container(root: &Root) -> Option<String> {
    let runtime_name = |name: &str| Some(name.to_owned());
    if root.has("/.dockerenv") {
        return runtime_name("docker");
    }
    if root.has("/run/.containerenv") {
        return runtime_name("podman");
    }
    if root.has("/var/run/secrets/kubernetes.io") {
        return runtime_name("kubernetes");
    }
    let first = root.value("/run/systemd/container").or_else(|| {
        let bytes = root.bytes("/proc/1/environ")?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        text.split('\0').find_map(|entry| entry.strip_prefix("container=").map(str::to_owned))
    });
    first.filter(|name| !name.is_empty() && name != "wsl")
}

/// A DMI value of the board.
fn dmi(root: &Root, name: &str) -> Option<String> {
    root.value(&format!("/sys/class/dmi/id/{name}")).filter(|text| !text.is_empty())
}

fn processor(root: &Root) -> Option<String> {
    let text = root.text("/proc/cpuinfo")?;
    let (_, model) = text.lines().find(|line| line.starts_with("model name"))?.split_once(':')?;
    Some(model.trim().to_owned())
}

fn virtual_machine(root: &Root) -> Option<String> {
    let vendor = dmi(root, "sys_vendor")?;
    let product = dmi(root, "product_name").unwrap_or_default();
    let known =
        [("QEMU", "kvm"), ("VMware", "vmware"), ("innotek", "virtualbox"), ("Xen", "xen"), ("Amazon EC2", "kvm")];
    let found = known.iter().find(|(word, _)| vendor.contains(word) || product.contains(word));
    let hyper_v = vendor.contains("Microsoft") && product.contains("Virtual Machine");
    found.map(|(_, name)| (*name).to_owned()).or_else(|| hyper_v.then(|| "hyper-v".to_owned()))
}

/// User of this process; groups by name if they have one.
fn user(root: &Root) -> User {
    let status = root.text("/proc/self/status").unwrap_or_default();
    let line = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    let names = groups(root);
    let mut numbers: Vec<_> = line("Groups:").split_whitespace().map(str::to_owned).collect();
    numbers.extend(line("Gid:").split_whitespace().nth(1).map(str::to_owned));
    numbers.dedup();
    let name = |number: &String| {
        names.iter().find(|(_, known)| known == number).map_or_else(|| number.clone(), |(name, _)| name.clone())
    };
    let root_user = line("Uid:").split_whitespace().nth(1).map(|uid| uid == "0");
    User { root: root_user, groups: numbers.iter().map(name).collect() }
}

/// Names and numbers of the system's groups.
pub(super) fn groups(root: &Root) -> Vec<(String, String)> {
    let text = root.text("/etc/group").unwrap_or_default();
    let entry = |line: &str| {
        let mut fields = line.split(':');
        Some((fields.next()?.to_owned(), fields.nth(1)?.to_owned()))
    };
    text.lines().filter_map(entry).collect()
}

/// The profile, as desktops name it: `power-saver`, `balanced` or `performance`.
fn power_profile(root: &Root) -> Option<String> {
    let daemon = root.text("/var/lib/power-profiles-daemon/state.ini");
    let chosen = daemon.and_then(|text| text.lines().find_map(|line| line.strip_prefix("Profile=").map(str::to_owned)));
    let firmware = || root.value("/sys/firmware/acpi/platform_profile");
    chosen.or_else(firmware).map(|profile| match profile.as_str() {
        "low-power" | "quiet" | "cool" => "power-saver".to_owned(),
        _ => profile,
    })
}
