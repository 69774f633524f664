//! File types: a type for most tensors, and a mixture for the others.

use std::fmt;
use std::str::FromStr;

use roci_gguf::Type;

/// Type of a file, with the name that `llama-quantize` uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(non_camel_case_types, reason = "the names of llama.cpp")]
#[expect(missing_docs, reason = "`TABLE` has the meaning of each")]
#[non_exhaustive]
pub enum FileType {
    F32,
    F16,
    BF16,
    Q8_0,
    Q6_K,
    Q5_K_M,
    Q5_K_S,
    Q5_1,
    Q5_0,
    Q4_K_M,
    Q4_K_S,
    Q4_1,
    Q4_0,
    IQ4_NL,
    IQ4_XS,
    MXFP4_MOE,
    Q3_K_L,
    Q3_K_M,
    Q3_K_S,
    Q2_K,
    Q2_K_S,
    Copy,
}

/// A row of the table.
struct Row {
    file_type: FileType,
    name: &'static str,
    /// The value of `general.file_type`.
    id: u32,
    /// Type of most tensors.
    kind: Type,
    /// Aliases, which are not listed.
    aliases: &'static [&'static str],
    about: &'static str,
}

macro_rules! table {
    ($($file_type:ident $id:literal $kind:ident $aliases:expr, $about:literal;)+) => {
        /// In the order of [`FileType`], which is the index into this table.
        const TABLE: &[Row] = &[$(Row {
            file_type: FileType::$file_type,
            name: stringify!($file_type),
            id: $id,
            kind: Type::$kind,
            aliases: &$aliases,
            about: $about,
        }),+];
    };
}

table! {
    F32 0 F32 [], "32 bits per weight";
    F16 1 F16 [], "16 bits";
    BF16 32 BF16 [], "16 bits, with the range of F32";
    Q8_0 7 Q8_0 [], "8.5 bits";
    Q6_K 18 Q6_K [], "6.6 bits";
    Q5_K_M 17 Q5_K ["Q5_K"], "5.5 bits, more for half of the value and down projections";
    Q5_K_S 16 Q5_K [], "5.5 bits";
    Q5_1 9 Q5_1 [], "6 bits";
    Q5_0 8 Q5_0 [], "5.5 bits";
    Q4_K_M 15 Q4_K ["Q4_K"], "4.5 bits, more for half of the value and down projections";
    Q4_K_S 14 Q4_K [], "4.5 bits, more for the first layers";
    Q4_1 3 Q4_1 [], "5 bits";
    Q4_0 2 Q4_0 [], "4.5 bits";
    IQ4_NL 25 IQ4_NL [], "4.5 bits, non-uniform codebook";
    IQ4_XS 30 IQ4_XS [], "4.25 bits, non-uniform codebook";
    MXFP4_MOE 38 MXFP4 ["MXFP4"], "4.25 bits for experts, Q8_0 for the rest";
    Q3_K_L 13 Q3_K [], "3.4 bits, Q5_K for attention output, value and down projections";
    Q3_K_M 12 Q3_K ["Q3_K"], "3.4 bits, Q4_K or Q5_K for the same matrices";
    Q3_K_S 11 Q3_K [], "3.4 bits";
    Q2_K 10 Q2_K [], "2.6 bits, Q3_K or Q4_K for the same matrices";
    Q2_K_S 21 Q2_K [], "2.6 bits, Q4_K for some matrices; needs an importance matrix";
    Copy 0 F32 [], "no change of types; joins the parts of a split model";
}

/// Names of llama.cpp's types that this crate does not support.
const UNSUPPORTED: [&str; 15] = [
    "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M", "IQ3_XXS", "IQ3_XS", "IQ3_S", "IQ3_M", "TQ1_0", "TQ2_0",
    "Q1_0", "Q2_0", "NVFP4",
];

impl FileType {
    /// All file types, largest first.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.file_type)
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }

    /// The name, such as `Q4_K_M`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// A short description of the type.
    pub fn about(self) -> &'static str {
        self.row().about
    }

    /// The value of `general.file_type`; `None` for [`Copy`](Self::Copy), which keeps it.
    pub fn id(self) -> Option<u32> {
        (self != Self::Copy).then_some(self.row().id)
    }

    /// Type of most tensors; `None` for [`Copy`](Self::Copy).
    pub fn tensor_type(self) -> Option<Type> {
        (self != Self::Copy).then_some(self.row().kind)
    }

    /// Names of the tensor types that have a quantizer, for messages.
    pub fn tensor_types() -> String {
        Type::all().filter(|kind| kind.has_quantizer()).map(Type::name).collect::<Vec<_>>().join(", ")
    }

    fn names() -> String {
        Self::all().map(Self::name).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for FileType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl FromStr for FileType {
    type Err = String;

    /// Parses a name, ignoring case.
    fn from_str(text: &str) -> Result<Self, String> {
        let is_name = |name: &&str| name.eq_ignore_ascii_case(text);
        if let Some(row) = TABLE.iter().find(|row| is_name(&row.name) || row.aliases.iter().any(is_name)) {
            return Ok(row.file_type);
        }
        match UNSUPPORTED.iter().find(|name| is_name(name)) {
            Some(name) => Err(format!("roci cannot quantize to {name}; types are {}", Self::names())),
            None => Err(format!("unknown type; types are {}", Self::names())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_type_is_its_index_in_the_table() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.file_type as usize, index);
            assert_eq!(row.name.to_lowercase().parse(), Ok(row.file_type));
            assert!(row.kind.has_quantizer(), "{}", row.name);
        }
        assert_eq!("q4_k".parse(), Ok(FileType::Q4_K_M));
        assert!("IQ2_XS".parse::<FileType>().expect_err("not supported").starts_with("roci cannot quantize to IQ2_XS"));
        assert!("Q4".parse::<FileType>().expect_err("no such type").contains("Q4_K_M, Q4_K_S"));
        assert_eq!((FileType::Copy.id(), FileType::Copy.tensor_type()), (None, None));
    }
}
