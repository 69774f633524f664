// Words as values and as indices; appended to the source of the kernels that use it.

const WORDS_F32 = 0u;
const WORDS_I32 = 1u;

const COMBINE_ADD = 1u;
const COMBINE_MUL = 2u;
const COMBINE_MIN = 3u;
const COMBINE_MAX = 4u;

// Maps a value to a word with the same order among unsigned words. Every NaN becomes `nan_key`, and
// both zeros are equal. Works on the bits, because compilers may assume that the operands of
// comparisons are not NaN.
fn sort_key(word: u32, numbers: u32, nan_key: u32) -> u32 {
    if numbers == WORDS_F32 {
        if (word & 0x7fffffffu) > 0x7f800000u {
            return nan_key;
        }
        if word >= 0x80000000u {
            return select(~word, 0x80000000u, word == 0x80000000u);
        }
        return word | 0x80000000u;
    }
    return select(word, word ^ 0x80000000u, numbers == WORDS_I32);
}

// Ascending; NaN is the largest.
fn ascending_key(word: u32, numbers: u32) -> u32 {
    return sort_key(word, numbers, 0xffffffffu);
}

// Descending; NaN is the largest.
fn descending_key(word: u32, numbers: u32) -> u32 {
    return ~sort_key(word, numbers, 0u);
}

// The inverse of `sort_key`.
fn from_sort_key(word: u32, numbers: u32) -> u32 {
    if numbers == WORDS_F32 {
        return select(~word, word & 0x7fffffffu, word >= 0x80000000u);
    }
    return select(word, word ^ 0x80000000u, numbers == WORDS_I32);
}

fn combine_words(old: u32, update: u32, combine: u32, numbers: u32) -> u32 {
    switch combine {
        case COMBINE_ADD: {
            if numbers == WORDS_F32 {
                return bitcast<u32>(bitcast<f32>(old) + bitcast<f32>(update));
            }
            return old + update;
        }
        case COMBINE_MUL: {
            if numbers == WORDS_F32 {
                return bitcast<u32>(bitcast<f32>(old) * bitcast<f32>(update));
            }
            return old * update;
        }
        case COMBINE_MIN: { return select(old, update, descending_key(update, numbers) > descending_key(old, numbers)); }
        case COMBINE_MAX: { return select(old, update, ascending_key(update, numbers) > ascending_key(old, numbers)); }
        default: { return update; }
    }
}

// Resolves an index, from the end if it is negative. The result is not below `size` if the index is
// out of bounds.
fn resolve_index(index: u32, size: u32) -> u32 {
    return select(index, index + size, index >= 0x80000000u);
}

// The same, clamped to the nearest element.
fn clamped_index(index: u32, size: u32) -> u32 {
    let at = resolve_index(index, size);
    return select(min(at, size - 1u), 0u, at >= 0x80000000u);
}
