//! Operations as kernels on the CPU, compared with the reference, for cases that ONNX's own tests
//! do not cover.

use roci_cpu::CpuDriver;
use roci_graph::ops::attention::{Attention, Scores};
use roci_graph::ops::elementwise::{Binary, Unary};
use roci_graph::ops::indexing::{RoiAlign, Scatter};
use roci_graph::ops::movement::{
    AspectPolicy, Coordinates, GridMode, GridPadding, Nearest, PadMode, Resize, ResizeMode,
};
use roci_graph::ops::product::Subscript;
use roci_graph::ops::random::Distribution;
use roci_graph::ops::recurrent::{Activation, Direction, Kind};
use roci_graph::ops::reduction::{LossReduction, ReduceKind, SoftmaxKind};
use roci_graph::ops::window::{Padding, Window};
use roci_graph::ops::{
    AttentionOp, Elementwise, Indexing, Movement, Norm, Pool, Product, Quantize, Random, Recurrent, Reduction, Signal,
};
use roci_graph::train::{self, Optimizer};
use roci_graph::{DType, Fact, Graph, Node, Op, Tensor, Value};
use roci_hal::{CodeFormat, Device, Registry};
use roci_runtime::{Error, Note, Placement, Session, StatefulSession};
use roci_tolerance::Tolerance;

type Test = Result<(), Box<dyn std::error::Error>>;

fn cpu() -> Result<Device, Box<dyn std::error::Error>> {
    Ok(Registry::new().with(CpuDriver::new()).open(&"cpu".parse()?, None)?)
}

/// A graph of one node whose operands are all inputs.
fn graph(op: Op, operands: &[Option<Tensor>], outputs: usize) -> Graph {
    let mut graph = Graph::default();
    let mut input = |index: usize| {
        let id = graph.value(format!("operand {index}"));
        graph.inputs.push(id);
        id
    };
    let inputs = operands.iter().enumerate().map(|(index, one)| one.as_ref().map(|_| input(index))).collect();
    let outputs: Vec<_> = (0..outputs).map(|index| graph.value(format!("output {index}"))).collect();
    graph.outputs.clone_from(&outputs);
    graph.nodes.push(Node {
        name: "node".into(),
        op,
        kind: None,
        inputs,
        outputs: outputs.into_iter().map(Some).collect(),
    });
    graph
}

/// Runs the graph twice, so that the second run is a replay, and compares with the reference.
fn check(device: &Device, op: impl Into<Op>, operands: &[Option<Tensor>], outputs: usize) -> Test {
    let op = op.into();
    let name = format!("{op:?}");
    let graph = graph(op, operands, outputs);
    let inputs: Vec<Value> = operands.iter().flatten().cloned().map(Value::from).collect();
    let expected = roci_graph::run(&graph, inputs.clone()).map_err(|error| format!("{name}: {error}"))?;
    let mut session = Session::new(graph, device.clone());
    for _ in 0..2 {
        let result = session.run(&inputs).map_err(|error| format!("{name}: {error}"))?;
        let reference = session.notes().iter().find(|note| matches!(note, Note::Reference { .. }));
        assert!(reference.is_none(), "{name}: {reference:?}");
        for (index, (result, expected)) in result.iter().zip(&expected).enumerate() {
            close(result.tensor()?, expected.tensor()?).map_err(|text| format!("{name}, output {index}: {text}"))?;
        }
    }
    Ok(())
}

fn close(result: &Tensor, expected: &Tensor) -> Test {
    assert_eq!((result.dtype(), result.shape()), (expected.dtype(), expected.shape()));
    if !result.dtype().is_float() {
        assert_eq!(result, expected);
        return Ok(());
    }
    // Narrow floats may be rounded in the other direction.
    let tolerance = match result.dtype() {
        DType::F16 => Tolerance::Half,
        DType::BF16 => Tolerance::Bfloat,
        _ => Tolerance::Approximate,
    };
    for (at, (result, expected)) in result.floats()?.into_iter().zip(expected.floats()?).enumerate() {
        if tolerance.error_ratio(result, expected) > 1.0 {
            return Err(format!("element {at} is {result}, expected {expected}").into());
        }
    }
    Ok(())
}

/// Pseudorandom numbers from -2 to 2.
fn numbers(shape: &[usize]) -> Vec<f64> {
    // Tensors of different shapes have different numbers.
    let mut random = fastrand::Rng::with_seed(shape.iter().fold(7, |seed, &size| seed * 31 + size as u64));
    (0..shape.iter().product()).map(|_| random.f64() * 4.0 - 2.0).collect()
}

