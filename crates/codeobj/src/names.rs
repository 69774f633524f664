//! Names in string tables, with a bound on the work that a hostile table can cause.

use crate::Error;

/// C++ names are long, but not this long.
const MAX_NAME: usize = 1 << 16;

/// A string table of an ELF file.
///
/// Many symbols may point into one long string, so that reading every name would take time quadratic in the size of the
/// file. All names together may therefore be only a few times as long as the file; real ones are far shorter than it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names<'data> {
    table: &'data [u8],
    budget: usize,
}

impl<'data> Names<'data> {
    /// The names in `table`, a part of a file of `file_size` bytes.
    pub(crate) fn new(table: &'data [u8], file_size: usize) -> Self {
        Self { table, budget: file_size.saturating_mul(4) }
    }

    /// The name that starts at `offset`.
    pub(crate) fn get(&mut self, offset: u32) -> Result<&'data str, Error> {
        let wrong = |what: &str| Error::Elf(format!("the name at offset {offset} of a string table {what}"));
        let rest = self.table.get(offset as usize..).ok_or_else(|| wrong("lies outside it"))?;
        let rest = &rest[..rest.len().min(MAX_NAME)];
        let length = memchr::memchr(0, rest).ok_or_else(|| wrong("does not end"))?;
        self.budget = self.budget.checked_sub(length).ok_or_else(|| wrong("is one of too many long ones"))?;
        std::str::from_utf8(&rest[..length]).map_err(|_| wrong("is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_zero_and_stay_inside() {
        let mut names = Names::new(b"\0one\0two\0\xff\0open", 100);
        assert_eq!((names.get(0), names.get(1), names.get(6)), (Ok(""), Ok("one"), Ok("wo")));
        for (offset, what) in [(9, "not UTF-8"), (11, "does not end"), (99, "outside")] {
            let error = names.get(offset).expect_err(what);
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn many_symbols_with_one_long_name_are_refused() {
        let table = [vec![b'a'; 1000], vec![0]].concat();
        let mut names = Names::new(&table, table.len());
        let read = (0..1000).take_while(|_| names.get(0).is_ok()).count();
        assert_eq!(read, 4);
    }
}
