//! The problems: which kernel, which sizes, which inputs.
//!
//! Sizes are no multiples of workgroups and tiles, so that edges are computed too.

use bytemuck::bytes_of;
use roci_kernels::params::{self, Params};
use roci_kernels::{KernelSpec, MatmulForm};

use crate::error::CliError;

use super::input::{Element, Input};
use super::layers::{self, Layer};
use super::reference::{self, Expected, Tolerance};

/// Words in front of and behind what `fill` and `copy` may write; they must stay as they were.
pub(super) const MARGIN: u32 = 5;

/// One kernel with one problem.
#[derive(Debug)]
pub(in crate::commands) struct Case {
    pub(in crate::commands) kernel: &'static KernelSpec,
    pub(in crate::commands) problem: Problem,
}

/// A constants block, and with it the size of everything.
#[derive(Debug)]
pub(in crate::commands) enum Problem {
    Fill(params::Fill),
    Copy(params::Copy),
    Unary(params::Unary),
    Binary(params::Binary),
    Reduce(params::Reduce),
    Softmax(params::Softmax),
    Matmul(params::Matmul, Element, MatmulForm),
    Matvec(params::Matvec, Element),
    /// One of those in [`layers`], which know all about themselves.
    Layer(Box<dyn Layer>),
}

/// What the rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// Bytes read and written, each once.
    Bytes(u64),
    /// Additions and multiplications.
    Operations(u64),
}

/// A problem with its inputs and the right answer.
pub(in crate::commands) struct Prepared {
    pub(in crate::commands) inputs: Vec<Input>,
    pub(in crate::commands) output: Element,
    pub(in crate::commands) expected: Vec<Expected>,
    pub(in crate::commands) tolerance: Tolerance,
}

/// The cases whose kernels' names start with one of `names`; all for none.
pub(in crate::commands) fn select(names: &[String], quick: bool) -> Result<Vec<Case>, CliError> {
    let tried = |kernel: &&KernelSpec| !kernel.name().starts_with("lm_");
    let kernels: Vec<&'static KernelSpec> = roci_kernels::kernels().iter().filter(tried).collect();
    if let Some(name) = names.iter().find(|name| kernels.iter().all(|kernel| !kernel.name().starts_with(*name))) {
        let known = kernels.iter().map(|kernel| kernel.name()).collect();
        return Err(CliError::UnknownKernel { name: name.clone(), known });
    }
    let asked = |kernel: &&KernelSpec| names.is_empty() || names.iter().any(|name| kernel.name().starts_with(name));
    let cases = |kernel| problems(kernel, quick).into_iter().map(move |problem| Case { kernel, problem });
    Ok(kernels.into_iter().filter(asked).flat_map(cases).collect())
}

/// The problems of one kernel. A kernel that nobody thought of here has none, which a test reports; those of language models have none, since
/// their buffers mean nothing without a model around them (`roci run MODEL.gguf`).
fn problems(kernel: &KernelSpec, quick: bool) -> Vec<Problem> {
    let pick = |small: u32, large: u32| if quick { small } else { large };
    let count = pick(10_007, (1 << 22) + 3);
    let name = kernel.name();
    let element = if name.ends_with("_f16") { Element::F16 } else { Element::F32 };
    match kernel.constants().name {
        "Fill" => vec![Problem::Fill(params::Fill { count, offset: MARGIN, value: 0x3fc0_ffee })],
        "Copy" => vec![Problem::Copy(params::Copy { count, source_offset: 2, target_offset: MARGIN })],
        "Unary" => vec![Problem::Unary(params::Unary { count })],
        "Binary" if name.ends_with("_broadcast") => {
            // [d, 1, r, c] with [1, m, 1, c]
            let [d, m, r, c] = [pick(3, 8), pick(5, 31), pick(7, 131), 129];
            vec![Problem::Binary(params::Binary {
                count: d * m * r * c,
                shape: [d, m, r, c],
                a_strides: [r * c, 0, c, 1],
                b_strides: [0, c, 0, 1],
            })]
        }
        "Binary" => vec![Problem::Binary(params::Binary::flat(count))],
        "Reduce" => {
            // Along rows, where one workgroup folds one output, and down columns, where one invocation does.
            let (few, many) = (pick(31, 1021), pick(517, 4099));
            vec![
                Problem::Reduce(params::Reduce { outer: few, axis: many, inner: 1 }),
                Problem::Reduce(params::Reduce { outer: 1, axis: many, inner: few.max(37) }),
            ]
        }
        "Softmax" => vec![Problem::Softmax(params::Softmax { rows: pick(31, 1021), columns: pick(517, 4099) })],
        "Matmul" => {
            let form = MatmulForm::of(name).unwrap_or(MatmulForm::General);
            let [m, n, k] = match form {
                MatmulForm::General => [pick(67, 769), pick(71, 771), pick(73, 773)],
                MatmulForm::Large | MatmulForm::Matrix => [pick(67, 769), pick(68, 772), pick(64, 768)],
            };
            vec![Problem::Matmul(params::Matmul::dense(m, n, k), element, form)]
        }
        "Matvec" => {
            let [m, k] = [pick(67, 2051), pick(1031, 4099)];
            vec![Problem::Matvec(params::Matvec { m, k, lda: k }, element)]
        }
        _ => layers::problems(kernel, quick).into_iter().map(Problem::Layer).collect(),
    }
}

