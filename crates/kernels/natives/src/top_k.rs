//! `top_k`: the best elements of each row, and their indices.

use super::check::Extent;
use super::element_type::{ascending_key, element_type};
use super::per_row::{PerRow, RowFootprint};
use crate::KernelFactory;
use crate::per_row::PerRowKernel;
use roci_simd::Level;
use std::sync::Arc;

/// The kernels of this file, by name.
pub(crate) const KERNELS: &[(&str, KernelFactory)] = &[("top_k", |level| Arc::new(PerRowKernel::<TopK>::new(level)))];

/// The `k` largest or smallest of each row, best first.
pub(super) struct TopK;

impl PerRow for TopK {
    type Params = roci_families::TopK;
    const INPUTS: &'static [&'static str] = &["x"];
    const OUTPUTS: &'static [&'static str] = &["values", "indices"];

    fn footprint(p: &roci_families::TopK) -> Result<RowFootprint, String> {
        element_type(p.numbers)?;
        if p.k > p.columns {
            return Err(format!("k is {}, but a row has {} elements", p.k, p.columns));
        }
        let inputs = vec![Extent::product(&[p.rows, p.columns])];
        let k = u64::from(p.k);
        Ok(RowFootprint { lines: p.rows, inputs, outputs: vec![k, k], cost: 32 * u64::from(p.columns) })
    }

    fn compute(_: Level, p: &roci_families::TopK, inputs: &[&[u32]], line: usize, [values, indices]: [&mut [u32]; 2]) {
        let Ok(numbers) = element_type(p.numbers) else { return };
        let (columns, k) = (p.columns as usize, p.k as usize);
        if k == 0 {
            return;
        }
        let x = &inputs[0][line * columns..][..columns];
        // In the order of the result: by rank, then by column.
        let key = |(column, &word): (u64, &u32)| {
            let up = ascending_key(word, numbers);
            u64::from(if p.largest == 0 { up } else { !up }) << 32 | column
        };
        let mut keys: Vec<u64> = (0..).zip(x).map(key).collect();
        if k < columns {
            keys.select_nth_unstable(k - 1);
            keys.truncate(k);
        }
        keys.sort_unstable();
        for ((value, index), key) in values.iter_mut().zip(indices).zip(keys) {
            *index = key as u32;
            *value = x[key as u32 as usize];
        }
    }
}
