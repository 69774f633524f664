//! Packing and unpacking of small values.

use half::f16;
use roci_testkit::Tolerance;

use super::case::Case;

pub(crate) fn cases() -> Vec<Case> {
    let packs = "
        @group(0) @binding(0) var<storage, read> v: vec4<f32>;
        @group(0) @binding(1) var<storage, read_write> packed: array<u32, 10>;
        @compute @workgroup_size(1)
        fn main() {
            packed[0] = pack4x8snorm(v);
            packed[1] = pack4x8unorm(v);
            packed[2] = pack2x16snorm(v.xy);
            packed[3] = pack2x16unorm(v.xy);
            packed[4] = pack2x16float(v.zw);
            packed[5] = pack4xI8(vec4<i32>(1, -2, 300, -128));
            packed[6] = pack4xU8(vec4<u32>(1u, 255u, 256u, 7u));
            packed[7] = pack4xI8Clamp(vec4<i32>(v * 1000.0));
            packed[8] = pack4xU8Clamp(vec4<u32>(v * 1000.0));
            packed[9] = pack2x16float(vec2<f32>(1e-7, 65520.0));
        }";
    let half = |low: f32, high: f32| {
        u32::from(f16::from_f32(low).to_bits()) | (u32::from(f16::from_f32(high).to_bits()) << 16)
    };
    let bytes = u32::from_le_bytes;
    let packed = [
        bytes([127, (-63i8).cast_unsigned(), 13, (-127i8).cast_unsigned()]),
        bytes([255, 0, 26, 0]),
        32767 | (u32::from((-16383i16).cast_unsigned()) << 16),
        65535,
        half(0.1, -2.0),
        bytes([1, 254, 44, 128]),
        bytes([1, 255, 0, 7]),
        bytes([127, 128, 100, 128]),
        bytes([255, 0, 100, 0]),
        half(1e-7, 65520.0),
    ];
    let unpacks = "
        @group(0) @binding(0) var<storage, read> v: array<u32, 4>;
        @group(0) @binding(1) var<storage, read_write> out: array<vec4<f32>, 7>;
        @compute @workgroup_size(1)
        fn main() {
            out[0] = unpack4x8snorm(v[0]);
            out[1] = unpack4x8unorm(v[0]);
            out[2] = vec4<f32>(unpack2x16snorm(v[1]), unpack2x16unorm(v[1]));
            out[3] = vec4<f32>(unpack2x16float(v[2]), unpack2x16float(v[3]));
            out[4] = vec4<f32>(unpack4xI8(v[0]));
            out[5] = vec4<f32>(unpack4xU8(v[0]));
            out[6] = vec4<f32>(f32(dot(unpack4xI8(v[0]), vec4<i32>(1))), 0.0, 0.0, 0.0);
        }";
    let words = [bytes([0, 127, 128, 255]), 0x8000_7fff, half(1.5, -0.1), half(6.1e-5, 65504.0)];
    #[rustfmt::skip]
    let floats = [
        0.0, 1.0, -1.0, -1.0 / 127.0,
        0.0, 127.0 / 255.0, 128.0 / 255.0, 1.0,
        1.0, -1.0, 32767.0 / 65535.0, 32768.0 / 65535.0,
        1.5, f16::from_f32(-0.1).to_f32(), f16::from_f32(6.1e-5).to_f32(), 65504.0,
        0.0, 127.0, -128.0, -1.0,
        0.0, 127.0, 128.0, 255.0,
        -2.0, 0.0, 0.0, 0.0,
    ];
    vec![
        Case::new("pack", packs).reads(&[1.0f32, -0.5, 0.1, -2.0]).writes(&[], &packed),
        Case::new("unpack", unpacks).reads(&words).writes_near(&floats, Tolerance::FewUlps),
    ]
}
