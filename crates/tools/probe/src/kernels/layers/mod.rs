//! Benchmark cases for the kernels of model layers.
//!
//! Each case has a function that creates its inputs and reference results, so that adding a
//! kernel takes one entry here.

mod elementwise;
mod movement;
mod products;
mod rows;
mod windows;

use std::fmt::Debug;

use roci_kernels::KernelSpec;
use roci_kernels::params::Params;

use super::input::{Element, Input};
use super::reference::Expected;
use crate::Tolerance;
use crate::WorkAmount;

/// Inputs and reference results.
pub(super) type CaseData = (Vec<Input>, Vec<Expected>);

/// Properties of a case apart from constants, inputs and reference.
#[derive(Debug)]
pub(super) struct CaseInfo {
    pub(super) grid: [u32; 3],
    pub(super) output: Element,
    /// Size as text.
    pub(super) size: String,
    pub(super) work: WorkAmount,
    pub(super) tolerance: Tolerance,
}

/// A case: constants, inputs and reference of one dispatch.
pub(super) trait LayerCase: Debug {
    /// Bytes of the constants block.
    fn constants(&self) -> &[u8];
    /// Size, grid, work and tolerance.
    fn info(&self) -> &CaseInfo;
    /// Inputs and reference results. If the kernel has two outputs, the first is passed as an input
    /// that it overwrites.
    fn data(&self) -> CaseData;
}

/// A case with constants of type `P`.
#[derive(Debug)]
struct TypedCase<P> {
    params: P,
    kernel: &'static str,
    info: CaseInfo,
    data: fn(&'static str, &P) -> CaseData,
}

impl<P: Params + Debug> LayerCase for TypedCase<P> {
    fn constants(&self) -> &[u8] {
        bytemuck::bytes_of(&self.params)
    }

    fn info(&self) -> &CaseInfo {
        &self.info
    }

    fn data(&self) -> CaseData {
        (self.data)(self.kernel, &self.params)
    }
}

/// A kernel, and the choice between small and large sizes.
struct LayerCaseBuilder {
    kernel: &'static str,
    quick: bool,
}

impl LayerCaseBuilder {
    fn size(&self, small: u32, large: u32) -> u32 {
        if self.quick { small } else { large }
    }

    /// Creates a case with these constants; its grid follows from them.
    fn case<P: Params + Debug>(
        &self,
        params: P,
        size: String,
        work: WorkAmount,
        (output, tolerance): (Element, Tolerance),
        data: fn(&'static str, &P) -> CaseData,
    ) -> Box<dyn LayerCase> {
        self.with_grid(params.grid(), params, size, work, (output, tolerance), data)
    }

    fn with_grid<P: Params + Debug>(
        &self,
        grid: [u32; 3],
        params: P,
        size: String,
        work: WorkAmount,
        (output, tolerance): (Element, Tolerance),
        data: fn(&'static str, &P) -> CaseData,
    ) -> Box<dyn LayerCase> {
        let info = CaseInfo { grid, output, size, work, tolerance };
        Box::new(TypedCase { params, kernel: self.kernel, info, data })
    }
}

/// The cases of a kernel; empty if there are none in this module.
pub(super) fn problems(kernel: &KernelSpec, quick: bool) -> Vec<Box<dyn LayerCase>> {
    let builder = LayerCaseBuilder { kernel: kernel.name(), quick };
    match kernel.constants().name {
        "ElementwiseProgram" => vec![elementwise::elementwise_program(&builder)],
        "Cast" => vec![elementwise::cast(&builder)],
        "Random" => vec![elementwise::random(&builder)],
        "StridedCopy" => vec![movement::strided_copy(&builder)],
        "Gather" => vec![movement::gather(&builder)],
        "GatherElements" => vec![movement::gather_elements(&builder)],
        "GatherNd" => vec![movement::gather_nd(&builder)],
        "ScatterElements" => vec![movement::scatter_elements(&builder)],
        "ScatterNd" => vec![movement::scatter_nd(&builder)],
        "Resample" => vec![movement::resample(&builder)],
        "ArgReduce" => vec![rows::arg_reduce(&builder)],
        "Scan" => vec![rows::scan(&builder)],
        "Normalize" => vec![rows::normalize(&builder)],
        "TopK" => vec![rows::top_k(&builder)],
        "Linear" => vec![products::linear(&builder)],
        "Attention" => vec![products::attention(&builder)],
        "Conv" => windows::conv(&builder),
        "Pool" => vec![windows::pool(&builder)],
        _ => Vec::new(),
    }
}

/// The memory traffic of 32-bit words.
fn bytes_moved(words: &[u32]) -> WorkAmount {
    WorkAmount::Bytes(words.iter().map(|&words| 4 * u64::from(words)).sum())
}

/// Sizes as text: `2x3x4`.
fn join_sizes(sizes: &[u32]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// Random words.
fn words(count: u32, seed: u64) -> Input {
    Input::spread(Element::U32, count as usize, 0.0, f64::from(u32::MAX), seed)
}

/// Random values between `low` and `high`.
fn floats(count: u32, (low, high): (f64, f64), seed: u64) -> Input {
    Input::spread(Element::F32, count as usize, low, high, seed)
}

/// Indices along an axis; every second one is negative.
fn indices(count: u32, axis: u32, seed: u64) -> Input {
    let places = Input::spread(Element::U32, count as usize, 0.0, f64::from(axis), seed).values;
    let place = |(at, place): (usize, &f64)| {
        let place = (*place as u32).min(axis - 1);
        if at % 2 == 0 { place } else { place.wrapping_sub(axis) }
    };
    Input::words(places.iter().enumerate().map(place).collect())
}

/// The position on an axis that an index of [`indices`] refers to.
fn resolve_index(index: f64, axis: u32) -> usize {
    let index = index as u32;
    (if index < axis { index } else { index.wrapping_add(axis) }) as usize
}
