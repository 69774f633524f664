//! Options of LoRA adapters, for all verbs that run language models.

use std::path::PathBuf;

use clap::Args;

/// Options of LoRA adapters.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Language models")]
pub(crate) struct AdapterArgs {
    /// LoRA adapter of the model, a GGUF file; can be given several times
    #[arg(long = "lora", value_name = "FILE", requires = "model")]
    plain: Vec<PathBuf>,
    /// LoRA adapter with a scale, such as `style.gguf:0.5`; can be given several times
    #[arg(long = "lora-scaled", value_name = "FILE:SCALE", requires = "model", value_parser = scaled)]
    scaled: Vec<(PathBuf, f32)>,
}

impl AdapterArgs {
    /// The files and their scales, those without a scale first.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&PathBuf, f32)> {
        let plain = self.plain.iter().map(|path| (path, 1.0));
        plain.chain(self.scaled.iter().map(|(path, scale)| (path, *scale)))
    }
}

fn scaled(text: &str) -> Result<(PathBuf, f32), String> {
    let parts = text.rsplit_once(':').filter(|(path, _)| !path.is_empty());
    let (path, scale) = parts.ok_or("it has no scale: write `FILE:SCALE`")?;
    let number = scale.parse::<f32>().ok().filter(|number| number.is_finite());
    Ok((PathBuf::from(path), number.ok_or(format!("`{scale}` is no scale"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_follows_the_last_colon() {
        assert_eq!(scaled("a:b.gguf:-0.5"), Ok((PathBuf::from("a:b.gguf"), -0.5)));
        for wrong in ["a.gguf", ":1", "a.gguf:", "a.gguf:x", "a.gguf:inf"] {
            assert!(scaled(wrong).is_err(), "{wrong}");
        }
    }
}
