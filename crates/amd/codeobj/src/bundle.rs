//! Offload bundles: one file with code for several targets.

use std::ops::Range;

use crate::{FileError, TargetId, compressed};

/// Magic number of a bundle.
pub(crate) const MAGIC: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";

/// A bundle's table of contents.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bundle {
    /// In table order.
    pub entries: Vec<BundleEntry>,
    /// End offset: the end of the table or of the last entry, whichever is greater.
    pub end: usize,
}

/// A part of a bundle: code for one target, or the host's placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BundleEntry {
    /// Offload kind and target, such as `hipv4-amdgcn-amd-amdhsa--gfx1010:xnack-` or
    /// `host-x86_64-unknown-linux-gnu-`.
    pub id: String,
    /// Byte range of the code, relative to the start of the bundle.
    pub range: Range<usize>,
}

impl BundleEntry {
    /// Offload kind: `hip`, `hipv4`, `openmp` or `host`.
    pub fn kind(&self) -> &str {
        self.id.split_once('-').map_or(self.id.as_str(), |(kind, _)| kind)
    }

    /// The target, if it is a known AMD GPU.
    pub fn target(&self) -> Option<TargetId> {
        self.id.split_once('-')?.1.parse().ok()
    }

    /// Whether this entry is for an AMD GPU, including unknown ones.
    pub(crate) fn is_amdgpu(&self) -> bool {
        ["amdgcn", "spirv64-amd"].iter().any(|triple| self.id.contains(triple))
    }

    /// Whether this is the host entry. It is a placeholder; the host code is elsewhere.
    pub fn is_host(&self) -> bool {
        self.kind() == "host"
    }
}

/// A table entry as stored: ID, offset and size.
type RawEntry<'a> = (&'a str, usize, usize);

/// A cursor over little-endian integers and byte strings.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let field = self.bytes.get(self.at..self.at.checked_add(size)?)?;
        self.at += size;
        Some(field)
    }

    pub(crate) fn half(&mut self) -> Option<u16> {
        self.take(2)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
    }

    pub(crate) fn number(&mut self) -> Option<usize> {
        let bytes = self.take(8)?.first_chunk()?;
        usize::try_from(u64::from_le_bytes(*bytes)).ok()
    }
}

