//! Time to decode and to print 10,000 instructions.
//!
//!     cargo bench -p roci-isa --bench decode

#![expect(clippy::print_stdout, reason = "benchmarks print their results")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use roci_isa::{Chip, WaveSize, decode};

/// The fixture's encodings, repeated; they cover every format.
fn code(chip: Chip) -> Vec<Vec<u8>> {
    let text = include_str!("../tests/fixtures/encodings.txt");
    let mut chosen = false;
    let mut all = Vec::new();
    for line in text.lines() {
        match line.split_once('\t') {
            Some((bytes, _)) if chosen => {
                let byte = |at| u8::from_str_radix(&bytes[at..at + 2], 16);
                all.push((0..bytes.len()).step_by(2).map(byte).collect::<Result<Vec<_>, _>>().expect("hexadecimal"));
            }
            _ => chosen = line.starts_with(&format!("[{chip} 32]")),
        }
    }
    all.into_iter().cycle().take(10_000).collect()
}

fn best(mut what: impl FnMut()) -> Duration {
    let run = |_| {
        let start = Instant::now();
        what();
        start.elapsed()
    };
    (0..50).map(run).min().unwrap_or_default()
}

fn main() {
    for chip in Chip::ALL {
        let code = code(chip);
        let stream: Vec<u8> = code.concat();
        let decoding = best(|| {
            let mut rest = &stream[..];
            while let Ok(instruction) = decode(chip, WaveSize::Wave32, black_box(rest)) {
                rest = &rest[usize::from(instruction.size)..];
                black_box(instruction);
            }
            assert!(rest.is_empty(), "the fixture is valid code");
        });
        let instructions: Vec<_> =
            code.iter().map(|bytes| decode(chip, WaveSize::Wave32, bytes).expect("valid")).collect();
        let printing = best(|| {
            for instruction in &instructions {
                black_box(instruction.text(chip, WaveSize::Wave32));
            }
        });
        println!("{chip}: 10,000 instructions decoded in {decoding:.1?}, printed in {printing:.1?}");
    }
}
