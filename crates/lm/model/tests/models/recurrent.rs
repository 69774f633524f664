//! Short convolutions, state spaces, and layers that lack a block.

use roci_gguf::Value;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::{Activation, FeedForwardKind, GatedConvolution, Mixer, StateSpace};

use crate::{changed, feed_forward, model, norm_tensor, refused};

/// A letter for each block: attention, convolution, state space, selective scan (Mamba 1), time
/// mixing of RWKV 7 and RWKV 6, feed-forward.
fn blocks(model: &Model) -> Vec<String> {
    let mixer = |mixer: &Mixer| match mixer {
        Mixer::Attention(_) => 'a',
        Mixer::DeltaNet(_) => 'd',
        Mixer::GatedConvolution(_) => 'c',
        Mixer::StateSpace(_) => 's',
        Mixer::SelectiveScan(_) => 'm',
        Mixer::TimeMix(_) => 'w',
        Mixer::DynamicTimeMix(_) => 'x',
    };
    let layers = model.layers.iter();
    layers.map(|layer| layer.mixers.iter().map(mixer).chain(layer.feed_forward.iter().map(|_| 'f')).collect()).collect()
}

fn convolution(model: &Model, layer: usize) -> &GatedConvolution {
    match &model.layers[layer].mixers[..] {
        [Mixer::GatedConvolution(block)] => block,
        other => panic!("layer {layer} has {other:?}"),
    }
}

fn state_space(model: &Model, layer: usize) -> &StateSpace {
    match &model.layers[layer].mixers[..] {
        [.., Mixer::StateSpace(block)] => block,
        other => panic!("layer {layer} has {other:?}"),
    }
}

#[test]
fn layers_without_key_and_value_heads_are_short_convolutions() {
    let lfm2 = model("lfm2");
    assert_eq!(blocks(&lfm2), ["cf", "cf", "af", "cf"]);
    let block = convolution(&lfm2, 0);
    let rows = [&block.input_gate, &block.output_gate, &block.value].map(|linear| linear.matrix.rows.clone());
    assert_eq!(rows, [0..64, 64..128, 128..192]);
    assert_eq!((block.convolution.channels(), block.convolution.taps()), (64, 3));
    assert!(block.convolution.bias.is_none());
    assert_eq!(lfm2.layers[0].state().values(), 2 * 64);
    assert_eq!(lfm2.cached_values().collect::<Vec<_>>(), [0, 0, 64, 0]);
    assert_eq!(norm_tensor(&Some(lfm2.norm.clone())), "token_embd_norm.weight");
    assert!(lfm2.is_recurrent());
    let window = |name: &str| model(name).layers[2].attention().and_then(|block| block.window);
    assert_eq!((window("lfm2"), window("lfm2-window")), (None, Some(5)));
    let experts = |layer| matches!(feed_forward(&model("lfm2moe"), layer).kind, FeedForwardKind::Experts { .. });
    assert_eq!((experts(0), experts(1)), (false, true));
}

#[test]
fn layers_without_key_and_value_heads_are_state_spaces() {
    let granite = model("granitehybrid");
    assert_eq!(blocks(&granite), ["sf", "af", "sf"]);
    let block = state_space(&granite, 0);
    let rows = [&block.gate, &block.channels, &block.step].map(|linear| linear.matrix.rows.clone());
    assert_eq!(rows, [0..128, 128..320, 320..328]);
    assert!(block.convolution.bias.is_some() && block.output_norm.is_some());
    assert_eq!((granite.layers[0].state().window, granite.layers[0].state().matrices), (3 * 192, 128 * 32));
    // The residual scale becomes part of the norms.
    assert_eq!(block.norm.epsilon, 1e-5 / (0.4f32 * 0.4));
    assert!(granite.layers[1].attention().is_some_and(|block| block.rope.frequencies.is_empty()));
    assert_eq!((granite.logit_scale, model("granitehybrid-experts").logit_scale), (1.0 / 0.75, 1.0));
}

