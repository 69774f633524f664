Packing of small values into u32, lane 0 in the low bits.

//: roci_pack_rounded
ROCI_FN int roci_pack_rounded(float a, float low, float scale) {
    return (int)roci_floor(0.5f + scale * roci_fmin(roci_fmax(a, low), 1.0f));
}
//: roci_pack4x8snorm
ROCI_FN uint roci_pack4x8snorm(float4 a) {
    return as_uint((char4)((char)roci_pack_rounded(a.x, -1.0f, 127.0f), (char)roci_pack_rounded(a.y, -1.0f, 127.0f),
                           (char)roci_pack_rounded(a.z, -1.0f, 127.0f), (char)roci_pack_rounded(a.w, -1.0f, 127.0f)));
}
//: roci_pack4x8unorm
ROCI_FN uint roci_pack4x8unorm(float4 a) {
    return as_uint((uchar4)((uchar)roci_pack_rounded(a.x, 0.0f, 255.0f), (uchar)roci_pack_rounded(a.y, 0.0f, 255.0f),
                            (uchar)roci_pack_rounded(a.z, 0.0f, 255.0f), (uchar)roci_pack_rounded(a.w, 0.0f, 255.0f)));
}
//: roci_pack2x16snorm
ROCI_FN uint roci_pack2x16snorm(float2 a) {
    return as_uint((short2)((short)roci_pack_rounded(a.x, -1.0f, 32767.0f),
                            (short)roci_pack_rounded(a.y, -1.0f, 32767.0f)));
}
//: roci_pack2x16unorm
ROCI_FN uint roci_pack2x16unorm(float2 a) {
    return as_uint((ushort2)((ushort)roci_pack_rounded(a.x, 0.0f, 65535.0f),
                             (ushort)roci_pack_rounded(a.y, 0.0f, 65535.0f)));
}
//: roci_pack2x16float
ROCI_FN uint roci_pack2x16float(float2 a) {
    return as_uint((ushort2)(roci_narrow_f16(a.x), roci_narrow_f16(a.y)));
}
//: roci_pack4xI8
ROCI_FN uint roci_pack4xI8(int4 a) {
    return as_uint((char4)((char)a.x, (char)a.y, (char)a.z, (char)a.w));
}
//: roci_pack4xU8
ROCI_FN uint roci_pack4xU8(uint4 a) {
    return as_uint((uchar4)((uchar)a.x, (uchar)a.y, (uchar)a.z, (uchar)a.w));
}
//: roci_clamp_i8
ROCI_FN char roci_clamp_i8(int a) {
    return (char)(a < -128 ? -128 : a > 127 ? 127 : a);
}
//: roci_pack4xI8Clamp
ROCI_FN uint roci_pack4xI8Clamp(int4 a) {
    return as_uint((char4)(roci_clamp_i8(a.x), roci_clamp_i8(a.y), roci_clamp_i8(a.z), roci_clamp_i8(a.w)));
}
//: roci_clamp_u8
ROCI_FN uchar roci_clamp_u8(uint a) {
    return (uchar)(a > 255u ? 255u : a);
}
//: roci_pack4xU8Clamp
ROCI_FN uint roci_pack4xU8Clamp(uint4 a) {
    return as_uint((uchar4)(roci_clamp_u8(a.x), roci_clamp_u8(a.y), roci_clamp_u8(a.z), roci_clamp_u8(a.w)));
}
//: roci_unpack4xI8
ROCI_FN int4 roci_unpack4xI8(uint a) {
    const char4 v = as_char4(a);
    return (int4)(v.x, v.y, v.z, v.w);
}
//: roci_unpack4xU8
ROCI_FN uint4 roci_unpack4xU8(uint a) {
    const uchar4 v = as_uchar4(a);
    return (uint4)(v.x, v.y, v.z, v.w);
}
//: roci_unpack4x8snorm
ROCI_FN float4 roci_unpack4x8snorm(uint a) {
    const char4 v = as_char4(a);
    return (float4)(roci_fmax((float)v.x / 127.0f, -1.0f), roci_fmax((float)v.y / 127.0f, -1.0f),
                    roci_fmax((float)v.z / 127.0f, -1.0f), roci_fmax((float)v.w / 127.0f, -1.0f));
}
//: roci_unpack4x8unorm
ROCI_FN float4 roci_unpack4x8unorm(uint a) {
    const uchar4 v = as_uchar4(a);
    return (float4)(v.x, v.y, v.z, v.w) / 255.0f;
}
//: roci_unpack2x16snorm
ROCI_FN float2 roci_unpack2x16snorm(uint a) {
    const short2 v = as_short2(a);
    return (float2)(roci_fmax((float)v.x / 32767.0f, -1.0f), roci_fmax((float)v.y / 32767.0f, -1.0f));
}
//: roci_unpack2x16unorm
ROCI_FN float2 roci_unpack2x16unorm(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(v.x, v.y) / 65535.0f;
}
//: roci_unpack2x16float
ROCI_FN float2 roci_unpack2x16float(uint a) {
    const ushort2 v = as_ushort2(a);
    return (float2)(roci_widen_f16(v.x), roci_widen_f16(v.y));
}