impl Bundle {
    /// Reads the table of the bundle at the start of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, FileError> {
        Self::parse_within(bytes, bytes.len())
    }

    /// Like [`parse`](Self::parse), for a bundle of at most `size` bytes of which `bytes` is a
    /// prefix.
    pub(crate) fn parse_within(bytes: &[u8], size: usize) -> Result<Self, FileError> {
        let (stored, table) = Self::table(bytes)?;
        let mut entries = Vec::new();
        for (id, offset, length) in stored {
            let end = offset.checked_add(length).filter(|&end| end <= size);
            let end = end.ok_or(FileError::Bundle("has an entry outside its bounds"))?;
            entries.push(BundleEntry { id: id.to_owned(), range: offset..end });
        }
        let mut bundle = Self::without_overlap(entries, table, size)?;
        bundle.end =
            bundle.entries.iter().filter(|one| !one.range.is_empty()).map(|one| one.range.end).fold(table, usize::max);
        Ok(bundle)
    }

    /// The AMD GPU targets of a plain or compressed bundle, read from a prefix of it. The table
    /// comes first, so the code need not be read, which may take gigabytes. Empty if `start` is not
    /// a bundle or does not contain the whole table.
    pub fn targets_at_start(start: &[u8]) -> Vec<TargetId> {
        let plain = if start.starts_with(compressed::MAGIC) { compressed::prefix(start) } else { None };
        let table = Self::table(plain.as_deref().unwrap_or(start)).map(|(entries, _)| entries).unwrap_or_default();
        let entries = table.into_iter().map(|(id, ..)| BundleEntry { id: id.to_owned(), range: 0..0 });
        entries.filter_map(|entry| entry.target()).collect()
    }

    /// The table entries as stored, and the end offset of the table.
    fn table(bytes: &[u8]) -> Result<(Vec<RawEntry<'_>>, usize), FileError> {
        if !bytes.starts_with(MAGIC) {
            return Err(FileError::Bundle("does not start with `__CLANG_OFFLOAD_BUNDLE__`"));
        }
        let short = FileError::Bundle("is truncated inside its table");
        let mut reader = Reader { bytes, at: MAGIC.len() };
        let count = reader.number().ok_or(short.clone())?;
        let mut entries = Vec::new();
        // `count` is untrusted: don't reserve memory for it.
        for _ in 0..count {
            let numbers = (reader.number(), reader.number(), reader.number());
            let (Some(offset), Some(size), Some(id_size)) = numbers else { return Err(short) };
            let id = reader.take(id_size).ok_or(short.clone())?;
            let id = std::str::from_utf8(id).map_err(|_| FileError::Bundle("has a name that is not UTF-8"))?;
            entries.push((id, offset, size));
        }
        Ok((entries, reader.at))
    }

    /// Checks that the entries overlap neither each other nor the table of `table` bytes.
    pub(crate) fn without_overlap(entries: Vec<BundleEntry>, table: usize, end: usize) -> Result<Self, FileError> {
        let mut ranges: Vec<_> = entries.iter().map(|one| &one.range).filter(|range| !range.is_empty()).collect();
        ranges.sort_by_key(|range| range.start);
        let mut end_of_last = table;
        for range in ranges {
            // Overlapping entries would let a small file contain the same large entry thousands of
            // times.
            if range.start < end_of_last {
                return Err(FileError::Bundle("has entries that overlap"));
            }
            end_of_last = range.end;
        }
        Ok(Self { entries, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle(entries: &[(&str, u64, u64)], data: usize) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((entries.len() as u64).to_le_bytes());
        for (id, offset, size) in entries {
            for number in [*offset, *size, id.len() as u64] {
                bytes.extend(number.to_le_bytes());
            }
            bytes.extend(id.as_bytes());
        }
        bytes.resize(bytes.len().max(data), 0);
        bytes
    }

    #[test]
    fn targets_are_read_from_a_prefix() {
        let device = "hipv4-amdgcn-amd-amdhsa--gfx1010:xnack-";
        let whole = bundle(&[("host-x86_64-unknown-linux-gnu-", 0, 0), (device, 4096, 1 << 30)], 200);
        let names = |bytes: &[u8]| {
            let targets = Bundle::targets_at_start(bytes);
            targets.iter().map(|target| target.processor.name()).collect::<Vec<_>>()
        };
        assert_eq!(names(&whole), ["gfx1010"]);
        assert_eq!(names(&whole[..60]), Vec::<&str>::new());
        let zlib = miniz_oxide::deflate::compress_to_vec_zlib(&whole, 6);
        let mut compressed = b"CCOB\x01\0\0\0".to_vec();
        compressed.extend((whole.len() as u32).to_le_bytes());
        compressed.extend([0; 8]);
        compressed.extend(&zlib);
        assert_eq!(names(&compressed), ["gfx1010"]);
        assert_eq!(names(&compressed[..compressed.len() - 6]), ["gfx1010"], "the end is not needed");
    }

    #[test]
    fn tables_are_parsed() {
        let host = "host-x86_64-unknown-linux-gnu-";
        let device = "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
        let bundle = Bundle::parse(&bundle(&[(host, 512, 0), (device, 512, 40)], 1000)).expect("valid input");
        assert_eq!((bundle.end, bundle.entries.len()), (552, 2));
        assert!(bundle.entries[0].is_host() && bundle.entries[0].target().is_none());
        assert_eq!(bundle.entries[1].kind(), "hipv4");
        assert_eq!(
            bundle.entries[1].target().map(|target| target.to_string()).as_deref(),
            Some("gfx90a:sramecc+:xnack-")
        );
    }

    #[test]
    fn errors_name_the_damage() {
        let error = |bytes: &[u8]| Bundle::parse(bytes).expect_err("invalid input").to_string();
        assert!(error(b"nothing").contains("does not start"));
        assert!(error(MAGIC).contains("is truncated inside its table"));
        let many = [MAGIC.as_slice(), &u64::MAX.to_le_bytes()].concat();
        assert!(error(&many).contains("is truncated inside its table"), "a count of 2^64 allocates nothing");
        assert!(error(&bundle(&[("hip", 100, 1000)], 200)).contains("outside"));
        assert!(error(&bundle(&[("hip", u64::MAX, 2)], 200)).contains("outside"));
        assert!(error(&bundle(&[("hip", 120, 40), ("hip", 150, 40)], 200)).contains("overlap"));
        assert!(error(&bundle(&[("hip", 0, 40)], 200)).contains("overlap"), "with the table itself");
    }
}
