//! Products with the gate and up projections of experts, packed and in place.

use roci_families::{LmExpertsPacked, LmQuantize};

use super::*;

/// Rows and columns of a matrix, experts, and experts per token.
const SHAPE: [usize; 4] = [768, 2048, 128, 8];

pub(super) fn experts(name: &str, device: &Device, kind: Type, tokens: usize) {
    let [rows, columns, experts, used] = SHAPE;
    let source = source(kind, 2 * experts * rows * columns);
    let matrix = source.len() / (2 * experts);
    let bytes = lm_cpu::packed_bytes(kind, rows, columns).expect("the type can be packed");
    let mut packed = vec![0; 2 * experts * bytes];
    for (source, target) in source.chunks(matrix).zip(packed.chunks_mut(bytes)) {
        lm_cpu::pack_rows(kind, source, columns, 0..rows / lm_cpu::ROWS, target).expect("the lengths match");
    }
    let mut random = fastrand::Rng::with_seed(2);
    let ids: Vec<u32> = (0..tokens * used).map(|_| random.u32(0..experts as u32)).collect();
    let x: Vec<f32> = (0..tokens * columns).map(|at| ((at * 37) % 101) as f32 / 50.0 - 1.0).collect();
    let [x, ids] = [bytemuck::cast_slice(&x), bytemuck::cast_slice(&ids)].map(|bytes| buffer(device, bytes));
    let whole = buffer(device, &vec![0; lm_cpu::activation_bytes(tokens, columns)]);
    let y = buffer(device, &vec![0; tokens * used * 2 * rows * 4]);
    let unused = buffer(device, &[0; 16]);
    let quantize = LmQuantize { tokens: tokens as u32, columns: columns as u32, x_stride: columns as u32, x_offset: 0 };
    replay(device, "lm_quantize", &[&[&x, &whole]], &quantize)();
    for (what, weights, bytes, flags) in
        [("packed", packed, bytes, 0), ("in place", source, matrix, LmExpertsPacked::IN_PLACE)]
    {
        let weights = buffer(device, &weights);
        let unit = LmExpertsPacked::UNIT as usize;
        let p = LmExpertsPacked {
            rows: rows as u32,
            columns: columns as u32,
            pairs: (tokens * used) as u32,
            experts: experts as u32,
            sharing: used as u32,
            matrices: 2,
            format: kind.id(),
            x_stride: columns as u32,
            y_stride: 2 * rows as u32,
            y_offset: 0,
            flags,
            starts: [0, (bytes / unit) as u32],
            steps: [(2 * bytes / unit) as u32; 2],
        };
        let seconds = best(replay(device, "lm_experts_packed", &[&[&weights, &whole, &ids, &unused, &unused, &y]], &p));
        println!(
            "{name}, {what}: {:.1} GB/s of the file, {:.0} GOP/s, {:.0} us",
            (2 * used.min(experts) * matrix) as f64 / seconds / 1e9,
            2.0 * (rows * columns * 2 * tokens * used) as f64 / seconds / 1e9,
            seconds * 1e6
        );
    }
}
