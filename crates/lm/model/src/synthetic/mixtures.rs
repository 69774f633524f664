//! Synthetic mixtures of experts.

use roci_gguf::Value;

use super::architectures::{half_rotated, of, with};
use super::{Case, Mixture, Recipe, RopeRecipe};
use crate::architecture::blocks::NormSpan;

/// Mixtures of experts.
pub(super) fn mixtures() -> Vec<Case> {
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
        with(
            "bailingmoe2",
            Recipe {
                head_norms: heads,
                fused: true,
                tied: false,
                experts: Some((16, 3)),
                ..experts("bailingmoe2", Mixture { selection_bias: true, ..shared() })
            },
            &[one_shared(), sigmoid(), scale(), normalized()],
        ),
        with(
            "exaone-moe",
            Recipe {
                layers: 4,
                head_norms: heads,
                window: Some(5),
                tied: false,
                ..experts("exaone-moe", Mixture { selection_bias: true, ..leading() })
            },
            &[one_shared(), sigmoid(), scale(), normalized()],
        ),
        with(
            "hy_v3",
            Recipe { head_norms: heads, tied: false, ..experts("hy_v3", Mixture { selection_bias: true, ..shared() }) },
            &[scale(), normalized()],
        ),
        with(
            "afmoe",
            Recipe {
                layers: 4,
                post_norms: true,
                head_norms: heads,
                output_gate: true,
                window: Some(5),
                ..experts("afmoe", Mixture { selection_bias: true, dense: 1, shared: Some(96), ..Mixture::default() })
            },
            &[one_shared(), scale(), normalized()],
        ),
    ]
}
