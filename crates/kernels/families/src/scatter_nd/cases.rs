//! Test cases of `scatter_nd`.

use super::ScatterNd;
use crate::cases::indexing::{indices, scattered, ways};
use crate::cases::{Case, Random};
use crate::{Combine, Numbers};

pub(super) fn of(_: &str, random: &mut Random) -> Vec<Case> {
    let mut make = |count: u32,
                    indexed: &[u32],
                    slice: u32,
                    unique_indices: bool,
                    (combine, numbers): (Combine, Numbers)| {
        let (mut sizes, mut strides) = ([0; 5], [0; 5]);
        let mut stride = slice;
        for (d, &size) in indexed.iter().enumerate().rev() {
            (sizes[d], strides[d]) = (size, stride);
            stride *= size;
        }
        let params = ScatterNd {
            count,
            slice,
            depth: indexed.len() as u32,
            sizes,
            strides,
            combine: combine.word(),
            numbers: numbers.word(),
            unique_indices: unique_indices.into(),
        };
        let mut index = Vec::new();
        for n in 0..count {
            let mut rest = n;
            for &size in indexed {
                // If updates must be disjoint, the last index varies slowest, and indices are
                // negative.
                index.push(if unique_indices { (rest % size).wrapping_sub(size) } else { indices(random, 1, size)[0] });
                rest /= size;
            }
        }
        let label = format!("{count} tuples of {indexed:?}, {slice} words");
        scattered(params, numbers, combine, index, [(count * slice) as usize, stride as usize], random, label)
    };
    let replace = (Combine::Replace, Numbers::U32);
    let mut cases: Vec<_> = ways().map(|way| make(12, &[3, 2], 5, false, way)).collect();
    cases.extend([
        make(1, &[1], 1, false, replace),
        make(30, &[2, 3, 2, 2, 2], 1, false, replace),
        make(30, &[5, 7], 1, true, (Combine::Add, Numbers::F32)),
        make(6, &[3, 4], 70, true, replace),
        make(0, &[3], 4, false, replace),
        make(3, &[3], 0, false, replace),
        make(12, &[20], 60, true, replace).with_one_group(),
        make(12, &[9], 300, false, replace).with_one_group(),
    ]);
    cases
}
