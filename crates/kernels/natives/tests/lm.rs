//! Products with packed matrices against plain sums in f64 over the values that `roci_gguf` decodes
//! from the same blocks, at every instruction set of this CPU.

#[path = "lm/experts.rs"]
mod experts;

use bytemuck::Pod;
use fastrand::Rng;
use half::f16;
use roci_families::{LmEmbedPacked, LmMatmulPacked, LmQuantize};
use roci_gguf::Type;
use roci_hal::native::{NativeBinding, NativeLaunch};
use roci_natives::{Level, find_native_only, lm_cpu};
use roci_tolerance::Tolerance;

/// All types that can be packed.
const TYPES: [Type; 27] = [
    Type::F32,
    Type::F16,
    Type::BF16,
    Type::Q4_0,
    Type::Q4_1,
    Type::Q5_0,
    Type::Q5_1,
    Type::Q8_0,
    Type::Q2_K,
    Type::Q3_K,
    Type::Q4_K,
    Type::Q5_K,
    Type::Q6_K,
    Type::IQ4_NL,
    Type::IQ4_XS,
    Type::IQ1_S,
    Type::IQ1_M,
    Type::IQ2_XXS,
    Type::IQ2_XS,
    Type::IQ2_S,
    Type::IQ3_XXS,
    Type::IQ3_S,
    Type::TQ1_0,
    Type::TQ2_0,
    Type::Q1_0,
    Type::Q2_0,
    Type::NVFP4,
];

/// Terms and sums below the smallest normal f32 may be flushed to zero.
const UNDERFLOW: f64 = 1e-30;

/// The allowed error of a sum of products, given the sum of their magnitudes.
fn allowed(kind: Type, sum: f64, magnitude: f64) -> f64 {
    if !kind.is_quantized() {
        return Tolerance::Sum.allowed(sum, magnitude) + UNDERFLOW;
    }
    // The scale of every term is rounded to 16 bits again. In blocks of 256, a group's minimum may
    // be much larger than its weights.
    let minimums = if kind.block_size() == 256 { 4.0 } else { 1.0 };
    minimums * Tolerance::SumF16.allowed(magnitude, magnitude)
}

fn types() -> impl Iterator<Item = Type> {
    TYPES.into_iter().chain([Type::MXFP4])
}

/// Every instruction set of this CPU; the last one with and without AMX.
fn levels() -> impl Iterator<Item = (usize, Level)> {
    Level::available().iter().copied().chain([Level::best().without_amx()]).enumerate()
}

/// A value from -1 to 1.
fn unit(random: &mut Rng) -> f32 {
    random.f32() * 2.0 - 1.0
}

/// Blocks of random bytes, with scales of usual magnitude.
fn matrix(kind: Type, values: usize, random: &mut Rng) -> Vec<u8> {
    let mut bytes = Vec::new();
    if !kind.is_quantized() {
        let values: Vec<f32> = (0..values).map(|_| unit(random)).collect();
        kind.quantize(&values, &mut bytes).expect("floats have a quantizer");
        return bytes;
    }
    for _ in 0..values / kind.block_size() {
        let start = bytes.len();
        bytes.extend((0..kind.block_bytes()).map(|_| random.u8(..)));
        let block = &mut bytes[start..];
        let mut scale = |at: usize| block[at..at + 2].copy_from_slice(&f16::from_f32(unit(random)).to_le_bytes());
        match kind {
            Type::Q4_0 | Type::Q5_0 | Type::Q8_0 | Type::IQ4_NL | Type::IQ4_XS => scale(0),
            Type::Q4_1 | Type::Q5_1 | Type::Q4_K | Type::Q5_K => [0, 2].into_iter().for_each(scale),
            Type::Q2_K => [80, 82].into_iter().for_each(scale),
            Type::Q3_K => scale(108),
            Type::Q6_K => scale(208),
            Type::IQ1_S | Type::IQ2_XXS | Type::IQ2_XS | Type::IQ2_S | Type::IQ3_XXS | Type::IQ3_S => scale(0),
            Type::Q1_0 | Type::Q2_0 => scale(0),
            Type::TQ1_0 => scale(52),
            Type::TQ2_0 => scale(64),
            // The exponent of a scale that is spread over the block.
            Type::IQ1_M => block[55] &= 0xbf,
            Type::NVFP4 => {}
            // From a subnormal scale to the largest one that keeps sums finite.
            _ => block[0] %= 200,
        }
    }
    bytes
}

