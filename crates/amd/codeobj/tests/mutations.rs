//! Damaged files: every input gets an answer, quickly and with little memory.
//!
//! Each run mutates the fixtures thousands of times. `ROCI_RANDOM_SECONDS` sets a longer run time,
//! `ROCI_RANDOM_SEED` the seed.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use roci_codeobj::{CodeObject, File, FileSummary, Metadata, TargetId};

const FIXTURES: [&[u8]; 11] = [
    include_bytes!("../fixtures/gfx1010-v6.co"),
    include_bytes!("../fixtures/gfx1100-v5.co"),
    include_bytes!("../fixtures/gfx90a-v4.co"),
    include_bytes!("../fixtures/gfx10-1-generic-v6.co"),
    include_bytes!("../fixtures/plain.bundle"),
    include_bytes!("../fixtures/offload.binary"),
    include_bytes!("../fixtures/zlib-v1.bundle"),
    include_bytes!("../fixtures/zlib-v2.bundle"),
    include_bytes!("../fixtures/zstd-v2.bundle"),
    include_bytes!("../fixtures/zstd-v3.bundle"),
    include_bytes!("../fixtures/fat.so"),
];

/// Mutated files per run without `ROCI_RANDOM_SECONDS`.
const CASES: u32 = 20_000;
/// Decompression limit in bytes that keeps a run short.
const LIMIT: u64 = 1 << 20;

/// A mutation. Positions are fractions of the length, so that they apply to every file.
#[derive(Clone, Debug)]
enum Change {
    /// Replace a byte.
    Byte { position: u16, value: u8 },
    /// Replace a number in the tables at the start with one at the edge of its range.
    Number { position: u16, value: u64, size: usize },
    /// Truncate.
    Cut { position: u16 },
    /// Copy a range to another position.
    Copy { from: u16, to: u16, length: u16 },
    /// Remove a range.
    Remove { position: u16, length: u16 },
    /// Insert a range of another file.
    Splice { position: u16, file: usize, from: u16, length: u16 },
}

fn change() -> impl Strategy<Value = Change> {
    let edge = prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(u64::MAX - 63),
        Just(1 << 63),
        Just(u64::from(u32::MAX)),
        Just(1 << 30),
        any::<u64>(),
        0..5000_u64,
    ];
    prop_oneof![
        4 => (any::<u16>(), any::<u8>()).prop_map(|(position, value)| Change::Byte { position, value }),
        4 => (any::<u16>(), edge, prop_oneof![Just(2), Just(4), Just(8)])
            .prop_map(|(position, value, size)| Change::Number { position, value, size }),
        1 => any::<u16>().prop_map(|position| Change::Cut { position }),
        1 => (any::<u16>(), any::<u16>(), 0..512_u16).prop_map(|(from, to, length)| Change::Copy { from, to, length }),
        1 => (any::<u16>(), 0..64_u16).prop_map(|(position, length)| Change::Remove { position, length }),
        1 => (any::<u16>(), 0..FIXTURES.len(), any::<u16>(), any::<u16>())
            .prop_map(|(position, file, from, length)| Change::Splice { position, file, from, length }),
    ]
}

