//! How fast waves run: lane-operations and floating-point operations a second, and decoding.
//!
//! `cargo bench -p roci-emu --bench speed [-- "gfx1100 matmul_tiled"]`. Kernels are built by clang-22 from `tests/kernels/matmul.cl`.

#![expect(clippy::print_stdout, reason = "a bench prints its results")]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use roci_codeobj::CodeObject;
use roci_emu::{Access, Allocation, Chip, Dispatch, Emulator};

fn compile(chip: Chip, options: &[&str]) -> Vec<u8> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/matmul.cl");
    let output = std::env::temp_dir().join(format!("roci-emu-bench-{}-{chip}.co", std::process::id()));
    let status = Command::new("clang-22")
        .args(["-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-O3"])
        .arg(format!("-mcpu={chip}"))
        .args(options)
        .arg(source)
        .arg("-o")
        .arg(&output)
        .status()
        .expect("clang-22 is installed");
    assert!(status.success(), "clang-22 compiles the kernels");
    let bytes = std::fs::read(&output).expect("clang-22 wrote its output");
    let _ = std::fs::remove_file(output);
    bytes
}

fn floats(emulator: &Emulator, count: usize, seed: u32) -> Allocation {
    let mut allocation = emulator.memory().allocate(4 * count, Access::ReadWrite);
    let mut state = seed;
    for bytes in allocation.bytes_mut().chunks_exact_mut(4) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bytes.copy_from_slice(&((state >> 8) as f32 / (1u32 << 23) as f32 - 1.0).to_le_bytes());
    }
    allocation
}

fn read(allocation: &Allocation) -> Vec<f32> {
    allocation.bytes().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four"))).collect()
}

/// Time that this thread has run: the machine may be busy with other work.
fn busy() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux counts it");
    let nanoseconds =
        text.split_whitespace().next().and_then(|text| text.parse().ok()).expect("it begins with a number");
    Duration::from_nanos(nanoseconds)
}

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    for threads in [1, 2] {
        for chip in [Chip::Gfx1010, Chip::Gfx1100] {
            run(chip, threads, &filter);
        }
    }
}

fn run(chip: Chip, threads: usize, filter: &str) {
    let emulator = Emulator::new(chip).with_threads(threads);
    let bytes = compile(chip, &[]);
    let object = CodeObject::parse(&bytes).expect("clang writes code objects");
    let module = emulator.load(&object).expect("it is for this chip");
    let n = 256usize;
    let (a, b, c) = (floats(&emulator, n * n, 1), floats(&emulator, n * n, 2), floats(&emulator, n * n, 3));
    let (x, y) = (read(&a), read(&b));
    let mut expected = vec![0f32; n * n];
    for row in 0..n {
        for i in 0..n {
            for column in 0..n {
                expected[row * n + column] = x[row * n + i].mul_add(y[i * n + column], expected[row * n + column]);
            }
        }
    }
    let mut kernarg = emulator.memory().allocate(256, Access::Read);
    for (slot, value) in [c.address(), a.address(), b.address(), (n | n << 32) as u64].into_iter().enumerate() {
        kernarg.bytes_mut()[8 * slot..8 * slot + 8].copy_from_slice(&value.to_le_bytes());
    }
    println!("{chip}, {threads} thread(s), f32 product {n}^3");
    let side = n as u32;
    for (name, grid, block) in [
        ("matmul_naive", [side, side, 1], [16, 16, 1]),
        ("matmul_tiled", [side, side, 1], [16, 16, 1]),
        ("matmul_blocked", [side / 64 * 256, side / 64, 1], [256, 1, 1]),
    ] {
        if !format!("{chip} {name}").contains(filter) {
            continue;
        }
        let kernel = module.kernel(name).expect("the source has it");
        let dispatch = Dispatch { grid, block, kernarg: kernarg.address(), ..Dispatch::default() };
        let mut best = f64::MAX;
        let mut counts = None;
        for _ in 0..40 {
            let start = busy();
            let run = emulator.run(kernel, &dispatch, &AtomicBool::new(false));
            best = best.min((busy() - start).as_secs_f64());
            counts = Some(run.unwrap_or_else(|error| panic!("{name}: {error}")));
        }
        let result = read(&c);
        let worst = result.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
        let counts = counts.expect("it ran");
        println!(
            "  {name:16} {:8.2} ms  {:6.2} G lane-operations/s  {:6.2} GFLOP/s  error {worst:.1e}",
            best * 1e3,
            counts.lane_operations as f64 / best / 1e9,
            2.0 * (n * n * n) as f64 / best / 1e9,
        );
    }
}
