//! Integers: operations that are undefined in C, and the bit functions.

use super::case::Case;

fn i(value: i32) -> u32 {
    value.cast_unsigned()
}

const MIN: i32 = i32::MIN;

pub(crate) fn cases() -> Vec<Case> {
    [operators(), bits(), vectors(), wide(), narrow(), bools_mixed_with_wide_integers()].concat()
}

fn operators() -> Vec<Case> {
    vec![
        Case::map_u32(
            "u32_division_by_zero_gives_the_dividend",
            "return a / (i - i) + a % (i - i);",
            &[(0, 0), (7, 7), (u32::MAX, u32::MAX)],
        ),
        Case::map_u32(
            // Regression test, found by random programs: the sum lost its parentheses.
            "u32_abs_of_a_sum",
            "return 3u * abs(a + i) - i;",
            &[(1, 3), (5, 17)],
        ),
        Case::map_u32(
            "u32_division",
            "return (a / (i + 1u)) * 1000u + a % (i + 1u);",
            &[(10, 10_000), (11, 5_001), (11, 3_002)],
        ),
        Case::map(
            "i32_division",
            "i32",
            "",
            "var d = array<i32, 5>(0, -1, -1, 3, -3); return a / d[i];",
            &[(5, 5), (MIN, MIN), (7, -7), (-7, -2), (-7, 2)],
        ),
        Case::map(
            "i32_remainder",
            "i32",
            "",
            "var d = array<i32, 5>(0, -1, -1, 3, -3); return a % d[i];",
            &[(5, 0), (MIN, 0), (7, 0), (-7, -1), (7, 1)],
        ),
        Case::map(
            "i32_overflow_wraps",
            "i32",
            "",
            "return (a + a) * 3 - 1;",
            &[
                (i32::MAX, i32::MAX.wrapping_add(i32::MAX).wrapping_mul(3).wrapping_sub(1)),
                (MIN, MIN.wrapping_add(MIN).wrapping_mul(3).wrapping_sub(1)),
                (5, 29),
            ],
        ),
        Case::map("i32_negation_wraps", "i32", "", "return -a;", &[(MIN, MIN), (5, -5), (0, 0)]),
        Case::map(
            "constant_divisors",
            "i32",
            "",
            "return a / 4 + a % 3;",
            &[(-9, -2), (9, 2), (MIN, MIN / 4 + MIN % 3)],
        ),
        Case::map_u32(
            "shift_amounts_wrap",
            "return (a << (32u + i)) ^ (a >> (33u + i));",
            &[(1, 1), (0x8000_0001, 2 ^ (0x8000_0001 >> 2)), (0xffff_ffff, 0xffff_fffc ^ (0xffff_ffff >> 3))],
        ),
        Case::map(
            "i32_shifts",
            "i32",
            "",
            "return (a >> 4u) ^ (a << (i & 3u));",
            &[(-256, -16 ^ -256), (MIN, (MIN >> 4) ^ (MIN << 1)), (77, 4 ^ (77 << 2))],
        ),
        Case::map_u32(
            "bitwise",
            "return ((a & 0xf0f0u) | (~a & 0xfu)) ^ i;",
            &[(0xffff, 0xf0f0), (0, 0xf ^ 1), (0x1234, ((0x1234 & 0xf0f0) | (!0x1234 & 0xf)) ^ 2)],
        ),
        Case::map(
            "i32_functions",
            "i32",
            "",
            "return abs(a) + sign(a) * 10 + clamp(a, -3, 3) * 100 + min(a, 2) + max(a, 1);",
            &[
                (-5, 5 - 10 - 300 - 5 + 1),
                (2, 2 + 10 + 200 + 2 + 2),
                (0, 1),
                (MIN, MIN.wrapping_sub(10).wrapping_sub(300).wrapping_add(MIN).wrapping_add(1)),
            ],
        ),
    ]
}

