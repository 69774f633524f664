//! Tensor types and their block layouts.

use std::fmt;
use std::str::FromStr;

/// Type of a tensor's elements.
///
/// Types other than plain numbers are stored in blocks: a fixed number of values in a fixed number
/// of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(non_camel_case_types, reason = "the names of ggml")]
#[expect(missing_docs, reason = "`TypeTraits` has the sizes")]
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
    IQ1_S,
    IQ1_M,
    IQ2_XXS,
    IQ2_XS,
    IQ2_S,
    IQ3_XXS,
    IQ3_S,
    TQ1_0,
    TQ2_0,
    Q1_0,
    Q2_0,
    NVFP4,
}

/// An entry of the type table, like ggml's `ggml_type_traits`.
struct TypeTraits {
    kind: Type,
    /// Type ID in files.
    id: u32,
    name: &'static str,
    values: usize,
    bytes: usize,
}

const fn traits(kind: Type, id: u32, name: &'static str, values: usize, bytes: usize) -> TypeTraits {
    TypeTraits { kind, id, name, values, bytes }
}

/// In the order of [`Type`], which is the index into this table.
const TABLE: [TypeTraits; 33] = [
    traits(Type::F32, 0, "F32", 1, 4),
    traits(Type::F16, 1, "F16", 1, 2),
    traits(Type::BF16, 30, "BF16", 1, 2),
    traits(Type::F64, 28, "F64", 1, 8),
    traits(Type::I8, 24, "I8", 1, 1),
    traits(Type::I16, 25, "I16", 1, 2),
    traits(Type::I32, 26, "I32", 1, 4),
    traits(Type::I64, 27, "I64", 1, 8),
    traits(Type::Q4_0, 2, "Q4_0", 32, 18),
    traits(Type::Q4_1, 3, "Q4_1", 32, 20),
    traits(Type::Q5_0, 6, "Q5_0", 32, 22),
    traits(Type::Q5_1, 7, "Q5_1", 32, 24),
    traits(Type::Q8_0, 8, "Q8_0", 32, 34),
    traits(Type::Q2_K, 10, "Q2_K", 256, 84),
    traits(Type::Q3_K, 11, "Q3_K", 256, 110),
    traits(Type::Q4_K, 12, "Q4_K", 256, 144),
    traits(Type::Q5_K, 13, "Q5_K", 256, 176),
    traits(Type::Q6_K, 14, "Q6_K", 256, 210),
    traits(Type::IQ4_NL, 20, "IQ4_NL", 32, 18),
    traits(Type::IQ4_XS, 23, "IQ4_XS", 256, 136),
    traits(Type::MXFP4, 39, "MXFP4", 32, 17),
    traits(Type::IQ1_S, 19, "IQ1_S", 256, 50),
    traits(Type::IQ1_M, 29, "IQ1_M", 256, 56),
    traits(Type::IQ2_XXS, 16, "IQ2_XXS", 256, 66),
    traits(Type::IQ2_XS, 17, "IQ2_XS", 256, 74),
    traits(Type::IQ2_S, 22, "IQ2_S", 256, 82),
    traits(Type::IQ3_XXS, 18, "IQ3_XXS", 256, 98),
    traits(Type::IQ3_S, 21, "IQ3_S", 256, 110),
    traits(Type::TQ1_0, 34, "TQ1_0", 256, 54),
    traits(Type::TQ2_0, 35, "TQ2_0", 256, 66),
    traits(Type::Q1_0, 41, "Q1_0", 128, 18),
    traits(Type::Q2_0, 42, "Q2_0", 64, 18),
    traits(Type::NVFP4, 40, "NVFP4", 64, 36),
];

/// Known but unsupported types, so that errors can name them.
const UNSUPPORTED: [(u32, &str); 4] = [(9, "Q8_1"), (15, "Q8_K"), (31, "Q4_0_4_4"), (32, "Q4_0_4_8")];

impl Type {
    /// All supported types.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|traits| traits.kind)
    }

    /// The type with this ID; `None` if it is unsupported.
    pub fn from_id(id: u32) -> Option<Self> {
        TABLE.iter().find(|traits| traits.id == id).map(|traits| traits.kind)
    }

    /// Name of a known but unsupported type.
    pub(crate) fn unsupported_name(id: u32) -> Option<&'static str> {
        UNSUPPORTED.iter().find(|(foreign, _)| *foreign == id).map(|(_, name)| *name)
    }

    /// Names of all types, for messages.
    pub(crate) fn names() -> String {
        TABLE.iter().map(|traits| traits.name).collect::<Vec<_>>().join(", ")
    }

    fn traits(self) -> &'static TypeTraits {
        &TABLE[self as usize]
    }

    /// Type ID in files.
    pub fn id(self) -> u32 {
        self.traits().id
    }

    /// Name of the type, such as `Q4_0`.
    pub fn name(self) -> &'static str {
        self.traits().name
    }

    /// Values per block; 1 for plain numbers.
    pub fn block_size(self) -> usize {
        self.traits().values
    }

    /// Bytes per block.
    pub fn block_bytes(self) -> usize {
        self.traits().bytes
    }

    /// Whether values are stored in blocks of more than one.
    pub fn is_quantized(self) -> bool {
        self.block_size() > 1
    }

    /// Size of this number of values in bytes; `None` if it is not a whole number of blocks or
    /// overflows.
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

    /// Parses a name, ignoring case.
    fn from_str(text: &str) -> Result<Self, String> {
        TABLE
            .iter()
            .find(|traits| traits.name.eq_ignore_ascii_case(text))
            .map(|traits| traits.kind)
            .ok_or_else(|| format!("unknown tensor type `{text}`; known types: {}", Self::names()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_its_index_in_the_table() {
        for (index, traits) in TABLE.iter().enumerate() {
            assert_eq!(traits.kind as usize, index);
            assert_eq!(format!("{:?}", traits.kind), traits.name);
            assert_eq!(Type::from_id(traits.id), Some(traits.kind));
            assert_eq!(traits.name.to_lowercase().parse(), Ok(traits.kind));
            assert_eq!(Type::unsupported_name(traits.id), None);
        }
        assert_eq!(Type::from_id(15), None);
        assert_eq!(Type::unsupported_name(15), Some("Q8_K"));
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
