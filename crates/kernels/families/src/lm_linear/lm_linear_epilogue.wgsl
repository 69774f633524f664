// Constants and epilogue of the products of language models; appended to the source of the kernels
// that use it.

const ADD = 1u;
const BIAS = 2u;
const SILU = 4u;
const GATE = 12u;
const NORM = 16u;
const PACKED = 32u;
const TEAMS = 64u;

struct Params {
    rows: u32,
    columns: u32,
    tokens: u32,
    x_stride: u32,
    y_stride: u32,
    y_offset: u32,
    flags: u32,
    experts: u32,
    sharing: u32,
    model_columns: u32,
    epsilon: f32,
}

// Epilogue of the sum of one row. `first_row` is the first row of the expert's matrix, or 0.
fn epilogue(token: u32, row: u32, first_row: u32, sum: f32) {
    let at = token * params.y_stride + params.y_offset + row;
    var v = sum;
    if (params.flags & BIAS) != 0u {
        v += bias[first_row + row];
    }
    if (params.flags & ADD) != 0u {
        v += y[at];
    }
    y[at] = v;
}

// Gated linear unit of two adjacent rows; `row`, the first, is even.
fn gated_unit(row: u32, first_row: u32, sums: vec2<f32>) -> f32 {
    var v = sums;
    if (params.flags & BIAS) != 0u {
        v += vec2<f32>(bias[first_row + row], bias[first_row + row + 1u]);
    }
    // All activations share one exponential and one division. Tiles repeat this code for each of
    // their matrices, and more of it takes registers from their sums.
    var gate = v.x;
    var up = v.y;
    var z = gate;
    if (params.flags & GATE) == GATE {
        // SwiGLU of gpt-oss.
        gate = min(gate, 7.0);
        z = 1.702 * gate;
        up = clamp(up, -7.0, 7.0) + 1.0;
    } else if (params.flags & SILU) == 0u {
        // GELU (tanh form): 1 + tanh(z) = 2 / (1 + exp(-2 z)).
        z = 1.5957691216 * (gate + 0.044715 * gate * gate * gate);
    }
    return gate / (1.0 + exp(-z)) * up;
}

// Epilogue of the sums of two such rows.
fn epilogue_gated(token: u32, row: u32, first_row: u32, sums: vec2<f32>) {
    y[token * params.y_stride + params.y_offset + row / 2u] = gated_unit(row, first_row, sums);
}
