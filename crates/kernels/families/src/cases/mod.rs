//! Test problems for every kernel: empty, single-element, odd, larger than the grid, broadcast,
//! padded and batched.
//!
//! A family makes its own cases. This module has what they share.

pub(crate) mod axis;
pub(crate) mod indexing;
pub(crate) mod lm;
pub(crate) mod lm_images;
pub(crate) mod window;

use half::f16;
use roci_tolerance::Tolerance;

use crate::{FAMILIES, Params};

/// One dispatch of one kernel.
#[derive(Clone, Debug)]
pub struct Case {
    /// What distinguishes the case from the others of its kernel.
    pub label: String,
    /// Workgroups in each dimension.
    pub grid: [u32; 3],
    /// The constants block.
    pub constants: Vec<u8>,
    /// Buffers by binding number. The last one is the output, filled with a pattern that must
    /// survive wherever the kernel does not write.
    pub buffers: Vec<Vec<u32>>,
    /// Element type of the output.
    pub output: Element,
    /// Tolerance of the output.
    pub tolerance: Tolerance,
}

/// Element type of an output buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// A 32-bit word, compared bit for bit.
    Word,
    /// Single precision.
    F32,
    /// Half precision, two values per word.
    F16,
}

impl Case {
    /// The same problem with a single workgroup, which loops over all of it.
    pub(crate) fn with_one_group(mut self) -> Self {
        self.grid = self.grid.map(|groups| groups.min(1));
        self.label.push_str(" by one workgroup");
        self
    }

    /// The output converted to floats, for any element type.
    pub fn numbers(&self, output: &[u32]) -> Vec<f32> {
        match self.output {
            Element::Word | Element::F32 => output.iter().map(|&word| f32::from_bits(word)).collect(),
            Element::F16 => output
                .iter()
                .flat_map(|&word| [word as u16, (word >> 16) as u16])
                .map(|bits| f16::from_bits(bits).to_f32())
                .collect(),
        }
    }
}

/// The cases of a kernel; none if there is no such kernel.
pub fn of(kernel: &str) -> Vec<Case> {
    let is_of = |family: &&crate::Family| family.variants.iter().any(|variant| variant.name == kernel);
    let family = FAMILIES.iter().copied().flatten().find(is_of);
    family.map_or_else(Vec::new, |family| (family.cases)(kernel, &mut Random(fastrand::Rng::with_seed(0x0dd_ba11))))
}

/// Deterministic pseudorandom numbers.
#[derive(Clone, Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    pub(crate) fn word(&mut self) -> u32 {
        self.0.u32(..)
    }

    pub(crate) fn floats(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        (0..count).map(|_| low + (high - low) * self.0.f32()).collect()
    }
}

pub(crate) const COUNTS: [u32; 7] = [0, 1, 2, 255, 256, 257, 1000];

pub(crate) fn words(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

pub(crate) fn halves(values: &[f32]) -> Vec<u32> {
    let bits = |value: Option<&f32>| u32::from(value.map_or(0, |&value| f16::from_f32(value).to_bits()));
    values.chunks(2).map(|pair| bits(pair.first()) | bits(pair.get(1)) << 16).collect()
}

/// Encodes floats as the words of a buffer.
pub(crate) fn packed(element: Element, values: &[f32]) -> Vec<u32> {
    if element == Element::F16 { halves(values) } else { words(values) }
}

/// An output of `count` words plus one guard word, filled with a pattern that no kernel writes by
/// chance.
pub(crate) fn untouched(count: usize) -> Vec<u32> {
    vec![0x3f9d_70a4; count + 1]
}

pub(crate) fn case<P: Params>(
    params: P,
    buffers: Vec<Vec<u32>>,
    output: Element,
    tolerance: Tolerance,
    label: String,
) -> Case {
    Case { label, grid: params.grid(), constants: bytemuck::bytes_of(&params).to_vec(), buffers, output, tolerance }
}