impl Case {
    /// The kernel's name.
    pub(in crate::commands) fn name(&self) -> &'static str {
        self.kernel.name()
    }

    /// Makes the inputs and computes the right answer.
    pub(in crate::commands) fn prepare(&self) -> Prepared {
        if let Problem::Layer(layer) = &self.problem {
            let (inputs, expected) = layer.make();
            let about = layer.about();
            return Prepared { inputs, output: about.output, expected, tolerance: about.tolerance };
        }
        let inputs = self.problem.inputs(self.name());
        let expected = reference::expect(self.name(), &self.problem, &inputs);
        let output = self.problem.output(self.name());
        Prepared { inputs, output, expected, tolerance: reference::tolerance(self.name(), output) }
    }
}

impl Problem {
    /// The constants block.
    pub(super) fn constants(&self) -> &[u8] {
        match self {
            Self::Fill(params) => bytes_of(params),
            Self::Copy(params) => bytes_of(params),
            Self::Unary(params) => bytes_of(params),
            Self::Binary(params) => bytes_of(params),
            Self::Reduce(params) => bytes_of(params),
            Self::Softmax(params) => bytes_of(params),
            Self::Matmul(params, _, _) => bytes_of(params),
            Self::Matvec(params, _) => bytes_of(params),
            Self::Layer(layer) => layer.constants(),
        }
    }

    /// Workgroups.
    pub(super) fn grid(&self) -> [u32; 3] {
        match self {
            Self::Fill(params) => params.grid(),
            Self::Copy(params) => params.grid(),
            Self::Unary(params) => params.grid(),
            Self::Binary(params) => params.grid(),
            Self::Reduce(params) => params.grid(),
            Self::Softmax(params) => params.grid(),
            Self::Matmul(params, _, form) => form.grid(params),
            Self::Matvec(params, _) => params.grid(),
            Self::Layer(layer) => layer.about().grid,
        }
    }

    /// How the result is stored.
    fn output(&self, kernel: &str) -> Element {
        match self {
            Self::Fill(_) | Self::Copy(_) => Element::U32,
            Self::Reduce(_) if reference::is_integral(kernel) => Element::U32,
            Self::Matmul(_, element, _) => *element,
            Self::Layer(layer) => layer.about().output,
            _ => Element::F32,
        }
    }

    /// The size, for people.
    pub(in crate::commands) fn size(&self) -> String {
        let join = |sizes: &[u32]| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        match self {
            Self::Fill(params::Fill { count, .. })
            | Self::Copy(params::Copy { count, .. })
            | Self::Unary(params::Unary { count }) => count.to_string(),
            Self::Binary(params) if params.shape[..3] == [1; 3] => params.count.to_string(),
            Self::Binary(params) => join(&params.shape),
            Self::Reduce(params) if params.inner == 1 => format!("{}x[{}]", params.outer, params.axis),
            Self::Reduce(params) => format!("[{}]x{}", params.axis, params.inner),
            Self::Softmax(params) => format!("{}x[{}]", params.rows, params.columns),
            Self::Matmul(params, _, _) => join(&[params.m, params.n, params.k]),
            Self::Matvec(params, _) => join(&[params.m, params.k]),
            Self::Layer(layer) => layer.about().size.clone(),
        }
    }