fn tensor(dtype: DType, shape: &[usize]) -> Result<Option<Tensor>, Box<dyn std::error::Error>> {
    let scale = if dtype.is_float() { 1.0 } else { 60.0 };
    let shift = if dtype.is_float() || dtype.is_signed_integer() { 0.0 } else { 120.0 };
    let all: Vec<f64> = numbers(shape).into_iter().map(|one| one * scale + shift).collect();
    Ok(Some(Tensor::from_floats(dtype, shape, &all)?))
}

fn floats(shape: &[usize]) -> Result<Option<Tensor>, Box<dyn std::error::Error>> {
    tensor(DType::F32, shape)
}

fn list(all: &[i64]) -> Option<Tensor> {
    Some(Tensor::vector(all.to_vec()))
}

fn window(kernel: &[usize]) -> Window {
    Window { kernel: kernel.to_vec(), strides: vec![], dilations: vec![], padding: Padding::Explicit(vec![]) }
}

#[test]
fn byte_products_are_exact_at_any_length() -> Test {
    let device = cpu()?;
    let (a, b) = (Tensor::new([3, 1000], vec![255u8; 3000])?, Tensor::new([1000, 2], vec![-128i8; 2000])?);
    let (zero_a, zero_b) = (Tensor::scalar(1u8), Tensor::vector(vec![3i8, -100]));
    check(&device, Product::MatMulInteger, &[Some(a), Some(b), Some(zero_a), Some(zero_b)], 1)?;
    let x = tensor(DType::U8, &[1, 70, 5, 4])?;
    let w = tensor(DType::I8, &[2, 70, 3, 2])?;
    let conv = Product::ConvInteger { window: window(&[]), groups: 1 };
    let bias = Some(Tensor::vector(vec![1_000_000_007i32, -5]));
    check(&device, conv, &[x, w, Some(Tensor::scalar(17u8)), None, bias], 1)?;
    let sums = Some(Tensor::new([2, 2], vec![100i32, -100, 7, i32::MAX])?);
    let scale = |scale: f32| Some(Tensor::scalar(scale));
    let requantize = Product::Requantize { axes: [0, 1] };
    check(&device, requantize, &[sums, scale(0.5), scale(0.25), scale(0.3), Some(Tensor::scalar(3i8))], 1)?;
    for dtype in [DType::I32, DType::U32] {
        let product = Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
        let large = tensor(dtype, &[2, 3, 4])?.map(|one| {
            Tensor::from_floats(dtype, [2, 3, 4], &one.floats()?.iter().map(|one| one * 1e7).collect::<Vec<_>>())
        });
        check(&device, product, &[large.transpose()?, tensor(dtype, &[4, 5])?], 1)?;
    }
    Ok(())
}

#[test]
fn recurrent_layers_respect_sequence_lengths() -> Test {
    let device = cpu()?;
    let kinds = [
        Kind::Rnn,
        Kind::Gru { linear_before_reset: false },
        Kind::Gru { linear_before_reset: true },
        Kind::Lstm { coupled: false },
        Kind::Lstm { coupled: true },
    ];
    for kind in kinds {
        for batch_first in [false, true] {
            let (steps, batch, width, hidden, gates) = (4, 3, 2, 5, kind.gates());
            let mut activations = kind.activations().repeat(2);
            activations[0] = Activation::ScaledTanh { alpha: 0.9, beta: 1.1 };
            let op = Recurrent { kind, direction: Direction::Both, activations, clip: Some(1.5), batch_first };
            let x = if batch_first { [batch, steps, width] } else { [steps, batch, width] };
            let state = if batch_first { [batch, 2, hidden] } else { [2, batch, hidden] };
            let is_lstm = matches!(kind, Kind::Lstm { .. });
            let mut operands = vec![
                floats(&x)?,
                floats(&[2, gates * hidden, width])?,
                floats(&[2, gates * hidden, hidden])?,
                floats(&[2, 2 * gates * hidden])?,
                Some(Tensor::vector(vec![4i32, 2, 0])),
                floats(&state)?,
            ];
            if is_lstm {
                operands.extend([floats(&state)?, floats(&[2, 3 * hidden])?]);
            }
            check(&device, op, &operands, if is_lstm { 3 } else { 2 })?;
        }
    }
    Ok(())
}