fn packed(kind: Type, source: &[u8], [rows, columns]: [usize; 2]) -> Vec<u32> {
    let bytes = lm_cpu::packed_bytes(kind, rows, columns).expect("the type can be packed");
    let mut packed = vec![0xa5a5_a5a5_u32; bytes / 4];
    let group = lm_cpu::panel_bytes(kind, columns).expect("the type can be packed");
    for (at, target) in bytemuck::cast_slice_mut(&mut packed).chunks_mut(2 * group).enumerate() {
        let groups = 2 * at..2 * at + target.len() / group;
        lm_cpu::pack_rows(kind, source, columns, groups, target).expect("the lengths match");
    }
    packed
}

/// Runs a kernel, last part first.
fn launch<P: Pod>(level: Level, name: &str, buffers: &[NativeBinding], p: &P, workers: usize) -> Result<usize, String> {
    let (kernel, constants) = find_native_only(name, level).expect("the kernel exists");
    assert_eq!(constants, size_of::<P>());
    let launch = NativeLaunch { grid: [1; 3], bindings: buffers, constants: bytemuck::bytes_of(p), workers };
    let parts = kernel.prepare(&launch)?;
    for part in (0..parts).rev() {
        // SAFETY: the bindings are live buffers that only this thread uses; `prepare` accepted the
        // launch.
        unsafe { kernel.run(&launch, part, parts) };
    }
    Ok(parts)
}

fn bound<T: Pod>(values: &mut [T]) -> NativeBinding {
    NativeBinding { pointer: values.as_mut_ptr().cast(), length: size_of_val(values) }
}

/// Activations as `lm_quantize` writes them.
fn quantized(level: Level, x: &mut [f32], tokens: u32, columns: u32, workers: usize) -> Vec<u32> {
    let mut y = vec![0_u32; lm_cpu::activation_bytes(tokens as usize, columns as usize) / 4];
    let p = LmQuantize { tokens, columns, x_stride: columns, x_offset: 0 };
    launch(level, "lm_quantize", &[bound(x), bound(&mut y)], &p, workers).expect("the launch is valid");
    y
}

/// Quantized activations as values: the nearest of 255 steps, relative to the maximum of each 32.
fn steps(x: &[f32], columns: usize) -> Vec<f64> {
    let group = |x: &[f32]| {
        let most = x.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let by = if most == 0.0 { 0.0 } else { 127.0 / most };
        x.iter().map(|x| f64::from((x * by).round_ties_even()) * f64::from(most / 127.0)).collect::<Vec<_>>()
    };
    x.chunks(columns).flat_map(|row| row.chunks(32).flat_map(group)).collect()
}

/// A product, its expected result and tolerance.
struct Case {
    kind: Type,
    rows: usize,
    columns: usize,
    weights: Vec<f64>,
    packed: Vec<u32>,
    bias: Vec<f32>,
}

impl Case {
    fn new(kind: Type, rows: usize, columns: usize) -> Case {
        let mut random = Rng::with_seed(kind.id().into());
        let source = matrix(kind, rows * columns, &mut random);
        let weights = kind.to_f32(&source).expect("whole blocks").into_iter().map(f64::from).collect();
        let bias = (0..rows).map(|_| unit(&mut random)).collect();
        Case { kind, rows, columns, weights, packed: packed(kind, &source, [rows, columns]), bias }
    }

    fn run(&mut self, level: Level, x: &mut [f32], y: &mut [f32], workers: usize, flags: u32) {
        let (rows, columns) = (self.rows as u32, self.columns as u32);
        let tokens = (x.len() / self.columns) as u32;
        let (y_stride, y_offset) = (rows + 3, 5);
        let p = LmMatmulPacked {
            rows,
            columns,
            tokens,
            format: self.kind.id(),
            x_stride: columns,
            x_offset: 0,
            y_stride,
            y_offset,
            flags,
            scale: 0.5,
            ..LmMatmulPacked::default()
        };
        let mut whole =
            if self.kind.is_quantized() { quantized(level, x, tokens, columns, workers) } else { Vec::new() };
        let x = if self.kind.is_quantized() { bound(&mut whole) } else { bound(x) };
        let bias = bound(&mut self.bias);
        launch(level, "lm_matmul_packed", &[bound(&mut self.packed), x, bias, bound(y)], &p, workers)
            .expect("the launch is valid");
    }

