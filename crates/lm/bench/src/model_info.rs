//! Name and size of a model, in the words of llama-bench.

use std::collections::BTreeMap;
use std::path::Path;

use roci_gguf::Gguf;
use roci_lm::architecture::Model;

/// Name and size of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelInfo {
    /// Path, as given on the command line.
    pub file: String,
    /// Architecture, size and type of weights: `llama 3B Q4_0`.
    pub kind: String,
    /// Bytes of all tensors.
    pub bytes: u64,
    /// Number of weights.
    pub parameters: u64,
    /// Number of layers.
    pub layers: usize,
}

/// Names of `general.file_type` in llama.cpp.
const FILE_TYPES: &[(u32, &str)] = &[
    (0, "all F32"),
    (1, "F16"),
    (2, "Q4_0"),
    (3, "Q4_1"),
    (7, "Q8_0"),
    (8, "Q5_0"),
    (9, "Q5_1"),
    (10, "Q2_K - Medium"),
    (11, "Q3_K - Small"),
    (12, "Q3_K - Medium"),
    (13, "Q3_K - Large"),
    (14, "Q4_K - Small"),
    (15, "Q4_K - Medium"),
    (16, "Q5_K - Small"),
    (17, "Q5_K - Medium"),
    (18, "Q6_K"),
    (19, "IQ2_XXS - 2.0625 bpw"),
    (20, "IQ2_XS - 2.3125 bpw"),
    (21, "Q2_K - Small"),
    (22, "IQ3_XS - 3.3 bpw"),
    (23, "IQ3_XXS - 3.0625 bpw"),
    (24, "IQ1_S - 1.5625 bpw"),
    (25, "IQ4_NL - 4.5 bpw"),
    (26, "IQ3_S - 3.4375 bpw"),
    (27, "IQ3_S mix - 3.66 bpw"),
    (28, "IQ2_S - 2.5 bpw"),
    (29, "IQ2_M - 2.7 bpw"),
    (30, "IQ4_XS - 4.25 bpw"),
    (31, "IQ1_M - 1.75 bpw"),
    (32, "BF16"),
    (36, "TQ1_0 - 1.69 bpw ternary"),
    (37, "TQ2_0 - 2.06 bpw ternary"),
    (38, "MXFP4 MoE"),
    (39, "NVFP4"),
    (40, "Q1_0"),
    (41, "Q2_0"),
];

impl ModelInfo {
    /// Reads the metadata and the tensors of the file.
    pub fn new(path: &Path, file: &Gguf, model: &Model) -> Self {
        let parameters = file.tensors().map(|tensor| tensor.info().values()).sum();
        Self {
            file: path.to_string_lossy().into_owned(),
            kind: format!("{} {} {}", model.config.architecture, rounded(parameters), weights(file)),
            bytes: file.tensors().map(|tensor| tensor.info().byte_len()).sum(),
            parameters,
            layers: model.layers.len(),
        }
    }

    /// The size of the tensors, as `606.53 MiB`.
    pub fn size(&self) -> String {
        let mib = self.bytes as f64 / f64::from(1 << 20);
        if mib < 1024.0 { format!("{mib:.2} MiB") } else { format!("{:.2} GiB", mib / 1024.0) }
    }

    /// The number of weights, as `1.10 B`.
    pub fn count(&self) -> String {
        let millions = self.parameters as f64 / 1e6;
        if millions < 1000.0 { format!("{millions:.2} M") } else { format!("{:.2} B", millions / 1e3) }
    }
}

/// The nominal size, as `7B`: integers from 2 on.
fn rounded(parameters: u64) -> String {
    let millions = parameters as f64 / 1e6;
    match millions {
        0.0..1.0 => format!("{millions:.2}M"),
        1.0..999.5 => format!("{millions:.0}M"),
        999.5..1950.0 => format!("{:.1}B", millions / 1e3),
        _ => format!("{:.0}B", millions / 1e3),
    }
}

/// The type that the file declares, or the most frequent type by bytes.
fn weights(file: &Gguf) -> String {
    let claimed = file.metadata().get::<u32>("general.file_type").ok().flatten();
    if let Some((_, name)) = FILE_TYPES.iter().find(|(number, _)| Some(*number) == claimed) {
        return (*name).to_owned();
    }
    let mut types: BTreeMap<&str, u64> = BTreeMap::new();
    for tensor in file.tensors() {
        *types.entry(tensor.info().kind().name()).or_default() += tensor.info().byte_len();
    }
    types.into_iter().max_by_key(|(_, bytes)| *bytes).map_or_else(String::new, |(name, _)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nominal_sizes_are_rounded_as_in_model_names() {
        let millions = [0.2, 29.6, 134.5, 1100.0, 1540.0, 3213.0, 6738.0, 70_600.0];
        let named = millions.map(|count| rounded((count * 1e6) as u64));
        assert_eq!(named, ["0.20M", "30M", "134M", "1.1B", "1.5B", "3B", "7B", "71B"]);
    }

    #[test]
    fn file_types_have_llama_cpp_names() {
        let mut case = roci_lm::synthetic::talking();
        let kind = |case: &roci_lm::synthetic::Case| weights(&case.open().expect("the synthetic file is valid"));
        let own = kind(&case);
        case.metadata.push(("general.file_type".to_owned(), 15u32.into()));
        assert_eq!(kind(&case), "Q4_K - Medium");
        case.metadata.push(("general.file_type".to_owned(), 999u32.into()));
        assert_eq!(kind(&case), own);
    }
}
