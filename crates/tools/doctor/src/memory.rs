//! Computes how much memory a GPU can use, and the settings that raise it on an APU.
//!
//! The carve-out (VRAM) and GTT of an APU are in the same RAM, and a program gets one of the two:
//! never add them.

use std::cmp::Ordering;

use serde::Serialize;

use crate::facts::{Facts, Table};
use crate::rules::Step;
use crate::value::compare;

const GIB: u64 = 1 << 30;
/// Page size in bytes.
const PAGE: u64 = 4096;
/// Memory kept for the system, unless an eighth of the RAM is more: GPU pages are system pages.
const RESERVE: u64 = 4 * GIB;

/// Memory of a GPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Memory {
    /// Bytes that a program can use.
    pub usable: u64,
    /// Memory pools; on an APU they overlap.
    pub pools: Vec<Pool>,
    /// Reason for the size.
    pub why: String,
    /// Bytes that the limit can be raised to, if worthwhile.
    pub target: Option<u64>,
    /// Kernel parameters that raise the limit, if nothing has to be done first.
    pub parameters: Vec<String>,
    /// Steps that raise the limit, by the kernel command line.
    pub raise: Vec<Step>,
    /// Alternative steps, by module options.
    pub raise_by_module: Vec<Step>,
}

/// Memory that programs on the GPU can allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Pool {
    /// `kfd` (what ROCm gets), `gtt` (RAM that the GPU may use) or `vram` (dedicated memory, or the
    /// carve-out).
    pub name: &'static str,
    /// Size in bytes.
    pub bytes: u64,
}

/// Memory of a GPU; `None` if the driver does not report it.
pub fn memory(facts: &Facts, gpu: usize) -> Option<Memory> {
    let card = facts.gpus.get(gpu)?;
    let bytes = |name: &str| card.first(name)?.parse::<u64>().ok();
    let (kfd, gtt, vram) = (bytes("gpu.kfd_memory"), bytes("gpu.gtt"), bytes("gpu.vram"));
    let pools: Vec<_> = [("kfd", kfd), ("gtt", gtt), ("vram", vram)]
        .into_iter()
        .filter_map(|(name, bytes)| Some(Pool { name, bytes: bytes? }))
        .collect();
    if card.first("gpu.apu") != Some("true") {
        let usable = vram.or(kfd)?;
        let why = "it is the card's own memory".to_owned();
        return Some(Memory { usable, pools, why, ..Memory::default() });
    }
    let ram: u64 = facts.machine.first("memory.ram")?.parse().ok()?;
    let (largest, mut why) = match (gtt, vram) {
        (Some(gtt), Some(vram)) if vram >= gtt => (vram, "the carve-out of the firmware is the larger pool".to_owned()),
        (Some(gtt), _) => (gtt, limit_of_gtt(facts)),
        (None, vram) => (vram.or(kfd)?, "the carve-out of the firmware is all that the driver shows".to_owned()),
    };
    let mut usable = largest;
    let available = ram.saturating_sub(RESERVE.max(ram / 8));
    if gtt == Some(largest) && largest > available {
        usable = available;
        why.push_str("; the limit is higher than what the system can spare, and past that programs are killed");
    }
    if let Some(kfd) = kfd.filter(|kfd| kfd.saturating_add(GIB) < usable) {
        why.push_str(&format!("; ROCm gets {} of it", gib(kfd)));
        if older(facts, "6.10") {
            why.push_str(", because kernels before 6.10 give it the carve-out alone");
        }
    }
    let mut memory = Memory { usable, pools, why, ..Memory::default() };
    memory.raise(facts, card, ram, vram.unwrap_or(0));
    Some(memory)
}

