// Epilogue of four adjacent rows, for products on matrix units; appended to the source of the
// kernels that use it.

// Epilogue of four adjacent sums of a token. `first_row` is the first row of the expert's matrix,
// or 0.
fn epilogue_vec4(token: u32, row: u32, first_row: u32, sums: vec4<f32>) {
    if (params.flags & PACKED) != 0u {
        var pair = vec2<f32>(gated_unit(row, first_row, sums.xy), 0.0);
        if row + 2u < params.rows {
            pair.y = gated_unit(row + 2u, first_row, sums.zw);
        }
        let word = pack2x16float(clamp(pair, vec2<f32>(-65504.0), vec2<f32>(65504.0)));
        y[token * params.y_stride + params.y_offset + row / 4u] = bitcast<f32>(word);
        return;
    }
    if (params.flags & GATE) != 0u {
        epilogue_gated(token, row, first_row, sums.xy);
        if row + 2u < params.rows {
            epilogue_gated(token, row + 2u, first_row, sums.zw);
        }
        return;
    }
    for (var i = 0u; i < 4u; i += 1u) {
        if row + i < params.rows {
            epilogue(token, row + i, first_row, sums[i]);
        }
    }
}