#[test]
fn sampling_handles_any_position() -> Test {
    let device = cpu()?;
    let mut grid = floats(&[2, 3, 3, 2])?.ok_or("no grid")?.slice::<f32>()?.to_vec();
    (grid[0], grid[3], grid[7]) = (f32::INFINITY, -9.0, f32::NEG_INFINITY);
    let grid = Tensor::new([2, 3, 3, 2], grid)?;
    for mode in [GridMode::Nearest, GridMode::Linear, GridMode::Cubic] {
        for padding in [GridPadding::Zeros, GridPadding::Border, GridPadding::Reflection] {
            for align_corners in [false, true] {
                let op = Movement::GridSample { mode, padding, align_corners };
                check(&device, op, &[floats(&[2, 3, 4, 5])?, Some(grid.clone())], 1)?;
            }
        }
    }
    check(&device, Movement::AffineGrid { align_corners: false }, &[floats(&[2, 3, 4])?, list(&[2, 1, 2, 3, 4])], 1)?;
    let deform = Product::DeformConv { window: window(&[]), groups: 2, offset_groups: 2 };
    let operands = [
        floats(&[1, 4, 4, 5])?,
        floats(&[6, 2, 2, 3])?,
        floats(&[1, 24, 3, 3])?,
        floats(&[6])?,
        floats(&[1, 12, 3, 3])?,
    ];
    check(&device, deform, &operands, 1)?;
    for (samples, max) in [(Some(2), false), (None, true)] {
        let roi = RoiAlign { size: [2, 3], samples, scale: 0.5, half_pixel: true, max };
        let regions = Tensor::new([2, 4], vec![0.0f32, 1.0, 7.0, 6.5, -3.0, 2.0, 3.0, 12.0])?;
        check(&device, Indexing::RoiAlign(roi), &[floats(&[2, 3, 5, 4])?, Some(regions), list(&[1, 0])], 1)?;
    }
    Ok(())
}

#[test]
fn every_type_is_resized() -> Test {
    let device = cpu()?;
    let modes = [ResizeMode::Nearest(Nearest::RoundPreferCeil), ResizeMode::Linear, ResizeMode::Cubic(-0.75)];
    for mode in modes {
        for (dtype, antialias) in [(DType::F32, false), (DType::F16, true), (DType::U8, false), (DType::I8, true)] {
            // Cubic weights overshoot the range of bytes.
            if matches!(mode, ResizeMode::Cubic(_)) && !dtype.is_float() {
                continue;
            }
            let op = Resize {
                mode,
                coordinates: Coordinates::HalfPixel,
                antialias,
                exclude_outside: false,
                extrapolation: 0.0,
                policy: AspectPolicy::Stretch,
                axes: Some(vec![2, 1]),
            };
            check(&device, Movement::Resize(op), &[tensor(dtype, &[2, 5, 6])?, None, None, list(&[4, 7])], 1)?;
        }
        let crop = Resize {
            mode,
            coordinates: Coordinates::CropAndResize,
            antialias: false,
            exclude_outside: false,
            extrapolation: 9.0,
            policy: AspectPolicy::Stretch,
            axes: None,
        };
        let region = Some(Tensor::vector(vec![0.1f32, -0.4, 0.9, 1.2]));
        check(&device, Movement::Resize(crop), &[floats(&[5, 6])?, region, None, list(&[4, 7])], 1)?;
    }
    Ok(())
}

#[test]
fn einsum_accepts_any_subscripts() -> Test {
    let device = cpu()?;
    let names = |text: &str| {
        let (before, after) = text.split_once("...").unwrap_or((text, ""));
        Subscript { before: before.chars().collect(), dots: text.contains("..."), after: after.chars().collect() }
    };
    let run = |inputs: &[&str], output: &str, shapes: &[&[usize]]| -> Test {
        let op = Product::Einsum { inputs: inputs.iter().map(|text| names(text)).collect(), output: names(output) };
        let operands = shapes.iter().map(|shape| floats(shape)).collect::<Result<Vec<_>, _>>()?;
        check(&device, op, &operands, 1)
    };
    run(&["ij", "jk"], "ki", &[&[2, 3], &[3, 4]])?;
    run(&["iij", "jk", "kl"], "li", &[&[3, 3, 2], &[2, 4], &[4, 5]])?;
    run(&["...ij", "...jk"], "...ik", &[&[2, 1, 3, 4], &[5, 4, 2]])?;
    run(&["bij", "bij"], "b", &[&[2, 3, 4], &[2, 3, 4]])?;
    run(&["ij", "kl"], "jl", &[&[2, 3], &[4, 5]])?;
    run(&["ii"], "", &[&[4, 4]])?;
    run(&["ij"], "ji", &[&[2, 3]])
}

