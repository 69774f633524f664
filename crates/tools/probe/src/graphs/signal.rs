//! Fourier transforms, and random numbers, which must be identical on every device.

use roci_graph::ops::random::Distribution;
use roci_graph::ops::{Random, Signal};
use roci_graph::{DType, Tensor};

use super::ProbeList;
use super::tolerance;

pub(super) fn add(list: &mut ProbeList) {
    for (name, length) in [("dft of 32", 32), ("dft of 30", 30)] {
        list.add(name, move |builder| {
            builder.tolerance = tolerance::layers(builder.dtype);
            let x = builder.input(&[2, length, 1]);
            vec![builder.op(Signal::Dft { inverse: false, onesided: true }, &[x])]
        });
    }
    list.add("dft, back", |builder| {
        builder.tolerance = tolerance::layers(builder.dtype);
        let x = builder.input(&[2, 32, 2]);
        vec![builder.op(Signal::Dft { inverse: true, onesided: false }, &[x])]
    });
    list.add("stft", |builder| {
        builder.tolerance = tolerance::layers(builder.dtype);
        let (x, step) = (builder.input(&[1, 96, 1]), builder.known(Tensor::scalar(8i64)));
        let (window, length) = (builder.weight_in(&[32], 0.0, 1.0), builder.known(Tensor::scalar(32i64)));
        vec![builder.op(Signal::Stft { onesided: true }, &[x, step, window, length])]
    });
}

pub(super) fn random(list: &mut ProbeList) {
    for (name, distribution) in [
        ("random, uniform", Distribution::Uniform { low: -1.0, high: 3.0 }),
        ("random, normal", Distribution::Normal { mean: 0.5, scale: 2.0 }),
    ] {
        list.add(name, move |builder| {
            builder.tolerance = tolerance::native(builder.dtype);
            let sizes = builder.list(&[5, 33]);
            vec![builder.op(Random::Fill { distribution, dtype: Some(DType::F32), seed: Some(7) }, &[sizes])]
        });
    }
    list.add("dropout", |builder| {
        let (x, share) = (builder.input(&[5, 33]), builder.number(0.4));
        let train = builder.known(Tensor::scalar(true));
        builder.op_with(Random::Dropout { seed: Some(11) }, &[x, share, train].map(Some), 2)
    });
    list.add("dropout, not in training", |builder| {
        let x = builder.input(&[5, 33]);
        vec![builder.op(Random::Dropout { seed: Some(11) }, &[x])]
    });
}
