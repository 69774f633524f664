// Words as values and as indices; appended to the source of the kernels that use it.

const WORDS_F32 = 0u;
const WORDS_I32 = 1u;

const COMBINE_ADD = 1u;
const COMBINE_MUL = 2u;
const COMBINE_MIN = 3u;
const COMBINE_MAX = 4u;

// Maps a value to a word with the same order among unsigned words. Every NaN becomes `nan`, and
// both zeros are equal. Works on the bits, because compilers may assume that the operands of
// comparisons are not NaN.
fn ordered(word: u32, numbers: u32, nan: u32) -> u32 {
    if numbers == WORDS_F32 {
        if (word & 0x7fffffffu) > 0x7f800000u {
            return nan;
        }
        if word >= 0x80000000u {
            return select(~word, 0x80000000u, word == 0x80000000u);
        }
        return word | 0x80000000u;
    }
    return select(word, word ^ 0x80000000u, numbers == WORDS_I32);
}

// Ascending; NaN is the largest.
fn rising(word: u32, numbers: u32) -> u32 {
    return ordered(word, numbers, 0xffffffffu);
}

// Descending; NaN is the largest.
fn falling(word: u32, numbers: u32) -> u32 {
    return ~ordered(word, numbers, 0u);
}

// The value that `ordered` mapped to `word`.
fn unordered(word: u32, numbers: u32) -> u32 {
    if numbers == WORDS_F32 {
        return select(~word, word & 0x7fffffffu, word >= 0x80000000u);
    }
    return select(word, word ^ 0x80000000u, numbers == WORDS_I32);
}

fn combined(old: u32, update: u32, combine: u32, numbers: u32) -> u32 {
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
        case COMBINE_MIN: { return select(old, update, falling(update, numbers) > falling(old, numbers)); }
        case COMBINE_MAX: { return select(old, update, rising(update, numbers) > rising(old, numbers)); }
        default: { return update; }
    }
}

// Resolves an index, from the end if it is negative. The result is not below `size` if the index is
// out of bounds.
fn found(index: u32, size: u32) -> u32 {
    return select(index, index + size, index >= 0x80000000u);
}

// The same, clamped to the nearest element.
fn held(index: u32, size: u32) -> u32 {
    let at = found(index, size);
    return select(min(at, size - 1u), 0u, at >= 0x80000000u);
}
