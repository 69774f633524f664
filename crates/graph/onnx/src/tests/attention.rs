//! Which inputs of `Attention` can be combined, and what opsets change.

use roci_graph::Tensor;

use super::{first, graph, int, model, node, opset, run};
use crate::proto::ModelProto;

fn attention(version: i64, inputs: &[&str]) -> ModelProto {
    let mut one = node("Attention", inputs, &["y"], vec![int("is_causal", 1)]);
    one.name = "decoder.attention".to_owned();
    let present: Vec<&str> = inputs.iter().copied().filter(|name| !name.is_empty()).collect();
    ModelProto { opset_import: vec![opset("", version)], ..model(graph(vec![one], &present, &["y"], vec![])) }
}

fn heads(keys: usize, from: f32) -> Tensor {
    let all: Vec<f32> = (0..keys).map(|at| from + at as f32).collect();
    Tensor::new([1, 1, keys, 1], all).unwrap_or_else(|_| Tensor::scalar(0.0f32))
}

#[test]
fn past_keys_and_lengths_together_are_an_error_that_names_the_node() {
    let model = attention(24, &["q", "k", "v", "", "past_key", "past_value", "nonpad_kv_seqlen"]);
    let past = [heads(1, 0.0), heads(1, 0.0)];
    let [key, value] = past;
    let inputs = vec![heads(1, 0.0), heads(2, 0.0), heads(2, 0.0), key, value, Tensor::vector(vec![2i64])];
    let error = run(&model, inputs).err().unwrap_or_default();
    assert!(error.contains("decoder.attention") && error.contains("`nonpad_kv_seqlen`"), "{error}");
}

#[test]
fn a_mask_of_width_one_is_broadcast_in_opset_23_and_padded_later() -> Result<(), String> {
    let inputs = || {
        let mask = Tensor::new([2, 1], vec![true, true]).map_err(|error| error.to_string())?;
        Ok::<_, String>(vec![heads(2, 0.0), heads(2, 0.0), heads(2, 5.0), mask])
    };
    // The first query is 0, so it weights visible keys equally; the diagonal leaves it only the
    // first.
    let old = first(&run(&attention(23, &["q", "k", "v", "mask"]), inputs()?)?);
    let new = first(&run(&attention(24, &["q", "k", "v", "mask"]), inputs()?)?);
    assert_eq!(new, [5.0, 5.0]);
    assert!(old[0] == 5.0 && old[1] > 5.5, "{old:?}");
    Ok(())
}
