//! Native kernels on the CPU driver compared with the best available libraries, on two threads.
//!
//! `cargo bench -p roci-kernels --bench natives [-- FILTER]`. The implementations of a case run
//! interleaved, because the machine may be busy; compare ratios, not rates. The report names
//! libraries that are not installed.

mod baselines;
mod conv;
mod driver;
mod measure;
mod pool;
mod table;

use std::env;

use half::f16;
use roci_hal::Device;
use roci_kernels::native::{self, Level};
use roci_kernels::params;

use baselines::OpenBlas;
use driver::{Buffer, ours};
use measure::Implementation;
use pool::{Pool, THREADS};
use table::{case, print};

/// Rounds per case.
const ROUNDS: usize = 25;

fn main() {
    let widest = Level::best().to_string();
    let settings = [
        ("MATMUL_NUM_THREADS", "2"),
        // OpenBLAS releases from 2022 do not recognize CPUs from 2023 and fall back to their
        // slowest kernels, which would not be a fair comparison.
        ("OPENBLAS_CORETYPE", if widest == "avx512" { "SKYLAKEX" } else { "HASWELL" }),
        // Idle OpenBLAS threads would otherwise spin during the next implementation's run.
        ("OPENBLAS_THREAD_TIMEOUT", "4"),
    ];
    for (name, value) in settings {
        // SAFETY: no other thread has started yet.
        unsafe { env::set_var(name, value) };
    }
    let filter = env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let expected = |name: &str| name.contains(&filter);
    print(&format!("{THREADS} threads, {widest}"));
    let pool = Pool::new();
    let device = driver::open().expect("the CPU driver opens");
    let device = &device;
    if expected("elementwise") {
        elementwise(device, &pool);
    }
    if expected("functions") {
        functions(device);
    }
    if expected("elementwise_program") {
        chains(device);
    }
    if expected("matmul") {
        let blas = OpenBlas::load();
        if let Err(error) = &blas {
            print(&format!("OpenBLAS is absent: {error}"));
        }
        for (sizes, target) in [
            ([1024, 1024, 1024], Some(0.95)),
            ([2048, 2048, 2048], None),
            ([1000, 1000, 1000], None),
            ([256, 256, 256], None),
            ([64, 64, 64], None),
            ([8, 4096, 4096], None),
            ([1, 4096, 4096], None),
        ] {
            matmul(device, blas.as_ref().ok(), sizes, target);
        }
        matmul_f16(device, [1024, 1024, 1024]);
    }
    if expected("matvec") {
        matvec(device);
    }
    if expected("conv") {
        conv::all(device);
    }
}

/// Deterministic values between -0.5 and 0.5.
fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919) % 10_007) as f32 / 10_007.0 - 0.5).collect()
}

/// `memcpy` of the C library on all threads.
fn memcpy<'a>(
    pool: &'a Pool,
    from: &'a Buffer,
    to: &'a Buffer,
    name: &'static str,
    pieces: usize,
) -> Implementation<'a> {
    let bytes = from.bytes();
    let run = Box::new(move || {
        let piece = bytes / pieces;
        pool.share(pieces, &|index| {
            let (from, to) =
                (from.pointer::<u8>().wrapping_add(index * piece), to.pointer::<u8>().wrapping_add(index * piece));
            // SAFETY: the chunks are disjoint, and nothing else uses the two buffers.
            unsafe { std::ptr::copy_nonoverlapping(from, to, piece) };
        });
    });
    Implementation { name, run, work: 2.0 * bytes as f64 / 1e9 }
}