impl Memory {
    /// Sets the target and the steps if they gain at least a twentieth.
    fn raise(&mut self, facts: &Facts, card: &Table, ram: u64, vram: u64) {
        // With a discrete card in the machine the integrated GPU's memory does not matter.
        let beside = facts.machine.first("gpus.discrete").is_some_and(|count| count != "0");
        if beside && card.first("gpu.target") != Some("gfx1151") {
            return;
        }
        // The carve-out is not part of RAM; a small carve-out is unavoidable.
        let carved = vram > 2 * GIB;
        let whole = if carved { ram + vram - GIB / 2 } else { ram };
        let target = whole.saturating_sub(RESERVE.max(whole / 8)) / GIB * GIB;
        if target < self.usable + self.usable / 20 + 1 {
            return;
        }
        self.target = Some(target);
        let mut before = Vec::new();
        if carved {
            before.push(say("Set the UMA frame buffer in the firmware's setup to its minimum (512 MiB) first."));
        }
        if older(facts, "6.10") && card.first("gpu.kfd") == Some("true") {
            before
                .push(say("KernelInfo before 6.10 give ROCm the carve-out alone: install a newer one, or use Vulkan."));
        }
        let old = |name: &str| facts.machine.first(name).filter(|value| !value.is_empty());
        for name in ["cmdline.amdgpu.gttsize", "cmdline.ttm.pages_limit", "cmdline.amdttm.pages_limit"] {
            if let (Some(value), Some((_, word))) = (old(name), name.split_once('.')) {
                before.push(say(&format!("Remove {word}={value} from the command line.")));
            }
        }
        let options = options(facts, target);
        let parameters: Vec<_> = options.iter().map(|(module, option)| format!("{module}.{option}")).collect();
        let words = parameters.join(" ");
        // A limit above the RAM that is left would be dangerous.
        if !carved {
            self.parameters = parameters;
        }
        self.raise = before.clone();
        self.raise.extend(command_line(facts, &words));
        self.raise_by_module = before;
        for module in ["ttm", "amdttm", "amdgpu"] {
            let own: Vec<_> =
                options.iter().filter(|(name, _)| *name == module).map(|(_, option)| option.as_str()).collect();
            if !own.is_empty() {
                let line = format!("options {module} {}", own.join(" "));
                self.raise_by_module
                    .push(run(format!("echo '{line}' | sudo tee /etc/modprobe.d/gpu-memory-{module}.conf")));
            }
        }
        self.raise_by_module.push(match facts.machine.first("boot.initramfs") {
            Some("update-initramfs") => run("sudo update-initramfs -u -k all".into()),
            Some("mkinitcpio") => run("sudo mkinitcpio -P".into()),
            Some("dracut") => run("sudo dracut -f --regenerate-all".into()),
            Some("booster") => run("sudo /usr/lib/booster/regenerate_images".into()),
            _ => say("Make the initramfs anew with the tool of this system."),
        });
    }
}

/// Modules and options that set the limit.
fn options(facts: &Facts, target: u64) -> Vec<(&'static str, String)> {
    let pages = target / PAGE;
    // AMD's DKMS driver has its own copy of TTM under another name.
    let module = if facts.machine.first("module.amdttm").is_some() { "amdttm" } else { "ttm" };
    let mut all = vec![(module, format!("pages_limit={pages}")), (module, format!("page_pool_size={pages}"))];
    // Older kernels size GTT independently and check the TTM limit only at allocation.
    if older(facts, "6.1") {
        all.push(("amdgpu", format!("gttsize={}", target >> 20)));
    }
    all
}

/// The steps that add options to the kernel command line on this machine.
fn command_line(facts: &Facts, words: &str) -> Vec<Step> {
    let fact = |name: &str| facts.machine.first(name);
    match fact("boot.loader") {
        Some("rpm-ostree") => {
            let each = words.split(' ').map(|word| format!("--append-if-missing={word}")).collect::<Vec<_>>().join(" ");
            vec![run(format!("sudo rpm-ostree kargs {each}"))]
        }
        Some("nixos") => {
            let list = words.split(' ').map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" ");
            vec![
                say(&format!("In /etc/nixos/configuration.nix: boot.kernelParams = [ {list} ];")),
                run("sudo nixos-rebuild boot".into()),
            ]
        }
        Some("kernelstub") => vec![run(format!("sudo kernelstub -a \"{words}\""))],
        Some("grubby") => vec![run(format!("sudo grubby --update-kernel=ALL --args=\"{words}\""))],
        Some("refind") => vec![run(format!("sudo sed -i 's/\"$/ {words}\"/' /boot/refind_linux.conf"))],
        Some("systemd-boot") => match fact("boot.cmdline_file") {
            Some("/etc/kernel/cmdline") => {
                let again = if fact("boot.initramfs") == Some("mkinitcpio") {
                    "sudo mkinitcpio -P"
                } else {
                    "sudo kernel-install add-all"
                };
                vec![run(format!("sudo sed -i 's/$/ {words}/' /etc/kernel/cmdline")), run(again.into())]
            }
            file => {
                let file = file.unwrap_or("/boot/loader/entries/*.conf");
                vec![run(format!("sudo sed -i '/^options/ s/$/ {words}/' {file}"))]
            }
        },
        Some("grub") => vec![
            run(format!("sudo sed -i 's/^GRUB_CMDLINE_LINUX_DEFAULT=\"/&{words} /' /etc/default/grub")),
            run(format!("sudo {}", fact("boot.grub_command").unwrap_or("grub-mkconfig -o /boot/grub/grub.cfg"))),
        ],
        _ => vec![say(&format!("Add to the kernel's command line: {words}"))],
    }
}