#[test]
fn fourier_transforms_match_the_reference() -> Test {
    let device = cpu()?;
    for length in [1i64, 2, 5, 8, 11] {
        for (inverse, onesided, parts) in [(false, false, 2), (false, true, 1), (true, false, 2), (true, true, 2)] {
            let op = Signal::Dft { inverse, onesided };
            let operands = [floats(&[2, 7, 3, parts])?, Some(Tensor::scalar(length)), Some(Tensor::scalar(1i64))];
            check(&device, op, &operands, 1)?;
        }
    }
    for (onesided, parts) in [(true, 1), (false, 2)] {
        let operands = [floats(&[2, 20, parts])?, Some(Tensor::scalar(3i64)), floats(&[6])?, None];
        check(&device, Signal::Stft { onesided }, &operands, 1)?;
    }
    Ok(())
}

#[test]
fn seeds_draw_the_same_values_as_on_the_host() -> Test {
    let device = cpu()?;
    let seed = Some(77);
    for distribution in [Distribution::Uniform { low: -1.0, high: 3.0 }, Distribution::Normal { mean: 2.0, scale: 0.5 }]
    {
        let op = Random::Fill { distribution, dtype: Some(DType::F32), seed };
        check(&device, op, &[list(&[3, 7])], 1)?;
    }
    check(&device, Random::Bernoulli { dtype: Some(DType::F64), seed }, &[floats(&[4, 5])?], 1)?;
    check(&device, Random::Multinomial { dtype: DType::I32, samples: 9, seed }, &[floats(&[3, 6])?], 1)?;
    let (share, train) = (Some(Tensor::scalar(0.3f32)), Some(Tensor::scalar(true)));
    check(&device, Random::Dropout { seed }, &[floats(&[5, 7])?, share, train], 2)?;
    // Without a seed, every run draws new values.
    let distribution = Distribution::Uniform { low: 0.0, high: 1.0 };
    let op = Random::Fill { distribution, dtype: Some(DType::F32), seed: None };
    let operands = [list(&[4])];
    let mut session = Session::new(graph(op.into(), &operands, 1), device);
    let inputs: Vec<Value> = operands.into_iter().flatten().map(Value::from).collect();
    let first = session.run(&inputs)?;
    assert_ne!(first[0].tensor()?, session.run(&inputs)?[0].tensor()?);
    Ok(())
}

#[test]
fn integer_reductions_wrap() -> Test {
    let device = cpu()?;
    let folds = [
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::Product,
        ReduceKind::L1,
        ReduceKind::L2,
        ReduceKind::SumSquare,
    ];
    for fold in folds {
        for dtype in [DType::I32, DType::U32, DType::U8, DType::I8, DType::I64, DType::F32, DType::BF16] {
            // The reference computes means and roots of sums that may have wrapped around.
            let wraps = matches!(fold, ReduceKind::Mean | ReduceKind::L2) && matches!(dtype, DType::I32 | DType::U32);
            if wraps || dtype == DType::BF16 && fold == ReduceKind::Product {
                continue;
            }
            let op = Reduction::Reduce { fold, keep: false, noop_with_empty_axes: false };
            check(&device, op, &[tensor(dtype, &[3, 4, 2])?, list(&[2, 0])], 1)?;
        }
        let op = Reduction::Reduce { fold, keep: true, noop_with_empty_axes: false };
        check(&device, op, &[Some(Tensor::zeros(DType::F32, [2, 0, 3])?), list(&[1])], 1)?;
    }
    let cumulate = Reduction::Cumulate { product: false, exclusive: true, reverse: true };
    for dtype in [DType::I32, DType::I64, DType::F16] {
        check(&device, cumulate.clone(), &[tensor(dtype, &[3, 5])?, Some(Tensor::scalar(1i64))], 1)?;
    }
    let hardmax = |to_end| Reduction::Softmax { kind: SoftmaxKind::Hardmax, axis: 1, to_end };
    check(&device, hardmax(true), &[floats(&[2, 3, 4])?], 1)?;
    check(&device, hardmax(false), &[floats(&[2, 3, 4])?], 1)?;
    for reduction in [LossReduction::None, LossReduction::Sum, LossReduction::Mean] {
        let op = Reduction::NegativeLogLikelihood { reduction, ignore: Some(-1) };
        let classes = Tensor::new([2, 3], vec![0i64, -1, 3, 2, 1, 0])?;
        check(&device, op, &[floats(&[2, 4, 3])?, Some(classes), floats(&[4])?], 1)?;
    }
    Ok(())
}

