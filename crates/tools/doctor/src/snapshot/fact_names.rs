//! The names of all facts, so that a rule with a misspelled name fails when it loads instead of
//! never firing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Snapshot, counts, kernel, software, wheels};

/// Facts that need a started runtime or an open KFD, and facts that only some machines have.
const OTHERS: &[&str] = &[
    "gpus.discrete_numbers",
    "gpu.hsa",
    "gpu.opencl",
    "gpu.vulkan",
    "hsa.devices",
    "hsa.error",
    "log.amd",
    "log.fault",
    "log.works",
    "log.kind",
    "log.last",
    "memory.ttm_percent",
    "node.kfd.error",
    "opencl.devices",
    "opencl.error",
    "opencl.extension",
    "opencl.memory",
    "opencl.platform",
    "opencl.rusticl.devices",
    "opencl.type",
    "run.uses",
    "vulkan.asked",
    "vulkan.device",
    "vulkan.error",
    "vulkan.heap",
    "windows",
];
/// GPU components with firmware, as the driver names the files.
const FIRMWARE: &[&str] = &["mes", "mes_kiq", "mec", "sdma", "smc", "vcn", "rlc", "psp", "me", "pfp", "imu", "dmcub"];

/// A snapshot with one entry in every map.
fn sample() -> Snapshot {
    serde_json::from_value(serde_json::json!({
        "module": { "amdgpu": {} },
        "dkms": { "amdgpu": "" },
        "node": { "kfd": {}, "render": [{}] },
        "library": { "rocblas": {} },
        "wheel": { "torch": { "rocm": {} } },
    }))
    .unwrap_or_default()
}

/// Adds the names below a value, set or not.
fn names(prefix: &str, value: &Value, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let name = if field == "is" { prefix.to_owned() } else { format!("{prefix}.{field}") };
                names(name.trim_start_matches('.'), value, all);
            }
        }
        Value::Array(values) if !values.is_empty() => values.iter().for_each(|value| names(prefix, value, all)),
        _ => {
            all.insert(prefix.to_owned());
        }
    }
}

/// The set of all facts that can be gathered.
pub(crate) struct FactNames(BTreeSet<String>);

impl FactNames {
    /// All facts that can be gathered.
    pub(crate) fn new() -> Self {
        let mut all: BTreeSet<String> = OTHERS.iter().map(|name| (*name).to_owned()).collect();
        let fields = |prefix: &str, value: Result<Value, _>, all: &mut BTreeSet<String>| {
            let value: Result<Value, serde_json::Error> = value;
            value.into_iter().for_each(|value| names(prefix, &value, all));
        };
        fields("", serde_json::to_value(sample()), &mut all);
        fields("gpu", serde_json::to_value(super::Gpu::default()), &mut all);
        all.extend(sample().facts().machine.iter().map(|(name, _)| name.to_owned()));
        let logs: toml::Table = toml::from_str(include_str!("../logs/facts.toml")).unwrap_or_default();
        for entry in logs.get("read").and_then(toml::Value::as_array).into_iter().flatten() {
            let facts = entry.get("facts").and_then(toml::Value::as_table);
            all.extend(facts.into_iter().flat_map(|facts| facts.keys().cloned()));
        }
        Self(all)
    }

    /// Whether a fact with this name can be gathered.
    pub(crate) fn has(&self, name: &str) -> bool {
        let parts: Vec<_> = name.splitn(3, '.').collect();
        let like = |of: &[&str], one: &str, sample: &str| {
            let rest = parts.get(2).map(|rest| format!(".{rest}")).unwrap_or_default();
            of.contains(&one) && self.0.contains(&format!("{}.{sample}{rest}", parts[0]))
        };
        self.0.contains(name)
            || match parts.as_slice() {
                ["cmdline", ..] | ["configured", _, _] => true,
                ["param", module, _] => kernel::MODULES.contains(module),
                ["env" | "service_env", variable] => counts(variable),
                ["package", package] => software::PACKAGES.contains(package),
                ["gpu", "firmware", part] => FIRMWARE.contains(part),
                ["module", module, ..] => like(kernel::MODULES, module, "amdgpu"),
                ["wheel", wheel, ..] => like(wheels::WHEELS, wheel, "torch"),
                ["library", library, ..] => {
                    like(&software::LIBRARIES.iter().map(|(name, _)| *name).collect::<Vec<_>>(), library, "rocblas")
                }
                _ => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelled_fact_names_are_unknown() {
        let known = FactNames::new();
        let wrong =
            ["gpu.targte", "env.HSAOVERRIDE", "wheel.torch.rocmm", "library.rocblass.target", "param.amdgpuu.x"];
        assert_eq!(wrong.iter().filter(|name| known.has(name)).collect::<Vec<_>>(), Vec::<&&str>::new());
        let right =
            ["gpu.target", "env.HSA_XNACK", "wheel.vllm.rocm.series", "library.rocrand.target", "module.amdgpu.file"];
        assert_eq!(right.iter().filter(|name| !known.has(name)).collect::<Vec<_>>(), Vec::<&&str>::new());
    }
}
