//! Split models: file names, and consistency of the parts.

use std::path::{Path, PathBuf};

use crate::{Error, Metadata};

const NUMBER: &str = "split.no";
const COUNT: &str = "split.count";
const TENSORS: &str = "split.tensors.count";

/// The file name of one part of a split model: `BASE-00002-of-00005.gguf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitName {
    base: PathBuf,
    /// Number of the part, starting at 1.
    pub part: u32,
    /// Total number of parts.
    pub count: u32,
}

impl SplitName {
    /// Parses the file name of a part; `None` if it has another form.
    pub fn parse(path: &Path) -> Option<Self> {
        let number = |digits: &str| {
            (digits.len() == 5 && digits.bytes().all(|digit| digit.is_ascii_digit()))
                .then(|| digits.parse::<u32>().ok())
                .flatten()
        };
        let stem = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
        let (rest, count) = stem.rsplit_once("-of-")?;
        let (base, part) = rest.rsplit_once('-')?;
        let (part, count) = (number(part)?, number(count)?);
        (1..=count).contains(&part).then(|| Self { base: path.with_file_name(base), part, count })
    }

    /// Path of another part of the same model.
    pub fn path(&self, part: u32) -> PathBuf {
        let mut path = self.base.clone().into_os_string();
        path.push(format!("-{part:05}-of-{:05}.gguf", self.count));
        path.into()
    }
}

/// Number of parts, according to the metadata of one of them.
pub(crate) fn count(metadata: &Metadata) -> Result<u32, Error> {
    Ok(metadata.get::<u32>(COUNT)?.unwrap_or(1).max(1))
}

/// Checks that a file's metadata matches its part number, which starts at 1.
pub(crate) fn check_part(metadata: &Metadata, part: u32, count: u32) -> Result<(), Error> {
    let wrong = |reason: String| Err(Error::Split { part, reason });
    let declared = self::count(metadata)?;
    if declared != count {
        return wrong(format!("declares {declared} parts, but its file name says {count}"));
    }
    match metadata.expect::<u32>(NUMBER)? {
        number if number.checked_add(1) == Some(part) => Ok(()),
        number => wrong(format!("declares that it is part {}", u64::from(number) + 1)),
    }
}

/// Checks that all parts together have the number of tensors that the first one declares.
pub(crate) fn check_total(metadata: &Metadata, count: u32, tensors: usize) -> Result<(), Error> {
    match metadata.get::<u64>(TENSORS)? {
        Some(declared) if declared != tensors as u64 => Err(Error::Split {
            part: 1,
            reason: format!("declares {declared} tensors, but the {count} parts have {tensors}"),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_parsed_and_formatted() {
        let name = SplitName::parse(Path::new("a/b-c-00002-of-00005.gguf")).expect("a name");
        assert_eq!((name.part, name.count), (2, 5));
        assert_eq!(name.path(5), Path::new("a/b-c-00005-of-00005.gguf"));
        for other in [
            "x.gguf",
            "x-00000-of-00002.gguf",
            "x-00003-of-00002.gguf",
            "x-1-of-2.gguf",
            "x-00001-of-00002",
            "x-+0001-of-00002.gguf",
        ] {
            assert_eq!(SplitName::parse(Path::new(other)), None, "{other}");
        }
    }
}
