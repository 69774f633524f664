//! The host: CPU, caches and memory as reported by the operating system.

use std::path::Path;
use std::sync::OnceLock;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Host {
    /// CPU model name.
    pub(crate) name: String,
    /// Logical cores.
    pub(crate) cores: u32,
    /// Maximum clock in MHz, else the current one; 0 if unknown.
    pub(crate) clock: u32,
    /// Memory in bytes.
    pub(crate) memory: u64,
    /// Data and unified caches, ordered by level.
    pub(crate) caches: Vec<Cache>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cache {
    pub(crate) level: u8,
    /// Size in bytes.
    pub(crate) size: u32,
}

/// The host of this process, read once.
pub(crate) fn host() -> &'static Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let processor = read("/proc/cpuinfo");
        let maximum = read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
        Host {
            name: field(&processor, "model name").unwrap_or("CPU").to_owned(),
            cores: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
            clock: match maximum.trim().parse::<u32>() {
                Ok(khz) => khz / 1000,
                Err(_) => current_clock(&processor),
            },
            memory: memory(&read("/proc/meminfo")),
            caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
        }
    })
}

/// First value of a name in lines such as `name : value`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

fn current_clock(processor: &str) -> u32 {
    field(processor, "cpu MHz").and_then(|value| value.parse::<f64>().ok()).map_or(0, |mhz| mhz as u32)
}

fn memory(text: &str) -> u64 {
    let kib = field(text, "MemTotal").and_then(|value| value.strip_suffix("kB")?.trim().parse::<u64>().ok());
    // A size of 0 would make clients fail, so an unknown size counts as 1 GiB.
    kib.map_or(1 << 30, |kib| kib << 10)
}

/// Caches in a sysfs directory, without instruction caches.
fn caches(folder: &Path) -> Vec<Cache> {
    let read = |index: usize, name: &str| {
        let text = std::fs::read_to_string(folder.join(format!("index{index}")).join(name));
        text.ok().map(|text| text.trim().to_owned())
    };
    let mut caches: Vec<Cache> = Vec::new();
    for index in 0.. {
        let Some(kind) = read(index, "type") else { break };
        let level = read(index, "level").and_then(|level| level.parse().ok());
        let size = read(index, "size").and_then(|size| bytes(&size));
        if let (Some(level), Some(size)) = (level, size)
            && kind != "Instruction"
        {
            caches.push(Cache { level, size });
        }
    }
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// Parses a size of sysfs: `48K`, `2048K`, `1M`.
fn bytes(text: &str) -> Option<u32> {
    let (digits, shift) = match text.strip_suffix('K') {
        Some(digits) => (digits, 10),
        None => text.strip_suffix('M').map_or((text, 0), |digits| (digits, 20)),
    };
    digits.parse::<u32>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_name_cores_and_memory() {
        let host = host();
        assert!(!host.name.is_empty() && host.cores > 0 && host.memory >= 64 << 20, "{host:?}");
        assert!(host.caches.is_sorted_by_key(|cache| cache.level), "{host:?}");
    }

    #[test]
    fn procfs_and_sysfs_values_are_parsed() {
        let processor = "processor\t: 0\nmodel name\t: AMD Ryzen 7: 3700X\ncpu MHz\t\t: 2249.998\n";
        assert_eq!(field(processor, "model name"), Some("AMD Ryzen 7: 3700X"));
        assert_eq!(current_clock(processor), 2249);
        assert_eq!(memory("MemTotal:       16323864 kB\nMemFree: 1 kB\n"), 16_323_864 << 10);
        assert_eq!(
            [bytes("48K"), bytes("1M"), bytes("512"), bytes("x")],
            [Some(49152), Some(1 << 20), Some(512), None]
        );
    }

    #[test]
    fn missing_values_have_defaults() {
        assert_eq!((field("", "model name"), current_clock(""), memory("MemTotal: much")), (None, 0, 1 << 30));
        assert_eq!(caches(Path::new("/nowhere")), []);
    }
}
