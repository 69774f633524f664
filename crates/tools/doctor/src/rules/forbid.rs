//! What rules forbid to start. Programs are distinguished by the compute APIs that they use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::facts::Facts;

use super::evaluate::{Finding, evaluate_rule, gpus};
use super::rule::Rule;
use super::rule_set::RuleSet;

/// A compute API and everything built on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Api {
    /// HSA and HIP: ROCm's libraries and OpenCL driver, PyTorch for ROCm.
    Rocm,
    /// OpenCL with any driver: programs query all installed ones.
    OpenCl,
    /// Vulkan with any driver.
    Vulkan,
}

impl Api {
    /// In the order in which they are listed.
    pub const ALL: [Self; 3] = [Self::Rocm, Self::OpenCl, Self::Vulkan];

    /// Name in rule files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rocm => "rocm",
            Self::OpenCl => "opencl",
            Self::Vulkan => "vulkan",
        }
    }
}

impl Rule {
    /// Whether this rule can forbid a program that uses these APIs.
    pub fn can_forbid(&self, uses: &BTreeSet<Api>) -> bool {
        self.forbids.iter().any(|api| uses.contains(api))
    }
}

impl RuleSet {
    /// Rules that forbid starting a program with these APIs on a machine, one finding each. They
    /// see the APIs as the fact `run.uses`: an image or a Python environment can contain software
    /// that is not installed.
    ///
    /// A rule also forbids if only its exceptions are unknown: delaying a run is better than
    /// freezing the machine.
    pub fn forbidding(&self, facts: &Facts, log: &str, uses: &BTreeSet<Api>) -> Vec<Finding<'_>> {
        let mut facts = facts.clone();
        for api in uses {
            facts.machine.add("run.uses", api.name(), "the program that is to be started");
        }
        let hits = self.scan(log);
        let rules = self.rules().iter().zip(&hits);
        let rules =
            rules.filter(|(rule, hits)| rule.can_forbid(uses) && (rule.log.is_empty() || !hits.numbers.is_empty()));
        rules
            .filter_map(|(rule, hits)| gpus(rule, &facts).find_map(|gpu| evaluate_rule(rule, &facts, gpu, hits, true)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::facts::Table;

    use super::*;

    const STOCK: &[(&str, &str)] = &[("gpu.target", "gfx1013"), ("gpu.kfd", "true"), ("module.amdgpu", "loaded")];

    fn forbidding(mut facts: Facts, named: &[&[(&str, &str)]], uses: &[Api]) -> Vec<String> {
        let mut gpu = Table::default();
        for (name, value) in named.iter().copied().flatten() {
            let table = if name.starts_with("gpu.") { &mut gpu } else { &mut facts.machine };
            table.add(*name, value, "the test");
        }
        facts.gpus.push(gpu);
        let rule_set = RuleSet::builtin().expect("the rules are right");
        let found = rule_set.forbidding(&facts, "", &uses.iter().copied().collect());
        found.iter().map(|finding| finding.rule.id.clone()).collect()
    }

    #[test]
    fn rocm_in_an_image_is_forbidden_like_installed_rocm() {
        assert_eq!(forbidding(Facts::complete(), &[STOCK], &[Api::Rocm]), ["BC-08"]);
        let patched: &[_] = &[("param.amdgpu.bc250_flush_pasid_kiq", "0")];
        assert_eq!(forbidding(Facts::complete(), &[STOCK, patched], &[Api::Rocm]), [""; 0]);
        let other: &[_] = &[("gpu.target", "gfx1012"), ("gpu.kfd", "true"), ("module.amdgpu", "loaded")];
        assert_eq!(forbidding(Facts::complete(), &[other], &Api::ALL), [""; 0]);
    }

    #[test]
    fn a_rule_forbids_only_the_apis_it_names() {
        let icd: &[_] = &[("opencl.icd", "rocm"), ("node.kfd", "usable")];
        for (uses, expected) in [
            (&[][..], &[][..]),
            (&[Api::Vulkan], &[]),
            (&[Api::OpenCl], &["OCL-08"]),
            (&[Api::Rocm], &["BC-08"]),
            (&Api::ALL, &["BC-08", "OCL-08"]),
        ] {
            assert_eq!(forbidding(Facts::complete(), &[STOCK, icd], uses), expected, "{uses:?}");
        }
        assert_eq!(forbidding(Facts::complete(), &[STOCK], &[Api::OpenCl]), [""; 0], "Rusticl alone is safe");
    }

    #[test]
    fn unknown_exceptions_do_not_permit_a_run() {
        assert_eq!(forbidding(Facts::default(), &[STOCK], &[Api::Rocm]), ["BC-08"]);
    }

    #[test]
    fn api_names_match_the_rule_files() {
        for api in Api::ALL {
            assert_eq!(serde_json::to_value(api).expect("it is text"), api.name());
        }
    }
}