/// The setting that determines the size of GTT.
fn limit_of_gtt(facts: &Facts) -> String {
    let asked = |name: &str| facts.machine.first(name).filter(|value| *value != "-1");
    if let Some(size) = asked("param.amdgpu.gttsize").or_else(|| asked("configured.amdgpu.gttsize")) {
        return format!("amdgpu.gttsize={size} sets GTT");
    }
    match facts.machine.first("configured.ttm.pages_limit") {
        Some(pages) => format!("ttm.pages_limit={pages} is configured"),
        None => "by default the kernel gives the GPU half of the RAM (ttm.pages_limit)".to_owned(),
    }
}

fn older(facts: &Facts, release: &str) -> bool {
    facts.machine.first("kernel.release").and_then(|running| compare(running, release)) == Some(Ordering::Less)
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / GIB as f64)
}

fn say(text: &str) -> Step {
    Step::Say(text.to_owned())
}

fn run(line: String) -> Step {
    Step::Run(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apu(gtt: u64, vram: u64, machine: &[(&str, &str)]) -> Memory {
        let mut facts = Facts::complete();
        let mut card = Table::default();
        for (name, value) in [("gpu.gtt", gtt), ("gpu.vram", vram), ("gpu.kfd_memory", gtt.max(vram))] {
            card.add(name, value, "");
        }
        card.add("gpu.apu", true, "");
        card.add("gpu.kfd", true, "");
        facts.gpus.push(card);
        machine.iter().for_each(|(name, value)| facts.machine.add(*name, value, ""));
        memory(&facts, 0).expect("it has memory")
    }

    const RAM: (&str, &str) = ("memory.ram", "33500000000");
    const NEW: (&str, &str) = ("kernel.release", "6.18.4-arch1-1");

    #[test]
    fn half_of_the_ram_can_be_raised_and_pools_are_not_added() {
        let found = apu(16 * GIB, GIB / 2, &[RAM, NEW, ("boot.loader", "grub"), ("boot.initramfs", "mkinitcpio")]);
        assert_eq!((found.usable, found.target), (16 * GIB, Some(27 * GIB)));
        let Step::Run(line) = &found.raise[0] else { panic!("{:?}", found.raise) };
        assert!(line.contains("ttm.pages_limit=7077888 ttm.page_pool_size=7077888"), "{line}");
        assert_eq!(found.raise_by_module.last(), Some(&Step::Run("sudo mkinitcpio -P".into())));
        assert!(!line.contains("gttsize"), "{line}");
        assert_eq!(found.parameters, ["ttm.pages_limit=7077888", "ttm.page_pool_size=7077888"]);
    }

    #[test]
    fn a_limit_beyond_the_ram_is_ignored() {
        let found = apu(40 * GIB, GIB / 2, &[RAM, NEW, ("configured.ttm.pages_limit", "10485760")]);
        assert!(found.usable < 28 * GIB && found.why.contains("killed"), "{found:?}");
        assert_eq!(found.target, None);
    }

    #[test]
    fn a_large_carve_out_must_be_reduced_first() {
        let found = apu(8 * GIB, 16 * GIB, &[("memory.ram", "17179869184"), NEW, ("boot.loader", "rpm-ostree")]);
        assert_eq!((found.usable, found.target), (16 * GIB, Some(27 * GIB)));
        assert!(found.parameters.is_empty(), "the carve-out comes first");
        assert!(matches!(&found.raise[0], Step::Say(text) if text.contains("UMA")), "{:?}", found.raise);
        assert!(matches!(&found.raise[1], Step::Run(line) if line.starts_with("sudo rpm-ostree kargs --append")));
    }

    #[test]
    fn old_kernels_need_more_options() {
        let found = apu(8 * GIB, GIB / 2, &[RAM, ("kernel.release", "5.15.0-91-generic"), ("module.amdttm", "loaded")]);
        let text = format!("{:?}", found.raise);
        assert!(text.contains("amdttm.pages_limit=7077888") && text.contains("amdgpu.gttsize=27648"), "{text}");
        assert!(text.contains("before 6.10"), "{text}");
    }

    #[test]
    fn rocblas_kernels_are_classified() {
        let mut facts = Facts::complete();
        facts.gpus.push(Table::default());
        assert_eq!(memory(&facts, 0), None);
        facts.gpus[0].add("gpu.vram", 8 * GIB, "");
        facts.gpus[0].add("gpu.apu", false, "");
        assert_eq!(memory(&facts, 0).map(|found| (found.usable, found.target)), Some((8 * GIB, None)));
    }
}
