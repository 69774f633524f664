//! Arguments of `roci quantize`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use roci_gguf::Type;
use roci_lm::quantize::FileType;

use super::FormatArgs;

#[derive(Debug, Args)]
pub(crate) struct QuantizeArgs {
    /// Model to quantize, a GGUF file in F32, F16 or BF16; any shard of a split one
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// GGUF file to write
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Type of the new file, such as `Q4_K_M`; `--help` lists all types
    #[arg(value_name = "TYPE", long_help = types())]
    pub(crate) file_type: FileType,
    /// Importance matrix of the model, written by `llama-imatrix` (GGUF or `.dat`)
    #[arg(long, value_name = "FILE")]
    pub(crate) imatrix: Option<PathBuf>,
    /// Type of the output matrix, `output.weight`
    #[arg(long, value_name = "TYPE")]
    pub(crate) output_tensor_type: Option<Type>,
    /// Type of the token embedding, `token_embd.weight`
    #[arg(long, value_name = "TYPE")]
    pub(crate) token_embedding_type: Option<Type>,
    /// Type of the tensors whose name matches a regular expression; can be given several times, the
    /// first match is used
    #[arg(long = "tensor-type", value_name = "PATTERN=TYPE", value_parser = tensor_type)]
    pub(crate) tensor_types: Vec<TensorType>,
    /// Give all matrices the same type instead of a mixture
    #[arg(long)]
    pub(crate) pure: bool,
    /// Also quantize tensors that are already quantized, which loses precision
    #[arg(long)]
    pub(crate) allow_requantize: bool,
    /// Number of threads (default: all CPUs)
    #[arg(short, long, value_name = "COUNT")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Print types and sizes without writing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// Type of the tensors whose name matches a pattern.
#[derive(Clone, Debug)]
pub(crate) struct TensorType {
    pub(crate) pattern: regex::Regex,
    pub(crate) kind: Type,
}

/// Parses `PATTERN=TYPE`. Names of tensors are lower case, so case is ignored.
fn tensor_type(text: &str) -> Result<TensorType, String> {
    let (pattern, kind) = text.rsplit_once('=').filter(|(pattern, _)| !pattern.is_empty()).ok_or("not PATTERN=TYPE")?;
    let regex = regex::RegexBuilder::new(pattern).case_insensitive(true).build();
    let pattern = regex.map_err(|error| error.to_string().lines().last().unwrap_or_default().to_owned())?;
    Ok(TensorType { pattern, kind: kind.parse()? })
}

/// The long help of the type argument: all types, one per line.
fn types() -> String {
    let width = FileType::all().map(|kind| kind.name().len()).max().unwrap_or(0);
    let lines = FileType::all().map(|kind| format!("\n{kind:width$}  {}", kind.about()));
    format!("Type of the new file:\n{}", lines.collect::<String>())
}

pub(super) const QUANTIZE_EXAMPLES: &str = "Examples:
  roci quantize model-f16.gguf model-q4_k_m.gguf Q4_K_M
  roci quantize model-f16.gguf model-iq4_xs.gguf IQ4_XS --imatrix imatrix.gguf
  roci quantize model-f16.gguf model.gguf Q4_K_M --tensor-type 'ffn_down=Q6_K' --dry-run
  roci quantize model-00001-of-00003.gguf model.gguf COPY     joins the shards of a split model";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_type_is_a_pattern_and_a_type() {
        let parsed = tensor_type("blk\\.[0-3]\\.ATTN_v=q6_k").expect("a pattern and a type");
        assert!(parsed.pattern.is_match("blk.2.attn_v.weight") && !parsed.pattern.is_match("blk.4.attn_v.weight"));
        assert_eq!(parsed.kind, Type::Q6_K);
        for (text, cause) in
            [("ffn", "PATTERN=TYPE"), ("=Q4_0", "PATTERN=TYPE"), ("ffn=Q4", "unknown"), ("(=Q4_0", "unclosed")]
        {
            let error = tensor_type(text).expect_err(text);
            assert!(error.contains(cause) && !error.contains('\n'), "{error}");
        }
    }
}
