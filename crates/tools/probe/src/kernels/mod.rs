//! Every kernel in the library, with one or two benchmark cases and their reference results.
//!
//! Most kernels have a case with an f64 reference. The others get a test case of their family,
//! compared with the native twin. Sizes are not multiples of workgroups and tiles, so that partial
//! tiles are tested too. `lm_*` kernels have no cases: their buffers have no meaning without a
//! model.

use bytemuck::bytes_of;
use roci_kernels::params::{self, Params};
use roci_kernels::{KernelSpec, MatmulForm};

mod input;
mod layers;
mod native_twin;
mod reference;
mod run;

use crate::{Error, Tolerance, WorkAmount};
use native_twin::NativeTwinCase;

pub use input::{Element, Input};
use layers::LayerCase;
pub use reference::{Comparison, Expected, verify};
pub use run::{LoadedKernel, Measurement, measure};

/// Number of guard words before and after the range that `fill` and `copy` write. They must keep
/// the poison.
const GUARD_WORDS: u32 = 5;

/// A kernel with one problem size.
#[derive(Debug)]
pub struct Case {
    /// The kernel's entry in the library's table.
    pub kernel: &'static KernelSpec,
    /// Problem size.
    pub problem: Problem,
}

/// Problem size: the constants that the kernel is dispatched with.
#[derive(Debug)]
pub struct Problem(Kind);

#[derive(Debug)]
enum Kind {
    Fill(params::Fill),
    Copy(params::Copy),
    Unary(params::Unary),
    Binary(params::Binary),
    Reduce(params::Reduce),
    Softmax(params::Softmax),
    Matmul(params::Matmul, Element, MatmulForm),
    Matvec(params::Matvec, Element),
    /// A case of [`layers`], which has its own inputs and reference.
    Layer(Box<dyn LayerCase>),
    /// A test case of the kernel's family, compared with the native twin.
    Twin(NativeTwinCase),
}

/// A case with its inputs and its reference results.
#[derive(Debug)]
#[non_exhaustive]
pub struct PreparedCase {
    /// Inputs, in the order of the kernel's bindings.
    pub inputs: Vec<Input>,
    /// Element type of the output.
    pub output: Element,
    /// Reference results, one per element of the output.
    pub expected: Vec<Expected>,
    /// Tolerance of the output.
    pub tolerance: Tolerance,
    /// What the output holds before the kernel runs; poison if `None`.
    pub initial: Option<Vec<u8>>,
}

/// The cases of kernels whose names start with one of `names`; all cases if `names` is empty.
/// `quick` selects small sizes.
pub fn select(names: &[String], quick: bool) -> Result<Vec<Case>, Error> {
    let tried = |kernel: &&KernelSpec| !kernel.name().starts_with("lm_");
    let kernels: Vec<&'static KernelSpec> = roci_kernels::kernels().iter().filter(tried).collect();
    if let Some(name) = names.iter().find(|name| kernels.iter().all(|kernel| !kernel.name().starts_with(*name))) {
        let known = kernels.iter().map(|kernel| kernel.name()).collect();
        return Err(Error::UnknownKernel { name: name.clone(), known });
    }
    let asked = |kernel: &&KernelSpec| names.is_empty() || names.iter().any(|name| kernel.name().starts_with(name));
    let cases =
        |kernel| problems(kernel, quick).into_iter().map(move |problem| Case { kernel, problem: Problem(problem) });
    Ok(kernels.into_iter().filter(asked).flat_map(cases).collect())
}

/// The cases of a kernel. A test fails if a kernel of the table has none.
fn problems(kernel: &KernelSpec, quick: bool) -> Vec<Kind> {
    let mut problems = problems_with_reference(kernel, quick);
    if problems.is_empty() {
        problems.extend(NativeTwinCase::new(kernel.name()).map(Kind::Twin));
    }
    problems
}

