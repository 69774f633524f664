//! Constants broadcast to all lanes, so that they can be sources like registers.

use std::collections::HashMap;

use crate::row::Row;

/// Rows of constants.
pub(super) struct Constants {
    rows: Vec<Row>,
    known: HashMap<(u32, u32, u8), u16>,
}

// SAFETY: rows are written only while the program is built, and only read afterwards.
unsafe impl Sync for Constants {}

impl Constants {
    /// Starts with a zero row for unused sources, and a second one in case they are read as pairs.
    pub(super) fn new() -> Self {
        let mut constants = Self { rows: Vec::new(), known: HashMap::new() };
        constants.add(0, 0, 8);
        constants
    }

    /// Adds rows and returns the first: the second row is `high`, all others are `low`.
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
