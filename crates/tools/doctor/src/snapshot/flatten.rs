//! Flattens the snapshot to named values: nested fields become names with dots.

use serde_json::Value;

use crate::facts::{Facts, Table};

use super::Snapshot;

/// Prefix of GPU facts.
const GPU: &str = "gpu";

pub(super) fn facts(snapshot: &Snapshot) -> Facts {
    let mut facts = Facts::complete();
    let Ok(Value::Object(fields)) = serde_json::to_value(snapshot) else { return facts };
    for (name, value) in &fields {
        match name.as_str() {
            "schema" | "version" | "gpus" | "kernel_log" | "probes" | "unreadable" | "missing" => {}
            _ => add(&mut facts.machine, name, value, &|name| place(name)),
        }
    }
    for gpu in &snapshot.gpus {
        let mut table = Table::default();
        let folder = gpu.folder();
        if let Ok(value) = serde_json::to_value(gpu) {
            add(&mut table, GPU, &value, &|name| gpu_place(name, &folder, gpu.kfd));
        }
        facts.gpus.push(table);
    }
    let count = |matches: &dyn Fn(&super::Gpu) -> bool| snapshot.gpus.iter().filter(|gpu| matches(gpu)).count();
    let mut targets: Vec<_> = snapshot.gpus.iter().filter_map(|gpu| gpu.target.as_deref()).collect();
    targets.sort_unstable();
    targets.dedup();
    for (name, count) in [
        ("gpus.amd", count(&|gpu| gpu.is_amd())),
        ("gpus.kfd", count(&|gpu| gpu.kfd)),
        ("gpus.apu", count(&|gpu| gpu.is_amd() && gpu.apu == Some(true))),
        ("gpus.discrete", count(&|gpu| gpu.is_amd() && gpu.apu == Some(false))),
        ("gpus.other", count(&|gpu| !gpu.is_amd())),
        ("gpus.nvidia", count(&|gpu| gpu.pci_id.starts_with("10de:"))),
        ("gpus.targets", targets.len()),
    ] {
        facts.machine.add(name, count, "counted");
    }
    let mut numbers: Vec<_> = snapshot.gpus.iter().filter(|gpu| gpu.apu == Some(false)).collect();
    numbers.sort_by_key(|gpu| gpu.kfd_ordinal);
    let numbers: Vec<_> = numbers.iter().filter_map(|gpu| gpu.kfd_ordinal).map(|number| number.to_string()).collect();
    if !numbers.is_empty() {
        facts.machine.add("gpus.discrete_numbers", numbers.join(","), "/sys/class/kfd/kfd/topology");
    }
    super::missing::forget(&snapshot.missing, &mut facts);
    snapshot.probes.tell(&snapshot.gpus, &mut facts);
    facts.machine.add("log.readable", snapshot.kernel_log.is_some(), "/dev/kmsg");
    facts
}

fn add(table: &mut Table, name: &str, value: &Value, place: &dyn Fn(&str) -> String) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if field == "is" { name.to_owned() } else { format!("{name}.{field}") };
                add(table, &name, value, place);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| add(table, name, value, place)),
        Value::String(text) => table.add(name, text, place(name)),
        other => table.add(name, other, place(name)),
    }
}

/// The source of a fact, which users can check.
fn place(name: &str) -> String {
    let parts: Vec<_> = name.splitn(3, '.').collect();
    match parts.as_slice() {
        ["os", ..] => "/etc/os-release".into(),
        ["kernel", "release"] => "/proc/sys/kernel/osrelease".into(),
        ["cmdline", ..] | ["kernel", "command_line"] => "/proc/cmdline".into(),
        ["cpu", ..] => "/proc/cpuinfo".into(),
        ["board" | "bios", field] => format!("/sys/class/dmi/id/{}_{field}", parts[0]),
        ["memory", ..] => "/proc/meminfo".into(),
        ["param", module, parameter] => format!("/sys/module/{module}/parameters/{parameter}"),
        ["module", module, ..] => format!("/sys/module/{module}"),
        ["configured", ..] => "/proc/cmdline, /etc/modprobe.d, /etc/tmpfiles.d".into(),
        ["node", "kfd", ..] => "/dev/kfd".into(),
        ["node", "render", ..] => "/dev/dri".into(),
        ["env", variable] => format!("${variable}"),
        ["package", ..] => "the package database".into(),
        ["opencl", "icd"] => "/etc/OpenCL/vendors".into(),
        ["vulkan", "icd"] => "/usr/share/vulkan/icd.d".into(),
        ["user", ..] => "/proc/self/status".into(),
        _ => String::new(),
    }
}

fn gpu_place(name: &str, folder: &str, kfd: bool) -> String {
    let file = match name {
        "gpu.vram" => "mem_info_vram_total",
        "gpu.vis_vram" => "mem_info_vis_vram_total",
        "gpu.gtt" => "mem_info_gtt_total",
        "gpu.driver" => "driver",
        "gpu.pci_id" => "device",
        // Without a KFD node, the PCI device ID determines the target.
        "gpu.target" if !kfd => "device",
        "gpu.target" | "gpu.simd" | "gpu.cu" | "gpu.kfd_memory" | "gpu.atomics" => {
            return "/sys/class/kfd/kfd/topology".into();
        }
        "gpu.power_level" => "power_dpm_force_performance_level",
        "gpu.busy" => "gpu_busy_percent",
        _ if name.starts_with("gpu.firmware.") => "fw_version",
        _ => return String::new(),
    };
    format!("{folder}/{file}")
}
