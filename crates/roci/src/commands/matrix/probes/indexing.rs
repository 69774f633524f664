//! Elements chosen by indices that are data.

use roci_graph::ops::Indexing;
use roci_graph::ops::indexing::Scatter;
use roci_graph::{DType, Tensor};

use super::List;

pub(super) fn add(list: &mut List) {
    list.add_both("embedding", |sketch| {
        let (table, words) = (sketch.weight(&[50, 33]), sketch.input_of(DType::I64, &[2, 9], 0.0, 50.0));
        vec![sketch.op(Indexing::Gather { axis: 0 }, &[table, words])]
    });
    list.add("gather, middle axis", |sketch| {
        let (x, at) = (sketch.input(&[3, 11, 5]), sketch.input_of(DType::I64, &[2, 4], -11.0, 11.0));
        vec![sketch.op(Indexing::Gather { axis: 1 }, &[x, at])]
    });
    list.add("gather elements", |sketch| {
        let (x, at) = (sketch.input(&[5, 7]), sketch.input_of(DType::I64, &[3, 7], 0.0, 5.0));
        vec![sketch.op(Indexing::GatherElements { axis: 0 }, &[x, at])]
    });
    list.add("gather nd", |sketch| {
        let (x, at) = (sketch.input(&[4, 5, 6]), sketch.input_of(DType::I64, &[7, 2], 0.0, 4.0));
        vec![sketch.op(Indexing::GatherNd { batch_dims: 0 }, &[x, at])]
    });
    // No two of a column go to one place: which of two stays is nobody's promise.
    const ROWS: [f64; 10] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 0.0];
    for (name, reduction) in [("scatter elements", Scatter::Replace), ("scatter elements, add", Scatter::Add)] {
        list.add(name, move |sketch| {
            let (x, news) = (sketch.input(&[9, 5]), sketch.input(&[2, 5]));
            let at = sketch.listed(DType::I64, &[2, 5], &ROWS);
            vec![sketch.op(Indexing::ScatterElements { axis: 0, reduction }, &[x, at, news])]
        });
    }
    list.add("scatter add, same places", |sketch| {
        let (x, news) = (sketch.input(&[9]), sketch.input(&[40]));
        let at = sketch.input_of(DType::I64, &[40], 0.0, 9.0);
        vec![sketch.op(Indexing::ScatterElements { axis: 0, reduction: Scatter::Add }, &[x, at, news])]
    });
    list.add("scatter nd", |sketch| {
        let (x, news) = (sketch.input(&[7, 4, 3]), sketch.input(&[3, 3]));
        let at = sketch.listed(DType::I64, &[3, 2], &[0.0, 1.0, 3.0, 2.0, 6.0, 3.0]);
        vec![sketch.op(Indexing::ScatterNd { reduction: Scatter::Replace }, &[x, at, news])]
    });
    list.add("one-hot", |sketch| {
        let classes = sketch.input_of(DType::I64, &[11], 0.0, 6.0);
        let (depth, values) = (sketch.list(&[6]), sketch.known(Tensor::vector(vec![0.0f32, 1.0])));
        vec![sketch.op(Indexing::OneHot { axis: -1 }, &[classes, depth, values])]
    });
    for (name, largest) in [("top-k", true), ("top-k, smallest", false)] {
        list.add(name, move |sketch| {
            let (x, count) = (sketch.input(&[5, 37]), sketch.list(&[6]));
            sketch.op_with(Indexing::TopK { axis: -1, largest }, &[Some(x), Some(count)], 2)
        });
    }
    list.add("non-zero", |sketch| {
        let x = sketch.input_of(DType::I32, &[5, 7], 0.0, 3.0);
        vec![sketch.op(Indexing::NonZero, &[x])]
    });
}
