//! How fast the native kernels are on the CPU driver beside the best that others offer, on two threads.
//!
//! `cargo bench -p roci-kernels --bench natives [-- FILTER]`. All contestants of a case take turns in one run, since
//! the machine may be busy; compare ratios, not rates. Peers that are not installed are named.

mod conv;
mod driver;
mod measure;
mod peers;
mod pool;
mod table;

use std::env;

use half::f16;
use roci_hal::Device;
use roci_kernels::native::{self, Level};
use roci_kernels::params;

use driver::{Buffer, ours};
use measure::Contestant;
use peers::OpenBlas;
use pool::{Pool, THREADS};
use table::{case, say};

/// Turns of each contestant in a case.
const ROUNDS: usize = 25;

fn main() {
    let widest = Level::best().to_string();
    let settings = [
        ("MATMUL_NUM_THREADS", "2"),
        // OpenBLAS of 2022 does not know the CPUs of 2023 and takes its slowest kernels; that would be no fair peer.
        ("OPENBLAS_CORETYPE", if widest == "avx512" { "SKYLAKEX" } else { "HASWELL" }),
        // Its idle threads would spin through the next contestant's turn.
        ("OPENBLAS_THREAD_TIMEOUT", "4"),
    ];
    for (name, value) in settings {
        // SAFETY: no other thread runs yet.
        unsafe { env::set_var(name, value) };
    }
    let filter = env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    let wanted = |name: &str| name.contains(&filter);
    say(&format!("{THREADS} threads, {widest}"));
    let pool = Pool::new();
    let device = driver::open().expect("the CPU driver opens");
    let device = &device;
    if wanted("elementwise") {
        elementwise(device, &pool);
    }
    if wanted("functions") {
        functions(device);
    }
    if wanted("chain") {
        chains(device);
    }
    if wanted("matmul") {
        let blas = OpenBlas::load();
        if let Err(error) = &blas {
            say(&format!("OpenBLAS is absent: {error}"));
        }
        for (sizes, floor) in [
            ([1024, 1024, 1024], Some(0.95)),
            ([2048, 2048, 2048], None),
            ([1000, 1000, 1000], None),
            ([256, 256, 256], None),
            ([64, 64, 64], None),
            ([8, 4096, 4096], None),
            ([1, 4096, 4096], None),
        ] {
            matmul(device, blas.as_ref().ok(), sizes, floor);
        }
        matmul_f16(device, [1024, 1024, 1024]);
    }
    if wanted("matvec") {
        matvec(device);
    }
    if wanted("conv") {
        conv::all(device);
    }
}

/// Repeatable values between -0.5 and 0.5.
fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919) % 10_007) as f32 / 10_007.0 - 0.5).collect()
}

/// Copying with the C library on all threads.
fn memcpy<'a>(pool: &'a Pool, from: &'a Buffer, to: &'a Buffer, name: &'static str, pieces: usize) -> Contestant<'a> {
    let bytes = from.bytes();
    let run = Box::new(move || {
        let piece = bytes / pieces;
        pool.share(pieces, &|index| {
            let (from, to) =
                (from.pointer::<u8>().wrapping_add(index * piece), to.pointer::<u8>().wrapping_add(index * piece));
            // SAFETY: disjoint pieces of two buffers that nothing else uses.
            unsafe { std::ptr::copy_nonoverlapping(from, to, piece) };
        });
    });
    Contestant { name, run, work: 2.0 * bytes as f64 / 1e9 }
}

/// What memory can do, and what `add`, `copy` and `fill` make of it, in bytes read and written.
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
            // SAFETY: disjoint pieces of a buffer that nothing else uses.
            unsafe { std::ptr::write_bytes(y.pointer::<u8>().wrapping_add(index * piece), 7, piece) };
        });
    });
    let mut fills =
        [ours(device, "fill", &[&y], fill, bytes), Contestant { name: "memset, two halves", run: memset, work: bytes }];
    case("fill of 64 Mi words", "GB/s", None, ROUNDS, &mut fills);
}

/// The functions of one value over data in the second-level cache.
fn functions(device: &Device) {
    const COUNT: usize = 128 << 10;
    let [x, y] = [0, 1].map(|_| Buffer::from_slice(device, &values(COUNT)));
    for name in native::names().filter(|name| name.starts_with("unary_")) {
        let p = params::Unary { count: COUNT as u32 };
        case(name, "G elements/s", None, ROUNDS, &mut [ours(device, name, &[&x, &y], p, COUNT as f64 / 1e9)]);
    }
}