#[test]
fn elements_are_scattered_in_order() -> Test {
    let device = cpu()?;
    let indices = Tensor::new([1, 2, 1, 3, 1, 2], vec![0i64, 1, 1, 0, -1, 0, 1, 1, 0, 0, -2, 1])?;
    for reduction in [Scatter::Replace, Scatter::Add, Scatter::Multiply, Scatter::Max, Scatter::Min] {
        for dtype in [DType::F32, DType::U8, DType::I32, DType::I64, DType::Bool] {
            let op = Indexing::ScatterElements { axis: 3, reduction };
            let (data, updates) = (tensor(dtype, &[1, 2, 1, 2, 1, 3])?, tensor(dtype, &[1, 2, 1, 3, 1, 2])?);
            check(&device, op, &[data, Some(indices.clone()), updates], 1)?;
            let places = Some(Tensor::new([3, 1], vec![1i64, 1, -3])?);
            let op = Indexing::ScatterNd { reduction };
            check(&device, op, &[tensor(dtype, &[3, 4])?, places, tensor(dtype, &[3, 4])?], 1)?;
        }
    }
    for circular in [false, true] {
        let op = Indexing::TensorScatter { axis: -2, circular };
        let places = list(if circular { &[3, 2] } else { &[1, 0] });
        check(&device, op, &[floats(&[2, 2, 4, 3])?, floats(&[2, 2, 3, 3])?, places], 1)?;
    }
    for dtype in [DType::F32, DType::I32, DType::U8] {
        let op = Indexing::TopK { axis: 1, largest: false };
        check(&device, op, &[tensor(dtype, &[2, 6, 3])?, list(&[4])], 2)?;
    }
    let values = Some(Tensor::vector(vec![2.5f32, -1.0]));
    let depth = Some(Tensor::scalar(5i64));
    check(&device, Indexing::OneHot { axis: 1 }, &[list(&[0, -1, 7, 3]), depth, values], 1)?;
    let unpool = Pool::MaxUnpool { window: Window { strides: vec![2], ..window(&[2]) } };
    let places = Some(Tensor::new([1, 2, 2], vec![1i64, 2, 4, 7])?);
    check(&device, unpool, &[floats(&[1, 2, 2])?, places, list(&[1, 2, 6])], 1)?;
    check(&device, Movement::ReverseSequence { time_axis: 1 }, &[floats(&[3, 4, 2])?, list(&[4, 0, 3])], 1)?;
    check(&device, Movement::Trilu { upper: true }, &[tensor(DType::I64, &[2, 3, 4])?, Some(Tensor::scalar(-1i64))], 1)
}

#[test]
fn attention_and_norms_of_narrow_floats() -> Test {
    let device = cpu()?;
    let attention = |causal: bool, softcap: f32, scores: Scores| {
        let heads = (Some(4), Some(2));
        AttentionOp::Attention(Attention { scale: None, causal, pads_mask: true, heads, softcap, scores })
    };
    for dtype in [DType::F32, DType::F16] {
        let (q, k, v) = (tensor(dtype, &[2, 3, 8])?, tensor(dtype, &[2, 5, 4])?, tensor(dtype, &[2, 5, 6])?);
        let mask = Some(Tensor::new([3, 4], (0..12).map(|at| at % 3 != 1).collect::<Vec<bool>>())?);
        check(&device, attention(true, 0.0, Scores::Masked), &[q.clone(), k.clone(), v.clone(), mask], 4)?;
        check(&device, attention(true, 0.5, Scores::Capped), &[q.clone(), k.clone(), v.clone()], 4)?;
        let past = [tensor(dtype, &[2, 2, 2, 2])?, tensor(dtype, &[2, 2, 2, 3])?];
        let [keys, values] = past;
        let with_past = [q.clone(), k.clone(), v.clone(), None, keys, values];
        check(&device, attention(true, 0.0, Scores::Weights), &with_past, 4)?;
        for (causal, lengths) in [(false, [4, 0]), (true, [4, 2])] {
            let operands = [q.clone(), k.clone(), v.clone(), None, None, None, list(&lengths)];
            check(&device, attention(causal, 0.0, Scores::Weights), &operands, 4)?;
            check(&device, attention(causal, 0.5, Scores::Masked), &operands, 4)?;
        }
    }
    let four = || floats(&[4]);
    let variance = Some(Tensor::vector(vec![0.5f32, 1.0, 2.0, 0.1]));
    let batch = Norm::Batch { epsilon: 1e-5, momentum: Some(0.9) };
    check(&device, batch, &[floats(&[3, 4, 5])?, four()?, four()?, four()?, variance], 3)?;
    let by_group = Norm::Group { groups: Some(2), epsilon: 1e-5, by_group: true };
    check(&device, by_group, &[floats(&[3, 4, 5])?, floats(&[2])?, floats(&[2])?], 1)?;
    for euclidean in [false, true] {
        let mut rows = floats(&[3, 4])?.ok_or("no rows")?.slice::<f32>()?.to_vec();
        rows[4..8].fill(0.0);
        check(&device, Norm::Lp { axis: 1, euclidean }, &[Some(Tensor::new([3, 4], rows)?)], 1)?;
    }
    check(&device, Norm::MeanVariance { axes: vec![0, 2] }, &[floats(&[3, 4, 5])?], 1)?;
    let response = Norm::LocalResponse { size: 4, alpha: 0.3, beta: 0.75, bias: 2.0 };
    check(&device, response, &[floats(&[2, 6, 3])?], 1)
}

