//! What rules forbid to start: programs are told apart by the compute APIs that they use.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::facts::Facts;

use super::book::Book;
use super::judge::{Finding, gpus, judge};
use super::rule::Rule;

/// A compute API, with everything that is built on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// HSA, HIP, and what starts them: ROCm's libraries and OpenCL driver, PyTorch for ROCm.
    Rocm,
    /// OpenCL by any driver: programs ask all that are installed.
    OpenCl,
    /// Vulkan.
    Vulkan,
}

impl Api {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Rocm, Self::OpenCl, Self::Vulkan];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rocm => "rocm",
            Self::OpenCl => "opencl",
            Self::Vulkan => "vulkan",
        }
    }
}

impl Rule {
    /// Whether it can forbid a program that uses these.
    pub fn can_forbid(&self, uses: &BTreeSet<Api>) -> bool {
        self.forbids.iter().any(|api| uses.contains(api))
    }
}

impl Book {
    /// The rules that forbid to start a program that uses these on a machine, one finding each. They see what it uses as the
    /// fact `run.uses`: an image or a Python environment may bring what is not installed.
    ///
    /// A rule forbids also where only its exceptions are unknown: a run can wait, a machine that froze cannot be asked.
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
            .filter_map(|(rule, hits)| gpus(rule, &facts).find_map(|gpu| judge(rule, &facts, gpu, hits, true)))
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
        let book = Book::builtin().expect("the rules are right");
        let found = book.forbidding(&facts, "", &uses.iter().copied().collect());
        found.iter().map(|finding| finding.rule.id.clone()).collect()
    }

    #[test]
    fn rocm_that_an_image_brings_is_forbidden_as_if_it_were_installed() {
        assert_eq!(forbidding(Facts::complete(), &[STOCK], &[Api::Rocm]), ["BC-08"]);
        let patched: &[_] = &[("param.amdgpu.bc250_flush_pasid_kiq", "0")];
        assert_eq!(forbidding(Facts::complete(), &[STOCK, patched], &[Api::Rocm]), [""; 0]);
        let other: &[_] = &[("gpu.target", "gfx1012"), ("gpu.kfd", "true"), ("module.amdgpu", "loaded")];
        assert_eq!(forbidding(Facts::complete(), &[other], &Api::ALL), [""; 0]);
    }

    #[test]
    fn each_rule_forbids_what_it_names_alone() {
        let icd: &[_] = &[("opencl.icd", "rocm"), ("node.kfd", "usable")];
        for (uses, wanted) in [
            (&[][..], &[][..]),
            (&[Api::Vulkan], &[]),
            (&[Api::OpenCl], &["OCL-08"]),
            (&[Api::Rocm], &["BC-08"]),
            (&Api::ALL, &["BC-08", "OCL-08"]),
        ] {
            assert_eq!(forbidding(Facts::complete(), &[STOCK, icd], uses), wanted, "{uses:?}");
        }
        assert_eq!(forbidding(Facts::complete(), &[STOCK], &[Api::OpenCl]), [""; 0], "Rusticl alone is safe");
    }

    #[test]
    fn an_exception_that_is_unknown_lifts_nothing() {
        assert_eq!(forbidding(Facts::default(), &[STOCK], &[Api::Rocm]), ["BC-08"]);
    }

    #[test]
    fn names_are_those_of_the_files() {
        for api in Api::ALL {
            assert_eq!(serde_json::to_value(api).expect("it is text"), api.name());
        }
    }
}
