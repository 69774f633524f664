//! Fourier transforms, and random numbers, which must be the same on every device.

use roci_graph::ops::random::Distribution;
use roci_graph::ops::{Random, Signal};
use roci_graph::{DType, Tensor};

use super::List;
use crate::commands::matrix::compare::Tolerance;

pub(super) fn add(list: &mut List) {
    for (name, length) in [("dft of 32", 32), ("dft of 30", 30)] {
        list.add(name, move |sketch| {
            sketch.tolerance = Tolerance::layers(sketch.dtype);
            let x = sketch.input(&[2, length, 1]);
            vec![sketch.op(Signal::Dft { inverse: false, onesided: true }, &[x])]
        });
    }
    list.add("dft, back", |sketch| {
        sketch.tolerance = Tolerance::layers(sketch.dtype);
        let x = sketch.input(&[2, 32, 2]);
        vec![sketch.op(Signal::Dft { inverse: true, onesided: false }, &[x])]
    });
    list.add("stft", |sketch| {
        sketch.tolerance = Tolerance::layers(sketch.dtype);
        let (x, step) = (sketch.input(&[1, 96, 1]), sketch.known(Tensor::scalar(8i64)));
        let (window, length) = (sketch.weight_in(&[32], 0.0, 1.0), sketch.known(Tensor::scalar(32i64)));
        vec![sketch.op(Signal::Stft { onesided: true }, &[x, step, window, length])]
    });
}

pub(super) fn random(list: &mut List) {
    for (name, distribution) in [
        ("random, uniform", Distribution::Uniform { low: -1.0, high: 3.0 }),
        ("random, normal", Distribution::Normal { mean: 0.5, scale: 2.0 }),
    ] {
        list.add(name, move |sketch| {
            sketch.tolerance = Tolerance::rough(sketch.dtype);
            let sizes = sketch.list(&[5, 33]);
            vec![sketch.op(Random::Fill { distribution, dtype: Some(DType::F32), seed: Some(7) }, &[sizes])]
        });
    }
    list.add("dropout", |sketch| {
        let (x, share) = (sketch.input(&[5, 33]), sketch.number(0.4));
        let train = sketch.known(Tensor::scalar(true));
        sketch.op_with(Random::Dropout { seed: Some(11) }, &[x, share, train].map(Some), 2)
    });
    list.add("dropout, not in training", |sketch| {
        let x = sketch.input(&[5, 33]);
        vec![sketch.op(Random::Dropout { seed: Some(11) }, &[x])]
    });
}