    /// Compares `y` with plain sums, plus `old` and `bias` times the bias.
    fn check(&self, x: &[f32], y: &[f32], (old, bias): (f64, f64), what: &str) {
        let stride = self.rows + 3;
        let x =
            if self.kind.is_quantized() { steps(x, self.columns) } else { x.iter().map(|&x| f64::from(x)).collect() };
        for (token, x) in x.chunks(self.columns).enumerate() {
            for (row, weights) in self.weights.chunks(self.columns).enumerate() {
                let (mut sum, mut size) = (old + bias * f64::from(self.bias[row]), old.abs() + bias);
                for (w, x) in weights.iter().zip(x) {
                    sum += w * x;
                    size += (w * x).abs();
                }
                let got = f64::from(y[5 + token * stride + row]);
                let allowed = allowed(self.kind, sum, size);
                assert!((got - sum).abs() <= allowed, "{what}: [{token}, {row}] is {got}, not {sum}");
            }
        }
    }
}

#[test]
fn products_match_f64_sums() {
    for kind in types() {
        for (rows, columns) in [(37, 256), (16, 512)] {
            let mut case = Case::new(kind, rows, columns);
            for tokens in [1, 2, 3, 7, 16, 33] {
                let mut random = Rng::with_seed(tokens as u64);
                let mut x: Vec<f32> = (0..tokens * columns).map(|_| unit(&mut random) * 3.0).collect();
                for (number, level) in levels() {
                    let what = format!("{kind}, {rows}x{columns}, {tokens} tokens, {number} {level}");
                    let mut y = vec![0.25; 5 + tokens * (rows + 3)];
                    case.run(level, &mut x, &mut y, 3, 0);
                    case.check(&x, &y, (0.0, 0.0), &what);
                    for (at, &y) in y.iter().enumerate() {
                        let inside = at >= 5 && (at - 5) % (rows + 3) < rows;
                        assert!(inside || y == 0.25, "{what}: wrote [{at}], which is outside the result");
                    }
                    y.fill(0.25);
                    case.run(level, &mut x, &mut y, 1, LmMatmulPacked::ADD);
                    case.check(&x, &y, (0.25, 0.0), &format!("{what}, added"));
                    case.run(level, &mut x, &mut y, 3, LmMatmulPacked::BIAS);
                    case.check(&x, &y, (0.0, 1.0), &format!("{what}, with a bias"));
                    y.fill(0.25);
                    case.run(level, &mut x, &mut y, 2, LmMatmulPacked::BIAS | LmMatmulPacked::ADD);
                    case.check(&x, &y, (0.25, 1.0), &format!("{what}, with a bias and added"));
                }
            }
        }
    }
}

#[test]
fn batching_does_not_change_a_token() {
    for kind in types() {
        let (rows, columns) = (37, 512);
        let mut case = Case::new(kind, rows, columns);
        let mut random = Rng::with_seed(1);
        let mut x: Vec<f32> = (0..45 * columns).map(|_| unit(&mut random)).collect();
        for (_, level) in levels() {
            let mut all = vec![0.0; 5 + 45 * (rows + 3)];
            case.run(level, &mut x, &mut all, 2, 0);
            for token in [0, 9, 31, 44] {
                let mut one = vec![0.0; 5 + rows + 3];
                case.run(level, &mut x[token * columns..][..columns], &mut one, 1, 0);
                let all = &all[5 + token * (rows + 3)..][..rows];
                assert_eq!(&one[5..5 + rows], all, "{kind}, {level}, token {token}");
            }
        }
    }
}

#[test]
fn a_scale_multiplies_all_weights() {
    for kind in types().filter(|kind| kind.has_code_groups()) {
        let mut case = Case::new(kind, 37, 512);
        case.weights.iter_mut().for_each(|weight| *weight *= 0.5);
        let mut random = Rng::with_seed(3);
        let mut x: Vec<f32> = (0..20 * 512).map(|_| unit(&mut random)).collect();
        for (_, level) in levels() {
            let mut y = vec![0.0; 5 + 20 * 40];
            case.run(level, &mut x, &mut y, 2, LmMatmulPacked::SCALED);
            case.check(&x, &y, (0.0, 0.0), &format!("{kind}, {level}"));
        }
    }
}

