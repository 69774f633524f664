//! ELF string tables, with a bound on the work that a hostile table can cause.

use crate::Error;

/// Length limit of a name in bytes. Mangled C++ names are long, but shorter.
const MAX_NAME: usize = 1 << 16;

/// A string table of an ELF file.
///
/// Many symbols may point into one long string, which would make reading all names quadratic in the
/// file size. The total length of all names is therefore limited to a small multiple of the file
/// size; real names take far less.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct StringTable<'data> {
    table: &'data [u8],
    budget: usize,
}

impl<'data> StringTable<'data> {
    /// `table` is part of a file of `file_size` bytes.
    pub(crate) fn new(table: &'data [u8], file_size: usize) -> Self {
        Self { table, budget: file_size.saturating_mul(4) }
    }

    /// The NUL-terminated name at `offset`.
    pub(crate) fn get(&mut self, offset: u32) -> Result<&'data str, Error> {
        let wrong = |what: &str| Error::Elf(format!("the name at offset {offset} of a string table {what}"));
        let rest = self.table.get(offset as usize..).ok_or_else(|| wrong("is outside it"))?;
        let rest = &rest[..rest.len().min(MAX_NAME)];
        let length = memchr::memchr(0, rest).ok_or_else(|| wrong("is unterminated"))?;
        self.budget =
            self.budget.checked_sub(length).ok_or_else(|| wrong("exceeds the total length limit of names"))?;
        std::str::from_utf8(&rest[..length]).map_err(|_| wrong("is not UTF-8"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_nul_terminated_and_within_the_table() {
        let mut names = StringTable::new(b"\0one\0two\0\xff\0open", 100);
        assert_eq!((names.get(0), names.get(1), names.get(6)), (Ok(""), Ok("one"), Ok("wo")));
        for (offset, what) in [(9, "not UTF-8"), (11, "is unterminated"), (99, "outside")] {
            let error = names.get(offset).expect_err(what);
            assert!(error.to_string().contains(what), "{error}");
        }
    }

    #[test]
    fn many_symbols_with_one_long_name_are_rejected() {
        let table = [vec![b'a'; 1000], vec![0]].concat();
        let mut names = StringTable::new(&table, table.len());
        let read = (0..1000).take_while(|_| names.get(0).is_ok()).count();
        assert_eq!(read, 4);
    }
}
