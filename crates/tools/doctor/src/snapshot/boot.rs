//! Boot configuration: the boot loader that sets the command line, and the tool that builds the
//! initramfs. Remedies depend on them.

use serde::{Deserialize, Serialize};

use crate::root::Root;

/// Boot configuration.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub(super) struct Boot {
    /// `grub`, `grubby`, `systemd-boot`, `refind`, `limine`, `rpm-ostree`, `kernelstub`, `nixos`.
    loader: Option<String>,
    /// The command that writes GRUB's configuration.
    grub_command: Option<String>,
    /// The file with the command line, for systemd-boot.
    cmdline_file: Option<String>,
    /// `dracut`, `update-initramfs`, `mkinitcpio`, `booster`.
    initramfs: Option<String>,
}

impl Boot {
    pub(super) fn gather(root: &Root) -> Self {
        let has = |path: &str| root.has(path);
        let tool =
            |name: &str| ["/usr/sbin", "/usr/bin", "/sbin"].iter().any(|folder| has(&format!("{folder}/{name}")));
        let first = |tools: &[&str]| tools.iter().find(|name| tool(name)).map(|name| (*name).to_owned());
        let entries = ["/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries"];
        let says = loader_from_efi(root).unwrap_or_default();
        // Tools that own the command line come first: they overwrite changes made elsewhere.
        // A copy of a machine may lack /run.
        let is_image = || {
            has("/sysroot/ostree") || root.text("/etc/os-release").is_some_and(|text| text.contains("OSTREE_VERSION="))
        };
        let loader = if has("/run/ostree-booted") || is_image() {
            Some("rpm-ostree")
        } else if has("/etc/NIXOS") {
            Some("nixos")
        } else if has("/etc/kernelstub/configuration") {
            Some("kernelstub")
        } else if has("/etc/default/limine") {
            Some("limine")
        } else if tool("grubby") {
            Some("grubby")
        } else if says.starts_with("systemd-boot") {
            Some("systemd-boot")
        } else if says.starts_with("refind") || has("/boot/refind_linux.conf") {
            Some("refind")
        } else if has("/etc/default/grub") {
            Some("grub")
        } else {
            let systemd = entries.iter().any(|folder| has(folder)) || has("/etc/kernel/cmdline");
            systemd.then_some("systemd-boot")
        };
        let files =
            ["/etc/kernel/cmdline".to_owned()].into_iter().chain(entries.map(|folder| format!("{folder}/*.conf")));
        let menu = || {
            let new = |command: &str, file: &str| has(file).then(|| format!("{command} -o {file}"));
            new("grub2-mkconfig", "/boot/grub2/grub.cfg").or_else(|| new("grub-mkconfig", "/boot/grub/grub.cfg"))
        };
        Self {
            loader: loader.map(str::to_owned),
            grub_command: first(&["update-grub"]).or_else(menu),
            cmdline_file: files.into_iter().find(|file| has(file.trim_end_matches("/*.conf"))),
            initramfs: first(&["update-initramfs", "mkinitcpio", "booster", "dracut"]),
        }
    }
}

/// The boot loader's own name in its EFI variable, in lower case.
fn loader_from_efi(root: &Root) -> Option<String> {
    let folder = "/sys/firmware/efi/efivars";
    let name = root.list(folder).into_iter().find(|name| name.starts_with("LoaderInfo-"))?;
    // Four bytes of attributes, then UTF-16.
    let bytes = root.bytes(&format!("{folder}/{name}"))?;
    let letters = bytes.get(4..)?.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
    Some(String::from_utf16_lossy(&letters.collect::<Vec<_>>()).trim_end_matches('\0').to_lowercase())
}
