// Causal convolution over the most recent tokens, with separate weights for each channel. The state
// of a sequence is the last `taps - 1` input rows, oldest first. Gates, if any, multiply the inputs
// and the outputs; they are columns of `x` too. Several sets of weights may read the same inputs.
//
// A workgroup computes 256 channels of some tokens of a sequence. Only the workgroup with the first
// tokens reads and writes the state, so it may write the state that it reads.

struct Params {
    sequences: u32,
    first: u32,
    channels: u32,
    taps: u32,
    x_stride: u32,
    x_offset: u32,
    input_gates_offset: u32,
    output_gates_offset: u32,
    y_stride: u32,
    splits: u32,
    flags: u32,
    copies: u32,
    plane: u32,
}

const NO_STATE = 0xffffffffu;
const SILU = 1u;
const BIAS = 2u;
const GATED = 4u;
const SHIFT = 8u;
const KEEP = 16u;

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> inputs: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weights: array<f32>;
@group(0) @binding(3) var<storage, read_write> states: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

struct Sequence {
    first_token: u32,
    tokens: u32,
    read_slot: u32,
    write_slot: u32,
}

// A channel of a row of the state before the sequence, followed by its rows of inputs.
fn load_input(sequence: Sequence, row: u32, channel: u32) -> f32 {
    let window = params.taps - 1u;
    if row >= window {
        let base = (sequence.first_token + row - window) * params.x_stride + channel;
        let value = x[base + params.x_offset];
        if (params.flags & GATED) == 0u {
            return value;
        }
        return value * x[base + params.input_gates_offset];
    }
    if sequence.read_slot == NO_STATE {
        return 0.0;
    }
    return states[(sequence.read_slot * window + row) * params.channels + channel];
}

@compute @workgroup_size(256)
fn lm_short_conv(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
    let channel = group.x * 256u + lane;
    if channel >= params.channels {
        return;
    }
    let at = params.first + 4u * group.y;
    let sequence = Sequence(inputs[at], inputs[at + 1u], inputs[at + 2u], inputs[at + 3u]);
    let window = params.taps - 1u;
    // At least as many tokens as the state has rows, so that later splits do not read it.
    let tokens_per_split = max((sequence.tokens + params.splits - 1u) / params.splits, window);
    let start = group.z * tokens_per_split;
    let end = min(start + tokens_per_split, sequence.tokens);
    for (var token = start; token < end; token += 1u) {
        for (var copy = 0u; copy < params.copies; copy += 1u) {
            let row = copy * params.channels + channel;
            let to = copy * params.plane + (sequence.first_token + token) * params.y_stride + channel;
            if (params.flags & SHIFT) != 0u {
                let value = load_input(sequence, token + 1u, channel);
                y[to] = value + (load_input(sequence, token, channel) - value) * y[to];
                continue;
            }
            var sum = 0.0;
            for (var tap = 0u; tap < params.taps; tap += 1u) {
                sum += weights[row * params.taps + tap] * load_input(sequence, token + tap, channel);
            }
            if (params.flags & BIAS) != 0u {
                sum += weights[params.copies * params.channels * params.taps + row];
            }
            if (params.flags & SILU) != 0u {
                sum = sum / (1.0 + exp(-sum));
            }
            if (params.flags & GATED) != 0u {
                sum *= x[(sequence.first_token + token) * params.x_stride + params.output_gates_offset + channel];
            }
            y[to] = sum;
        }
    }
    if group.z == 0u && (params.flags & KEEP) == 0u {
        // In ascending order, so that a row of the same slot is read before it is overwritten.
        for (var row = 0u; row < window; row += 1u) {
            let value = load_input(sequence, sequence.tokens + row, channel);
            states[(sequence.write_slot * window + row) * params.channels + channel] = value;
        }
    }
}
