//! Layers of `com.microsoft` on bytes, compared with onnxruntime 1.31.1 on the same model.

use roci_tolerance::Tolerance;

use super::*;

/// Elements and their type: unsigned bytes, signed bytes, floats, sums.
enum TestElements<'a> {
    U8(&'a [u8]),
    I8(&'a [i8]),
    F32(&'a [f32]),
    I32(&'a [i32]),
    Bool(&'a [bool]),
    None,
}

use TestElements::{Bool, F32, I8, I32, U8};

fn tensor(name: &str, dims: &[i64], all: &TestElements<'_>) -> TensorProto {
    let (data_type, raw): (i32, Vec<u8>) = match all {
        U8(all) => (2, all.to_vec()),
        I8(all) => (3, all.iter().map(|one| one.cast_unsigned()).collect()),
        F32(all) => (1, all.iter().flat_map(|one| one.to_le_bytes()).collect()),
        I32(all) => (6, all.iter().flat_map(|one| one.to_le_bytes()).collect()),
        Bool(all) => (9, all.iter().map(|one| u8::from(*one)).collect()),
        TestElements::None => (0, Vec::new()),
    };
    TensorProto { name: name.to_owned(), dims: dims.to_vec(), data_type, raw_data: Some(raw), ..Default::default() }
}

/// Runs one node on constants.
fn layer(op: &str, operands: &[(&[i64], TestElements<'_>)], attributes: Vec<AttributeProto>) -> Vec<f64> {
    let names: Vec<String> = (0..operands.len()).map(|index| format!("i{index}")).collect();
    let is_there = |index: usize| !matches!(operands[index].1, TestElements::None);
    let inputs: Vec<&str> =
        names.iter().enumerate().map(|(index, name)| if is_there(index) { name.as_str() } else { "" }).collect();
    let constants = operands.iter().zip(&names).filter(|((_, all), _)| !matches!(all, TestElements::None));
    let constants = constants.map(|((dims, all), name)| tensor(name, dims, all)).collect();
    let node = NodeProto { domain: "com.microsoft".to_owned(), ..node(op, &inputs, &["y"], attributes) };
    let mut model = model(graph(vec![node], &[], &["y"], constants));
    model.opset_import.push(opset("com.microsoft", 1));
    first(&run(&model, vec![]).expect(op))
}

const A: (&[i64], TestElements<'_>) = (&[2, 3], U8(&[10, 200, 35, 0, 255, 128]));
const B: (&[i64], TestElements<'_>) = (&[3, 2], I8(&[-7, 90, 64, -128, 3, 50]));
const ROW: (&[i64], TestElements<'_>) = (&[3], U8(&[7, 90, 255]));

const fn scale(value: &[f32; 1]) -> (&'static [i64], TestElements<'_>) {
    (&[], F32(value))
}

const fn zero(value: &[u8; 1]) -> (&'static [i64], TestElements<'_>) {
    (&[], U8(value))
}

#[test]
fn layers_on_bytes() {
    let result = || [scale(&[0.031]), zero(&[127])];
    let pair = || {
        let [unit, at] = result();
        [A, scale(&[0.02]), zero(&[120]), ROW, scale(&[0.013]), zero(&[130]), unit, at]
    };
    assert_eq!(layer("QLinearAdd", &pair(), vec![]), [4.0, 162.0, 125.0, 0.0, 197.0, 185.0]);
    assert_eq!(layer("QLinearMul", &pair(), vec![]), [240.0, 100.0, 38.0, 251.0, 82.0, 135.0]);
    let mut choice = vec![(&[2i64, 3][..], Bool(&[true, false, true, false, true, false]))];
    choice.extend(pair());
    assert_eq!(layer("QLinearWhere", &choice, vec![]), [56.0, 110.0, 72.0, 75.0, 214.0, 179.0]);
    let curve = [A, scale(&[0.05]), zero(&[127]), scale(&[1.0 / 256.0]), zero(&[0])];
    assert_eq!(layer("QLinearSigmoid", &curve, vec![]), [1.0, 250.0, 3.0, 0.0, 255.0, 131.0]);
    let leaky = [A, scale(&[0.05]), zero(&[127]), scale(&[0.04]), zero(&[60])];
    let leaky = layer("QLinearLeakyRelu", &leaky, vec![float("alpha", 0.1)]);
    assert_eq!(leaky, [45.0, 151.0, 48.0, 44.0, 220.0, 61.0]);
    let other = (&[2i64, 1][..], U8(&[9, 250]));
    let parts = [scale(&[0.05]), zero(&[110]), A, scale(&[0.04]), zero(&[100]), other, scale(&[0.06]), zero(&[140])];
    let joined = layer("QLinearConcat", &parts, vec![int("axis", 1)]);
    assert_eq!(joined, [38.0, 190.0, 58.0, 0.0, 30.0, 234.0, 132.0, 242.0]);
    let image = (&[1i64, 2, 1, 3][..], U8(&[10, 200, 35, 0, 255, 128]));
    let mean = [image, scale(&[0.05]), zero(&[127]), scale(&[0.04]), zero(&[110])];
    assert_eq!(layer("QLinearGlobalAveragePool", &mean, vec![]), [53.0, 111.0]);
}

/// Whether floats agree to f32 precision.
fn near(output: &[f64], expected: &[f64]) {
    let close = |(&output, &expected): (&f64, &f64)| Tolerance::Close.error_ratio(output, expected) <= 1.0;
    assert!(output.len() == expected.len() && output.iter().zip(expected).all(close), "{output:?} and {expected:?}");
}

#[test]
fn integer_products() {
    let a = || [A, scale(&[0.02]), zero(&[120])];
    let bias = (&[2i64][..], I32(&[900, -1500]));
    let [x, unit, at] = a();
    let whole = [x, unit, at, B, scale(&[0.01]), (&[], I8(&[4])), bias, scale(&[0.03]), zero(&[128])];
    assert_eq!(layer("QGemm", &whole, vec![]), [175.0, 0.0, 197.0, 0.0]);
    let (columns, zeros) = ((&[2i64][..], F32(&[0.01, 0.03])), (&[2i64][..], I8(&[4, -2])));
    let [x, unit, at] = a();
    let floats =
        layer("QGemm", &[x, unit, at, B, columns, zeros, (&[], TestElements::None)], vec![float("alpha", 0.5)]);
    near(&floats, &[0.6095, -7.386, 0.9412, -8.2902]);
    let (columns, zeros) = ((&[2i64][..], F32(&[0.01, 0.03])), (&[2i64][..], I8(&[4, -2])));
    let (add, [x, unit, at]) = ((&[2i64][..], F32(&[0.5, -1.0])), a());
    let floats = layer("MatMulIntegerToFloat", &[x, B, unit, columns, at, zeros, add], vec![]);
    near(&floats, &[1.719, -15.772, 2.3824, -17.5804]);
    let (x, add) = ((&[2i64, 3][..], F32(&[1.5, -2.0, 0.25, 0.0, 3.0, -1.0])), (&[2i64][..], F32(&[0.5, -1.0])));
    let floats = layer("DynamicQuantizeMatMul", &[x, B, scale(&[0.01]), (&[], I8(&[4])), add], vec![]);
    near(&floats, &[-0.866_470_6, 3.038_823_6, 2.31, -5.42]);
}