#[test]
fn quantization_round_trips() -> Test {
    let device = cpu()?;
    let blocks = floats(&[2, 2, 3])?.map(|one| {
        Tensor::from_floats(DType::F32, [2, 2, 3], &one.floats()?.iter().map(|one| one.abs() + 0.1).collect::<Vec<_>>())
    });
    let blocks = blocks.transpose()?;
    for dtype in [DType::U8, DType::I16] {
        let zero = tensor(dtype, &[2, 2, 3])?;
        let op = Quantize::Linear { axis: 1, block: 2, dtype, precision: None };
        check(&device, op, &[floats(&[2, 3, 3])?, blocks.clone(), zero.clone()], 1)?;
        let op = Quantize::Dequantize { axis: 1, block: 2, dtype: None };
        check(&device, op, &[tensor(dtype, &[2, 3, 3])?, blocks.clone(), zero], 1)?;
    }
    check(&device, Quantize::Dynamic, &[floats(&[4, 5])?], 3)?;
    check(&device, Quantize::Dynamic, &[Some(Tensor::zeros(DType::F32, [3])?)], 3)?;
    for (from, to) in [(DType::I8, DType::U8), (DType::U16, DType::I16), (DType::F32, DType::U32)] {
        check(&device, Elementwise::BitCast { to }, &[tensor(from, &[9])?], 1)?;
    }
    let fold =
        Movement::Col2Im { dilations: Some(vec![2, 1]), pads: Some(vec![1, 0, 0, 1]), strides: Some(vec![1, 2]) };
    check(&device, fold, &[floats(&[2, 12, 8])?, list(&[5, 4]), list(&[2, 2])], 1)?;
    let spread = Product::ConvTranspose {
        window: Window { strides: vec![2], dilations: vec![2], ..window(&[]) },
        groups: 2,
        output_padding: vec![1],
        output_shape: None,
    };
    check(&device, spread, &[floats(&[2, 4, 5])?, floats(&[4, 3, 3])?, floats(&[6])?], 1)?;
    check(&device, Product::Det, &[floats(&[4, 3, 3])?], 1)
}

#[test]
fn a_dry_run_reports_what_a_run_does() -> Test {
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let w = graph.constant("w", floats(&[8, 64])?.ok_or("no weights")?);
    let product = Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    let product = graph.node("product", product, &[x, w]);
    let limited = graph.node("limited", Unary::Relu, &[product]);
    let axes = graph.constant("axes", Tensor::vector(vec![1i64]));
    let whole = graph.node("whole", Elementwise::Cast { to: DType::I32 }, &[limited]);
    let fold = Reduction::Reduce { fold: ReduceKind::Mean, keep: false, noop_with_empty_axes: false };
    let mean = graph.node("mean", fold, &[whole, axes]);
    let places = graph.node("places", Indexing::NonZero, &[limited]);
    let sum = graph.node("sum", Unary::Neg, &[places]);
    graph.outputs = vec![mean, sum];
    let facts = [Some(Fact::new(DType::F32, [300, 8]))];
    let kinds = |format| -> Result<_, roci_runtime::Error> {
        let plan = roci_runtime::dry_run(&graph, &facts, format)?;
        let kind = |place: &Placement| match place {
            Placement::Kernels(_) => "kernels",
            Placement::Host(_) => "host",
            Placement::Refused(_) => "refused",
            Placement::Unknown(_) => "unknown",
            _ => "other",
        };
        Ok((plan.placements.iter().map(kind).collect::<Vec<_>>(), plan.memory))
    };
    let (places, memory) = kinds(CodeFormat::Native)?;
    assert_eq!(places, ["kernels", "kernels", "kernels", "host", "host", "unknown"]);
    assert_eq!(kinds(CodeFormat::Spirv)?.0, ["kernels", "kernels", "kernels", "refused", "host", "unknown"]);
    let mut session = Session::new(graph, cpu()?);
    session.run(&[floats(&[300, 8])?.ok_or("no input")?.into()])?;
    // Nodes after a data-dependent shape are not counted.
    assert!(memory.arena > 0 && memory.arena <= session.memory().arena, "{memory:?} {:?}", session.memory());
    assert!(memory.constants <= session.memory().constants);
    Ok(())
}

