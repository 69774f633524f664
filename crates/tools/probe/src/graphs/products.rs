//! Matrix products.

use roci_graph::ops::Product;
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::product::Subscript;

use super::ProbeList;
use super::tolerance;

/// A matrix product without options.
pub(super) fn matmul() -> Product {
    Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 }
}

pub(super) fn add(list: &mut ProbeList) {
    let shapes: [(&str, &[usize], &[usize]); 5] = [
        ("mm", &[33, 65], &[65, 47]),
        ("bmm", &[3, 17, 29], &[3, 29, 23]),
        ("matmul, one matrix for a batch", &[3, 17, 29], &[29, 23]),
        ("matmul, batches broadcast", &[2, 1, 9, 13], &[3, 13, 11]),
        ("matrix by vector", &[67, 130], &[130]),
    ];
    for (name, a, b) in shapes {
        list.add_both(name, move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let (a, b) = (builder.input(a), builder.input(b));
            vec![builder.op(matmul(), &[a, b])]
        });
    }
    list.add("mm, larger", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (a, b) = (builder.input(&[129, 67]), builder.input(&[67, 131]));
        vec![builder.op(matmul(), &[a, b])]
    });
    list.add("vector by vector", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (a, b) = (builder.input(&[4, 130]), builder.input(&[130]));
        vec![builder.op(matmul(), &[a, b])]
    });
    list.add_both("linear", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (x, w, bias) = (builder.input(&[5, 128]), builder.weight(&[64, 128]), builder.weight(&[64]));
        let op = Product::MatMul { transpose_a: false, transpose_b: true, alpha: 1.0, beta: 1.0 };
        vec![builder.op(op, &[x, w, bias])]
    });
    list.add("linear, relu", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (x, w, bias) = (builder.input(&[5, 128]), builder.weight(&[128, 64]), builder.weight(&[64]));
        let product = builder.op(matmul(), &[x, w]);
        let sum = builder.op(Binary::Add, &[product, bias]);
        vec![builder.op(Unary::Relu, &[sum])]
    });
    list.add("gemm, transposed and scaled", |builder| {
        builder.tolerance = tolerance::sums(builder.dtype);
        let (a, b, c) = (builder.input(&[31, 19]), builder.input(&[23, 31]), builder.input(&[1, 23]));
        let op = Product::MatMul { transpose_a: true, transpose_b: true, alpha: 0.5, beta: -2.0 };
        vec![builder.op(op, &[a, b, c])]
    });
    einsum(list);
}

fn einsum(list: &mut ProbeList) {
    let name = |names: &str| Subscript { before: names.chars().collect(), ..Subscript::default() };
    let forms: [(&'static str, &[&[usize]]); 5] = [
        ("bij,bjk->bik", &[&[3, 9, 11], &[3, 11, 7]]),
        ("bhqd,bhkd->bhqk", &[&[2, 3, 5, 8], &[2, 3, 7, 8]]),
        ("ij->ji", &[&[9, 13]]),
        ("ij,ij->", &[&[9, 13], &[9, 13]]),
        ("i,j->ij", &[&[17], &[19]]),
    ];
    for (form, shapes) in forms {
        list.add(format!("einsum {form}"), move |builder| {
            builder.tolerance = tolerance::sums(builder.dtype);
            let (from, to) = form.split_once("->").unwrap_or((form, ""));
            let operands: Vec<_> = shapes.iter().map(|shape| builder.input(shape)).collect();
            let op = Product::Einsum { inputs: from.split(',').map(name).collect(), output: name(to) };
            vec![builder.op(op, &operands)]
        });
    }
}
