// Epilogue of plain matrix-vector products.

struct Params {
    m: u32,
    k: u32,
    lda: u32,
}

@group(0) @binding(2) var<storage, read_write> y: array<f32>;

fn epilogue(at: u32, row: u32, sum: f32) {
    y[at] = sum;
}

fn has_activation() -> bool {
    return false;
}

fn apply_activation(at: u32) {}