#[test]
fn nan_and_infinity_propagate_as_on_the_host() -> Test {
    let device = cpu()?;
    let mut odd = floats(&[4, 6])?.ok_or("no numbers")?.slice::<f32>()?.to_vec();
    (odd[1], odd[8], odd[9], odd[20]) = (f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0);
    let odd = || Tensor::new([4, 6], odd.clone()).map(Some);
    for op in [Unary::Relu, Unary::Neg, Unary::Abs, Unary::Exp, Unary::Sqrt, Unary::Tanh, Unary::Sigmoid, Unary::Floor]
    {
        check(&device, op, &[odd()?], 1)?;
    }
    for op in [Binary::Add, Binary::Mul, Binary::Div, Binary::Max, Binary::Min] {
        check(&device, op, &[odd()?, floats(&[4, 6])?], 1)?;
    }
    let product = Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    check(&device, product, &[odd()?, floats(&[6, 5])?], 1)?;
    let softmax = Reduction::Softmax { kind: SoftmaxKind::Softmax, axis: -1, to_end: false };
    check(&device, softmax, &[odd()?], 1)?;
    for fold in [ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min, ReduceKind::Mean] {
        check(&device, Reduction::Reduce { fold, keep: false, noop_with_empty_axes: false }, &[odd()?, list(&[1])], 1)?;
    }
    Ok(())
}

#[test]
fn empty_tensors_dispatch_nothing() -> Test {
    let null = Registry::new().with(roci_hal::null::NullDriver::new(1)).open(&"null".parse()?, None)?;
    let product = || Product::MatMul { transpose_a: false, transpose_b: false, alpha: 1.0, beta: 1.0 };
    let conv = || Product::Conv { window: window(&[]), groups: 1 };
    let fold = |fold| Reduction::Reduce { fold, keep: false, noop_with_empty_axes: false };
    let cases: Vec<(Op, Vec<Option<Tensor>>)> = vec![
        (product().into(), vec![floats(&[0, 3])?, floats(&[3, 4])?]),
        (product().into(), vec![floats(&[2, 0])?, floats(&[0, 4])?]),
        (conv().into(), vec![floats(&[0, 2, 5, 5])?, floats(&[3, 2, 3, 3])?]),
        (Unary::Relu.into(), vec![floats(&[0, 7])?]),
        (Binary::Add.into(), vec![floats(&[0, 7])?, floats(&[1, 7])?]),
        (fold(ReduceKind::Sum).into(), vec![floats(&[3, 0])?, list(&[1])]),
        (fold(ReduceKind::Max).into(), vec![floats(&[0, 3])?, list(&[1])]),
        (Movement::Concat { axis: 0 }.into(), vec![floats(&[0, 3])?, floats(&[2, 3])?]),
        (Movement::Concat { axis: 0 }.into(), vec![floats(&[0, 3])?, floats(&[0, 3])?]),
    ];
    for (op, operands) in cases {
        check(&cpu()?, op.clone(), &operands, 1)?;
        // The null driver computes nothing, so elements are not compared.
        let graph = graph(op, &operands, 1);
        let inputs: Vec<Value> = operands.into_iter().flatten().map(Value::from).collect();
        let expected = roci_graph::run(&graph, inputs.clone())?;
        let result = Session::new(graph, null.clone()).run(&inputs)?;
        assert_eq!(result[0].tensor()?.shape(), expected[0].tensor()?.shape());
    }
    Ok(())
}

