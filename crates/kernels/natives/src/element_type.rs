//! Interprets words as values of an element type: orders and combines them. The twin of
//! `words.wgsl`.

use roci_families::{Combine, Numbers};

/// The element type of a constants block.
pub(super) fn element_type(word: u32) -> Result<Numbers, String> {
    Numbers::of(word).ok_or_else(|| format!("unknown element type {word}"))
}

/// The combination of a constants block.
pub(super) fn combine(word: u32) -> Result<Combine, String> {
    Combine::of(word).ok_or_else(|| format!("unknown combination {word}"))
}

/// A key whose unsigned order is that of f32; every NaN becomes `nan_key`, and both zeros are
/// equal.
#[inline(always)]
fn sort_key_f32(word: u32, nan_key: u32) -> u32 {
    let value = f32::from_bits(word);
    let key = if word >> 31 == 1 { !word } else { word | 1 << 31 };
    let key = if value == 0.0 { 1 << 31 } else { key };
    if value.is_nan() { nan_key } else { key }
}

/// A key that ascends with the value; NaN is largest.
#[inline(always)]
pub(super) fn ascending_key(word: u32, numbers: Numbers) -> u32 {
    match numbers {
        Numbers::F32 => sort_key_f32(word, u32::MAX),
        Numbers::I32 => word ^ 1 << 31,
        Numbers::U32 => word,
    }
}

/// A key that descends with the value; NaN is largest.
#[inline(always)]
pub(super) fn descending_key(word: u32, numbers: Numbers) -> u32 {
    match numbers {
        Numbers::F32 => !sort_key_f32(word, 0),
        _ => !ascending_key(word, numbers),
    }
}

/// Combines an element with an update.
#[inline(always)]
pub(super) fn combine_words(old: u32, update: u32, combine: Combine, numbers: Numbers) -> u32 {
    let [a, b] = [old, update].map(f32::from_bits);
    match (combine, numbers) {
        (Combine::Replace, _) => update,
        (Combine::Add, Numbers::F32) => (a + b).to_bits(),
        (Combine::Add, _) => old.wrapping_add(update),
        (Combine::Mul, Numbers::F32) => (a * b).to_bits(),
        (Combine::Mul, _) => old.wrapping_mul(update),
        (Combine::Min, _) => {
            if descending_key(update, numbers) > descending_key(old, numbers) {
                update
            } else {
                old
            }
        }
        (Combine::Max, _) => {
            if ascending_key(update, numbers) > ascending_key(old, numbers) {
                update
            } else {
                old
            }
        }
    }
}

/// An index, from the end if it is negative; `None` if it is out of range.
#[inline(always)]
pub(super) fn resolve_index(index: u32, size: u32) -> Option<usize> {
    let index = i64::from(index as i32);
    let at = if index < 0 { index + i64::from(size) } else { index };
    (0..i64::from(size)).contains(&at).then_some(at as usize)
}

/// An index, from the end if it is negative, clamped to the range.
#[inline(always)]
pub(super) fn clamp_index(index: u32, size: u32) -> usize {
    let index = i64::from(index as i32);
    let at = if index < 0 { index + i64::from(size) } else { index };
    at.min(i64::from(size) - 1).max(0) as usize
}

/// The product of sizes, which must fit 32 bits.
pub(super) fn count(sizes: &[u32]) -> Result<u32, String> {
    let product = sizes.iter().fold(1u128, |product, &size| product.saturating_mul(size.into()));
    u32::try_from(product).map_err(|_| format!("{sizes:?} are {product} elements, which overflow 32 bits"))
}

/// Fails if an axis that is indexed is empty.
pub(super) fn not_empty(sizes: &[u32]) -> Result<(), String> {
    if sizes.contains(&0) { Err(format!("indexes empty axes of sizes {sizes:?}")) } else { Ok(()) }
}
