//! f16, native or lowered.

use half::f16;

use super::case::Case;

fn bits(values: &[f32]) -> Vec<u16> {
    values.iter().map(|&value| f16::from_f32(value).to_bits()).collect()
}

pub(crate) fn cases() -> Vec<Case> {
    vec![storage(), structs(), conversions(), bit_casts(), functions()]
}

fn storage() -> Case {
    let wgsl = "
        enable f16;
        @group(0) @binding(0) var<storage, read> input: array<f16>;
        @group(0) @binding(1) var<storage, read_write> output: array<f16>;
        var<workgroup> tile: array<f16, 8>;
        @compute @workgroup_size(8)
        fn main(@builtin(local_invocation_index) i: u32) {
            tile[i] = input[i] * 2.0h;
            workgroupBarrier();
            var sum: f16 = tile[(i + 1u) % 8u];
            sum += 1.5h;
            output[i] = select(sum, -sum, i == 7u);
        }";
    Case::new("f16_storage", wgsl)
        .reads(&bits(&[0.5, 1.0, 2.0, 4.0, -8.0, 0.25, 100.0, 1.0 / 1024.0]))
        .writes(&[], &bits(&[3.5, 5.5, 9.5, -14.5, 2.0, 201.5, 1.501_953_1, -2.5]))
}

fn structs() -> Case {
    let wgsl = "
        enable f16;
        struct Row { a: f16, v: vec3<f16>, w: vec2<f16>, q: array<vec3<f16>, 2>, m: mat2x2<f16> }
        const SCALE = vec3<f16>(1.0h, 2.0h, 4.0h);
        const TABLE = array<f16, 3>(0.5h, 1.5h, 2.5h);
        @group(0) @binding(0) var<storage, read> input: Row;
        @group(0) @binding(1) var<storage, read_write> output: Row;
        @compute @workgroup_size(1)
        fn main(@builtin(local_invocation_index) i: u32) {
            var row = input;
            row.v = row.v * SCALE + vec3<f16>(row.a);
            row.w.y = TABLE[i + 1u];
            row.q[1].z = row.w[i];
            row.m = row.m * 2.0h;
            output = row;
        }";
    // a 0, v 8, w 16, q 24 (stride 8), m 40 (columns of 4); 48 bytes.
    let mut before = vec![0.0f32; 24];
    before[0] = 1.0;
    before[4..7].copy_from_slice(&[1.0, 2.0, 3.0]);
    before[8..10].copy_from_slice(&[5.0, 6.0]);
    before[12..15].copy_from_slice(&[7.0, 8.0, 9.0]);
    before[16..19].copy_from_slice(&[10.0, 11.0, 12.0]);
    before[20..24].copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
    let mut after = before.clone();
    after[4..7].copy_from_slice(&[2.0, 5.0, 13.0]);
    after[9] = 1.5;
    after[18] = 5.0;
    after[20..24].copy_from_slice(&[2.0, 4.0, 6.0, 8.0]);
    Case::new("f16_layout", wgsl).reads(&bits(&before)).writes(&[], &bits(&after))
}

fn conversions() -> Case {
    let wgsl = "
        enable f16;
        @group(0) @binding(0) var<storage, read> input: array<f32>;
        @group(0) @binding(1) var<storage, read_write> floats: array<f32>;
        @group(0) @binding(2) var<storage, read_write> integers: array<i32>;
        @compute @workgroup_size(4)
        fn main(@builtin(local_invocation_index) i: u32) {
            let h = f16(input[i]);
            floats[i] = f32(h);
            integers[i] = i32(h) + i32(vec2<f16>(vec2<f32>(input[i])).y > 2.0h) * 1000000 + i32(f16(i));
        }";
    let inputs = [0.1f32, -3.7, 70000.0, 2049.0];
    Case::new("f16_conversions_round", wgsl)
        .reads(&inputs)
        .writes(&[], &inputs.map(|value| f16::from_f32(value).to_f32()))
        .writes(&[], &[0i32, -2, 65504 + 1_000_000 + 2, 2048 + 1_000_000 + 3])
}

fn bit_casts() -> Case {
    let wgsl = "
        enable f16;
        enable wgpu_int16;
        @group(0) @binding(0) var<storage, read> input: array<vec2<f16>>;
        @group(0) @binding(1) var<storage, read_write> output: array<u32>;
        @compute @workgroup_size(2)
        fn main(@builtin(local_invocation_index) i: u32) {
            let b = bitcast<vec2<u16>>(input[i] * 2.0h);
            let back = bitcast<f16>(b.x + u16(1u));
            output[i] = u32(b.x) | (u32(b.y) << 16u);
            output[i + 2u] = u32(f32(back) * 1024.0) + pack2x16float(vec2<f32>(input[i]));
        }";
    let half = |value: f32| u32::from(f16::from_f32(value).to_bits());
    let next = |value: f32| (f16::from_bits(f16::from_f32(value).to_bits() + 1).to_f32() * 1024.0) as u32;
    Case::new("f16_bit_casts", wgsl).reads(&bits(&[1.0, -2.5, 0.5, 100.0])).writes(
        &[],
        &[
            half(2.0) | (half(-5.0) << 16),
            half(1.0) | (half(200.0) << 16),
            (half(1.0) | (half(-2.5) << 16)) + next(2.0),
            (half(0.5) | (half(100.0) << 16)) + next(1.0),
        ],
    )
}

fn functions() -> Case {
    let wgsl = "
        enable f16;
        @group(0) @binding(0) var<storage, read> input: array<vec3<f16>>;
        @group(0) @binding(1) var<storage, read_write> output: array<f16>;
        fn f(v: vec3<f16>) -> f16 { return dot(clamp(v, vec3<f16>(-1.0h), vec3<f16>(2.0h)), vec3<f16>(1.0h, 2.0h, 4.0h)); }
        @compute @workgroup_size(1)
        fn main() {
            let v = input[0];
            output[0] = f(v);
            output[1] = floor(v.x) + abs(v.y) + max(v.z, 0.5h) + fract(v.x);
            output[2] = sqrt(v.z) + exp2(v.z) + sign(v.y) + length(vec2<f16>(3.0h, v.z));
            output[3] = mix(1.0h, 3.0h, 0.5h) + step(1.0h, v.x) + v.x % 1.0h + smoothstep(0.0h, 1.0h, 0.5h);
            output[4] = select(v, vec3<f16>(9.0h), v > vec3<f16>(1.5h)).z + modf(v.x).fract + fma(v.x, v.y, v.z) + tanh(0.0h);
        }";
    Case::new("f16_functions", wgsl).reads(&bits(&[1.25, -3.0, 4.0, 0.0])).writes(
        &[],
        &bits(&[
            1.25 - 2.0 + 8.0,
            1.0 + 3.0 + 4.0 + 0.25,
            2.0 + 16.0 - 1.0 + 5.0,
            2.0 + 1.0 + 0.25 + 0.5,
            9.0 + 0.25 + 0.25,
        ]),
    )
}