fn at(position: u16, length: usize) -> usize {
    usize::from(position) * length / 65536
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let length = bytes.len();
    match *change {
        Change::Byte { position, value } => {
            if let Some(byte) = bytes.get_mut(at(position, length)) {
                *byte = value;
            }
        }
        Change::Number { position, value, size } => {
            // Put half of them near the start, where the headers are.
            let position =
                if position % 2 == 0 { usize::from(position) % length.clamp(1, 640) } else { at(position, length) };
            let position = position / size * size;
            if let Some(number) = bytes.get_mut(position..position + size) {
                number.copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
        Change::Cut { position } => bytes.truncate(at(position, length)),
        Change::Copy { from, to, length: count } => {
            let (from, to) = (at(from, length), at(to, length));
            let count = usize::from(count).min(length - from.max(to));
            bytes.copy_within(from..from + count, to);
        }
        Change::Remove { position, length: count } => {
            let position = at(position, length);
            bytes.drain(position..(position + usize::from(count)).min(length));
        }
        Change::Splice { position, file, from, length: count } => {
            let from = at(from, FIXTURES[file].len());
            let part = &FIXTURES[file][from..(from + usize::from(count)).min(FIXTURES[file].len())];
            let position = at(position, length);
            bytes.splice(position..position, part.iter().copied());
        }
    }
}

/// Calls everything that can be called on a file. The results do not matter; there must be one.
fn exercise(bytes: &[u8]) {
    let _ = Metadata::parse(bytes);
    if let Ok(object) = CodeObject::parse(bytes) {
        ask(&object);
    }
    let device = "gfx1013".parse().expect("a chip");
    for piece in FileSummary::of_bytes(bytes).map(|summary| summary.images).unwrap_or_default() {
        assert!(!piece.target().is_empty() && !piece.compatibility(&device).name().is_empty());
    }
    let Ok(file) = File::open_with_limit(bytes, LIMIT) else { return };
    for problem in &file.problems {
        assert!(!problem.error.to_string().is_empty() && !problem.location.to_string().is_empty());
    }
    for found in &file.images {
        assert!(!found.location.to_string().is_empty());
        let _ = found.target();
        if let Ok(object) = found.code_object() {
            ask(&object);
        }
    }
}

fn ask(object: &CodeObject) {
    let device = TargetId::new(object.target().processor);
    let _ = object.runs_on(&device);
    for kernel in object.kernels() {
        assert!(object.kernel(&kernel.name).is_some());
        assert!(object.data_at(kernel.entry, 1).is_some(), "the entry is in the file");
        assert!(kernel.descriptor.vgprs(device.processor) > 0 && kernel.descriptor.sgprs(device.processor) > 0);
        let _ = (kernel.descriptor.user_sgprs().count(), kernel.kernarg_size());
    }
    if let Ok(image) = object.load_image(0x1000) {
        assert_eq!(image.len() as u64, object.image_size());
    }
}

#[test]
fn mutated_files_terminate() {
    let run = roci_testkit::random_run();
    let files = (0..FIXTURES.len(), prop::collection::vec(change(), 1..6));
    let started = Instant::now();
    for round in 0.. {
        let seed = run.seed.unwrap_or(1).wrapping_add(round);
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        let outcome = runner.run(&files, |(file, changes)| {
            let mut bytes = FIXTURES[file].to_vec();
            for change in &changes {
                apply(&mut bytes, change);
            }
            exercise(&bytes);
            Ok(())
        });
        outcome.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        if run.seconds.is_none_or(|seconds| started.elapsed() >= Duration::from_secs(seconds)) {
            break;
        }
    }
}

#[test]
fn every_prefix_of_every_file_terminates() {
    for file in FIXTURES {
        for length in 0..file.len() {
            exercise(&file[..length]);
        }
    }
}

#[test]
fn arbitrary_header_bytes_terminate() {
    for file in FIXTURES {
        let mut bytes = file.to_vec();
        for position in 0..bytes.len().min(700) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                bytes[position] = value;
                exercise(&bytes);
            }
            bytes[position] = file[position];
        }
    }
}

#[test]
fn thousands_of_damaged_bundles_are_fast() {
    // Each bundle claims to extend to the end of the file, and its table is read until it proves
    // wrong.
    let mut bytes = Vec::new();
    for _ in 0..40_000 {
        bytes.extend(b"__CLANG_OFFLOAD_BUNDLE__");
        bytes.extend(u64::MAX.to_le_bytes());
        bytes.extend([0_u8; 8 + 8]);
        bytes.extend(32_u64.to_le_bytes());
    }
    exercise(&bytes);
    // Each stream claims the whole limit and ends early.
    let stream = include_bytes!("../fixtures/zstd-v2.bundle");
    let mut bytes = Vec::new();
    for _ in 0..2000 {
        let mut piece = stream[..stream.len() / 2].to_vec();
        piece[8..12].copy_from_slice(&((stream.len() / 2) as u32).to_le_bytes());
        piece[12..16].copy_from_slice(&(LIMIT as u32).to_le_bytes());
        bytes.extend(piece);
    }
    exercise(&bytes);
}