fn bits() -> Vec<Case> {
    let samples: [u32; 6] = [0, 1, 0x8000_0000, 0xffff_ffff, 0x00f0_1200, 0x7fff_fffe];
    let each = |f: &dyn Fn(u32) -> u32| -> Vec<(u32, u32)> { samples.iter().map(|&v| (v, f(v))).collect() };
    let signed =
        |f: &dyn Fn(i32) -> i32| -> Vec<(u32, u32)> { samples.iter().map(|&v| (v, i(f(v.cast_signed())))).collect() };
    vec![
        Case::map_u32("count_one_bits", "return countOneBits(a);", &each(&|v| v.count_ones())),
        Case::map_u32("count_leading_zeros", "return countLeadingZeros(a);", &each(&|v| v.leading_zeros())),
        Case::map_u32("count_trailing_zeros", "return countTrailingZeros(a);", &each(&|v| v.trailing_zeros())),
        Case::map_u32("reverse_bits", "return reverseBits(a);", &each(&|v| v.reverse_bits())),
        Case::map_u32(
            "first_leading_bit",
            "return firstLeadingBit(a);",
            &each(&|v| v.checked_ilog2().unwrap_or(u32::MAX)),
        ),
        Case::map_u32(
            "first_trailing_bit",
            "return firstTrailingBit(a);",
            &each(&|v| match v {
                0 => u32::MAX,
                _ => v.trailing_zeros(),
            }),
        ),
        Case::map_u32(
            "first_leading_bit_signed",
            "return bitcast<u32>(firstLeadingBit(bitcast<i32>(a)));",
            &signed(&|v| {
                let bits = if v < 0 { !v } else { v };
                bits.cast_unsigned().checked_ilog2().map_or(-1, |bit| bit as i32)
            }),
        ),
        Case::map_u32(
            "extract_bits",
            "return extractBits(a, 4u + i * 8u, 8u);",
            &[(0xabcd_ef12, 0xf1), (0xabcd_ef12, 0xde), (0xabcd_ef12, 0xbc), (0xabcd_ef12, 0xa), (0xabcd_ef12, 0)],
        ),
        Case::map(
            "extract_bits_signed",
            "i32",
            "",
            "return extractBits(a, 4u, 8u * i);",
            &[(0x0abc_def2, 0), (0x0abc_def2, -17), (0x0abc_def2, -12817)],
        ),
        Case::map_u32(
            "insert_bits",
            "return insertBits(a, 0x5au, i * 12u, 8u);",
            &[(u32::MAX, 0xffff_ff5a), (u32::MAX, 0xfff5_afff), (u32::MAX, 0x5aff_ffff), (7, 7)],
        ),
        Case::map_u32(
            "packed_dot_signed",
            "return bitcast<u32>(dot4I8Packed(a, 0x02fe807fu));",
            &[(0x0101_0101, i(-1)), (0x8080_8080, i(128))],
        ),
        Case::map_u32(
            "packed_dot_unsigned",
            "return dot4U8Packed(a, 0x02fe80ffu);",
            &[(0x0101_0101, 2 + 254 + 128 + 255), (0xffff_ffff, 255 * (2 + 254 + 128 + 255))],
        ),
    ]
}

fn vectors() -> Vec<Case> {
    vec![
        Case::map_u32(
            "vector_arithmetic",
            "let v = vec4<u32>(a, a + 1u, a * 2u, i); let w = (v * 3u + vec4<u32>(1u)) / vec4<u32>(i - i, 2u, 3u, 1u);
             return dot(w, vec4<u32>(1u, 10u, 100u, 1000u));",
            &[(4, 13 + 80 + 800 + 1000), (0, 1 + 20 + 4000)],
        ),
        Case::map(
            "signed_vectors",
            "i32",
            "",
            "let v = vec3<i32>(a, -a, 2147483647) + vec3<i32>(1, 2, i32(i) + 1);
             let w = (v * vec3<i32>(2)) % vec3<i32>(5, i32(i - i), 7); let n = -w; return n.x + n.y * 10 + n.z * 100;",
            &[
                (4, -(10 % 5) - 100 * (MIN.wrapping_mul(2) % 7)),
                (-3, 4 - 100 * (MIN.wrapping_add(1).wrapping_mul(2) % 7)),
            ],
        ),
        Case::map_u32(
            "vector_comparisons_and_select",
            "let v = vec4<u32>(a, 5u, 6u, i); let m = v > vec4<u32>(3u); let s = select(vec4<u32>(1u), v, m);
             let n = !m & (v == vec4<u32>(0u)) | vec4<bool>(false, false, true, false);
             return s.x + s.y * 10u + s.z * 100u + s.w * 1000u + u32(all(m)) * 10000u + u32(any(n)) * 20000u
                 + u32(m.x) * 40000u + dot(vec4<u32>(n), vec4<u32>(1u, 2u, 4u, 8u)) * 100000u;",
            &[(9, 9 + 50 + 600 + 1000 + 20000 + 40000 + 1_200_000), (0, 1 + 50 + 600 + 1000 + 20000 + 500_000)],
        ),
        Case::map_u32(
            "swizzles_and_dynamic_components",
            "var v = vec4<u32>(a, a + 1u, a + 2u, a + 3u); let w = v.wzyx; v[i] = 100u; v.y += 7u;
             return w[i] + v.x * 10u + v.y * 1000u + v.zw[i & 1u];",
            &[(1, 4 + 1000 + 9000 + 3), (1, 3 + 10 + 107_000 + 4)],
        ),
        Case::map_u32(
            "vector_shifts_and_conversions",
            "let v = vec2<i32>(i32(a), -1) << vec2<u32>(1u, i); let f = vec2<f32>(v) * 0.5; let b = vec2<bool>(v);
             return u32(vec2<u32>(f + 4.0).x) + u32(b.x) * 100u + u32(v.y < 0) * 1000u;",
            &[(6, 10 + 100 + 1000), (0, 4 + 1000)],
        ),
        Case::map_u32(
            "scalar_booleans",
            "let p = a > 3u; let q = i == 1u; let both = p & q; let either = p | q; var odd = p != q;
             odd = odd && (a != 100u || q);
             return u32(both) + u32(either) * 10u + u32(odd) * 100u + select(0u, 1000u, !p);",
            &[(4, 110), (5, 11), (1, 1000), (100, 10)],
        ),
    ]
}