/// Three separate matrices of a file, used as one, give the same bits as one packed matrix.
#[test]
fn rows_in_place_match_packed_rows() {
    for kind in types().filter(|kind| lm_cpu::row_in_place(*kind, 512).is_some()) {
        let (rows, columns) = (32 + 16 + 64, 512);
        let row = lm_cpu::row_in_place(kind, columns).expect("the type is supported in place");
        let mut random = Rng::with_seed(kind.id().into());
        let source = matrix(kind, rows * columns, &mut random);
        let mut case = Case { packed: packed(kind, &source, [rows, columns]), ..Case::new(kind, rows, columns) };
        // The last matrix comes first in the file.
        let mut file = vec![0xa5_u8; 32];
        let ends = [32, 48, 112];
        let mut starts = [0; 3];
        for (part, first) in [(2, 48), (0, 0), (1, 32)] {
            file.resize(file.len().next_multiple_of(16), 0xa5);
            starts[part] = file.len() as u32 / LmMatmulPacked::UNIT;
            file.extend_from_slice(&source[first * row..ends[part] as usize * row]);
        }
        for tokens in [1, 2, 4, 7, 16, 45] {
            let mut x: Vec<f32> = (0..tokens * columns).map(|_| unit(&mut random)).collect();
            let packed_once = case.packed.clone();
            for (number, level) in levels() {
                let size = 5 + tokens * (rows + 3);
                let [mut expected, mut got] = [vec![0.25; size], vec![0.25; size]];
                case.packed.clone_from(&packed_once);
                case.run(level, &mut x, &mut expected, 2, LmMatmulPacked::BIAS);
                let mut whole = quantized(level, &mut x, tokens as u32, columns as u32, 1);
                let p = LmMatmulPacked {
                    rows: rows as u32,
                    columns: columns as u32,
                    tokens: tokens as u32,
                    format: kind.id(),
                    y_stride: rows as u32 + 3,
                    y_offset: 5,
                    flags: LmMatmulPacked::BIAS | LmMatmulPacked::IN_PLACE,
                    starts,
                    ends,
                    ..LmMatmulPacked::default()
                };
                let bindings = [bound(&mut file), bound(&mut whole), bound(&mut case.bias), bound(&mut got)];
                launch(level, "lm_matmul_packed", &bindings, &p, 3).expect("the launch is valid");
                assert_eq!(got, expected, "{kind}, {tokens} tokens, {number} {level}");
            }
        }
    }
}

#[test]
fn amx_results_are_identical() {
    for kind in types() {
        let mut case = Case::new(kind, 40, 512);
        let mut random = Rng::with_seed(2);
        let mut x: Vec<f32> = (0..35 * 512).map(|_| unit(&mut random)).collect();
        let [mut with, mut without] = [vec![0.0; 5 + 35 * 43], vec![0.0; 5 + 35 * 43]];
        case.run(Level::best(), &mut x, &mut with, 2, 0);
        case.run(Level::best().without_amx(), &mut x, &mut without, 2, 0);
        assert_eq!(with, without, "{kind}");
    }
}

#[test]
fn all_levels_quantize_identically() {
    let mut random = Rng::with_seed(7);
    let (tokens, columns) = (35, 100);
    let mut x: Vec<f32> = (0..tokens * columns).map(|_| unit(&mut random) * unit(&mut random)).collect();
    x[..64].fill(0.0);
    x[200] = 1e-39;
    x[201..300].fill(0.0);
    let plain = quantized(Level::available()[0], &mut x, tokens, columns, 1);
    for (_, level) in levels() {
        assert_eq!(quantized(level, &mut x, tokens, columns, 3), plain, "{level}");
    }
}

#[test]
fn nan_is_propagated() {
    for strange in [f32::NAN, f32::INFINITY] {
        let mut case = Case::new(Type::Q8_0, 16, 64);
        let mut x = vec![1.0; 64];
        x[33] = strange;
        for (_, level) in levels() {
            let mut y = vec![0.0; 5 + 19];
            case.run(level, &mut x, &mut y, 1, 0);
            assert!(y[5..21].iter().all(|y| !y.is_finite()), "{level}: {y:?}");
        }
    }
}

#[test]
fn embedded_rows_match_decoded_rows() {
    for kind in types() {
        let (rows, columns) = (37, 512);
        let mut case = Case::new(kind, rows, columns);
        let mut index = [36_u32, 0, 16, 16, 15, 37, u32::MAX];
        let p = LmEmbedPacked {
            rows: rows as u32,
            columns: columns as u32,
            tokens: index.len() as u32,
            format: kind.id(),
            y_stride: columns as u32 + 1,
            y_offset: 2,
            scale: 2.0,
        };
        let mut y = vec![f32::NAN; 2 + index.len() * (columns + 1)];
        let bindings = [bound(&mut case.packed), bound(&mut index), bound(&mut y)];
        launch(Level::best(), "lm_embed_packed", &bindings, &p, 2).expect("the launch is valid");
        for (at, &row) in index.iter().enumerate() {
            let got = &y[2 + at * (columns + 1)..][..columns];
            let expected = case.weights.chunks(columns).nth(row as usize);
            for (column, &got) in got.iter().enumerate() {
                let expected = expected.map_or(0.0, |row| 2.0 * row[column]);
                // With minimums, the difference may be much smaller than its terms: a multiple of a
                // scale of at most 1.
                let least = match kind {
                    Type::Q2_K => 60.0,
                    Type::Q4_K | Type::Q5_K => 252.0,
                    _ => 0.0,
                };
                let size = expected.abs() + least;
                let allowed = match kind.block_size() {
                    256 => Tolerance::SumF16.allowed(size, size),
                    _ => Tolerance::FewUlps.allowed(expected, expected.abs()),
                };
                assert!((f64::from(got) - expected).abs() <= allowed, "{kind}: {got}, not {expected}");
            }
        }
    }
}

