// Several residual streams (AltUp): predicts all of them before a layer, or corrects the predictions
// after it. Streams are planes of one buffer. The coefficients of both are linear in the tanh of a
// score for each stream; there are at most four.

struct Params {
    tokens: u32,
    columns: u32,
    streams: u32,
    active_stream: u32,
    stride: u32,
    plane: u32,
    scores_stride: u32,
    scale: f32,
    correct: u32,
}

var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> scores: array<f32>;
@group(0) @binding(1) var<storage, read> coefficients: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> state: array<f32>;
@group(0) @binding(3) var<storage, read_write> streams: array<f32>;

// Clamped, because exp overflows on some drivers.
fn activated_score(at: u32, stream: u32) -> f32 {
    if stream >= params.streams {
        return 0.0;
    }
    return tanh(clamp(scores[at + stream] * params.scale, -15.0, 15.0));
}

fn load_stream(at: u32, stream: u32) -> f32 {
    if stream >= params.streams {
        return 0.0;
    }
    return streams[stream * params.plane + at];
}

fn store_stream(at: u32, stream: u32, value: f32) {
    if stream < params.streams {
        streams[stream * params.plane + at] = value;
    }
}

// The product of a row of four coefficients with the scores.
fn factor(row: u32, w: vec4<f32>) -> f32 {
    return dot(coefficients[row], w);
}

fn factors(row: u32, w: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(factor(row, w), factor(row + 1u, w), factor(row + 2u, w), factor(row + 3u, w));
}

@compute @workgroup_size(256)
fn lm_mix_streams(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let first_score = group.y * params.scores_stride;
    let w = vec4<f32>(
        activated_score(first_score, 0u),
        activated_score(first_score, 1u),
        activated_score(first_score, 2u),
        activated_score(first_score, 3u),
    );
    for (var c = group.x * 256u + lane; c < params.columns; c += groups.x * 256u) {
        let at = group.y * params.stride + c;
        let x = vec4<f32>(load_stream(at, 0u), load_stream(at, 1u), load_stream(at, 2u), load_stream(at, 3u));
        var y = x;
        if params.correct != 0u {
            let change = state[at] - streams[params.active_stream * params.plane + at];
            y += (factors(0u, w) + vec4<f32>(1.0)) * change;
        } else {
            y.x += dot(factors(0u, w), x);
            y.y += dot(factors(4u, w), x);
            y.z += dot(factors(8u, w), x);
            y.w += dot(factors(12u, w), x);
        }
        store_stream(at, 0u, y.x);
        store_stream(at, 1u, y.y);
        store_stream(at, 2u, y.z);
        store_stream(at, 3u, y.w);
        if params.correct != 0u {
            var scaled = y.x;
            if params.active_stream == 1u {
                scaled = y.y;
            } else if params.active_stream == 2u {
                scaled = y.z;
            } else if params.active_stream == 3u {
                scaled = y.w;
            }
            // Behind the streams, the input of what the layer computes from its own embedding.
            streams[params.streams * params.plane + at] = scaled * coefficients[4u + c / 4u][c % 4u];
        }
    }
}