/// Memory bandwidth compared with `add`, `copy` and `fill`, counted as bytes read plus bytes
/// written.
fn elementwise(device: &Device, pool: &Pool) {
    const COUNT: usize = 64 << 20;
    let [a, b, y] = [0, 1, 2].map(|_| Buffer::from_slice(device, &values(COUNT)));
    let bytes = (COUNT * 4) as f64 / 1e9;
    let count = COUNT as u32;
    let copy = params::Copy { count, source_offset: 0, target_offset: 0 };
    let fill = params::Fill { count, offset: 0, value: 7 };
    let our_copy = || ours(device, "copy", &[&a, &y], copy, 2.0 * bytes);
    let memcpys = || [memcpy(pool, &a, &y, "memcpy, two halves", 2), memcpy(pool, &a, &y, "memcpy, many pieces", 256)];
    let mut add = vec![ours(device, "binary_add", &[&a, &b, &y], params::Binary::flat(count), 3.0 * bytes)];
    add.extend(memcpys());
    case("add of 64 Mi f32 against copying", "GB/s", Some(0.9), ROUNDS, &mut add);
    let mut copies = vec![our_copy()];
    copies.extend(memcpys());
    case("copy of 64 Mi words", "GB/s", None, ROUNDS, &mut copies);
    let memset = Box::new(|| {
        pool.share(THREADS, &|index| {
            let piece = COUNT * 4 / THREADS;
            // SAFETY: the chunks are disjoint, and nothing else uses the buffer.
            unsafe { std::ptr::write_bytes(y.pointer::<u8>().wrapping_add(index * piece), 7, piece) };
        });
    });
    let mut fills = [
        ours(device, "fill", &[&y], fill, bytes),
        Implementation { name: "memset, two halves", run: memset, work: bytes },
    ];
    case("fill of 64 Mi words", "GB/s", None, ROUNDS, &mut fills);
}

/// Unary functions over data in the L2 cache.
fn functions(device: &Device) {
    const COUNT: usize = 128 << 10;
    let [x, y] = [0, 1].map(|_| Buffer::from_slice(device, &values(COUNT)));
    for name in native::names().filter(|name| name.starts_with("unary_")) {
        let p = params::Unary { count: COUNT as u32 };
        case(name, "G elements/s", None, ROUNDS, &mut [ours(device, name, &[&x, &y], p, COUNT as f64 / 1e9)]);
    }
}

/// Single-operation programs compared with the dedicated kernels.
fn chains(device: &Device) {
    use params::{ElementwiseCode, ElementwiseOp, ElementwiseOperand};
    let pairs = [
        (ElementwiseOp::Neg, "unary_neg"),
        (ElementwiseOp::Exp, "unary_exp"),
        (ElementwiseOp::Tanh, "unary_tanh"),
        (ElementwiseOp::Gelu, "unary_gelu"),
        (ElementwiseOp::Relu, "unary_relu"),
        (ElementwiseOp::Add, "binary_add"),
        (ElementwiseOp::Mul, "binary_mul"),
        (ElementwiseOp::Max, "binary_max"),
        (ElementwiseOp::Pow, "binary_pow"),
    ];
    for count in [128usize << 10, 16 << 20] {
        let [a, b, y] = [0, 1, 2].map(|_| Buffer::from_slice(device, &values(count)));
        for (op, name) in pairs {
            let load = ElementwiseCode::new().with(ElementwiseOp::Load, ElementwiseOperand::A);
            let next = |code: ElementwiseCode| {
                if op.takes_operand() { code.with(op, ElementwiseOperand::B) } else { code.then(op) }
            };
            let chain =
                params::ElementwiseProgram::dense(count as u32, &load.and_then(next).expect("two instructions fit"));
            let work = count as f64 / 1e9;
            let alone = if op.takes_operand() {
                ours(device, name, &[&a, &b, &y], params::Binary::flat(count as u32), work)
            } else {
                ours(device, name, &[&a, &y], params::Unary { count: count as u32 }, work)
            };
            let chain = Implementation {
                name: "elementwise_program",
                ..ours(device, "elementwise_program", &[&a, &b, &b, &y], chain, work)
            };
            let title = format!("chain against {name}, {} Ki elements", count >> 10);
            case(&title, "G elements/s", Some(0.66), ROUNDS, &mut [chain, Implementation { name, ..alone }]);
        }
    }
}

