//! Attention compared with ONNX's definition. The expected numbers come from the function body of
//! `Attention` in ONNX 1.23, evaluated by `onnx.reference` and by onnxruntime 1.31.1, which agree.

use roci_tolerance::Tolerance;

use super::{Attention, Scores};
use crate::ops::Inputs;
use crate::{OpError, Tensor, Value};

const PLAIN: Attention = Attention {
    scale: None,
    causal: false,
    pads_mask: true,
    heads: (None, None),
    softcap: 0.0,
    scores: Scores::Products,
};

/// The score of a hidden key.
const NONE: f64 = f64::NEG_INFINITY;

/// Numbers from -1.25 to 1.25.
fn numbers(shape: &[usize], salt: usize) -> Option<Tensor> {
    let count: usize = shape.iter().product();
    let all = (0..count).map(|at| ((at * 7 + salt) % 11) as f32 / 4.0 - 1.25).collect::<Vec<_>>();
    Tensor::new(shape, all).ok()
}

fn lengths(all: &[i64]) -> Option<Tensor> {
    Some(Tensor::vector(all.to_vec()))
}

fn eval(op: &Attention, operands: &[Option<Tensor>]) -> Result<Vec<Vec<f64>>, OpError> {
    let values: Vec<Option<Value>> = operands.iter().map(|one| one.clone().map(Value::from)).collect();
    let values: Vec<Option<&Value>> = values.iter().map(Option::as_ref).collect();
    let output = op.eval(&Inputs::new(&values, 4))?;
    output.iter().map(|one| one.tensor()?.floats()).collect()
}

#[track_caller]
fn assert_close(output: &[f64], expected: &[f64]) {
    let is_close = |(&output, &expected): (&f64, &f64)| Tolerance::Close.error_ratio(output, expected) <= 1.0;
    assert!(
        output.len() == expected.len() && output.iter().zip(expected).all(is_close),
        "{output:?}, not {expected:?}"
    );
}

#[track_caller]
fn assert_refused(op: &Attention, operands: &[Option<Tensor>], reason: &str) {
    let error = eval(op, operands).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains(reason), "{error:?}");
}

#[test]
fn the_causal_diagonal_ends_at_the_last_valid_key_of_each_batch() -> Result<(), OpError> {
    // Two heads share one head of keys; the third batch has fewer valid keys than queries.
    let [q, k, v] = [numbers(&[3, 2, 2, 2], 0), numbers(&[3, 1, 4, 2], 3), numbers(&[3, 1, 4, 1], 5)];
    let operands = [q, k, v, None, None, None, lengths(&[4, 3, 1])];
    let output = eval(&Attention { causal: true, ..PLAIN }, &operands)?;
    let expected =
        [-0.088479, -0.084347, -0.205133, 0.046291, -0.43292, -0.68044, -0.375, -0.319607, 0.0, 0.25, 0.0, 0.25];
    assert_close(&output[0], &expected);
    let output = eval(&PLAIN, &operands)?;
    let expected =
        [-0.165653, -0.084347, -0.211809, 0.046291, -0.452389, -0.68044, -0.416667, -0.319607, 0.25, 0.25, 0.25, 0.25];
    assert_close(&output[0], &expected);
    Ok(())
}

#[test]
fn a_short_mask_softcap_lengths_and_causal_can_be_combined() -> Result<(), OpError> {
    let mask = [[true, true, true, false], [true, false, true, true], [true; 4]].concat();
    let operands = [
        numbers(&[2, 3, 2], 1),
        numbers(&[2, 5, 2], 4),
        numbers(&[2, 5, 2], 6),
        Some(Tensor::new([3, 4], mask)?),
        None,
        None,
        lengths(&[4, 2]),
    ];
    let op = Attention { causal: true, softcap: 0.5, heads: (Some(1), Some(1)), scores: Scores::Masked, ..PLAIN };
    let output = eval(&op, &operands)?;
    let result =
        [0.616093, -0.383907, -0.125816, -0.299021, 0.037071, -0.173483, 0.0, 0.0, 1.25, 0.25, 0.482751, 0.537719];
    assert_close(&output[0], &result);
    let masked = [
        [-0.37485, -0.422361, NONE, NONE, NONE],
        [0.490011, NONE, -0.35418, NONE, NONE],
        [0.30443, 0.30443, 0.30443, -0.422361, NONE],
        [NONE; 5],
        [-0.408719, NONE, NONE, NONE, NONE],
        [0.169762, -0.30443, NONE, NONE, NONE],
    ];
    assert_close(&output[3], masked.as_flattened());
    let output = eval(&Attention { scores: Scores::Weights, ..op }, &operands)?;
    let weights = [
        [0.511876, 0.488124, 0.0, 0.0, 0.0],
        [0.699347, 0.0, 0.300653, 0.0, 0.0],
        [0.287071, 0.287071, 0.287071, 0.138787, 0.0],
        [0.0; 5],
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [0.616375, 0.383625, 0.0, 0.0, 0.0],
    ];
    assert_close(&output[3], weights.as_flattened());
    Ok(())
}