/// The cases that have an f64 reference.
fn problems_with_reference(kernel: &KernelSpec, quick: bool) -> Vec<Kind> {
    let pick = |small: u32, large: u32| if quick { small } else { large };
    let count = pick(10_007, (1 << 22) + 3);
    let name = kernel.name();
    let element = if name.ends_with("_f16") { Element::F16 } else { Element::F32 };
    match kernel.constants().name {
        "Fill" => vec![Kind::Fill(params::Fill { count, offset: GUARD_WORDS, value: 0x3fc0_ffee })],
        "Copy" => vec![Kind::Copy(params::Copy { count, source_offset: 2, target_offset: GUARD_WORDS })],
        "Unary" => vec![Kind::Unary(params::Unary { count })],
        "Binary" if name.ends_with("_broadcast") => {
            // Broadcasts [d, 1, r, c] with [1, m, 1, c].
            let [d, m, r, c] = [pick(3, 8), pick(5, 31), pick(7, 131), 129];
            vec![Kind::Binary(params::Binary {
                count: d * m * r * c,
                shape: [d, m, r, c],
                a_strides: [r * c, 0, c, 1],
                b_strides: [0, c, 0, 1],
            })]
        }
        "Binary" => vec![Kind::Binary(params::Binary::flat(count))],
        "Reduce" => {
            // Along rows, one workgroup reduces each output; along columns, one invocation does.
            let (few, many) = (pick(31, 1021), pick(517, 4099));
            vec![
                Kind::Reduce(params::Reduce { outer: few, axis: many, inner: 1 }),
                Kind::Reduce(params::Reduce { outer: 1, axis: many, inner: few.max(37) }),
            ]
        }
        "Softmax" => vec![Kind::Softmax(params::Softmax { rows: pick(31, 1021), columns: pick(517, 4099) })],
        "Matmul" => {
            let form = MatmulForm::of(name).unwrap_or(MatmulForm::General);
            let [m, n, k] = match form {
                MatmulForm::General => [pick(67, 769), pick(71, 771), pick(73, 773)],
                MatmulForm::Large | MatmulForm::Matrix => [pick(67, 769), pick(68, 772), pick(64, 768)],
            };
            vec![Kind::Matmul(params::Matmul::dense(m, n, k), element, form)]
        }
        "Matvec" => {
            let [m, k] = [pick(67, 2051), pick(1031, 4099)];
            vec![Kind::Matvec(params::Matvec { m, k, lda: k }, element)]
        }
        _ => layers::problems(kernel, quick).into_iter().map(Kind::Layer).collect(),
    }
}

impl Case {
    /// Name of the kernel.
    pub fn name(&self) -> &'static str {
        self.kernel.name()
    }

    /// Generates the inputs and computes the reference results.
    pub fn prepare(&self) -> PreparedCase {
        if let Kind::Layer(layer) = &self.problem.0 {
            let (inputs, expected) = layer.data();
            let info = layer.info();
            let (output, tolerance) = (info.output, info.tolerance);
            return PreparedCase { inputs, output, expected, tolerance, initial: None };
        }
        if let Kind::Twin(problem) = &self.problem.0 {
            return problem.prepare();
        }
        let inputs = self.problem.inputs(self.name());
        let expected = reference::expect(self.name(), &self.problem.0, &inputs);
        let output = self.problem.output(self.name());
        let tolerance = reference::tolerance(self.name(), output);
        PreparedCase { inputs, output, expected, tolerance, initial: None }
    }
}

impl Problem {
    /// Bytes of the kernel's constants block.
    pub fn constants(&self) -> &[u8] {
        match &self.0 {
            Kind::Fill(params) => bytes_of(params),
            Kind::Copy(params) => bytes_of(params),
            Kind::Unary(params) => bytes_of(params),
            Kind::Binary(params) => bytes_of(params),
            Kind::Reduce(params) => bytes_of(params),
            Kind::Softmax(params) => bytes_of(params),
            Kind::Matmul(params, _, _) => bytes_of(params),
            Kind::Matvec(params, _) => bytes_of(params),
            Kind::Layer(layer) => layer.constants(),
            Kind::Twin(problem) => problem.constants(),
        }
    }

    /// Number of workgroups per dimension.
    pub fn grid(&self) -> [u32; 3] {
        match &self.0 {
            Kind::Fill(params) => params.grid(),
            Kind::Copy(params) => params.grid(),
            Kind::Unary(params) => params.grid(),
            Kind::Binary(params) => params.grid(),
            Kind::Reduce(params) => params.grid(),
            Kind::Softmax(params) => params.grid(),
            Kind::Matmul(params, _, form) => form.grid(params),
            Kind::Matvec(params, _) => params.grid(),
            Kind::Layer(layer) => layer.info().grid,
            Kind::Twin(problem) => problem.grid(),
        }
    }

    /// Element type of the output.
    fn output(&self, kernel: &str) -> Element {
        match &self.0 {
            Kind::Fill(_) | Kind::Copy(_) => Element::U32,
            Kind::Reduce(_) if reference::is_integral(kernel) => Element::U32,
            Kind::Matmul(_, element, _) => *element,
            Kind::Layer(layer) => layer.info().output,
            Kind::Twin(problem) => problem.output(),
            _ => Element::F32,
        }
    }

    /// Size as text, such as `67x71x73`.
    pub fn size(&self) -> String {
        let join = |sizes: &[u32]| sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        match &self.0 {
            Kind::Fill(params::Fill { count, .. })
            | Kind::Copy(params::Copy { count, .. })
            | Kind::Unary(params::Unary { count }) => count.to_string(),
            Kind::Binary(params) if params.shape[..3] == [1; 3] => params.count.to_string(),
            Kind::Binary(params) => join(&params.shape),
            Kind::Reduce(params) if params.inner == 1 => format!("{}x[{}]", params.outer, params.axis),
            Kind::Reduce(params) => format!("[{}]x{}", params.axis, params.inner),
            Kind::Softmax(params) => format!("{}x[{}]", params.rows, params.columns),
            Kind::Matmul(params, _, _) => join(&[params.m, params.n, params.k]),
            Kind::Matvec(params, _) => join(&[params.m, params.k]),
            Kind::Layer(layer) => layer.info().size.clone(),
            Kind::Twin(problem) => problem.size(),
        }
    }

