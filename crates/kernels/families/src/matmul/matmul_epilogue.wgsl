// Epilogue of plain products. `Sum` is one value or four adjacent columns.

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
}

@group(0) @binding(2) var<storage, read_write> c: array<Element>;

fn epilogue(at: u32, column: u32, sum: Sum) {
    c[at] = Element(sum);
}

fn has_activation() -> bool {
    return false;
}

fn apply_activation(at: u32) {}
