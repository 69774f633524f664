//! Problems of kernels without a reference in f64: a test case of the kernel's family, with the
//! results of the native twin as the expected results.
//!
//! The twin runs at the portable level, so that the CPU device, which runs the best one, is not
//! compared with itself.

use roci_kernels::native::{Level, run_case};
use roci_kernels::params::cases::{self, Case};

use super::PreparedCase;
use super::input::{Element, Input};
use super::reference::{Expected, exact};
use crate::WorkAmount;

/// A case with the results of the native twin.
#[derive(Debug)]
pub(super) struct NativeTwinCase {
    case: Case,
    /// The words of the output.
    expected: Vec<u32>,
}

impl NativeTwinCase {
    /// The kernel's case with the largest output; `None` if the family has none that the twin
    /// accepts.
    pub(super) fn new(kernel: &str) -> Option<Self> {
        let size = |case: &Case| case.buffers.last().map_or(0, Vec::len);
        let case = cases::of(kernel).into_iter().filter(|case| !case.grid.contains(&0)).max_by_key(size)?;
        let portable = *Level::available().first()?;
        let expected = run_case(kernel, portable, &case).ok()?.pop()?;
        Some(Self { case, expected })
    }

    /// Bytes of the constants block.
    pub(super) fn constants(&self) -> &[u8] {
        &self.case.constants
    }

    /// Number of workgroups per dimension.
    pub(super) fn grid(&self) -> [u32; 3] {
        self.case.grid
    }

    /// Element type of the output.
    pub(super) fn output(&self) -> Element {
        match self.case.output {
            cases::Element::Word => Element::U32,
            cases::Element::F32 => Element::F32,
            cases::Element::F16 => Element::F16,
        }
    }

    /// Size as text.
    pub(super) fn size(&self) -> String {
        self.case.label.clone()
    }

    /// The memory traffic, if each buffer is accessed once.
    pub(super) fn work(&self) -> WorkAmount {
        WorkAmount::Bytes(self.case.buffers.iter().map(|words| 4 * words.len() as u64).sum())
    }

    /// The results of the twin.
    pub(super) fn expected(&self) -> Vec<Expected> {
        self.output().decode(&bytes(&self.expected)).into_iter().map(exact).collect()
    }

    /// The inputs, which are all buffers but the last, and the results.
    pub(super) fn prepare(&self) -> PreparedCase {
        let (output, inputs) = self.case.buffers.split_last().map_or((&[][..], &[][..]), |(last, rest)| (last, rest));
        PreparedCase {
            inputs: inputs.iter().cloned().map(Input::words).collect(),
            output: self.output(),
            expected: self.expected(),
            tolerance: self.case.tolerance,
            initial: Some(bytes(output)),
        }
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Comparison, verify};

    #[test]
    fn the_best_level_agrees_and_a_wrong_word_is_found() {
        for kernel in ["softmax", "top_k", "scatter_elements", "conv", "cast_f32_to_f16", "linear_f16"] {
            let problem = NativeTwinCase::new(kernel).expect("the family has cases");
            let prepared = problem.prepare();
            let judge =
                |output: &[u32]| verify(&bytes(output), &prepared.expected, prepared.output, prepared.tolerance);
            let mut output =
                run_case(kernel, Level::best(), &problem.case).expect("the twin runs").pop().expect("an output");
            assert!(matches!(judge(&output), Comparison::Right { .. }), "{kernel}: {:?}", judge(&output));
            output[0] ^= 0x4040_4040;
            assert!(matches!(judge(&output), Comparison::Wrong { .. }), "{kernel}");
        }
    }

    #[test]
    fn an_output_that_was_not_written_is_wrong() {
        let prepared = NativeTwinCase::new("softmax").expect("the family has cases").prepare();
        let initial = prepared.initial.expect("an output");
        let comparison = verify(&initial, &prepared.expected, prepared.output, prepared.tolerance);
        assert!(matches!(comparison, Comparison::Wrong { .. }), "{comparison:?}");
    }

    #[test]
    fn a_kernel_without_cases_has_no_problem() {
        assert!(NativeTwinCase::new("no_such_kernel").is_none());
    }
}
