//! Benchmark cases for the kernels of model layers.
//!
//! Each case has a function that creates its inputs and reference results, so that adding a
//! kernel takes one entry here.

mod lines;
mod moves;
mod numbers;
mod products;
mod windows;

use std::fmt::Debug;

use roci_kernels::KernelSpec;
use roci_kernels::params::Params;

use super::input::{Element, Input};
use super::reference::Expected;
use crate::Tolerance;
use crate::WorkAmount;

/// Inputs and reference results.
pub(super) type Made = (Vec<Input>, Vec<Expected>);

/// Properties of a case apart from constants, inputs and reference.
#[derive(Debug)]
pub(super) struct About {
    pub(super) grid: [u32; 3],
    pub(super) output: Element,
    /// Size as text.
    pub(super) size: String,
    pub(super) work: WorkAmount,
    pub(super) tolerance: Tolerance,
}

/// A case: constants, inputs and reference of one dispatch.
pub(super) trait Layer: Debug {
    /// Bytes of the constants block.
    fn constants(&self) -> &[u8];
    /// Size, grid, work and tolerance.
    fn about(&self) -> &About;
    /// Inputs and reference results. If the kernel has two outputs, the first is passed as an input
    /// that it overwrites.
    fn make(&self) -> Made;
}

/// A case with constants of type `P`.
#[derive(Debug)]
struct Of<P> {
    params: P,
    kernel: &'static str,
    about: About,
    make: fn(&'static str, &P) -> Made,
}

impl<P: Params + Debug> Layer for Of<P> {
    fn constants(&self) -> &[u8] {
        bytemuck::bytes_of(&self.params)
    }

    fn about(&self) -> &About {
        &self.about
    }

    fn make(&self) -> Made {
        (self.make)(self.kernel, &self.params)
    }
}

/// A kernel, and the choice between small and large sizes.
struct Picker {
    kernel: &'static str,
    quick: bool,
}

impl Picker {
    fn pick(&self, small: u32, large: u32) -> u32 {
        if self.quick { small } else { large }
    }

    /// Creates a case with these constants; its grid follows from them.
    fn problem<P: Params + Debug>(
        &self,
        params: P,
        size: String,
        work: WorkAmount,
        (output, tolerance): (Element, Tolerance),
        make: fn(&'static str, &P) -> Made,
    ) -> Box<dyn Layer> {
        self.with_grid(params.grid(), params, size, work, (output, tolerance), make)
    }

    fn with_grid<P: Params + Debug>(
        &self,
        grid: [u32; 3],
        params: P,
        size: String,
        work: WorkAmount,
        (output, tolerance): (Element, Tolerance),
        make: fn(&'static str, &P) -> Made,
    ) -> Box<dyn Layer> {
        let about = About { grid, output, size, work, tolerance };
        Box::new(Of { params, kernel: self.kernel, about, make })
    }
}

/// The cases of a kernel; empty if there are none in this module.
pub(super) fn problems(kernel: &KernelSpec, quick: bool) -> Vec<Box<dyn Layer>> {
    let picker = Picker { kernel: kernel.name(), quick };
    match kernel.constants().name {
        "ElementwiseProgram" => vec![numbers::elementwise_program(&picker)],
        "Cast" => vec![numbers::cast(&picker)],
        "Random" => vec![numbers::random(&picker)],
        "StridedCopy" => vec![moves::strided_copy(&picker)],
        "Gather" => vec![moves::gather(&picker)],
        "GatherElements" => vec![moves::gather_elements(&picker)],
        "GatherNd" => vec![moves::gather_nd(&picker)],
        "ScatterElements" => vec![moves::scatter_elements(&picker)],
        "ScatterNd" => vec![moves::scatter_nd(&picker)],
        "Resample" => vec![moves::resample(&picker)],
        "ArgReduce" => vec![lines::arg_reduce(&picker)],
        "Scan" => vec![lines::scan(&picker)],
        "Normalize" => vec![lines::normalize(&picker)],
        "TopK" => vec![lines::top_k(&picker)],
        "Linear" => vec![products::linear(&picker)],
        "Attention" => vec![products::attention(&picker)],
        "Conv" => windows::conv(&picker),
        "Pool" => vec![windows::pool(&picker)],
        _ => Vec::new(),
    }
}

/// The memory traffic of 32-bit words.
fn moved(words: &[u32]) -> WorkAmount {
    WorkAmount::Bytes(words.iter().map(|&words| 4 * u64::from(words)).sum())
}

/// Sizes as text: `2x3x4`.
fn by(sizes: &[u32]) -> String {
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
fn place(index: f64, axis: u32) -> usize {
    let index = index as u32;
    (if index < axis { index } else { index.wrapping_add(axis) }) as usize
}
