//! Small models with made-up weights, one for each architecture, way of turning heads and type of weights.
//!
//! Engines are tested with them against [`reference`](mod@crate::reference), and the reference against llama.cpp, whose logits for these files lie in
//! `tests/data/llama.cpp`. A file is the same, byte for byte, each time that it is made.

mod fill;
mod recipe;
mod talking;

use roci_gguf::{Error, Gguf, Metadata, Type, Value, Writer};

use crate::sample::Random;
pub use recipe::{Recipe, RopeRecipe};

/// A made-up model.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name, by which its logits lie in the folder.
    pub name: String,
    /// What it is made of.
    pub recipe: Recipe,
    /// How many tokens it shall look back on.
    pub context: u32,
    /// What else its file says; in the place of what the recipe says, if both do.
    pub metadata: Vec<(String, Value)>,
}

impl Case {
    fn new(name: &str, recipe: Recipe) -> Self {
        Self { name: name.to_owned(), recipe, context: 256, metadata: Vec::new() }
    }

    /// The bytes of its file.
    ///
    /// # Errors
    /// If the recipe cannot be written, such as one with rows that are no whole number of blocks.
    pub fn bytes(&self) -> Result<Vec<u8>, Error> {
        let metadata = self.recipe.metadata(&self.name).into_iter().chain(self.metadata.clone());
        let metadata: Metadata = metadata.collect();
        let tensors = self.recipe.tensors()?;
        let infos: Vec<_> = tensors.iter().map(|(info, _)| info.clone()).collect();
        let mut writer = Writer::start(Vec::new(), &metadata, &infos)?;
        for (number, (info, fill)) in tensors.iter().enumerate() {
            let random = Random::new(number as u64 + 1);
            writer.write(info.name(), &fill.bytes(info.kind(), info.values() as usize, random)?)?;
        }
        writer.finish()
    }

    /// Its file, opened.
    ///
    /// # Errors
    /// As for [`bytes`](Self::bytes).
    pub fn open(&self) -> Result<Gguf, Error> {
        Gguf::from_bytes(self.bytes()?)
    }

    /// A text of this many tokens.
    pub fn tokens(&self, count: usize) -> Vec<u32> {
        let random = Random::new(0);
        (0..count as u64).map(|at| (random.bits(at) % self.recipe.vocabulary as u64) as u32).collect()
    }
}

/// One model for each architecture and each of its ways.
pub fn architectures() -> Vec<Case> {
    let llama = Recipe::default;
    let qwen3 = || Recipe { architecture: "qwen3", head: 24, head_norms: true, ..llama() };
    let gemma = || Recipe { head: 24, post_norms: true, layers: 4, window: Some(5), ..llama() };
    let phi3 = |rope| Recipe { architecture: "phi3", fused: true, tied: false, rope, ..llama() };
    let long = || RopeRecipe::Long { original: 512 };
    vec![
        Case::new("llama", llama()),
        Case::new("llama-untied", Recipe { tied: false, kv_heads: 4, ..llama() }),
        Case::new("llama-linear", Recipe { rope: RopeRecipe::Linear { factor: 4.0 }, ..llama() }),
        Case::new("llama-yarn", Recipe { rope: RopeRecipe::Yarn { factor: 4.0, original: 512 }, ..llama() }),
        Case::new("llama-factors", Recipe { rope: RopeRecipe::Factors, ..llama() }),
        Case::new("llama-experts", Recipe { experts: Some((4, 2)), ..llama() }),
        Case::new("qwen2", Recipe { architecture: "qwen2", bias: true, ..llama() }),
        Case::new(
            "qwen2-yarn",
            Recipe {
                architecture: "qwen2",
                bias: true,
                rope: RopeRecipe::Yarn { factor: 2.0, original: 256 },
                ..llama()
            },
        ),
        Case::new("qwen3", qwen3()),
        Case::new("qwen3moe", Recipe { architecture: "qwen3moe", experts: Some((8, 3)), ..qwen3() }),
        Case::new("gemma2", Recipe { architecture: "gemma2", caps: Some((2.0, 3.0)), ..gemma() }),
        Case::new(
            "gemma3",
            Recipe {
                architecture: "gemma3",
                head_norms: true,
                layers: 7,
                base: 1_000_000.0,
                rope: RopeRecipe::Linear { factor: 8.0 },
                ..gemma()
            },
        ),
        Case::new("phi3", phi3(RopeRecipe::Plain)),
        Case::new("phi3-short", phi3(long())),
        Case { context: 1024, ..Case::new("phi3-long", phi3(long())) },
    ]
}

/// A model with a tokenizer: it knows all bytes and letters, and talks nonsense.
pub fn talking() -> Case {
    let recipe = Recipe { vocabulary: talking::count(), ..Recipe::default() };
    Case { metadata: talking::metadata(), ..Case::new("talking", recipe) }
}

/// Two models for each type of weights: one with embeddings of it, which are looked up, and one with all matrices of it.
pub fn types() -> Vec<Case> {
    let whole = |kind: &Type| matches!(kind, Type::F64 | Type::I8 | Type::I16 | Type::I32 | Type::I64);
    let cases = |embedding_kind: Type| {
        let name = embedding_kind.name().to_lowercase();
        let wide = Recipe { embedding: 256, head: 64, feed_forward: 256, vocabulary: 32, ..Recipe::default() };
        let looked_up = Recipe { embedding_kind, layers: 1, tied: false, ..wide };
        let multiplied = Recipe { kind: embedding_kind, ..looked_up.clone() };
        [Case::new(&format!("rows-{name}"), looked_up), Case::new(&format!("type-{name}"), multiplied)]
    };
    Type::all().filter(|kind| !whole(kind)).flat_map(cases).collect()
}
