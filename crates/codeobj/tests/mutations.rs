//! Damaged files: whatever happens to the bytes, there is an answer, soon, and without much memory.
//!
//! The files of `fixtures` are mutated thousands of times a run. `ROCI_RANDOM_SECONDS` goes on for as long as wanted,
//! `ROCI_RANDOM_SEED` starts elsewhere.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use roci_codeobj::{CodeObject, File, Metadata, Survey, TargetId};

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

/// Files a run without `ROCI_RANDOM_SECONDS`.
const CASES: u32 = 20_000;
/// No decompression beyond this, so that a run is short.
const LIMIT: u64 = 1 << 20;

/// A change of a file. Places are fractions of its length, so that they fit every file.
#[derive(Clone, Debug)]
enum Change {
    /// One byte becomes another.
    Byte { place: u16, value: u8 },
    /// A number of the tables at the start becomes one at the edge of its range.
    Number { place: u16, value: u64, size: usize },
    /// The rest goes.
    Cut { place: u16 },
    /// A part is copied elsewhere.
    Copy { from: u16, to: u16, length: u16 },
    /// A part goes.
    Remove { place: u16, length: u16 },
    /// A part of another file comes in.
    Splice { place: u16, file: usize, from: u16, length: u16 },
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
        4 => (any::<u16>(), any::<u8>()).prop_map(|(place, value)| Change::Byte { place, value }),
        4 => (any::<u16>(), edge, prop_oneof![Just(2), Just(4), Just(8)])
            .prop_map(|(place, value, size)| Change::Number { place, value, size }),
        1 => any::<u16>().prop_map(|place| Change::Cut { place }),
        1 => (any::<u16>(), any::<u16>(), 0..512_u16).prop_map(|(from, to, length)| Change::Copy { from, to, length }),
        1 => (any::<u16>(), 0..64_u16).prop_map(|(place, length)| Change::Remove { place, length }),
        1 => (any::<u16>(), 0..FIXTURES.len(), any::<u16>(), any::<u16>())
            .prop_map(|(place, file, from, length)| Change::Splice { place, file, from, length }),
    ]
}

fn at(place: u16, length: usize) -> usize {
    usize::from(place) * length / 65536
}

fn apply(bytes: &mut Vec<u8>, change: &Change) {
    let length = bytes.len();
    match *change {
        Change::Byte { place, value } => {
            if let Some(byte) = bytes.get_mut(at(place, length)) {
                *byte = value;
            }
        }
        Change::Number { place, value, size } => {
            // Half of them near the start: that is where the headers are.
            let place = if place % 2 == 0 { usize::from(place) % length.clamp(1, 640) } else { at(place, length) };
            let place = place / size * size;
            if let Some(number) = bytes.get_mut(place..place + size) {
                number.copy_from_slice(&value.to_le_bytes()[..size]);
            }
        }
        Change::Cut { place } => bytes.truncate(at(place, length)),
        Change::Copy { from, to, length: count } => {
            let (from, to) = (at(from, length), at(to, length));
            let count = usize::from(count).min(length - from.max(to));
            bytes.copy_within(from..from + count, to);
        }
        Change::Remove { place, length: count } => {
            let place = at(place, length);
            bytes.drain(place..(place + usize::from(count)).min(length));
        }
        Change::Splice { place, file, from, length: count } => {
            let from = at(from, FIXTURES[file].len());
            let part = &FIXTURES[file][from..(from + usize::from(count)).min(FIXTURES[file].len())];
            let place = at(place, length);
            bytes.splice(place..place, part.iter().copied());
        }
    }
}

/// Asks everything of a file that can be asked. The answer does not matter, only that there is one.
fn exercise(bytes: &[u8]) {
    let _ = Metadata::parse(bytes);
    if let Ok(object) = CodeObject::parse(bytes) {
        ask(&object);
    }
    let device = "gfx1013".parse().expect("a chip");
    for piece in Survey::of_bytes(bytes).map(|survey| survey.pieces).unwrap_or_default() {
        assert!(!piece.target().is_empty() && !piece.fit(&device).name().is_empty());
    }
    let Ok(file) = File::open_with_limit(bytes, LIMIT) else { return };
    for problem in &file.problems {
        assert!(!problem.error.to_string().is_empty() && !problem.place.to_string().is_empty());
    }
    for found in &file.found {
        assert!(!found.place.to_string().is_empty());
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
fn mutated_files_get_an_answer() {
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
fn every_prefix_of_every_file_gets_an_answer() {
    for file in FIXTURES {
        for length in 0..file.len() {
            exercise(&file[..length]);
        }
    }
}

#[test]
fn every_byte_of_the_headers_may_be_anything() {
    for file in FIXTURES {
        let mut bytes = file.to_vec();
        for place in 0..bytes.len().min(700) {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                bytes[place] = value;
                exercise(&bytes);
            }
            bytes[place] = file[place];
        }
    }
}

#[test]
fn thousands_of_damaged_bundles_take_no_time() {
    // Each one claims to go on to the end of the file, and each table is read until it turns out to be wrong.
    let mut bytes = Vec::new();
    for _ in 0..40_000 {
        bytes.extend(b"__CLANG_OFFLOAD_BUNDLE__");
        bytes.extend(u64::MAX.to_le_bytes());
        bytes.extend([0_u8; 8 + 8]);
        bytes.extend(32_u64.to_le_bytes());
    }
    exercise(&bytes);
    // Streams that promise the whole limit each, and end early.
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
