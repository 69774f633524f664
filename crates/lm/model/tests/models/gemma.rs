//! Gemma 3n and Gemma 4: heads and keys by kind of layer, per-layer embeddings, streams.

use roci_gguf::Value;
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::FeedForwardKind;

use crate::{attention, changed, model, norm_tensor};

#[test]
fn layers_with_a_window_have_heads_of_their_own() {
    let small = model("gemma4");
    let block = attention(&small, 0);
    assert_eq!((block.key_length, block.value_length, block.kv_heads, block.window), (16, 16, 2, Some(5)));
    assert_eq!((block.scale, block.rope.frequencies.len()), (1.0, 8));
    let block = attention(&small, 1);
    assert_eq!((block.key_length, block.value_length, block.kv_heads, block.window), (32, 32, 1, None));
    // Four of sixteen pairs rotate.
    let rotating = block.rope.frequencies.iter().filter(|angle| **angle > 1e-20).count();
    assert_eq!((block.rope.frequencies.len(), rotating), (16, 4));
    assert_eq!((small.logit_cap, model("gemma4-dense").logit_cap), (Some(3.0), Some(30.0)));
    let none = changed("gemma4", "gemma4.final_logit_softcapping", Some(Value::from(0.0f32)), "", &[]);
    assert_eq!(Model::new(&none, None).expect("the file is valid").logit_cap, None);
}

#[test]
fn the_last_layers_read_keys_and_values_of_earlier_ones() {
    let sources = |name: &str| {
        let model = model(name);
        (0..model.layers.len()).map(|layer| attention(&model, layer).kv_layer).collect::<Vec<_>>()
    };
    assert_eq!(sources("gemma4"), [None, None, None, None, Some(2), Some(2), Some(3), Some(2)]);
    assert_eq!(sources("gemma4-dense"), [None; 6]);
    assert_eq!(sources("gemma3n")[18..], [None, None, Some(18), Some(18), Some(18), Some(18), Some(19)]);
    let small = model("gemma4");
    assert_eq!(small.cached_values().collect::<Vec<_>>(), [64, 64, 64, 64, 0, 0, 0, 0]);
    assert_eq!(attention(&small, 4).linears().count(), 2);
    let lengths = |layer: usize| small.config.feed_forward[layer];
    assert_eq!((lengths(3), lengths(4)), (96, 192));
}

#[test]
fn layers_without_a_value_projection_use_that_of_keys() {
    let dense = model("gemma4-dense");
    assert_eq!(attention(&dense, 2).value, attention(&dense, 2).key);
    assert_ne!(attention(&dense, 1).value, attention(&dense, 1).key);
    let norm = attention(&dense, 2).value_norm.as_ref().expect("values are normalized");
    assert!(norm.weight.is_none());
}

#[test]
fn layers_have_inputs_of_their_own_and_scales() {
    let small = model("gemma4");
    let inputs = small.per_layer.as_ref().expect("the model has per-layer embeddings");
    assert_eq!((inputs.length, inputs.embedding.columns, inputs.projection.matrix.outputs()), (32, 256, 256));
    assert_eq!(inputs.norm.epsilon, 64.0 * 1e-5);
    assert!(small.layers.iter().all(|layer| layer.per_layer.is_some() && layer.output_scale.is_some()));
    let dense = model("gemma4-dense");
    assert!(dense.per_layer.is_none() && dense.layers.iter().all(|layer| layer.per_layer.is_none()));
}

#[test]
fn image_rows_attend_bidirectionally_in_window_layers() {
    let of = |name: &str| model(name).config.bidirectional_images;
    assert_eq!(of("gemma4-dense"), [true, true, false, true, true, false]);
    assert_eq!(of("gemma4-experts"), of("gemma4-dense"));
    assert_eq!(of("gemma4"), [false; 8], "with per-layer embeddings");
    assert!(of("gemma3").iter().all(|allowed| *allowed) && !attention(&model("gemma4-dense"), 2).bidirectional_images);
}

#[test]
fn experts_are_beside_a_dense_network() {
    let experts = model("gemma4-experts");
    let block = experts.layers[1].feed_forward.as_ref().expect("the layer has feed-forward");
    let FeedForwardKind::Experts { routing, .. } = &block.kind else { panic!("experts") };
    assert_eq!(norm_tensor(&routing.norm), "blk.1.ffn_gate_inp.scale");
    assert_eq!(routing.input_scale, 0.125);
    assert_eq!(norm_tensor(&block.norm), "blk.1.pre_ffw_norm_2.weight");
    assert_eq!(norm_tensor(&block.experts_norm), "blk.1.post_ffw_norm_2.weight");
    let shared = block.shared.as_ref().expect("the layer has a dense network");
    assert_eq!(norm_tensor(&shared.norm), "blk.1.ffn_norm.weight");
    assert_eq!(norm_tensor(&shared.post_norm), "blk.1.post_ffw_norm_1.weight");
    assert_eq!(shared.network.gate.matrix.tensor, "blk.1.ffn_gate.weight");
}

#[test]
fn streams_branches_and_sparsity_are_read() {
    let nano = model("gemma3n");
    assert_eq!(nano.config.streams.map(|streams| (streams.count, streams.active)), Some((4, 0)));
    let streams = nano.streams.as_ref().expect("there are several streams");
    assert_eq!((streams.starts.len(), streams.ends[2].matrix.rows.clone()), (3, 128..192));
    let layer = &nano.layers[3];
    assert_eq!(layer.low_rank.as_ref().map(|block| block.down.matrix.outputs()), Some(64));
    assert_eq!(layer.streams.as_ref().map(|block| block.predict.matrix.outputs()), Some(16));
    let sparse: Vec<bool> = nano
        .layers
        .iter()
        .map(|layer| layer.feed_forward.as_ref().is_some_and(|block| block.sparsity.is_some()))
        .collect();
    assert_eq!((sparse[9], sparse[10]), (true, false));
    let silent = changed("gemma3n", "gemma3n.activation_sparsity_scale", None, "", &[]);
    let silent = Model::new(&silent, None).expect("the file is valid");
    assert!(
        silent.layers.iter().zip(sparse).all(|(layer, sparse)| layer
            .feed_forward
            .as_ref()
            .is_some_and(|block| block.sparsity.is_some())
            == sparse)
    );
}
