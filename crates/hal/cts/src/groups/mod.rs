//! The cases, one file per group.

mod allocation;
mod bad_input;
mod barriers;
mod dispatch;
mod faults;
mod labels;
mod logical_devices;
mod mapping;
mod profiles;
mod replay;
mod semaphores;
mod spinner;
mod stream_memory;
mod stress;
mod transfers;
mod two_devices;

use std::sync::LazyLock;

use crate::case::Case;
use crate::kernels::WORKGROUP_SIZE;

pub(crate) use stress::workload;

/// Every case, ordered by group.
pub fn cases() -> &'static [Case] {
    static CASES: LazyLock<Vec<Case>> = LazyLock::new(|| {
        [
            allocation::CASES,
            mapping::CASES,
            transfers::CASES,
            dispatch::CASES,
            barriers::CASES,
            replay::CASES,
            semaphores::CASES,
            stream_memory::CASES,
            labels::CASES,
            profiles::CASES,
            logical_devices::CASES,
            two_devices::CASES,
            stress::CASES,
            faults::CASES,
            bad_input::CASES,
        ]
        .concat()
    });
    &CASES
}

/// The grid of a kernel with one invocation per word.
fn linear_grid(count: usize) -> [u32; 3] {
    [(count as u32).div_ceil(WORKGROUP_SIZE), 1, 1]
}

/// The constants block of such a kernel.
fn params(count: usize, value: u32) -> Vec<u8> {
    bytemuck::cast_slice(&[count as u32, value]).to_vec()
}

/// The bytes that a fill with `pattern` produces.
fn filled(pattern: u32, bytes: usize) -> Vec<u8> {
    pattern.to_ne_bytes().into_iter().cycle().take(bytes).collect()
}

/// The result of `accumulate` for one word.
fn accumulated(word: u32, value: u32) -> u32 {
    word.wrapping_mul(3).wrapping_add(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_names_are_unique() {
        let mut paths: Vec<_> = cases().iter().map(Case::path).collect();
        let count = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), count);
    }
}