#[test]
fn the_causal_diagonal_starts_after_past_keys() -> Result<(), OpError> {
    let [q, k, v] = [numbers(&[2, 1, 2, 2], 0), numbers(&[2, 1, 2, 2], 3), numbers(&[2, 1, 2, 1], 5)];
    let past = [numbers(&[2, 1, 1, 2], 2), numbers(&[2, 1, 1, 1], 8)];
    let [keys, values] = past;
    let output = eval(&Attention { causal: true, ..PLAIN }, &[q, k, v, None, keys, values])?;
    assert_close(&output[0], &[0.399823, 0.262072, 0.162521, 0.325975]);
    Ok(())
}

#[test]
fn a_one_key_mask_is_broadcast_in_opset_23_and_padded_later() -> Result<(), OpError> {
    let mask = Some(Tensor::new([2, 1], vec![true, false])?);
    let operands = [numbers(&[1, 1, 2, 2], 0), numbers(&[1, 1, 3, 2], 3), numbers(&[1, 1, 3, 1], 8), mask];
    assert_close(&eval(&Attention { pads_mask: false, ..PLAIN }, &operands)?[0], &[0.33203, 0.0]);
    assert_close(&eval(&PLAIN, &operands)?[0], &[0.75, 0.0]);
    Ok(())
}

#[test]
fn lengths_out_of_range_hide_all_or_no_keys() -> Result<(), OpError> {
    let [q, k, v] = [numbers(&[2, 1, 2, 2], 0), numbers(&[2, 1, 3, 2], 3), numbers(&[2, 1, 3, 1], 5)];
    let op = Attention { causal: true, ..PLAIN };
    let output = |all: &[i64]| {
        eval(&op, &[q.clone(), k.clone(), v.clone(), None, None, None, lengths(all)]).map(|mut all| all.swap_remove(0))
    };
    let whole = eval(&PLAIN, &[q.clone(), k.clone(), v.clone()])?;
    assert_close(&output(&[i64::MIN, i64::MAX])?, &[&[0.0; 2], &whole[0][2..]].concat());
    Ok(())
}

#[test]
fn mismatched_operands_are_rejected() -> Result<(), OpError> {
    let three = || [numbers(&[2, 1, 2, 2], 0), numbers(&[2, 1, 3, 2], 3), numbers(&[2, 1, 3, 1], 5)];
    let with = |more: [Option<Tensor>; 4]| [three().as_slice(), &more].concat();
    let past = || [numbers(&[2, 1, 1, 2], 2), numbers(&[2, 1, 1, 1], 8)];
    let [keys, values] = past();
    assert_refused(
        &PLAIN,
        &with([None, keys, values, lengths(&[3, 3])]),
        "`nonpad_kv_seqlen` cannot be given together with past",
    );
    assert_refused(&PLAIN, &with([None, past()[0].clone(), None, None]), "must be given together");
    assert_refused(&PLAIN, &with([None, None, None, lengths(&[3])]), "`nonpad_kv_seqlen` has shape [1], expected [2]");
    let floats = Some(Tensor::vector(vec![3.0f32, 3.0]));
    assert_refused(&PLAIN, &with([None, None, None, floats]), "f32");
    for mask in [numbers(&[2, 4], 0), numbers(&[3, 3], 0), numbers(&[1, 1, 1, 2, 3], 0), numbers(&[], 0)] {
        assert_refused(&PLAIN, &with([mask, None, None, None]), "the mask has shape");
    }
    let short = Attention { pads_mask: false, ..PLAIN };
    assert_refused(&short, &with([numbers(&[2, 2], 0), None, None, None]), "the mask has shape");
    let mixed = [numbers(&[2, 2, 2], 0), three()[1].clone(), three()[2].clone()];
    assert_refused(&Attention { heads: (Some(1), Some(1)), ..PLAIN }, &mixed, "do not match");
    Ok(())
}

#[test]
fn hidden_keys_stay_hidden_with_a_softcap() -> Result<(), OpError> {
    let op = Attention { causal: true, softcap: 2.0, scores: Scores::Masked, ..PLAIN };
    let output = eval(&op, &[numbers(&[1, 1, 2, 2], 1), numbers(&[1, 1, 2, 2], 4), numbers(&[1, 1, 2, 2], 6)])?;
    // The first query sees only the first key, so it gets that key's value.
    assert_close(&output[0][..2], &[0.25, -0.75]);
    assert_eq!(output[3][1], f64::NEG_INFINITY);
    Ok(())
}
