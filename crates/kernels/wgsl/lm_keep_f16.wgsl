
// Keeps a head of keys, which lies in `turned`, and one of values, which lies in `qkv`.
fn keep(line: u32, value_at: u32, lane: u32) {
    for (var i = lane; i < params.key_length / 4u; i += 128u) {
        let v = turned[64u + i];
        keys[line * (params.key_length / 4u) + i] = vec2<u32>(pack2x16float(v.xy), pack2x16float(v.zw));
    }
    for (var i = lane; i < params.value_length / 4u; i += 128u) {
        let source = value_at + i * 4u;
        let low = pack2x16float(vec2<f32>(qkv[source], qkv[source + 1u]));
        values[line * (params.value_length / 4u) + i] = vec2<u32>(low, pack2x16float(vec2<f32>(qkv[source + 2u], qkv[source + 3u])));
    }
}
