//! Throughput of products with packed matrices on the CPU driver: bytes of weights and operations
//! per second, for one token and for a prompt, and of packing.
//!
//! `cargo bench -p roci-natives --bench lm [-- FILTER]`, where the filter is a substring of a
//! case's name. It reports the best of many short runs, because the machine may be busy. It also
//! measures memory bandwidth, for comparison.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod experts;

use std::time::{Duration, Instant};

use roci_cpu::CpuDriver;
use roci_families::{LmMatmulPacked, LmQuantize};
use roci_gguf::Type;
use roci_hal::native::NativeEntry;
use roci_hal::{Binding, Buffer, BufferDesc, Code, Deadline, Device, EntryPoint, ExecutableSource, Registry, Submit};
use roci_natives::{Level, find_native_only, lm_cpu};

const SHAPES: [[usize; 2]; 4] = [[2048, 2048], [5632, 2048], [2048, 5632], [32000, 2048]];
const TYPES: [Type; 6] = [Type::Q4_0, Type::Q8_0, Type::Q4_K, Type::Q6_K, Type::MXFP4, Type::F16];
/// Minimum duration of a case.
const REPEAT_TIME: Duration = Duration::from_millis(300);

fn main() {
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-')).unwrap_or_default();
    println!("{}", Level::best());
    for kind in TYPES {
        for threads in [1, 2] {
            let name = format!("{kind} packed, {threads} threads");
            if name.contains(&filter) {
                packing(&name, kind, threads);
            }
            let device = open(threads);
            for tokens in [1, 512].into_iter().filter(|_| kind.is_quantized()) {
                let name = format!("{kind} experts, {tokens} tokens, {threads} threads");
                if name.contains(&filter) {
                    experts::experts(&name, &device, kind, tokens);
                }
            }
            for [rows, columns] in SHAPES {
                for tokens in [1, 4, 16, 512] {
                    let name = format!("{kind} {rows}x{columns}, {tokens} tokens, {threads} threads");
                    if name.contains(&filter) {
                        product(&name, &device, kind, [rows, columns], tokens);
                    }
                }
            }
        }
    }
}

fn open(threads: usize) -> Device {
    let uri = format!("cpu?threads={threads}").parse().expect("a valid device URI");
    Registry::new().with(CpuDriver::new()).open(&uri, None).expect("the CPU driver opens")
}

/// Random bytes of a matrix; scales are small.
fn source(kind: Type, values: usize) -> Vec<u8> {
    let bytes = values / kind.block_size() * kind.block_bytes();
    let mut random = fastrand::Rng::with_seed(1);
    (0..bytes).map(|_| random.u8(..) & 0x2f).collect()
}

/// The time of the fastest run, in seconds.
fn best(mut run: impl FnMut()) -> f64 {
    let (mut best, start) = (f64::MAX, Instant::now());
    while start.elapsed() < REPEAT_TIME {
        let turn = Instant::now();
        run();
        best = best.min(turn.elapsed().as_secs_f64());
    }
    best
}

fn packing(name: &str, kind: Type, threads: usize) {
    let [rows, columns] = [32000, 2048];
    let source = source(kind, rows * columns);
    let group = lm_cpu::panel_bytes(kind, columns).expect("the type can be packed");
    let mut target = vec![0; lm_cpu::packed_bytes(kind, rows, columns).expect("the type can be packed")];
    let each = target.len().div_ceil(group).div_ceil(threads);
    let seconds = best(|| {
        std::thread::scope(|scope| {
            for (at, target) in target.chunks_mut(each * group).enumerate() {
                let source = &source;
                scope.spawn(move || {
                    let groups = at * each..at * each + target.len() / group;
                    lm_cpu::pack_rows(kind, source, columns, groups, target).expect("the lengths match");
                });
            }
        });
    });
    let copied = best(|| {
        std::thread::scope(|scope| {
            let each = source.len().div_ceil(threads);
            for (source, target) in source.chunks(each).zip(target.chunks_mut(each)) {
                let length = source.len().min(target.len());
                scope.spawn(move || target[..length].copy_from_slice(&source[..length]));
            }
        });
    });
    let rate = |seconds: f64| source.len() as f64 / seconds / 1e9;
    println!("{name}: {:.1} GB/s (copied {:.1})", rate(seconds), rate(copied));
}