    /// Work of one run: bytes moved or operations computed.
    pub fn work(&self) -> WorkAmount {
        let bytes = |elements: u64| WorkAmount::Bytes(elements * 4);
        match &self.0 {
            Kind::Fill(params) => bytes(params.count.into()),
            Kind::Copy(params::Copy { count, .. }) | Kind::Unary(params::Unary { count }) => {
                bytes(2 * u64::from(*count))
            }
            Kind::Binary(params) => bytes(
                u64::from(params.count) + (extent(params, params.a_strides) + extent(params, params.b_strides)) as u64,
            ),
            Kind::Reduce(params) => {
                let outputs = u64::from(params.outer) * u64::from(params.inner);
                bytes(outputs * u64::from(params.axis) + outputs)
            }
            Kind::Softmax(params) => bytes(2 * u64::from(params.rows) * u64::from(params.columns)),
            Kind::Matmul(params, _, _) => {
                WorkAmount::Operations(2 * u64::from(params.m) * u64::from(params.n) * u64::from(params.k))
            }
            Kind::Matvec(params, element) => {
                let matrix = u64::from(params.m) * u64::from(params.k) * element.size() as u64;
                WorkAmount::Bytes(matrix + 4 * (u64::from(params.k) + u64::from(params.m)))
            }
            Kind::Layer(layer) => layer.info().work,
            Kind::Twin(problem) => problem.work(),
        }
    }

    /// Inputs, in the order of the kernel's bindings.
    fn inputs(&self, kernel: &str) -> Vec<Input> {
        let f32s = |count: usize, (low, high): (f64, f64), seed| Input::spread(Element::F32, count, low, high, seed);
        let (first, second) = domain(kernel);
        match &self.0 {
            Kind::Fill(_) => Vec::new(),
            Kind::Copy(params) => {
                let words = (params.source_offset + params.count) as usize;
                vec![Input::spread(Element::U32, words, 0.0, f64::from(u32::MAX), 1)]
            }
            Kind::Unary(params) => vec![f32s(params.count as usize, first, 1)],
            Kind::Binary(params) => vec![
                f32s(extent(params, params.a_strides), first, 1),
                f32s(extent(params, params.b_strides), second, 2),
            ],
            Kind::Reduce(params) => {
                let count = (params.outer * params.axis * params.inner) as usize;
                vec![Input::spread(self.output(kernel), count, first.0, first.1, 1)]
            }
            Kind::Softmax(params) => vec![f32s((params.rows * params.columns) as usize, first, 1)],
            Kind::Matmul(params, element, _) => vec![
                Input::spread(*element, (params.m * params.k) as usize, first.0, first.1, 1),
                Input::spread(*element, (params.k * params.n) as usize, second.0, second.1, 2),
            ],
            Kind::Matvec(params, element) => vec![
                Input::spread(*element, (params.m * params.k) as usize, first.0, first.1, 1),
                f32s(params.k as usize, second, 2),
            ],
            Kind::Layer(layer) => layer.data().0,
            Kind::Twin(problem) => problem.prepare().inputs,
        }
    }
}

/// Value range of each input: inside the function's domain, and around zero where possible.
fn domain(kernel: &str) -> ((f64, f64), (f64, f64)) {
    let around_zero = (-4.0, 4.0);
    let positive = (1.0 / 64.0, 4.0);
    match kernel {
        "unary_log" | "unary_sqrt" | "unary_rsqrt" => (positive, positive),
        // Values near 1 keep the products near 1.
        "reduce_prod" => ((0.97, 1.03), around_zero),
        name if reference::is_integral(name) => ((0.0, f64::from(u32::MAX)), around_zero),
        name if name.starts_with("binary_pow") => (positive, around_zero),
        name if name.starts_with("binary_div") => (around_zero, positive),
        name if name.starts_with("matmul") || name.starts_with("matvec") => ((-1.0, 1.0), (-1.0, 1.0)),
        _ => (around_zero, around_zero),
    }
}

/// Number of elements of an input that its strides reach.
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
                assert!(!problems(kernel, quick).is_empty(), "`{}` has no problem", kernel.name());
            }
        }
    }

    #[test]
    fn constants_and_bindings_are_those_of_the_table() {
        for case in select(&[], true).expect("an empty selection is valid") {
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
        assert!(matches!(select(&["fft".into()], true), Err(Error::UnknownKernel { .. })));
    }
}
