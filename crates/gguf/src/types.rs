//! The types of tensors, and how their blocks lie in memory.

use std::fmt;
use std::str::FromStr;

/// The type of a tensor's elements.
///
/// All but the plain numbers are blocks: a fixed number of values in a fixed number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(non_camel_case_types, reason = "the names that everyone knows these types by")]
#[expect(missing_docs, reason = "their names are all there is to say; `Facts` has the sizes")]
#[non_exhaustive]
pub enum Type {
    F32,
    F16,
    BF16,
    F64,
    I8,
    I16,
    I32,
    I64,
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2_K,
    Q3_K,
    Q4_K,
    Q5_K,
    Q6_K,
    IQ4_NL,
    IQ4_XS,
    MXFP4,
}

/// One row of the table of types.
struct Facts {
    kind: Type,
    /// The number that files name it by.
    id: u32,
    name: &'static str,
    values: usize,
    bytes: usize,
}

const fn facts(kind: Type, id: u32, name: &'static str, values: usize, bytes: usize) -> Facts {
    Facts { kind, id, name, values, bytes }
}

/// In the order of [`Type`], so that a type is its own index.
const TABLE: [Facts; 21] = [
    facts(Type::F32, 0, "F32", 1, 4),
    facts(Type::F16, 1, "F16", 1, 2),
    facts(Type::BF16, 30, "BF16", 1, 2),
    facts(Type::F64, 28, "F64", 1, 8),
    facts(Type::I8, 24, "I8", 1, 1),
    facts(Type::I16, 25, "I16", 1, 2),
    facts(Type::I32, 26, "I32", 1, 4),
    facts(Type::I64, 27, "I64", 1, 8),
    facts(Type::Q4_0, 2, "Q4_0", 32, 18),
    facts(Type::Q4_1, 3, "Q4_1", 32, 20),
    facts(Type::Q5_0, 6, "Q5_0", 32, 22),
    facts(Type::Q5_1, 7, "Q5_1", 32, 24),
    facts(Type::Q8_0, 8, "Q8_0", 32, 34),
    facts(Type::Q2_K, 10, "Q2_K", 256, 84),
    facts(Type::Q3_K, 11, "Q3_K", 256, 110),
    facts(Type::Q4_K, 12, "Q4_K", 256, 144),
    facts(Type::Q5_K, 13, "Q5_K", 256, 176),
    facts(Type::Q6_K, 14, "Q6_K", 256, 210),
    facts(Type::IQ4_NL, 20, "IQ4_NL", 32, 18),
    facts(Type::IQ4_XS, 23, "IQ4_XS", 256, 136),
    facts(Type::MXFP4, 39, "MXFP4", 32, 17),
];

/// Types that exist and are not read, so that an error can name them.
const FOREIGN: [(u32, &str); 15] = [
    (9, "Q8_1"),
    (15, "Q8_K"),
    (16, "IQ2_XXS"),
    (17, "IQ2_XS"),
    (18, "IQ3_XXS"),
    (19, "IQ1_S"),
    (21, "IQ3_S"),
    (22, "IQ2_S"),
    (29, "IQ1_M"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (34, "TQ1_0"),
    (35, "TQ2_0"),
    (40, "NVFP4"),
    (41, "Q1_0"),
];

impl Type {
    /// All types.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|facts| facts.kind)
    }

    /// The type that files name by `id`.
    pub fn from_id(id: u32) -> Option<Self> {
        TABLE.iter().find(|facts| facts.id == id).map(|facts| facts.kind)
    }

    /// The name of a type that exists but is not read.
    pub(crate) fn foreign_name(id: u32) -> Option<&'static str> {
        FOREIGN.iter().find(|(foreign, _)| *foreign == id).map(|(_, name)| *name)
    }

    /// The names of all types, for messages.
    pub(crate) fn names() -> String {
        TABLE.iter().map(|facts| facts.name).collect::<Vec<_>>().join(", ")
    }

    fn facts(self) -> &'static Facts {
        &TABLE[self as usize]
    }

    /// The number that files name it by.
    pub fn id(self) -> u32 {
        self.facts().id
    }

    /// Its name, as `Q4_0`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// How many values a block holds; 1 for plain numbers.
    pub fn block_size(self) -> usize {
        self.facts().values
    }

    /// How many bytes a block takes.
    pub fn block_bytes(self) -> usize {
        self.facts().bytes
    }

    /// Whether values lie in blocks rather than one by one.
    pub fn is_quantised(self) -> bool {
        self.block_size() > 1
    }

    /// How many bytes so many values take; `None` when they are no whole number of blocks or when there are too many.
    pub fn bytes(self, values: u64) -> Option<u64> {
        let block = self.block_size() as u64;
        if !values.is_multiple_of(block) {
            return None;
        }
        (values / block).checked_mul(self.block_bytes() as u64)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for Type {
    type Err = String;

    /// Reads a name in either case.
    fn from_str(text: &str) -> Result<Self, String> {
        TABLE
            .iter()
            .find(|facts| facts.name.eq_ignore_ascii_case(text))
            .map(|facts| facts.kind)
            .ok_or_else(|| format!("`{text}` is no tensor type; known are {}", Self::names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_its_index_in_the_table() {
        for (index, facts) in TABLE.iter().enumerate() {
            assert_eq!(facts.kind as usize, index);
            assert_eq!(format!("{:?}", facts.kind), facts.name);
            assert_eq!(Type::from_id(facts.id), Some(facts.kind));
            assert_eq!(facts.name.to_lowercase().parse(), Ok(facts.kind));
            assert_eq!(Type::foreign_name(facts.id), None);
        }
        assert_eq!(Type::from_id(16), None);
        assert_eq!(Type::foreign_name(16), Some("IQ2_XXS"));
        assert!("Q4".parse::<Type>().expect_err("no such type").contains("Q4_0, Q4_1"));
    }

    #[test]
    fn bytes_are_whole_blocks_and_do_not_overflow() {
        assert_eq!(Type::Q4_0.bytes(64), Some(36));
        assert_eq!(Type::Q4_0.bytes(63), None);
        assert_eq!(Type::F32.bytes(3), Some(12));
        assert_eq!(Type::F64.bytes(u64::MAX), None);
    }
}