fn buffer(device: &Device, bytes: &[u8]) -> Buffer {
    let buffer = device.allocate(BufferDesc::shared(bytes.len() as u64)).expect("the machine has enough memory");
    buffer.map().expect("shared memory can be mapped").copy_from_slice(bytes);
    buffer
}

/// Runs a kernel once.
fn replay<P: bytemuck::Pod>(device: &Device, name: &str, buffers: &[&[&Buffer]], p: &P) -> impl FnMut() + use<P> {
    let (kernel, constants) = find_native_only(name, Level::best()).expect("the kernel exists");
    let bindings = kernel.accesses().to_vec();
    let entry = EntryPoint { name: name.into(), workgroup_size: [1; 3], bindings, constants, in_place: false };
    let code = Code::Native(vec![NativeEntry { name: name.into(), kernel }]);
    let source = ExecutableSource { label: name.into(), entry_points: vec![entry], code };
    let kernel =
        device.load(&source).expect("the executable loads").kernel(name).expect("the executable has the kernel");
    let mut recorder = device.record();
    for buffers in buffers {
        let bindings: Vec<Binding> = buffers.iter().map(|&buffer| buffer.into()).collect();
        recorder.dispatch(&kernel, [1; 3], &bindings, bytemuck::bytes_of(p)).expect("the dispatch is valid");
    }
    let commands = recorder.finish().expect("the commands are valid");
    let (queue, done) = (device.queue(0).expect("the device has a queue"), device.semaphore(0));
    move || {
        let next = done.query().expect("the device is not lost") + 1;
        queue.submit(&commands, Submit::new().signal(&done, next)).expect("the device is not lost");
        done.wait(next, Deadline::default()).expect("the kernel completes");
    }
}

/// Total bytes of the matrices of a case, which rotate: more than the caches hold, as in a model.
const CACHES: usize = 256 << 20;

fn product(name: &str, device: &Device, kind: Type, [rows, columns]: [usize; 2], tokens: usize) {
    let source = source(kind, rows * columns);
    let bytes = lm_cpu::packed_bytes(kind, rows, columns).expect("the type can be packed");
    let mut packed = vec![0; bytes];
    lm_cpu::pack_rows(kind, &source, columns, 0..rows.div_ceil(lm_cpu::ROWS), &mut packed).expect("the lengths match");
    let count = if tokens < 64 { (CACHES / bytes).clamp(1, 64) } else { 1 };
    let weights: Vec<Buffer> = (0..count).map(|_| buffer(device, &packed)).collect();
    let x: Vec<f32> = (0..tokens * columns).map(|at| ((at * 37) % 101) as f32 / 50.0 - 1.0).collect();
    let x = buffer(device, bytemuck::cast_slice(&x));
    let whole = buffer(device, &vec![0; lm_cpu::activation_bytes(tokens, columns)]);
    let y = buffer(device, &vec![0; tokens * rows * 4]);
    let [rows_, columns_, tokens_] = [rows, columns, tokens].map(|size| size as u32);
    let quantize = LmQuantize { tokens: tokens_, columns: columns_, x_stride: columns_, x_offset: 0 };
    let mut quantize = replay(device, "lm_quantize", &[&[&x, &whole]], &quantize);
    quantize();
    let p = LmMatmulPacked {
        rows: rows_,
        columns: columns_,
        tokens: tokens_,
        format: kind.id(),
        x_stride: columns_,
        x_offset: 0,
        y_stride: rows_,
        y_offset: 0,
        ..LmMatmulPacked::default()
    };
    let x = if kind.is_quantized() { &whole } else { &x };
    let bias = buffer(device, &[0; 16]);
    let buffers: Vec<[&Buffer; 4]> = weights.iter().map(|w| [w, x, &bias, &y]).collect();
    let buffers: Vec<&[&Buffer]> = buffers.iter().map(|four| &four[..]).collect();
    let seconds = best(replay(device, "lm_matmul_packed", &buffers, &p)) / count as f64;
    let quantized = best(quantize);
    println!(
        "{name}: {:.1} GB/s, {:.0} GOP/s, {:.0} us; quantized in {:.0} us",
        bytes as f64 / seconds / 1e9,
        2.0 * (rows * columns * tokens) as f64 / seconds / 1e9,
        seconds * 1e6,
        quantized * 1e6
    );
}
