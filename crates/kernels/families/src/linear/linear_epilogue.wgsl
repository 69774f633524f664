// Epilogue of linear layers: bias, residual, clamp, activation. `Sum` is the type of a sum, one
// value or four adjacent columns; `Bits` is its bit pattern; `activate` applies the activation per
// component.

const BIAS = 1u;
const ADD = 2u;
const CLAMP = 4u;
const GELU = 8u;
const SILU = 16u;

struct Params {
    m: u32,
    n: u32,
    k: u32,
    lda: u32,
    ldb: u32,
    ldc: u32,
    batches: u32,
    batch_a: u32,
    batch_b: u32,
    batch_c: u32,
    flags: u32,
    low: f32,
    high: f32,
}

@group(0) @binding(2) var<storage, read> bias: array<Sum>;
@group(0) @binding(3) var<storage, read_write> y: array<Sum>;

// Whether the activation is long. A long activation is applied in a loop to the values already
// written, because compilers would inline one copy for each sum of an invocation.
fn has_activation() -> bool {
    return (params.flags & (GELU | SILU)) != 0u;
}

fn activation(v: f32) -> f32 {
    if (params.flags & GELU) != 0u {
        return gelu(v);
    }
    return v / (1.0 + exp(-v));
}

fn apply_activation(at: u32) {
    y[at] = activate(y[at]);
}

fn epilogue(at: u32, column: u32, sum: Sum) {
    var v = sum;
    if (params.flags & BIAS) != 0u {
        v += bias[column];
    }
    if (params.flags & ADD) != 0u {
        v += y[at];
    }
    if (params.flags & CLAMP) != 0u {
        // NaN is tested by its bits, because compilers drop it from comparisons.
        let not_nan = (bitcast<Bits>(v) & Bits(0x7fffffffu)) <= Bits(0x7f800000u);
        v = select(v, min(max(v, Sum(params.low)), Sum(params.high)), not_nan);
    }
    y[at] = v;
}
