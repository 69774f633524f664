//! Constants spread over all lanes, so that they are sources like any register.

use std::collections::HashMap;

use crate::row::Row;

/// Constant rows.
pub(super) struct Constants {
    rows: Vec<Row>,
    known: HashMap<(u32, u32, u8), u16>,
}

// SAFETY: rows are written only while the program is made; afterwards they are only read.
unsafe impl Sync for Constants {}

impl Constants {
    /// With one row of zeros, which unused sources name (and one more, should they be read as pairs).
    pub(super) fn new() -> Self {
        let mut constants = Self { rows: Vec::new(), known: HashMap::new() };
        constants.add(0, 0, 8);
        constants
    }

    /// The first of so many rows: the first of `low`, the second of `high`, further ones of `low`.
    pub(super) fn add(&mut self, low: u32, high: u32, rows: u8) -> u16 {
        let next = self.rows.len() as u16;
        *self.known.entry((low, high, rows)).or_insert_with(|| {
            for index in 0..rows {
                let row = Row::zero();
                row.splat(if index == 1 && rows == 2 { high } else { low });
                self.rows.push(row);
            }
            next
        })
    }

    #[inline(always)]
    pub(super) fn rows(&self) -> *const Row {
        self.rows.as_ptr()
    }
}
