//! LoRA adapters of synthetic models.

use roci_gguf::{Error, Gguf, Metadata, TensorInfo, Type, Value, Writer};

use super::architectures::architectures;
use super::fill::Fill;
use super::{Case, hybrids, types};
use crate::adapter::linears;
use crate::architecture::Model;
use crate::architecture::blocks::Linear;
use crate::sample::Random;

/// A LoRA adapter of all projections of a synthetic model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdapterRecipe {
    /// Rank of each pair of matrices.
    pub rank: usize,
    /// Alpha; 0 for products without another factor than the user's.
    pub alpha: f32,
    /// Type of A; B is F32.
    pub kind: Type,
    /// Whether it changes the embeddings and the output matrix, if they are two matrices.
    pub ends: bool,
    /// Adapters with different seeds differ.
    pub seed: u64,
}

/// A synthetic model with adapters and their scales.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptedCase {
    /// Name of the file with llama.cpp's logits.
    pub name: String,
    /// The model.
    pub base: Case,
    /// The adapters and their scales.
    pub adapters: Vec<(AdapterRecipe, f32)>,
}

impl AdapterRecipe {
    /// The bytes of the GGUF file of an adapter of this model.
    ///
    /// # Errors
    /// If rows of A are not whole blocks of the type.
    pub fn bytes(&self, base: &Gguf, model: &Model) -> Result<Vec<u8>, Error> {
        let ends = [&model.embedding.tensor, &model.output.matrix.tensor];
        let ends = ends.into_iter().filter(|_| self.ends && ends[0] != ends[1]);
        let layers = model.layers.iter().flat_map(linears).map(|linear: &Linear| &linear.matrix.tensor);
        let mut targets: Vec<&String> = layers.chain(ends).collect();
        targets.sort();
        targets.dedup();
        let mut tensors = Vec::new();
        for target in targets {
            let tensor = base.expect_tensor(target)?;
            let (columns, rows) = match tensor.info().shape() {
                [columns, rows, ..] => (*columns, *rows),
                shape => (shape.first().copied().unwrap_or(1), 1),
            };
            let (a, b) = match *target == model.embedding.tensor {
                true => ([self.rank as u64, rows], [self.rank as u64, columns]),
                false => ([columns, self.rank as u64], [self.rank as u64, rows]),
            };
            tensors.push(TensorInfo::new(format!("{target}.lora_a"), &a, self.kind)?);
            tensors.push(TensorInfo::new(format!("{target}.lora_b"), &b, Type::F32)?);
        }
        let architecture = base.metadata().expect_str("general.architecture")?;
        let metadata: Metadata = [
            ("general.type", Value::from("adapter")),
            ("general.architecture", Value::from(architecture)),
            ("adapter.type", Value::from("lora")),
            ("adapter.lora.alpha", Value::from(self.alpha)),
        ]
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
        let mut writer = Writer::start(Vec::new(), &metadata, &tensors)?;
        for (number, info) in tensors.iter().enumerate() {
            let random = Random::new(1000 * self.seed + number as u64 + 1);
            let fill = Fill::Matrix { inputs: info.shape()[0] as usize };
            writer.write(info.name(), &fill.bytes(info.kind(), info.values() as usize, random)?)?;
        }
        writer.finish()
    }
}

/// Models with adapters: plain, with biases, with fused and with gated projections, with an output
/// matrix of its own, with quantized weights, with a delta net, with short convolutions, and with
/// experts.
pub fn adapted() -> Vec<AdaptedCase> {
    let plain = AdapterRecipe { rank: 4, alpha: 4.0, kind: Type::F32, ends: false, seed: 1 };
    let half = AdapterRecipe { rank: 8, alpha: 2.0, kind: Type::F16, seed: 2, ..plain };
    let ends = AdapterRecipe { rank: 5, alpha: 0.0, ends: true, seed: 3, ..plain };
    let of = |name: &str, base: &str, adapters: &[(AdapterRecipe, f32)]| {
        let base = architectures().into_iter().chain(types()).chain(hybrids()).find(|case| case.name == base);
        base.map(|base| AdaptedCase { name: format!("adapted-{name}"), base, adapters: adapters.to_vec() })
    };
    [
        of("llama", "llama", &[(plain, 1.0), (half, -0.5)]),
        of("ends", "llama-untied", &[(ends, 0.5), (plain, 0.0)]),
        of("qwen2", "qwen2", &[(half, 2.0)]),
        of("gemma3", "gemma3", &[(plain, 0.75)]),
        of("phi3", "phi3", &[(half, 1.5)]),
        of("q8_0", "type-q8_0", &[(half, 1.0)]),
        of("qwen35", "qwen35", &[(plain, 0.5)]),
        of("lfm2", "lfm2", &[(plain, 0.5)]),
        of("experts", "qwen3moe", &[(plain, 0.5)]),
    ]
    .into_iter()
    .flatten()
    .collect()
}