#[test]
fn invalid_launches_are_rejected() {
    assert_eq!(
        lm_cpu::packed_bytes(Type::I32, 16, 32).expect_err("an integer type").to_string(),
        "matrices of I32 cannot be packed"
    );
    assert!(lm_cpu::packed_bytes(Type::Q4_K, 16, 32).expect_err("half a block").to_string().contains("which has 256"));
    assert!(lm_cpu::packed_bytes(Type::Q4_0, usize::MAX, 32).is_err());
    let mut target = vec![0; lm_cpu::panel_bytes(Type::Q4_0, 32).expect("a block")];
    assert!(lm_cpu::pack_rows(Type::Q4_0, &[0; 18], 32, 0..2, &mut target).is_err());
    assert!(lm_cpu::pack_rows(Type::Q4_0, &[0; 17], 32, 0..1, &mut target).is_err());
    assert!(lm_cpu::pack_rows(Type::Q4_0, &[0; 18], 32, 1..2, &mut target).is_err());

    let (mut w, mut x, mut y) = (vec![0_u32; 72], vec![0_u32; 15], vec![0.0_f32; 16]);
    let mut bias = [0.0_f32; 15];
    let p = LmMatmulPacked {
        rows: 16,
        columns: 32,
        tokens: 1,
        format: Type::Q4_0.id(),
        y_stride: 16,
        ..LmMatmulPacked::default()
    };
    let mut run = |p: LmMatmulPacked| {
        launch(
            Level::best(),
            "lm_matmul_packed",
            &[bound(&mut w), bound(&mut x), bound(&mut bias), bound(&mut y)],
            &p,
            1,
        )
    };
    // The panel is padded to a cache line, for which the binding has no room.
    assert!(run(p).expect_err("too small").contains("of `w`"));
    w.resize(80, 0);
    let mut run = |p: LmMatmulPacked| {
        launch(
            Level::best(),
            "lm_matmul_packed",
            &[bound(&mut w), bound(&mut x), bound(&mut bias), bound(&mut y)],
            &p,
            1,
        )
    };
    assert_eq!(run(p), Ok(1));
    for (wrong, word) in [
        (LmMatmulPacked { rows: 17, ..p }, "`w`"),
        (LmMatmulPacked { flags: LmMatmulPacked::BIAS, ..p }, "`bias`"),
        (LmMatmulPacked { columns: 64, ..p }, "`w`"),
        (LmMatmulPacked { columns: 31, ..p }, "multiple of 32"),
        (LmMatmulPacked { tokens: 2, ..p }, "`x`"),
        (LmMatmulPacked { tokens: 2, y_stride: 15, ..p }, "overlap"),
        (LmMatmulPacked { y_offset: 1, ..p }, "`y`"),
        (LmMatmulPacked { format: 999, ..p }, "type 999"),
        (LmMatmulPacked { flags: LmMatmulPacked::IN_PLACE, ..p }, "0 rows, expected 16"),
        (LmMatmulPacked { flags: LmMatmulPacked::IN_PLACE, ends: [15, 16, 0], ..p }, "not a multiple of 16"),
        (LmMatmulPacked { flags: LmMatmulPacked::IN_PLACE, starts: [3, 0, 0], ends: [16; 3], ..p }, "`w`"),
        (
            LmMatmulPacked { flags: LmMatmulPacked::IN_PLACE, format: Type::Q4_1.id(), ends: [16; 3], ..p },
            "must be packed",
        ),
        (LmMatmulPacked { format: Type::I8.id(), ..p }, "I8"),
        (LmMatmulPacked { flags: LmMatmulPacked::SCALED, ..p }, "no scale"),
        (LmMatmulPacked { format: Type::IQ2_XXS.id(), ..p }, "multiple of 256"),
    ] {
        let error = run(wrong).expect_err("the launch is invalid");
        assert!(error.contains(word), "{wrong:?}: {error}");
    }
}
