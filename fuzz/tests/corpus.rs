//! Every input of the corpus, and mutations of it, pass through their target in a plain build.
//!
//! `./test fuzz` searches for new inputs; this test keeps those that were found from failing again.

use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use fastrand::Rng;
use roci_fuzz::{TARGETS, Target};

/// Mutations of each input.
const MUTATIONS: u64 = 60;
/// Boundary values, typical of lengths and offsets in hostile files.
const EDGES: [u64; 8] = [0, 1, 0x7f, 0x80, u32::MAX as u64, 1 << 31, 1 << 63, u64::MAX];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// The inputs of a target, sorted by name.
fn inputs(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder().join(target)).expect("the target has a corpus");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(path).expect("a readable file"))).collect()
}

/// Whether a target returns for an input.
fn returns(target: Target, data: &[u8]) -> bool {
    catch_unwind(|| target(data)).is_ok()
}

/// Applies one random mutation: a byte, a bit, a truncation, a removed or repeated range, or an
/// edge value.
fn mutate(data: &mut Vec<u8>, random: &mut Rng) {
    if data.is_empty() {
        data.push(random.u8(..));
        return;
    }
    let at = random.usize(..data.len());
    let end = (at + random.usize(1..=16)).min(data.len());
    match random.u8(..6) {
        0 => data[at] = random.u8(..),
        1 => data[at] ^= 1 << random.u8(..8),
        2 => data.truncate(at),
        3 => drop(data.drain(at..end)),
        4 => data.extend_from_within(at..end),
        _ => {
            let value = EDGES[random.usize(..EDGES.len())].to_le_bytes();
            let size = (end - at).min(value.len());
            data[at..at + size].copy_from_slice(&value[..size]);
        }
    }
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let entries = std::fs::read_dir(folder()).expect("there is a corpus");
    let mut folders: Vec<_> = entries.map(|entry| entry.expect("a readable folder").file_name()).collect();
    folders.sort();
    assert_eq!(folders, TARGETS.map(|(name, _)| name));
}

#[test]
fn inputs_and_their_mutations_do_not_panic() {
    for (name, target) in TARGETS {
        let inputs = inputs(name);
        assert!(!inputs.is_empty(), "{name} has no inputs");
        for (path, input) in inputs {
            assert!(returns(target, &input), "{name} panics on {}", path.display());
            for seed in 0..MUTATIONS {
                let mut random = Rng::with_seed(seed);
                let mut mutated = input.clone();
                for _ in 0..random.u8(1..4) {
                    mutate(&mut mutated, &mut random);
                }
                assert!(
                    returns(target, &mutated),
                    "{name} panics on mutation {seed} of {}: {mutated:?}",
                    path.display()
                );
            }
        }
    }
}

#[test]
fn a_target_that_panics_is_noticed() {
    assert!(!returns(|data| assert!(data.is_empty()), b"a"));
    assert!(returns(|data| assert!(data.is_empty()), b""));
}