/// f32 matrix products compared with three libraries.
fn matmul(device: &Device, blas: Option<&OpenBlas>, sizes: [usize; 3], target: table::Target) {
    let [m, n, k] = sizes;
    let [a, b, c] = [m * k, k * n, m * n].map(|count| Buffer::from_slice(device, &values(count)));
    let p = params::Matmul::dense(m as u32, n as u32, k as u32);
    let work = 2.0 * (m * n * k) as f64 / 1e9;
    let (pa, pb, pc) = (a.pointer::<f32>(), b.pointer::<f32>(), c.pointer::<f32>());
    let mut implementations = vec![ours(device, "matmul_f32", &[&a, &b, &c], p, work)];
    if let Some(blas) = blas {
        // SAFETY: the buffers have these sizes, and nothing else uses them.
        let run = Box::new(move || unsafe { blas.multiply(sizes, pa, pb, pc) });
        implementations.push(Implementation { name: "OpenBLAS", run, work });
    }
    let gemm = gemm_f32::gemm::f32::get_gemm_fn();
    // SAFETY: the buffers have these sizes, and nothing else uses them.
    let run = Box::new(move || unsafe { baselines::gemm_crate(gemm, sizes, [pa, pb], pc, [0.0, 1.0]) });
    implementations.push(Implementation { name: "gemm", run, work });
    // SAFETY: the buffers have these sizes, and nothing else uses them.
    let run = Box::new(move || unsafe { baselines::matrixmultiply_crate(sizes, pa, pb, pc) });
    implementations.push(Implementation { name: "matrixmultiply", run, work });
    case(&format!("matmul_f32 {m} x {n} x {k}"), "GFLOP/s", target, 2 * ROUNDS, &mut implementations);
}

/// f16 matrix products compared with the `gemm` crate.
fn matmul_f16(device: &Device, sizes: [usize; 3]) {
    let [m, n, k] = sizes;
    let halves = |count: usize| values(count).into_iter().map(f16::from_f32).collect::<Vec<_>>();
    let [a, b, c] = [m * k, k * n, m * n].map(|count| Buffer::from_slice(device, &halves(count)));
    let p = params::Matmul::dense(m as u32, n as u32, k as u32);
    let work = 2.0 * (m * n * k) as f64 / 1e9;
    let (pa, pb, pc) = (a.pointer::<f16>(), b.pointer::<f16>(), c.pointer::<f16>());
    let gemm = gemm_f16::gemm::f16::get_gemm_fn();
    // SAFETY: the buffers have these sizes, and nothing else uses them.
    let run = Box::new(move || unsafe { baselines::gemm_crate(gemm, sizes, [pa, pb], pc, [f16::ZERO, f16::ONE]) });
    let baseline = Implementation { name: "gemm", run, work };
    let mut implementations = [ours(device, "matmul_f16", &[&a, &b, &c], p, work), baseline];
    case(&format!("matmul_f16 {m} x {n} x {k}"), "GFLOP/s", None, ROUNDS, &mut implementations);
}

/// Matrix-vector products compared with copying and with plain summing, because they are
/// memory-bound.
fn matvec(device: &Device) {
    let (m, k) = (16 << 10, 4 << 10);
    let a = Buffer::from_slice(device, &values(m * k));
    let halves = Buffer::from_slice(device, &vec![f16::ONE; m * k]);
    let [x, y] = [k, m].map(|count| Buffer::from_slice(device, &values(count)));
    let p = params::Matvec { m: m as u32, k: k as u32, lda: k as u32 };
    let flat = params::Reduce { outer: m as u32, axis: k as u32, inner: 1 };
    for (name, matrix, width) in [("matvec_f32", &a, 4), ("matvec_f16", &halves, 2)] {
        let work = (m * k * width) as f64 / 1e9;
        let read = Implementation {
            name: "reading (reduce_sum)",
            ..ours(device, "reduce_sum", &[&a, &y], flat, (m * k * 4) as f64 / 1e9)
        };
        let mut implementations = [ours(device, name, &[matrix, &x, &y], p, work), read];
        case(&format!("{name} {m} x {k}"), "GB/s", None, ROUNDS, &mut implementations);
    }
}