fn wide() -> Vec<Case> {
    let wgsl = "
        @group(0) @binding(0) var<storage, read> input: array<u64>;
        @group(0) @binding(1) var<storage, read_write> output: array<u64>;
        @group(0) @binding(2) var<storage, read_write> signed: array<i64>;
        @compute @workgroup_size(4)
        fn main(@builtin(local_invocation_index) i: u32) {
            let a = input[i];
            output[i] = (a * 3lu + 1lu) / u64(i) ^ (a >> (60u + i)) ^ (a << (65u + i - i));
            let s = bitcast<i64>(a);
            let v = vec2<i64>(s, -s) / vec2<i64>(-1li, i64(i - i));
            signed[i] = v.x + v.y + i64(f32(i) * 1e30) + select(0li, 1li, s < 0li);
        }";
    let inputs: [u64; 4] = [5, 1 << 63, u64::MAX, 0x1234_5678_9abc_def0];
    let outputs: Vec<u64> = (0u64..4)
        .zip(inputs)
        .map(|(i, a)| {
            let product = a.wrapping_mul(3).wrapping_add(1);
            product.checked_div(i).unwrap_or(product) ^ (a >> ((60 + i) % 64)) ^ (a << 1)
        })
        .collect();
    let signed: Vec<i64> = (0..4)
        .zip(inputs)
        .map(|(i, a)| {
            let s = a.cast_signed();
            let huge = if i == 0 { 0 } else { 9_223_371_487_098_961_920 };
            let sum = s.wrapping_neg().wrapping_add(s.wrapping_neg()).wrapping_add(huge);
            sum.wrapping_add(i64::from(s < 0))
        })
        .collect();
    vec![Case::new("u64_and_i64", wgsl).reads(&inputs).writes(&[], &outputs).writes(&[], &signed)]
}

fn narrow() -> Vec<Case> {
    let wgsl = "
        enable wgpu_int16;
        @group(0) @binding(0) var<storage, read> input: array<u32>;
        @group(0) @binding(1) var<storage, read_write> output: array<u32>;
        @compute @workgroup_size(2)
        fn main(@builtin(local_invocation_index) i: u32) {
            let a = u16(input[i]);
            let s = i16(input[i]);
            output[i] = u32(a * a + a) ^ (u32(~a) << 16u) ^ bitcast<u32>(i32(-s * s));
        }";
    let inputs: [u32; 2] = [0xffff, 300];
    let outputs: Vec<u32> = inputs
        .iter()
        .map(|&v| {
            let (a, s) = (v as u16, v as u16 as i16);
            let squares = u32::from(a.wrapping_mul(a).wrapping_add(a));
            squares ^ (u32::from(!a) << 16) ^ i(i32::from(s.wrapping_neg().wrapping_mul(s)))
        })
        .collect();
    vec![Case::new("u16_and_i16", wgsl).reads(&inputs).writes(&[], &outputs)]
}

/// Regression test, found by random programs: a bool converted to i64 stayed an int, which made
/// `max` ambiguous.
fn bools_mixed_with_wide_integers() -> Vec<Case> {
    let wgsl = "
        enable wgpu_int16;
        @group(0) @binding(0) var<storage, read> input: array<u32>;
        @group(0) @binding(1) var<storage, read_write> output: array<u32>;
        @compute @workgroup_size(2)
        fn main(@builtin(local_invocation_index) i: u32) {
            let a = input[i];
            let signed = max(i64(a != 3u), i64(a) - 4li) + min(i64(), i64(a));
            let unsigned = min(u64(a == 3u), u64(a)) + max(u64(), u64(a));
            let narrow = max(i16(a != 3u), i16(a) - i16(4u)) + max(i16(), -i16(a)) + i16(min(u16(a == 3u), u16(a)));
            output[i] = u32(signed) + 100u * u32(unsigned) + 10000u * u32(narrow);
        }";
    vec![Case::new("bools_mixed_with_wide_integers", wgsl).reads(&[3u32, 9]).writes(&[], &[10400u32, 50905])]
}
