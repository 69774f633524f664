//! Execution speed (lane operations and floating-point operations per second) and decoding speed.
//!
//! `cargo bench -p roci-emu --bench speed [-- "gfx1100 matmul_tiled"]`. clang-22 compiles the
//! kernels from `tests/kernels/matmul.cl`.

#![expect(clippy::print_stdout, reason = "benchmarks print their results")]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use half::f16;
use roci_codeobj::CodeObject;
use roci_emu::{Access, Allocation, Chip, Dispatch, Emulator, Kernel};

/// Compiles a code object for a chip with clang.
fn clang(chip: Chip, options: &[&str], source: &Path) -> Vec<u8> {
    let output = std::env::temp_dir().join(format!("roci-emu-bench-{}-{chip}.co", std::process::id()));
    let status = Command::new("clang-22")
        .args(["-target", "amdgcn-amd-amdhsa", "-nogpulib", "-O3", "-w"])
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

fn floats(emulator: &Emulator, count: usize, seed: u64) -> Allocation {
    let mut allocation = emulator.memory().allocate(4 * count, Access::ReadWrite);
    let mut random = fastrand::Rng::with_seed(seed);
    for bytes in allocation.bytes_mut().chunks_exact_mut(4) {
        bytes.copy_from_slice(&(random.f32() * 2.0 - 1.0).to_le_bytes());
    }
    allocation
}

fn read(allocation: &Allocation) -> Vec<f32> {
    allocation.bytes().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four"))).collect()
}

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    for chip in [Chip::Gfx1010, Chip::Gfx1100] {
        decode(chip, &filter);
    }
    for threads in [1, 2] {
        for chip in [Chip::Gfx1010, Chip::Gfx1100] {
            run(chip, threads, &filter);
        }
    }
}

fn run(chip: Chip, threads: usize, filter: &str) {
    let emulator = Emulator::new(chip).with_threads(threads);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels/matmul.cl");
    let bytes = clang(chip, &["-x", "cl", "-cl-std=CL2.0"], &source);
    let object = CodeObject::parse(&bytes).expect("clang writes code objects");
    let module = emulator.load(&object).expect("the code runs on this chip");
    let n = N as usize;
    let (a, b, c) = (floats(&emulator, n * n, 1), floats(&emulator, n * n, 2), floats(&emulator, n * n, 3));
    let (x, y) = (read(&a), read(&b));
    println!("{chip}, {threads} thread(s), product {n}^3");
    let (inputs, expected) = ([a.address(), b.address()], product(&x, &y));
    for (name, grid, block) in [
        ("matmul_naive", [N, N, 1], [16, 16, 1]),
        ("matmul_tiled", [N, N, 1], [16, 16, 1]),
        ("matmul_blocked", [N / 64 * 256, N / 64, 1], [256, 1, 1]),
    ] {
        if format!("{chip} {name}").contains(filter) {
            measure(&emulator, module.kernel(name).expect("the source has it"), [grid, block], &c, inputs, &expected);
        }
    }
    if let Ok(kernel) = module.kernel("matmul_wmma")
        && format!("{chip} matmul_wmma").contains(filter)
    {
        // The same values in f16; the second matrix is transposed.
        let half = |values: &[f32]| values.iter().map(|&value| f16::from_f32(value).to_f32()).collect::<Vec<_>>();
        let (x, y) = (half(&x), half(&y));
        let turned: Vec<f32> = (0..n * n).map(|index| y[index % n * n + index / n]).collect();
        let [a, b] = [&x, &turned].map(|values| {
            let mut allocation = emulator.memory().allocate(2 * n * n, Access::Read);
            for (bytes, &value) in allocation.bytes_mut().chunks_exact_mut(2).zip(values) {
                bytes.copy_from_slice(&f16::from_f32(value).to_le_bytes());
            }
            allocation
        });
        let sizes = [[N, N / 32, 1], [32, 1, 1]];
        measure(&emulator, kernel, sizes, &c, [a.address(), b.address()], &product(&x, &y));
    }
}

/// Rows and columns of the matrices.
const N: u32 = 256;

/// The product of two matrices, accumulated with fused multiply-adds.
fn product(x: &[f32], y: &[f32]) -> Vec<f32> {
    let n = N as usize;
    let mut product = vec![0f32; n * n];
    for row in 0..n {
        for i in 0..n {
            for column in 0..n {
                product[row * n + column] = x[row * n + i].mul_add(y[i * n + column], product[row * n + column]);
            }
        }
    }
    product
}

fn measure(
    emulator: &Emulator,
    kernel: &Kernel,
    [grid, block]: [[u32; 3]; 2],
    c: &Allocation,
    [a, b]: [u64; 2],
    expected: &[f32],
) {
    let mut kernarg = emulator.memory().allocate(256, Access::Read);
    for (slot, value) in [c.address(), a, b, u64::from(N) | u64::from(N) << 32].into_iter().enumerate() {
        kernarg.bytes_mut()[8 * slot..8 * slot + 8].copy_from_slice(&value.to_le_bytes());
    }
    let dispatch = Dispatch { grid, block, kernarg: kernarg.address(), ..Dispatch::default() };
    let mut best = f64::MAX;
    let mut counts = None;
    for _ in 0..40 {
        let start = Instant::now();
        let run = emulator.run(kernel, &dispatch, &AtomicBool::new(false));
        best = best.min(start.elapsed().as_secs_f64());
        counts = Some(run.unwrap_or_else(|error| panic!("{}: {error}", kernel.name())));
    }
    let worst = read(c).iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
    println!(
        "  {:16} {:8.2} ms  {:6.2} G lane-operations/s  {:6.2} GFLOP/s  error {worst:.1e}",
        kernel.name(),
        best * 1e3,
        counts.expect("it ran").lane_operations as f64 / best / 1e9,
        2.0 * f64::from(N).powi(3) / best / 1e9,
    );
}

/// Time to decode a kernel of 10,000 vector instructions.
fn decode(chip: Chip, filter: &str) {
    if !format!("{chip} decode").contains(filter) {
        return;
    }
    let source = std::env::temp_dir().join(format!("roci-emu-bench-{}.s", std::process::id()));
    let text = "
        .amdgcn_target \"amdgcn-amd-amdhsa--CHIP\"
        .text
        .globl long
        .p2align 8
        .type long,@function
        long:
        .rept 2000
        v_fmac_f32_e32 v1, v2, v3
        v_add3_u32 v4, v5, v6, v7
        s_add_u32 s4, s5, 0x12345
        v_lshlrev_b32_e32 v5, 3, v4
        ds_read_b32 v6, v7 offset:16
        .endr
        s_endpgm
        .section .rodata,\"a\"
        .p2align 6
        .amdhsa_kernel long
        .amdhsa_next_free_vgpr 8
        .amdhsa_next_free_sgpr 16
        .end_amdhsa_kernel
    ";
    std::fs::write(&source, text.replace("CHIP", chip.name())).expect("temporary files can be written");
    let bytes = clang(chip, &["-x", "assembler"], &source);
    let _ = std::fs::remove_file(&source);
    let object = CodeObject::parse(&bytes).expect("clang writes code objects");
    let emulator = Emulator::new(chip);
    let mut best = f64::MAX;
    for _ in 0..40 {
        let module = emulator.load(&object).expect("the code runs on this chip");
        let kernel = module.kernel("long").expect("the source has it");
        let start = Instant::now();
        emulator.prepare(kernel);
        best = best.min(start.elapsed().as_secs_f64());
    }
    println!("{chip}, decoding a kernel of 10,000 instructions: {:.2} ms", best * 1e3);
}
