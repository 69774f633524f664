//! Synthetic models of each architecture.

use roci_gguf::{Type, Value};

use super::{Case, Gemma, LatentRecipe, Mixture, Recipe, RopeRecipe};
use crate::architecture::blocks::NormSpan;

/// One model per architecture and variant.
pub fn architectures() -> Vec<Case> {
    let first = [first(), like_llama(), scaled(), mixtures(), latent()].concat();
    [first, other_norms(), parallel(), gpt_oss(), gemma()].concat()
}

fn first() -> Vec<Case> {
    let llama = Recipe::default;
    let qwen3 = || Recipe { architecture: "qwen3", head: 24, head_norms: Some(NormSpan::Head), ..llama() };
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
                head_norms: Some(NormSpan::Head),
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

/// A case with further metadata of its architecture.
fn with(name: &str, recipe: Recipe, metadata: &[(&str, Value)]) -> Case {
    let own = |(key, value): &(&str, Value)| (format!("{}.{key}", recipe.architecture), value.clone());
    let metadata = metadata.iter().map(own).collect();
    Case { metadata, ..Case::new(name, recipe) }
}

fn of(architecture: &'static str) -> Recipe {
    Recipe { architecture, ..Recipe::default() }
}

/// Half of the values of a head.
fn half_rotated() -> (&'static str, Value) {
    ("rope.dimension_count", Value::from(8u32))
}

/// Architectures whose blocks are those of Llama, but for RoPE, biases and names.
fn like_llama() -> Vec<Case> {
    let named = |architecture| Case::new(architecture, of(architecture));
    let alternating = || Recipe { layers: 5, ..of("smollm3") };
    let sections = || Value::from(vec![2i32, 1, 1, 0]);
    let glm4 = || Recipe { fused: true, post_norms: true, bias: true, ..of("glm4") };
    let yarn = RopeRecipe::Yarn { factor: 4.0, original: 8 };
    vec![
        Case::new("ernie4_5", of("ernie4_5")),
        Case::new("internlm2", Recipe { tied: false, ..of("internlm2") }),
        Case::new("xverse", Recipe { tied: false, ..of("xverse") }),
        named("exaone"),
        Case::new("pangu-embedded", Recipe { bias: true, output_bias: true, ..of("pangu-embedded") }),
        Case::new(
            "seed_oss",
            Recipe { bias: true, head: 24, feed_forward_norm: Some("post_attention_norm"), ..of("seed_oss") },
        ),
        Case::new("arcee", Recipe { gated: false, ..of("arcee") }),
        with("chatglm", Recipe { fused: true, bias: true, ..of("chatglm") }, &[half_rotated()]),
        with("glm4", glm4(), &[half_rotated()]),
        with("glm4-sections", glm4(), &[half_rotated(), ("rope.dimension_sections", sections())]),
        Case::new("smollm3", alternating()),
        Case::new("gemma", Recipe { head: 24, ..of("gemma") }),
        Case::new("maincoder", Recipe { head_norms: Some(NormSpan::Head), ..of("maincoder") }),
        // llama.cpp b11549 does not read the epsilon of this architecture and takes it as 0.
        with(
            "qwen2vl",
            Recipe { bias: true, ..of("qwen2vl") },
            &[("rope.dimension_sections", sections()), ("attention.layer_norm_rms_epsilon", Value::from(1e-12f32))],
        ),
        with(
            "qwen3vl",
            Recipe { head: 24, head_norms: Some(NormSpan::Head), ..of("qwen3vl") },
            &[("rope.dimension_sections", Value::from(vec![5i32, 4, 3, 0]))],
        ),
        Case::new("hunyuan-dense", Recipe { head_norms: Some(NormSpan::Head), ..of("hunyuan-dense") }),
        Case::new("mistral3", Recipe { head: 24, ..of("mistral3") }),
        with(
            "mistral3-temperature",
            Recipe { rope: yarn, ..of("mistral3") },
            &[("attention.temperature_scale", Value::from(0.5f32))],
        ),
    ]
}

/// Architectures with scales of embeddings, blocks, scores and logits.
fn scaled() -> Vec<Case> {
    let scales = || {
        [
            ("embedding_scale", Value::from(3.0f32)),
            ("residual_scale", Value::from(0.4f32)),
            ("attention.scale", Value::from(0.1f32)),
            ("logit_scale", Value::from(0.75f32)),
        ]
    };
    let granitemoe = |shared| Recipe {
        experts: Some((8, 3)),
        mixture: Mixture { shared, ..Mixture::default() },
        ..of("granitemoe")
    };
    let [embedding, residual, attention, logit] = scales();
    let not_rotated = ("rope.scaling.finetuned", Value::from(false));
    vec![
        with("granite", of("granite"), &scales()),
        with("granite-nope", of("granite"), &[embedding, residual, attention, logit, not_rotated]),
        Case::new("minicpm", Recipe { embedding: 256, head: 64, ..of("minicpm") }),
        with("granitemoe", granitemoe(None), &scales()),
        with("granitemoe-shared", granitemoe(Some(48)), &scales()),
    ]
}

/// Mixtures of experts.
fn mixtures() -> Vec<Case> {
    let experts = |architecture, mixture| Recipe { experts: Some((8, 3)), mixture, ..of(architecture) };
    let shared = || Mixture { shared: Some(96), ..Mixture::default() };
    let leading = || Mixture { dense: 1, ..shared() };
    let one_shared = || ("expert_shared_count", Value::from(1u32));
    let sigmoid = || ("expert_gating_func", Value::from(2u32));
    let scale = || ("expert_weights_scale", Value::from(1.5f32));
    let normalized = || ("expert_weights_norm", Value::from(true));
    let groups = |count: u32| ("expert_group_count", Value::from(count));
    let step = |step: u32| ("interleave_moe_layer_step", Value::from(step));
    let heads = Some(NormSpan::Head);
    let row = Some(NormSpan::Row);
    let glm4moe = || Recipe {
        layers: 3,
        bias: true,
        feed_forward_norm: Some("post_attention_norm"),
        ..experts("glm4moe", Mixture { selection_bias: true, ..leading() })
    };
    vec![
        Case::new(
            "phimoe",
            Recipe {
                bias: true,
                output_bias: true,
                norm_bias: true,
                logit_bias: true,
                tied: false,
                ..experts("phimoe", Mixture::default())
            },
        ),
        Case::new(
            "olmoe",
            Recipe { kv_heads: 4, head_norms: row, tied: false, ..experts("olmoe", Mixture::default()) },
        ),
        Case::new(
            "qwen2moe",
            Recipe { bias: true, tied: false, ..experts("qwen2moe", Mixture { shared_gate: true, ..shared() }) },
        ),
        with("bailingmoe", Recipe { tied: false, ..experts("bailingmoe", shared()) }, &[one_shared(), normalized()]),
        with(
            "qwen3vlmoe",
            Recipe { head_norms: heads, ..experts("qwen3vlmoe", Mixture::default()) },
            &[("rope.dimension_sections", Value::from(vec![3i32, 3, 2, 0]))],
        ),
        Case::new(
            "mellum",
            Recipe {
                layers: 4,
                head_norms: heads,
                window: Some(5),
                tied: false,
                rope: RopeRecipe::Yarn { factor: 4.0, original: 512 },
                ..experts("mellum", Mixture::default())
            },
        ),
        with("deepseek", Recipe { layers: 3, ..experts("deepseek", leading()) }, &[one_shared(), scale()]),
        with(
            "dots1",
            Recipe {
                layers: 3,
                kv_heads: 4,
                head_norms: heads,
                tied: false,
                ..experts("dots1", Mixture { selection_bias: true, ..leading() })
            },
            &[one_shared(), sigmoid(), scale(), normalized()],
        ),
        with(
            "dots1-groups",
            Recipe {
                layers: 3,
                kv_heads: 4,
                head_norms: heads,
                tied: false,
                experts: Some((16, 3)),
                ..experts("dots1", Mixture { selection_bias: true, ..leading() })
            },
            &[one_shared(), sigmoid(), normalized(), groups(4), ("expert_group_used_count", Value::from(2u32))],
        ),
        with("ernie4_5-moe", Recipe { layers: 3, ..experts("ernie4_5-moe", leading()) }, &[step(1)]),
        Case::new("hunyuan-moe", Recipe { head_norms: heads, ..experts("hunyuan-moe", shared()) }),
        with("glm4moe", glm4moe(), &[one_shared(), half_rotated()]),
        with(
            "glm4moe-norms",
            Recipe { head_norms: heads, ..glm4moe() },
            &[one_shared(), half_rotated(), scale(), normalized()],
        ),
        with(
            "minimax-m2",
            Recipe {
                head_norms: row,
                tied: false,
                ..experts("minimax-m2", Mixture { selection_bias: true, ..Mixture::default() })
            },
            &[sigmoid(), half_rotated()],
        ),
        with("llama4", Recipe { layers: 4, ..experts("llama4", Mixture { step: 2, ..shared() }) }, &[step(2)]),
    ]
}

/// Multi-head latent attention.
fn latent() -> Vec<Case> {
    let recipe = |latent, mixture| Recipe {
        layers: 3,
        latent: Some(latent),
        tied: false,
        experts: Some((16, 3)),
        mixture: Mixture { dense: 1, shared: Some(96), ..mixture },
        ..of("deepseek2")
    };
    let biased = Mixture { selection_bias: true, ..Mixture::default() };
    let yarn = RopeRecipe::Yarn { factor: 4.0, original: 512 };
    let small = LatentRecipe::small();
    let one_shared = || ("expert_shared_count", Value::from(1u32));
    let sigmoid = || ("expert_gating_func", Value::from(2u32));
    let normalized = || ("expert_weights_norm", Value::from(true));
    // 0.1 times the number in the configuration of the model.
    let growth = |multiplier: f32| ("rope.scaling.yarn_log_multiplier", Value::from(0.1 * multiplier));
    let older = LatentRecipe { query_rank: None, older: true, ..small };
    let wide = LatentRecipe { plain: 96, output: 64, ..small };
    vec![
        // As DeepSeek V3.
        with(
            "deepseek2",
            Recipe { rope: yarn, ..recipe(small, biased) },
            &[
                one_shared(),
                sigmoid(),
                normalized(),
                growth(1.0),
                ("expert_weights_scale", Value::from(2.5f32)),
                ("expert_group_count", Value::from(4u32)),
                ("expert_group_used_count", Value::from(2u32)),
            ],
        ),
        // As DeepSeek V2 Lite in an older file.
        with(
            "deepseek2-lite",
            Recipe { rope: yarn, ..recipe(older, Mixture::default()) },
            &[one_shared(), growth(0.707)],
        ),
        // As GLM-4.7-Flash, and with attention temperature.
        with(
            "deepseek2-flash",
            recipe(wide, biased),
            &[
                one_shared(),
                sigmoid(),
                normalized(),
                ("expert_weights_scale", Value::from(1.8f32)),
                ("attention.temperature_scale", Value::from(0.5f32)),
                ("attention.temperature_length", Value::from(4u32)),
            ],
        ),
    ]
}

/// Architectures with layer norms, or with norms at other places.
fn other_norms() -> Vec<Case> {
    let layer_norm = |architecture| Recipe { layer_norm: true, norm_bias: true, tied: false, ..of(architecture) };
    let neox = |architecture| Recipe { gated: false, ..layer_norm(architecture) };
    let biased = |architecture| Recipe { bias: true, output_bias: true, feed_forward_bias: true, ..neox(architecture) };
    let post = |architecture| Recipe { pre_norms: false, post_norms: true, tied: false, ..of(architecture) };
    let olmo2 = || Recipe { head_norms: Some(NormSpan::Row), ..post("olmo2") };
    let exaone4 = || Recipe { head_norms: Some(NormSpan::Head), ..post("exaone4") };
    let small = |recipe| Recipe { layers: 64, embedding: 32, heads: 2, kv_heads: 1, feed_forward: 48, ..recipe };
    let yarn = RopeRecipe::Yarn { factor: 4.0, original: 512 };
    vec![
        Case::new("orion", layer_norm("orion")),
        Case::new("starcoder2", Recipe { tied: true, ..biased("starcoder2") }),
        Case::new("codeshell", biased("codeshell")),
        Case::new("jais2", Recipe { kv_heads: 4, ..biased("jais2") }),
        with("nemotron", neox("nemotron"), &[half_rotated()]),
        with("stablelm", Recipe { bias: true, ..layer_norm("stablelm") }, &[half_rotated()]),
        Case::new("olmo2", olmo2()),
        Case::new("olmo2-windows", Recipe { layers: 4, window: Some(5), rope: yarn, ..olmo2() }),
        Case::new("exaone4", exaone4()),
        // Only models of this depth have windows in llama.cpp.
        Case::new("exaone4-windows", Recipe { window: Some(5), ..small(exaone4()) }),
    ]
}

/// Architectures that compute both blocks of a layer from the same residual stream.
fn parallel() -> Vec<Case> {
    let layer_norm = |architecture| Recipe { layer_norm: true, feed_forward_norm: None, ..of(architecture) };
    let neox = |architecture| Recipe { norm_bias: true, gated: false, tied: false, ..layer_norm(architecture) };
    let gptneox = || Recipe {
        fused: true,
        bias: true,
        output_bias: true,
        feed_forward_bias: true,
        feed_forward_norm: Some("ffn_norm"),
        ..neox("gptneox")
    };
    let is_parallel = |parallel: bool| ("use_parallel_residual", Value::from(parallel));
    let falcon = |second_norm| Recipe { fused: true, tied: true, second_norm, ..neox("falcon") };
    let heads = Some(NormSpan::EachHead);
    let logit_scale = || ("logit_scale", Value::from(1.5f32));
    vec![
        with(
            "phi2",
            Recipe { bias: true, output_bias: true, feed_forward_bias: true, logit_bias: true, ..neox("phi2") },
            &[half_rotated()],
        ),
        with("gptneox", gptneox(), &[half_rotated(), is_parallel(true)]),
        with("gptneox-sequential", gptneox(), &[half_rotated(), is_parallel(false)]),
        Case::new("plamo", Recipe { feed_forward_norm: None, tied: false, ..of("plamo") }),
        Case::new("falcon", falcon(false)),
        Case::new("falcon-norms", falcon(true)),
        with(
            "stablelm-parallel",
            Recipe { norm_bias: true, head_norms: heads, tied: false, ..layer_norm("stablelm") },
            &[half_rotated()],
        ),
        with("command-r", layer_norm("command-r"), &[logit_scale()]),
        // Only models of this depth have norms of queries and keys in llama.cpp.
        with(
            "command-r-norms",
            Recipe {
                layers: 64,
                embedding: 32,
                heads: 2,
                kv_heads: 1,
                feed_forward: 48,
                head_norms: heads,
                ..layer_norm("command-r")
            },
            &[logit_scale()],
        ),
        with("cohere2", Recipe { layers: 4, window: Some(5), ..layer_norm("cohere2") }, &[logit_scale()]),
    ]
}

fn gpt_oss() -> Vec<Case> {
    let recipe = || Recipe {
        layers: 3,
        bias: true,
        output_bias: true,
        tied: false,
        sinks: true,
        window: Some(5),
        feed_forward_norm: Some("post_attention_norm"),
        experts: Some((8, 3)),
        mixture: Mixture { bias: true, ..Mixture::default() },
        rope: RopeRecipe::Yarn { factor: 4.0, original: 512 },
        ..of("gpt-oss")
    };
    let wide = Recipe { kind: Type::MXFP4, embedding: 256, head: 64, feed_forward: 256, layers: 2, ..recipe() };
    vec![Case::new("gpt-oss", recipe()), Case::new("gpt-oss-mxfp4", wide)]
}

fn gemma() -> Vec<Case> {
    let recipe = |architecture, gemma: Gemma| Recipe {
        layers: gemma.windows.len(),
        post_norms: true,
        head_norms: Some(NormSpan::Head),
        window: Some(5),
        base: 1_000_000.0,
        gemma: Some(gemma),
        ..of(architecture)
    };
    let gemma4 = |gemma| Recipe { head: 32, ..recipe("gemma4", gemma) };
    let cap = || [("final_logit_softcapping", Value::from(3.0f32))];
    vec![
        with("gemma4", gemma4(Gemma::small()), &cap()),
        Case::new("gemma4-dense", gemma4(Gemma::dense())),
        with("gemma4-experts", Recipe { experts: Some((8, 3)), ..gemma4(Gemma::dense()) }, &cap()),
        Case::new("gemma3n", recipe("gemma3n", Gemma::streams())),
    ]
}
