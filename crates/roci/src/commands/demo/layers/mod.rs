//! The problems of the kernels that layers of models are made of.
//!
//! Each comes with the function that makes its inputs and its right answer, so that a kernel is one entry here.

mod lines;
mod moves;
mod numbers;
mod products;
mod windows;

use std::fmt::Debug;

use roci_kernels::KernelSpec;
use roci_kernels::params::Params;

use super::cases::Work;
use super::input::{Element, Input};
use super::reference::{Expected, Tolerance};

/// Inputs, and the right answer.
pub(super) type Made = (Vec<Input>, Vec<Expected>);

/// All about a problem but its constants, its inputs and its answer.
#[derive(Debug)]
pub(in crate::commands) struct About {
    pub(super) grid: [u32; 3],
    pub(super) output: Element,
    /// The size, for people.
    pub(super) size: String,
    pub(super) work: Work,
    pub(super) tolerance: Tolerance,
}

/// A problem.
pub(in crate::commands) trait Layer: Debug {
    /// The constants block.
    fn constants(&self) -> &[u8];
    /// What else there is to know.
    fn about(&self) -> &About;
    /// Its inputs and the right answer; a kernel with two outputs takes the first for an input that is written over.
    fn make(&self) -> Made;
}

/// A problem with constants of one type.
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

/// One kernel, for whose problems sizes are picked: small ones or large ones.
struct Picker {
    kernel: &'static str,
    quick: bool,
}

impl Picker {
    fn pick(&self, small: u32, large: u32) -> u32 {
        if self.quick { small } else { large }
    }

    /// The problem with these constants, with the grid that they ask for.
    fn problem<P: Params + Debug>(
        &self,
        params: P,
        size: String,
        work: Work,
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
        work: Work,
        (output, tolerance): (Element, Tolerance),
        make: fn(&'static str, &P) -> Made,
    ) -> Box<dyn Layer> {
        let about = About { grid, output, size, work, tolerance };
        Box::new(Of { params, kernel: self.kernel, about, make })
    }
}

/// The problems of a kernel; none if nobody thought of it.
pub(super) fn problems(kernel: &KernelSpec, quick: bool) -> Vec<Box<dyn Layer>> {
    let picker = Picker { kernel: kernel.name(), quick };
    match kernel.constants().name {
        "Chain" => vec![numbers::chain(&picker)],
        "Convert" => vec![numbers::convert(&picker)],
        "Random" => vec![numbers::random(&picker)],
        "Arrange" => vec![moves::arrange(&picker)],
        "Take" => vec![moves::take(&picker)],
        "TakeElements" => vec![moves::take_elements(&picker)],
        "TakeNd" => vec![moves::take_nd(&picker)],
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

/// Bytes of so many 32-bit words.
fn moved(words: &[u32]) -> Work {
    Work::Bytes(words.iter().map(|&words| 4 * u64::from(words)).sum())
}

/// `2x3x4`.
fn by(sizes: &[u32]) -> String {
    sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// Any words.
fn words(count: u32, seed: u64) -> Input {
    Input::spread(Element::U32, count as usize, 0.0, f64::from(u32::MAX), seed)
}

/// Numbers between `low` and `high`.
fn floats(count: u32, (low, high): (f64, f64), seed: u64) -> Input {
    Input::spread(Element::F32, count as usize, low, high, seed)
}

/// Indices of an axis, each second one counted from its end.
fn indices(count: u32, axis: u32, seed: u64) -> Input {
    let places = Input::spread(Element::U32, count as usize, 0.0, f64::from(axis), seed).values;
    let place = |(at, place): (usize, &f64)| {
        let place = (*place as u32).min(axis - 1);
        if at % 2 == 0 { place } else { place.wrapping_sub(axis) }
    };
    Input::words(places.iter().enumerate().map(place).collect())
}

/// The place on an axis that an index of [`indices`] means.
fn place(index: f64, axis: u32) -> usize {
    let index = index as u32;
    (if index < axis { index } else { index.wrapping_add(axis) }) as usize
}
