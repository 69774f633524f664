// Functions of the kernels that keep rows of a recurrent state in registers. A file that uses them has
// `x`, `states` and `params.lanes`, and `row_length`, the length of a row of the state.

// An invocation's elements of a vector, or of a row of the state.
struct Elements {
    a: vec4<f32>,
    b: vec4<f32>,
    c: vec4<f32>,
    d: vec4<f32>,
}

fn dot_elements(p: Elements, q: Elements) -> f32 {
    return (dot(p.a, q.a) + dot(p.b, q.b)) + (dot(p.c, q.c) + dot(p.d, q.d));
}

// Four elements of the vector at `start`; zeros past its end.
fn load_x(start: u32, column: u32) -> vec4<f32> {
    if column >= row_length() {
        return vec4<f32>();
    }
    return x[(start + column) / 4u];
}

fn load_elements(start: u32, column: u32) -> Elements {
    let step = 4u * params.lanes;
    return Elements(
        load_x(start, column),
        load_x(start, column + step),
        load_x(start, column + 2u * step),
        load_x(start, column + 3u * step),
    );
}

fn load_state(start: u32, column: u32) -> vec4<f32> {
    if column >= row_length() {
        return vec4<f32>();
    }
    return states[(start + column) / 4u];
}

// The row of the state at `start`.
fn load_row(start: u32, column: u32) -> Elements {
    let step = 4u * params.lanes;
    return Elements(
        load_state(start, column),
        load_state(start, column + step),
        load_state(start, column + 2u * step),
        load_state(start, column + 3u * step),
    );
}

fn store_state(start: u32, column: u32, v: vec4<f32>) {
    if column < row_length() {
        states[(start + column) / 4u] = v;
    }
}

fn store_row(start: u32, column: u32, row: Elements) {
    let step = 4u * params.lanes;
    store_state(start, column, row.a);
    store_state(start, column + step, row.b);
    store_state(start, column + 2u * step, row.c);
    store_state(start, column + 3u * step, row.d);
}

// A series replaces ln(1 + e) where 1 + e would be rounded.
fn softplus(score: f32) -> f32 {
    let e = exp(-abs(score));
    return max(score, 0.0) + select(log(1.0 + e), e * (1.0 - e * (0.5 - e / 3.0)), e < 0.01);
}
