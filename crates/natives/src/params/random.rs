//! `random`: numbers from a counter and a key.

use bytemuck::{Pod, Zeroable};

use super::{Params, linear};

/// `random`: Philox 4x32-10, a function of counter and key that gives four words without a pattern.
///
/// Elements `4 j` to `4 j + 3` come from counter + j: what one launch leaves off another continues, and the words are
/// the same on every device.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Random {
    /// Elements.
    pub count: u32,
    /// The key: low word, high word.
    pub key: [u32; 2],
    /// The counter of the first four elements, of which the upper two words are 0: low word, high word.
    pub counter: [u32; 2],
    /// What the words become: a [`RandomForm`].
    pub form: u32,
}

/// What `random` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RandomForm {
    /// The words themselves.
    Words = 0,
    /// f32 of 24 bits, evenly spread from 0 to below 1.
    Uniform = 1,
    /// f32 of mean 0 and deviation 1, by Box and Muller.
    Normal = 2,
}

impl RandomForm {
    /// All of them, in the order of their codes.
    pub const ALL: &'static [RandomForm] = &[RandomForm::Words, RandomForm::Uniform, RandomForm::Normal];
}

impl Params for Random {
    fn grid(&self) -> [u32; 3] {
        linear(self.count.div_ceil(4))
    }
}