#[test]
fn a_model_larger_than_the_device_is_an_error_with_sizes() -> Test {
    // The null device has 1 GiB.
    let null = Registry::new().with(roci_hal::null::NullDriver::new(1)).open(&"null".parse()?, None)?;
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let sizes = graph.constant("sizes", Tensor::vector(vec![1i64 << 14, 1 << 14]));
    let wide = graph.node("wide", Movement::Expand, &[x, sizes]);
    let result = graph.node("result", Unary::Exp, &[wide]);
    graph.outputs = vec![result];
    let mut session = Session::new(graph, null);
    let planned =
        roci_runtime::dry_run(session.graph(), &[Some(Fact::new(DType::F32, [1]))], CodeFormat::Native)?.memory;
    let refused = session.run(&[Tensor::vector(vec![1f32]).into()]);
    let Err(Error::Memory { needed, available, .. }) = refused else { return Err(format!("{refused:?}").into()) };
    assert!(needed >= 1 << 30 && available == 1 << 30, "{needed} of {available}");
    assert_eq!(needed, planned.total(), "the dry run's total");
    Ok(())
}

#[test]
fn a_network_is_trained_and_its_parameters_stay_on_the_device() -> Test {
    let device = cpu()?;
    for optimizer in [Optimizer::SGD, Optimizer::ADAM] {
        let (model, loss) = train::example(DType::F32, 4, true, 3)?;
        let step = model.step(loss, &optimizer)?;
        let carried = step.state.iter().map(|one| (one.input, one.output)).collect();
        let initial: Vec<Tensor> = step.state.iter().map(|one| one.initial.clone()).collect();
        let mut expected: Vec<Value> = initial.iter().cloned().map(Value::from).collect();
        let mut session = StatefulSession::new(Session::new(step.graph.clone(), device.clone()), carried, initial)?;
        for at in 0..3i64 {
            let images = floats(&[4, 1, train::SIDE, train::SIDE])?.ok_or("no images")?;
            let classes = Tensor::vector((0..4).map(|index| (index + at) % train::CLASSES as i64).collect());
            let data: Vec<Value> = vec![images.into(), classes.into(), Tensor::scalar(0.01f32).into()];
            let result = session.run(&data)?;
            assert!(session.is_resident() && session.notes().is_empty(), "{:?}", session.notes());
            let mut expected_now = roci_graph::run(&step.graph, [data, expected].concat())?;
            expected = expected_now.split_off(1);
            close(result[0].tensor()?, expected_now[0].tensor()?)?;
        }
        for ((result, expected), carried) in session.state()?.iter().zip(&expected).zip(&step.state) {
            // Adam divides by a square root: where a gradient is only rounding error, the
            // parameter's change is too.
            for (result, expected) in result.tensor()?.floats()?.into_iter().zip(expected.tensor()?.floats()?) {
                let is_close = Tolerance::Half.error_ratio(result, expected) <= 1.0;
                assert!(is_close, "{}: {result} for {expected}", carried.name);
            }
        }
        // Another batch size needs another recording, so the state goes through the host.
        let data = |batch: usize| -> Result<Vec<Value>, Box<dyn std::error::Error>> {
            let images = floats(&[batch, 1, train::SIDE, train::SIDE])?.ok_or("no images")?;
            let classes = Tensor::zeros(DType::I64, [batch])?;
            Ok(vec![images.into(), classes.into(), Tensor::scalar(0.0f32).into()])
        };
        assert!(session.run(&data(4)?[..2]).is_err());
        let before = session.run(&data(4)?)?;
        assert!(session.run(&data(5)?).is_err(), "a step is for one size");
        close(session.run(&data(4)?)?[0].tensor()?, before[0].tensor()?)?;
    }
    Ok(())
}

#[test]
fn a_constant_that_passes_through_is_available_on_the_host() -> Test {
    // The cast is the identity, so its result is the constant; the pad's fill is read on the host.
    let mut graph = Graph::default();
    let x = graph.value("x");
    graph.inputs.push(x);
    let fill = graph.constant("fill", Tensor::scalar(-2.5_f32));
    let pads = graph.constant("pads", Tensor::vector(vec![1_i64, 2]));
    let like = graph.node("like", Elementwise::CastLike, &[fill, x]);
    let padded = graph.node("padded", Movement::Pad { mode: PadMode::Constant }, &[x, pads, like]);
    graph.outputs = vec![padded];
    let device = cpu()?;
    let result = Session::new(graph, device).run(&[Tensor::vector(vec![1.0_f32, 3.0]).into()])?;
    assert_eq!(result[0].tensor()?.floats()?, [-2.5, 1.0, 3.0, -2.5, -2.5]);
    Ok(())
}
