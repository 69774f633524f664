//! Quantized rows are byte-identical to llama.cpp's. `scripts/make-quantize-fixtures` recorded the
//! hashes in `tests/data/quantized-rows.txt` and generates the same rows.

use roci_gguf::Type;

const HASHES: &str = include_str!("data/quantized-rows.txt");
const ROW: usize = 1024;
const ROWS: usize = 16;

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The next number of SplitMix64.
fn bits(seed: u64, at: usize) -> u64 {
    let z = (at as u64 + 1).wrapping_add(seed << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The sum of four 16-bit numbers: roughly normally distributed from -0.25 to 0.25, exact in f32.
fn base(seed: u64, at: usize) -> f32 {
    let word = bits(seed, at);
    let sum: i64 = (0..4).map(|part| (word >> (16 * part) & 0xffff) as i64).sum();
    (sum - 131_070) as f32 * 2f32.powi(-19)
}

fn weights(seed: u64) -> Vec<f32> {
    let weight = |word: u64| ((word & 0xffff) + 1) as f32 * 2f32.powi(-12 - (word >> 16 & 7) as i32);
    (0..ROW).map(|at| weight(bits(seed, at))).collect()
}

fn row(number: usize) -> Vec<f32> {
    let value = |at: usize| {
        let base = base(number as u64, at);
        match number {
            0 => base,
            1 => base * 2f32.powi((bits(99, at) % 12) as i32),
            2 => base * if at % 64 == 5 { 64.0 } else { 1.0 },
            3 => base.abs(),
            4 => -base.abs() - 0.125,
            5 => -0.75,
            6 => f32::from(u8::from(at == 300)),
            7 => 0.0,
            8 => base * 2f32.powi(-40),
            9 => ((at % 33) as f32 - 16.0) / 2.0,
            10 => base * if at % 64 < 32 { 1.0 } else { 0.0 },
            11 => base * 4096.0,
            12 => base * 2f32.powi(-((at / 16 % 16) as i32)),
            13 => {
                if at / 256 == 1 {
                    -0.0625
                } else {
                    base - 0.0625
                }
            }
            14 => {
                if at % 16 == 3 {
                    base
                } else {
                    -0.0
                }
            }
            _ => (base * 16.0).round_ties_even() / 16.0,
        }
    };
    // A product with 0 may be -0, which the script's rows are not.
    (0..ROW).map(|at| if number == 10 { value(at) + 0.0 } else { value(at) }).collect()
}

#[test]
fn quantized_rows_are_those_of_llama_cpp() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for line in HASHES.lines() {
        let fields: Vec<_> = line.split(' ').collect();
        let [kind, number, label, hash] = fields[..] else { panic!("{line}") };
        let kind: Type = kind.parse().expect("a type");
        let number: usize = number.parse().expect("a number");
        let mut blocks = Vec::new();
        match label {
            "plain" => kind.quantize(&row(number), &mut blocks),
            _ => kind.quantize_row(&row(number), &weights(100 + number as u64), &mut blocks),
        }
        .expect("it fits");
        if format!("{:016x}", fnv(&blocks)) != hash {
            wrong.push(format!("{kind} {number} {label}"));
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{} of {seen} rows differ: {}", wrong.len(), wrong.join(", "));
    // All types with a quantizer except F32.
    let kinds = Type::all().filter(|kind| kind.has_quantizer()).count() - 1;
    assert_eq!(seen, kinds * ROWS * 2);
}

#[test]
fn several_rows_at_once_are_single_rows() {
    let rows: Vec<f32> = (0..ROWS).flat_map(row).collect();
    for kind in Type::all().filter(|kind| kind.has_quantizer()) {
        let (mut together, mut single) = (Vec::new(), Vec::new());
        kind.quantize(&rows, &mut together).expect("they fit");
        // The row length is not a multiple of the number of groups that are fitted at once.
        for part in rows.chunks(768) {
            kind.quantize(part, &mut single).expect("they fit");
        }
        assert_eq!(together, single, "{kind}");
    }
}