/// Programs of one operation against the kernel that does just that.
fn chains(device: &Device) {
    use params::{ChainCode, ChainOp, ChainOperand};
    let pairs = [
        (ChainOp::Neg, "unary_neg"),
        (ChainOp::Exp, "unary_exp"),
        (ChainOp::Tanh, "unary_tanh"),
        (ChainOp::Gelu, "unary_gelu"),
        (ChainOp::Relu, "unary_relu"),
        (ChainOp::Add, "binary_add"),
        (ChainOp::Mul, "binary_mul"),
        (ChainOp::Max, "binary_max"),
        (ChainOp::Pow, "binary_pow"),
    ];
    for count in [128usize << 10, 16 << 20] {
        let [a, b, y] = [0, 1, 2].map(|_| Buffer::from_slice(device, &values(count)));
        for (op, name) in pairs {
            let load = ChainCode::new().with(ChainOp::Load, ChainOperand::A);
            let next =
                |code: ChainCode| if op.takes_operand() { code.with(op, ChainOperand::B) } else { code.then(op) };
            let chain = params::Chain::dense(count as u32, &load.and_then(next).expect("two instructions fit"));
            let work = count as f64 / 1e9;
            let alone = if op.takes_operand() {
                ours(device, name, &[&a, &b, &y], params::Binary::flat(count as u32), work)
            } else {
                ours(device, name, &[&a, &y], params::Unary { count: count as u32 }, work)
            };
            let chain = Contestant { name: "chain", ..ours(device, "chain", &[&a, &b, &b, &y], chain, work) };
            let title = format!("chain against {name}, {} Ki elements", count >> 10);
            case(&title, "G elements/s", Some(0.66), ROUNDS, &mut [chain, Contestant { name, ..alone }]);
        }
    }
}

/// f32 products against the three libraries.
fn matmul(device: &Device, blas: Option<&OpenBlas>, sizes: [usize; 3], floor: table::Floor) {
    let [m, n, k] = sizes;
    let [a, b, c] = [m * k, k * n, m * n].map(|count| Buffer::from_slice(device, &values(count)));
    let p = params::Matmul::dense(m as u32, n as u32, k as u32);
    let work = 2.0 * (m * n * k) as f64 / 1e9;
    let (pa, pb, pc) = (a.pointer::<f32>(), b.pointer::<f32>(), c.pointer::<f32>());
    let mut contestants = vec![ours(device, "matmul_f32", &[&a, &b, &c], p, work)];
    if let Some(blas) = blas {
        // SAFETY: buffers of these sizes, which nothing else uses.
        let run = Box::new(move || unsafe { blas.multiply(sizes, pa, pb, pc) });
        contestants.push(Contestant { name: "OpenBLAS", run, work });
    }
    let gemm = gemm_f32::gemm::f32::get_gemm_fn();
    // SAFETY: buffers of these sizes, which nothing else uses.
    let run = Box::new(move || unsafe { peers::gemm_crate(gemm, sizes, [pa, pb], pc, [0.0, 1.0]) });
    contestants.push(Contestant { name: "gemm", run, work });
    // SAFETY: buffers of these sizes, which nothing else uses.
    let run = Box::new(move || unsafe { peers::matrixmultiply_crate(sizes, pa, pb, pc) });
    contestants.push(Contestant { name: "matrixmultiply", run, work });
    case(&format!("matmul_f32 {m} x {n} x {k}"), "GFLOP/s", floor, 2 * ROUNDS, &mut contestants);
}

/// f16 products against the `gemm` crate.
fn matmul_f16(device: &Device, sizes: [usize; 3]) {
    let [m, n, k] = sizes;
    let halves = |count: usize| values(count).into_iter().map(f16::from_f32).collect::<Vec<_>>();
    let [a, b, c] = [m * k, k * n, m * n].map(|count| Buffer::from_slice(device, &halves(count)));
    let p = params::Matmul::dense(m as u32, n as u32, k as u32);
    let work = 2.0 * (m * n * k) as f64 / 1e9;
    let (pa, pb, pc) = (a.pointer::<f16>(), b.pointer::<f16>(), c.pointer::<f16>());
    let gemm = gemm_f16::gemm::f16::get_gemm_fn();
    // SAFETY: buffers of these sizes, which nothing else uses.
    let run = Box::new(move || unsafe { peers::gemm_crate(gemm, sizes, [pa, pb], pc, [f16::ZERO, f16::ONE]) });
    let peer = Contestant { name: "gemm", run, work };
    let mut contestants = [ours(device, "matmul_f16", &[&a, &b, &c], p, work), peer];
    case(&format!("matmul_f16 {m} x {n} x {k}"), "GFLOP/s", None, ROUNDS, &mut contestants);
}

/// Matrix times vector, which is reading the matrix, against copying and plain summing.
fn matvec(device: &Device) {
    let (m, k) = (16 << 10, 4 << 10);
    let a = Buffer::from_slice(device, &values(m * k));
    let halves = Buffer::from_slice(device, &vec![f16::ONE; m * k]);
    let [x, y] = [k, m].map(|count| Buffer::from_slice(device, &values(count)));
    let p = params::Matvec { m: m as u32, k: k as u32, lda: k as u32 };
    let flat = params::Reduce { outer: m as u32, axis: k as u32, inner: 1 };
    for (name, matrix, width) in [("matvec_f32", &a, 4), ("matvec_f16", &halves, 2)] {
        let work = (m * k * width) as f64 / 1e9;
        let read = Contestant {
            name: "reading (reduce_sum)",
            ..ours(device, "reduce_sum", &[&a, &y], flat, (m * k * 4) as f64 / 1e9)
        };
        let mut contestants = [ours(device, name, &[matrix, &x, &y], p, work), read];
        case(&format!("{name} {m} x {k}"), "GB/s", None, ROUNDS, &mut contestants);
    }
}
