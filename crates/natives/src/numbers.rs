//! Words as numbers: their order, and what becomes of two. The twin of `words.wgsl`.

use crate::params::{Combine, Numbers};

/// What the constants block says of numbers.
pub(super) fn numbers(word: u32) -> Result<Numbers, String> {
    Numbers::of(word).ok_or_else(|| format!("there are no numbers {word}"))
}

/// What the constants block says of combining.
pub(super) fn combine(word: u32) -> Result<Combine, String> {
    Combine::of(word).ok_or_else(|| format!("there is no way {word} to combine"))
}

/// A word whose order among unsigned words is that of f32; every NaN becomes `nan`, both zeros are one.
#[inline(always)]
fn ordered_f32(word: u32, nan: u32) -> u32 {
    let value = f32::from_bits(word);
    let ordered = if word >> 31 == 1 { !word } else { word | 1 << 31 };
    let ordered = if value == 0.0 { 1 << 31 } else { ordered };
    if value.is_nan() { nan } else { ordered }
}

/// The larger the number, the larger; NaN is largest.
#[inline(always)]
pub(super) fn rising(word: u32, numbers: Numbers) -> u32 {
    match numbers {
        Numbers::F32 => ordered_f32(word, u32::MAX),
        Numbers::I32 => word ^ 1 << 31,
        Numbers::U32 => word,
    }
}

/// The smaller the number, the larger; NaN is largest.
#[inline(always)]
pub(super) fn falling(word: u32, numbers: Numbers) -> u32 {
    match numbers {
        Numbers::F32 => !ordered_f32(word, 0),
        _ => !rising(word, numbers),
    }
}

/// What becomes of an element and an update to it.
#[inline(always)]
pub(super) fn combined(old: u32, update: u32, combine: Combine, numbers: Numbers) -> u32 {
    let [a, b] = [old, update].map(f32::from_bits);
    match (combine, numbers) {
        (Combine::Replace, _) => update,
        (Combine::Add, Numbers::F32) => (a + b).to_bits(),
        (Combine::Add, _) => old.wrapping_add(update),
        (Combine::Mul, Numbers::F32) => (a * b).to_bits(),
        (Combine::Mul, _) => old.wrapping_mul(update),
        (Combine::Min, _) => {
            if falling(update, numbers) > falling(old, numbers) {
                update
            } else {
                old
            }
        }
        (Combine::Max, _) => {
            if rising(update, numbers) > rising(old, numbers) {
                update
            } else {
                old
            }
        }
    }
}

/// Where an index leads, from the end if it is negative; `None` if it leads outside.
#[inline(always)]
pub(super) fn found(index: u32, size: u32) -> Option<usize> {
    let index = i64::from(index as i32);
    let at = if index < 0 { index + i64::from(size) } else { index };
    (0..i64::from(size)).contains(&at).then_some(at as usize)
}

/// The same, or the nearest element.
#[inline(always)]
pub(super) fn held(index: u32, size: u32) -> usize {
    let index = i64::from(index as i32);
    let at = if index < 0 { index + i64::from(size) } else { index };
    at.min(i64::from(size) - 1).max(0) as usize
}

/// The product of sizes, which has to be a count of 32 bits.
pub(super) fn count(sizes: &[u32]) -> Result<u32, String> {
    let product = sizes.iter().fold(1u128, |product, &size| product.saturating_mul(size.into()));
    u32::try_from(product).map_err(|_| format!("{sizes:?} are {product} elements, more than 32 bits count"))
}

/// Fails if an axis that is read from is empty.
pub(super) fn not_empty(sizes: &[u32]) -> Result<(), String> {
    if sizes.contains(&0) { Err(format!("takes elements of axes of {sizes:?}")) } else { Ok(()) }
}
