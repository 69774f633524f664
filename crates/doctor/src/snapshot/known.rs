//! The names of all facts, so that a rule with a misspelt one fails here and not in silence on somebody's machine.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Snapshot, counts, kernel, software, wheels};

/// Facts that no file tells without starting a runtime or opening the compute driver: logs alone have them.
const LOGS_ONLY: &[&str] = &[
    "log.amd",
    "log.fault",
    "log.kind",
    "log.last",
    "memory.ttm_percent",
    "node.kfd.error",
    "opencl.devices",
    "opencl.extension",
    "opencl.memory",
    "opencl.platform",
    "opencl.rusticl.devices",
    "opencl.type",
    "vulkan.device",
    "vulkan.heap",
];
/// Parts of a GPU with firmware of their own, as the driver names the files.
const FIRMWARE: &[&str] = &["mes", "mes_kiq", "mec", "sdma", "smc", "vcn", "rlc", "psp", "me", "pfp", "imu", "dmcub"];

/// A snapshot with one entry in everything that is named freely.
fn sample() -> Snapshot {
    serde_json::from_value(serde_json::json!({
        "module": { "amdgpu": {} },
        "dkms": { "amdgpu": "" },
        "node": { "kfd": {}, "render": [{}] },
        "library": { "rocblas": {} },
        "wheel": { "torch": { "rocm": {} } },
    }))
    .expect("every field has a default")
}

/// Adds the names below a value, whether or not it is set.
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

fn known() -> BTreeSet<String> {
    let mut all: BTreeSet<String> = LOGS_ONLY.iter().map(|name| (*name).to_owned()).collect();
    names("", &serde_json::to_value(sample()).expect("it is JSON"), &mut all);
    names("gpu", &serde_json::to_value(super::Gpu::default()).expect("it is JSON"), &mut all);
    all.extend(sample().facts().machine.iter().map(|(name, _)| name.to_owned()));
    let logs: toml::Table = toml::from_str(include_str!("../logs/facts.toml")).expect("it is TOML");
    for entry in logs["read"].as_array().expect("a list") {
        all.extend(
            entry.get("facts").and_then(toml::Value::as_table).into_iter().flat_map(|facts| facts.keys().cloned()),
        );
    }
    all
}

/// Whether something can give a fact of this name.
fn is_known(name: &str, known: &BTreeSet<String>) -> bool {
    let parts: Vec<_> = name.splitn(3, '.').collect();
    let like = |of: &[&str], one: &str, sample: &str| {
        let rest = parts.get(2).map(|rest| format!(".{rest}")).unwrap_or_default();
        of.contains(&one) && known.contains(&format!("{}.{sample}{rest}", parts[0]))
    };
    known.contains(name)
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

/// The facts that a rule asks for.
fn asked(rule: &toml::Value) -> BTreeSet<String> {
    let tables = |key: &str| rule.get(key).and_then(toml::Value::as_array).into_iter().flatten();
    let mut all = BTreeSet::new();
    for table in rule.get("when").into_iter().chain(tables("any")).chain(tables("none")) {
        for (name, value) in table.as_table().into_iter().flatten() {
            all.insert(name.clone());
            let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
            let facts = values.iter().filter_map(toml::Value::as_str).filter_map(|text| text.split_once('$'));
            // A dollar at the end belongs to a regular expression.
            all.extend(facts.map(|(_, fact)| fact.to_owned()).filter(|fact| fact.starts_with(char::is_alphabetic)));
        }
    }
    all
}

#[test]
fn every_fact_that_a_rule_asks_for_can_be_known() {
    let known = known();
    let mut wrong = Vec::new();
    for file in std::fs::read_dir("rules").expect("the folder of rules").flatten() {
        let text = std::fs::read_to_string(file.path()).expect("a file");
        let rules: toml::Table = toml::from_str(&text).expect("it is TOML");
        for rule in rules["rule"].as_array().expect("a list") {
            let missing = asked(rule).into_iter().filter(|name| !is_known(name, &known));
            wrong.extend(missing.map(|name| format!("{:?}: {name}", rule["id"])));
        }
    }
    assert!(wrong.is_empty(), "nobody gathers these facts:\n{}", wrong.join("\n"));
}

#[test]
fn misspelt_names_are_not_known() {
    let known = known();
    let wrong = ["gpu.targte", "env.HSAOVERRIDE", "wheel.torch.rocmm", "library.rocblass.target", "param.amdgpuu.x"];
    assert_eq!(wrong.iter().filter(|name| is_known(name, &known)).collect::<Vec<_>>(), Vec::<&&str>::new());
    let right =
        ["gpu.target", "env.HSA_XNACK", "wheel.vllm.rocm.series", "library.rocrand.target", "module.amdgpu.file"];
    assert_eq!(right.iter().filter(|name| !is_known(name, &known)).collect::<Vec<_>>(), Vec::<&&str>::new());
}