    /// What is moved or computed.
    pub(super) fn work(&self) -> Work {
        let bytes = |elements: u64| Work::Bytes(elements * 4);
        match self {
            Self::Fill(params) => bytes(params.count.into()),
            Self::Copy(params::Copy { count, .. }) | Self::Unary(params::Unary { count }) => {
                bytes(2 * u64::from(*count))
            }
            Self::Binary(params) => bytes(
                u64::from(params.count) + (extent(params, params.a_strides) + extent(params, params.b_strides)) as u64,
            ),
            Self::Reduce(params) => {
                let outputs = u64::from(params.outer) * u64::from(params.inner);
                bytes(outputs * u64::from(params.axis) + outputs)
            }
            Self::Softmax(params) => bytes(2 * u64::from(params.rows) * u64::from(params.columns)),
            Self::Matmul(params, _, _) => {
                Work::Operations(2 * u64::from(params.m) * u64::from(params.n) * u64::from(params.k))
            }
            Self::Matvec(params, element) => {
                let matrix = u64::from(params.m) * u64::from(params.k) * element.size() as u64;
                Work::Bytes(matrix + 4 * (u64::from(params.k) + u64::from(params.m)))
            }
            Self::Layer(layer) => layer.about().work,
        }
    }

    /// What the kernel reads, binding by binding.
    fn inputs(&self, kernel: &str) -> Vec<Input> {
        let f32s = |count: usize, (low, high): (f64, f64), seed| Input::spread(Element::F32, count, low, high, seed);
        let (first, second) = domain(kernel);
        match self {
            Self::Fill(_) => Vec::new(),
            Self::Copy(params) => {
                let words = (params.source_offset + params.count) as usize;
                vec![Input::spread(Element::U32, words, 0.0, f64::from(u32::MAX), 1)]
            }
            Self::Unary(params) => vec![f32s(params.count as usize, first, 1)],
            Self::Binary(params) => vec![
                f32s(extent(params, params.a_strides), first, 1),
                f32s(extent(params, params.b_strides), second, 2),
            ],
            Self::Reduce(params) => {
                let count = (params.outer * params.axis * params.inner) as usize;
                vec![Input::spread(self.output(kernel), count, first.0, first.1, 1)]
            }
            Self::Softmax(params) => vec![f32s((params.rows * params.columns) as usize, first, 1)],
            Self::Matmul(params, element, _) => vec![
                Input::spread(*element, (params.m * params.k) as usize, first.0, first.1, 1),
                Input::spread(*element, (params.k * params.n) as usize, second.0, second.1, 2),
            ],
            Self::Matvec(params, element) => vec![
                Input::spread(*element, (params.m * params.k) as usize, first.0, first.1, 1),
                f32s(params.k as usize, second, 2),
            ],
            Self::Layer(layer) => layer.make().0,
        }
    }
}

/// Where a kernel's inputs lie: inside the domain of its function, and around zero where that is possible.
fn domain(kernel: &str) -> ((f64, f64), (f64, f64)) {
    let around_zero = (-4.0, 4.0);
    let positive = (1.0 / 64.0, 4.0);
    match kernel {
        "unary_log" | "unary_sqrt" | "unary_rsqrt" => (positive, positive),
        // Products stay near one.
        "reduce_prod" => ((0.97, 1.03), around_zero),
        name if reference::is_integral(name) => ((0.0, f64::from(u32::MAX)), around_zero),
        name if name.starts_with("binary_pow") => (positive, around_zero),
        name if name.starts_with("binary_div") => (around_zero, positive),
        name if name.starts_with("matmul") || name.starts_with("matvec") => ((-1.0, 1.0), (-1.0, 1.0)),
        _ => (around_zero, around_zero),
    }
}

/// Elements of an input that strides reach.
fn extent(params: &params::Binary, strides: [u32; 4]) -> usize {
    1 + params.shape.iter().zip(strides).map(|(size, stride)| ((size - 1) * stride) as usize).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_of_the_table_has_a_case() {
        for kernel in roci_kernels::kernels().iter().filter(|kernel| !kernel.name().starts_with("lm_")) {
            for quick in [true, false] {
                assert!(!problems(kernel, quick).is_empty(), "`{}` has no problem in the demo", kernel.name());
            }
        }
    }

    #[test]
    fn constants_and_bindings_are_those_of_the_table() {
        for case in select(&[], true).expect("no names") {
            assert_eq!(case.problem.constants().len(), case.kernel.constants().size, "{}", case.name());
            let prepared = case.prepare();
            assert_eq!(prepared.inputs.len() + 1, case.kernel.bindings().len(), "{}", case.name());
            assert!(!prepared.expected.is_empty());
        }
    }

    #[test]
    fn kernels_are_chosen_by_the_start_of_their_names() {
        let names = |name: &str| -> Vec<_> {
            select(&[name.to_owned()], true).expect("known").iter().map(Case::name).collect()
        };
        assert_eq!(names("matvec"), ["matvec_f32", "matvec_f16"]);
        assert!(matches!(select(&["fft".into()], true), Err(CliError::UnknownKernel { .. })));
    }
}
