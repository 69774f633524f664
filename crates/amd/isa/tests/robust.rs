//! Arbitrary bytes give an instruction or an error, never a panic. Every instruction can be printed
//! and lists its accesses.

#[path = "support/sample.rs"]
mod sample;

use roci_isa::{Chip, WaveSize, decode};
use sample::{FORMATS, Random};

#[test]
fn no_bytes_panic() {
    let mut random = Random::new(7);
    for index in 0..60_000 {
        let chip = random.pick(&Chip::ALL);
        let wave = random.pick(&[WaveSize::Wave32, WaveSize::Wave64]);
        let format = &FORMATS[index % FORMATS.len()];
        let bytes = sample::encoding(&mut random, format, chip, random_index(index));
        for given in [0, 3, 4, 7, 8, 11, 12, 20] {
            if let Ok(instruction) = decode(chip, wave, &bytes[..given]) {
                assert!(usize::from(instruction.size) <= given);
                assert!(!instruction.text(chip, wave).is_empty());
                assert!(instruction.accesses(wave).iter().all(|access| access.words > 0));
            }
        }
    }
}

/// Cycles through formats and opcodes.
fn random_index(index: usize) -> usize {
    index / FORMATS.len()
}
