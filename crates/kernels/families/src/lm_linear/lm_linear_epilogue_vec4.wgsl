// Epilogue of four adjacent rows, for products on matrix units; appended to the source of the
// kernels that use it.

// Epilogue of four adjacent sums of a token.
fn epilogue_vec4(token: u32, row: u32, sums: vec4<f32>) {
    if (params.flags & PACKED) != 0u {
        var pair = vec2<f32>(gated_unit(row, 0u, sums.xy), 0.0);
        if row + 2u < params.rows {
            pair.y = gated_unit(row + 2u, 0u, sums.zw);
        }
        let word = pack2x16float(clamp(pair, vec2<f32>(-65504.0), vec2<f32>(65504.0)));
        y[token * params.y_stride + params.y_offset + row / 4u] = bitcast<f32>(word);
        return;
    }
    if (params.flags & GATE) != 0u {
        epilogue_gated(token, row, 0u, sums.xy);
        if row + 2u < params.rows {
            epilogue_gated(token, row + 2u, 0u, sums.zw);
        }
        return;
    }
    for (var i = 0u; i < 4u; i += 1u) {
        if row + i < params.rows {
            epilogue(token, row + i, 0u, sums[i]);
        }
    }
}