#[test]
fn layers_may_have_one_block_or_two_mixers() {
    let nemotron = model("nemotron_h");
    assert_eq!(blocks(&nemotron), ["s", "f", "s", "a", "f"]);
    let block = feed_forward(&nemotron, 1);
    assert_eq!((block.activation, norm_tensor(&block.norm)), (Activation::ReluSquared, "blk.1.attn_norm.weight"));
    let block = model("nemotron_h_moe").layers.remove(1).feed_forward.expect("the layer has feed-forward");
    assert!(block.shared.is_some_and(|shared| shared.network.up.is_none()));
    let FeedForwardKind::Experts { experts, routing, .. } = block.kind else { panic!("experts") };
    assert!(experts.iter().all(|network| network.up.is_none()) && routing.bias.is_some() && routing.normalized);
    let mamba = model("mamba2");
    assert_eq!(blocks(&mamba), ["s", "s"]);
    assert_eq!(mamba.cached_values().collect::<Vec<_>>(), [0, 0]);
    assert_eq!(blocks(&model("mamba")), ["m", "m", "m"]);
    assert_eq!(blocks(&model("rwkv7")), ["wf", "wf", "wf"]);
    assert_eq!(blocks(&model("arwkv7")), ["wf", "wf", "wf"]);
    assert_eq!(blocks(&model("rwkv6")), ["xf", "xf", "xf"]);
    let factor = |layer| feed_forward(&model("rwkv6"), layer).output_gate.as_ref().map(|gate| gate.factor);
    assert_eq!([factor(0), factor(1)], [Some(1.0), Some(0.5)]);
    let window = |name: &str| model(name).layers[1].state().window;
    assert_eq!((window("rwkv7"), window("arwkv7")), (2 * 128, 128));
    let jamba = model("jamba-experts");
    assert_eq!(blocks(&jamba), ["mf", "af", "mf"]);
    let has_experts =
        jamba.layers.iter().map(|layer| layer.feed_forward.as_ref().is_some_and(|block| block.has_experts()));
    assert_eq!(has_experts.collect::<Vec<_>>(), [false, true, false]);
    let falcon = model("falcon-h1");
    assert_eq!(blocks(&falcon), ["asf", "asf"]);
    assert_eq!(norm_tensor(&feed_forward(&falcon, 0).norm), "blk.0.ffn_norm");
    assert!(state_space(&falcon, 0).output_norm.is_some());
    assert!(state_space(&model("falcon-h1-plain"), 0).output_norm.is_none());
}

#[test]
fn sizes_that_do_not_fit_each_other_are_refused() {
    for (name, key, value, expected) in [
        ("lfm2", "shortconv.l_cache", 1u32, "1 is out of range: 2 to 64"),
        ("lfm2", "feed_forward_length", 0, "0 is out of range: 1 to 4194304"),
        ("granitehybrid", "ssm.group_count", 3, "8 heads are not a multiple of 3 groups"),
        ("granitehybrid", "ssm.inner_size", 132, "132 is not a multiple of 8 heads"),
        ("falcon-h1", "attention.head_count_kv", 0, "4 query heads are not a multiple of 0 key and value heads"),
        ("rwkv7", "wkv.head_size", 24, "the embedding length 128 is not a multiple of 24"),
        ("rwkv7", "token_shift_count", 1, "1 is not supported, only 2"),
        ("nemotron_h_moe", "moe_latent_size", 16, "not supported for the architecture `nemotron_h_moe`"),
        ("llama", "attention.head_count_kv", 0, "0 is out of range: 1 to 16384"),
    ] {
        let key = format!("{name}.{key}");
        let text = refused(&changed(name, &key, Some(Value::from(value)), "", &[]));
        assert_eq!(text, format!("the key `{key}`: {expected}"));
    }
    for (name, tensor) in [
        ("lfm2", "blk.0.shortconv.conv.weight"),
        ("lfm2", "token_embd_norm.weight"),
        ("granitehybrid", "blk.2.ssm_d"),
        ("falcon-h1", "blk.1.attn_q.weight"),
        ("mamba", "blk.0.ssm_dt.bias"),
        ("rwkv7", "blk.1.time_mix_v0.weight"),
        ("jamba", "blk.2.ssm_b_norm.weight"),
    ] {
        assert_eq!(refused(&changed(name, "", None, tensor, &[])), format!("the file lacks the tensor `{tensor}`"));
    }
    for (name, tensor, shape) in [
        ("lfm2", "blk.0.shortconv.in_proj.weight", &[64, 191][..]),
        ("granitehybrid", "blk.0.ssm_in.weight", &[64, 327]),
        ("nemotron_h", "blk.0.ssm_norm.weight", &[96]),
        ("mamba2", "blk.0.ssm_a", &[8]),
        ("mamba", "blk.1.ssm_a", &[16, 120]),
        ("rwkv7", "blk.0.time_mix_lerp_fused.weight", &[128, 1, 1, 5]),
    ] {
        refused(&changed(name, "", None, tensor, shape));
    }
}
