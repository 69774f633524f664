//! Device benchmarks with verified results: launch overhead, bandwidth and matrix products.

use bytemuck::bytes_of;
use half::f16;
use roci_hal::{DeviceInfo, DeviceKind};
use roci_kernels::params::{self, Params};
use roci_kernels::{KernelSpec, MatmulElement, MatmulForm, best_matmul, matmul_kernel};

use crate::{Tolerance, WorkAmount};

mod measure;

pub use measure::measure;

/// What `roci bench` measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Benchmark {
    /// Time per empty dispatch, with 1000 dispatches in one submission.
    Launch,
    /// Copy from the host to a device buffer.
    Upload,
    /// Copy from a device buffer to the host.
    Download,
    /// Fill a buffer with a constant.
    Fill,
    /// Copy on the device.
    Copy,
    /// Sum the rows of a matrix.
    Sum,
    /// Multiply two square matrices.
    Matmul(MatmulElement),
}

/// Problem size of a benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchmarkSize {
    /// Number of dispatches in one submission.
    Launches(u32),
    /// Buffer size in bytes.
    Bytes(u64),
    /// Rows and columns.
    Matrix([u32; 2]),
    /// Rows and columns of both square matrices.
    Product(u32),
}

/// Problem sizes of all benchmarks on a device.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct BenchmarkSizes {
    /// Length of streamed buffers in 32-bit words.
    pub words: u32,
    /// Rows and columns of matrices.
    pub side: u32,
}

/// A dispatch and its inputs.
struct Dispatch {
    pub kernel: &'static KernelSpec,
    pub grid: [u32; 3],
    pub constants: Vec<u8>,
    /// Contents of the inputs, by binding. The output is the binding after them.
    pub buffers: Vec<Vec<u8>>,
    /// Size of the output in bytes.
    pub output: u64,
}

/// Columns of the matrix whose rows are summed.
const SUMMED: u32 = 4096;
/// Length of the streamed buffer in words. A shorter one measures launch overhead, a longer one
/// gives the same rate.
const SMALLEST_STREAM: u32 = 1 << 18;
const LARGEST_STREAM: u32 = 1 << 28;

impl BenchmarkSizes {
    /// Sizes that saturate the device and finish within seconds. `quick` reduces them.
    pub fn of(info: &DeviceInfo, quick: bool) -> Self {
        let kind = info.physical.first().map_or(DeviceKind::Cpu, |physical| physical.kind);
        let (mut words, side) = match kind {
            DeviceKind::DiscreteGpu | DeviceKind::IntegratedGpu => (1 << 28, 4096),
            DeviceKind::Emulated => (1 << 18, 128),
            DeviceKind::Software => (1 << 22, 512),
            _ => (1 << 24, 1024),
        };
        words = fitting(words, info);
        if quick { Self { words: (words / 16).max(SUMMED), side: side / 4 } } else { Self { words, side } }
    }

    /// Sizes for streaming about `bytes`. Smaller if memory is short, and on emulated and software
    /// devices.
    pub fn streaming(info: &DeviceInfo, bytes: u64) -> Self {
        let kind = info.physical.first().map_or(DeviceKind::Cpu, |physical| physical.kind);
        let most = match kind {
            DeviceKind::Emulated | DeviceKind::Software => Self::of(info, false).words,
            _ => LARGEST_STREAM,
        };
        let words = u32::try_from(bytes / 4).unwrap_or(u32::MAX).min(most).next_power_of_two();
        Self { words: fitting(words.max(SMALLEST_STREAM.min(most)), info), side: 1 }
    }
}

/// Halves `words` until one buffer takes at most 1/8 of the memory: a benchmark needs two, and
/// other programs use memory too.
fn fitting(mut words: u32, info: &DeviceInfo) -> u32 {
    let memory = info.physical.iter().map(|one| one.true_memory.unwrap_or(one.memory)).min().unwrap_or(0);
    while words > SUMMED && u64::from(words) * 4 > memory / 8 {
        words /= 2;
    }
    words
}

impl Benchmark {
    /// All benchmarks, in the order of the table.
    pub const ALL: [Self; 8] = [
        Self::Launch,
        Self::Upload,
        Self::Download,
        Self::Fill,
        Self::Copy,
        Self::Sum,
        Self::Matmul(MatmulElement::F32),
        Self::Matmul(MatmulElement::F16),
    ];

    /// Name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Upload => "upload",
            Self::Download => "download",
            Self::Fill => "fill",
            Self::Copy => "copy",
            Self::Sum => "sum",
            Self::Matmul(MatmulElement::F32) => "matmul f32",
            Self::Matmul(MatmulElement::F16) => "matmul f16",
        }
    }

    /// The fastest kernel variant for the product on the device.
    fn form(element: MatmulElement, sizes: &BenchmarkSizes, info: &DeviceInfo) -> MatmulForm {
        best_matmul(&dense(sizes), element, info)
    }

    /// Name of the kernel; `None` for transfers.
    pub fn kernel(self, sizes: &BenchmarkSizes, info: &DeviceInfo) -> Option<&'static str> {
        match self {
            Self::Upload | Self::Download => None,
            Self::Launch | Self::Fill => Some("fill"),
            Self::Copy => Some("copy"),
            Self::Sum => Some("reduce_sum"),
            Self::Matmul(element) => {
                matmul_kernel(Self::form(element, sizes, info), element).ok().map(roci_kernels::KernelSpec::name)
            }
        }
    }

    /// Problem size on a device.
    pub fn size(self, sizes: &BenchmarkSizes) -> BenchmarkSize {
        match self {
            Self::Launch => BenchmarkSize::Launches(1000),
            Self::Sum => BenchmarkSize::Matrix([sizes.words / SUMMED, SUMMED]),
            Self::Matmul(_) => BenchmarkSize::Product(sizes.side),
            _ => BenchmarkSize::Bytes(u64::from(sizes.words) * 4),
        }
    }

    /// Work of one run; `None` for launches, which have only a time.
    pub fn work(self, sizes: &BenchmarkSizes) -> Option<WorkAmount> {
        let bytes = u64::from(sizes.words) * 4;
        match self {
            Self::Launch => None,
            Self::Copy => Some(WorkAmount::Bytes(2 * bytes)),
            Self::Upload | Self::Download | Self::Fill | Self::Sum => Some(WorkAmount::Bytes(bytes)),
            Self::Matmul(_) => Some(WorkAmount::Operations(2 * u64::from(sizes.side).pow(3))),
        }
    }

    /// Builds the dispatch. Fails only if the kernel table lacks the kernel, which is a bug.
    fn prepare(self, sizes: &BenchmarkSizes, info: &DeviceInfo) -> Result<Dispatch, roci_kernels::Error> {
        let kernel = |name| roci_kernels::find(name);
        Ok(match self {
            Self::Launch | Self::Upload | Self::Download | Self::Fill => {
                let count = if self == Self::Launch { 0 } else { sizes.words };
                let params = params::Fill { count, offset: 0, value: FILL };
                let grid = params.grid().map(|groups| groups.max(1));
                let output = u64::from(count.max(1)) * 4;
                Dispatch {
                    kernel: kernel("fill")?,
                    grid,
                    constants: bytes_of(&params).to_vec(),
                    buffers: vec![],
                    output,
                }
            }
            Self::Copy => {
                let params = params::Copy { count: sizes.words, source_offset: 0, target_offset: 0 };
                let (constants, output) = (bytes_of(&params).to_vec(), u64::from(sizes.words) * 4);
                Dispatch {
                    kernel: kernel("copy")?,
                    grid: params.grid(),
                    constants,
                    buffers: vec![stream(sizes)],
                    output,
                }
            }
            Self::Sum => {
                let params = params::Reduce { outer: sizes.words / SUMMED, axis: SUMMED, inner: 1 };
                let (constants, output) = (bytes_of(&params).to_vec(), u64::from(params.outer) * 4);
                Dispatch {
                    kernel: kernel("reduce_sum")?,
                    grid: params.grid(),
                    constants,
                    buffers: vec![stream(sizes)],
                    output,
                }
            }
            Self::Matmul(element) => {
                let (params, form) = (dense(sizes), Self::form(element, sizes, info));
                let count = sizes.side * sizes.side;
                let matrix = |salt: u32| -> Vec<u8> {
                    let numbers = (0..count).map(|i| number(i + salt));
                    match element {
                        MatmulElement::F32 => numbers.flat_map(f32::to_le_bytes).collect(),
                        MatmulElement::F16 => numbers.flat_map(|x| f16::from_f32(x).to_le_bytes()).collect(),
                    }
                };
                let size = if element == MatmulElement::F32 { 4 } else { 2 };
                Dispatch {
                    kernel: matmul_kernel(form, element)?,
                    grid: form.grid(&params),
                    constants: bytes_of(&params).to_vec(),
                    buffers: vec![matrix(0), matrix(SALT)],
                    output: u64::from(count) * size,
                }
            }
        })
    }

    /// Checks an output: all of a transfer, 64 elements of a kernel's output.
    fn verify(self, sizes: &BenchmarkSizes, output: &[u8]) -> Result<(), String> {
        let word = |i: u32| {
            output.get(4 * i as usize..4 * i as usize + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        };
        let half =
            |i: u32| output.get(2 * i as usize..2 * i as usize + 2).map(|b| f16::from_le_bytes([b[0], b[1]]).to_f32());
        let single = |i: u32| word(i).map(f32::from_bits);
        let places = |count: u32| (0..64).map(move |i: u32| (u64::from(i) * 0x9e37_79b1 % u64::from(count)) as u32);
        let exact = |i: u32, want: u32| match word(i) {
            Some(got) if got == want => Ok(()),
            got => Err(format!("word {i} is {got:x?}, not {want:x}")),
        };
        let sum = |i: u32, got: Option<f32>, terms: &dyn Fn(u32) -> f64, count: u32, tolerance: Tolerance| {
            let want: f64 = (0..count).map(terms).sum();
            let magnitude = (0..count).map(|k| terms(k).abs()).sum();
            match got {
                Some(got) if (f64::from(got) - want).abs() <= tolerance.allowed(want, magnitude) => Ok(()),
                got => Err(format!("element {i} is {got:?}, not {want}")),
            }
        };
        match self {
            Self::Launch => Ok(()),
            Self::Upload | Self::Download if output.len() != 4 * sizes.words as usize => {
                Err(format!("{} bytes arrived of {}", output.len(), 4 * u64::from(sizes.words)))
            }
            Self::Upload | Self::Download => (0..sizes.words).try_for_each(|i| exact(i, number(i).to_bits())),
            Self::Fill => places(sizes.words).try_for_each(|i| exact(i, FILL)),
            Self::Copy => places(sizes.words).try_for_each(|i| exact(i, number(i).to_bits())),
            Self::Sum => places(sizes.words / SUMMED).try_for_each(|row| {
                sum(row, single(row), &|i| f64::from(number(row * SUMMED + i)), SUMMED, Tolerance::Sum)
            }),
            Self::Matmul(element) => places(sizes.side * sizes.side).try_for_each(|at| {
                let (row, column) = (at / sizes.side, at % sizes.side);
                let term =
                    |k| f64::from(number(row * sizes.side + k)) * f64::from(number(k * sizes.side + column + SALT));
                let (got, tolerance) = match element {
                    MatmulElement::F32 => (single(at), Tolerance::Sum),
                    MatmulElement::F16 => (half(at), Tolerance::SumF16),
                };
                sum(at, got, &term, sizes.side, tolerance)
            }),
        }
    }
}

/// The word that `fill` writes.
const FILL: u32 = 0x3fc0_ffee;
/// Start index of the second matrix in the sequence of [`number`].
const SALT: u32 = 0x1234_5678;

fn dense(sizes: &BenchmarkSizes) -> params::Matmul {
    params::Matmul::dense(sizes.side, sizes.side, sizes.side)
}

/// Contents of a streamed buffer.
fn stream(sizes: &BenchmarkSizes) -> Vec<u8> {
    (0..sizes.words).flat_map(|i| number(i).to_le_bytes()).collect()
}

/// Small values that f16 represents exactly, in a sequence without a short period, which could hide
/// a wrong index.
fn number(index: u32) -> f32 {
    ((index.wrapping_mul(0x9e37_79b1) >> 13) % 17) as f32 / 8.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_as_long_as_asked_within_bounds() {
        let with = |kind, memory| {
            let physical = vec![roci_hal::PhysicalInfo { memory, ..roci_hal::PhysicalInfo::new("x", kind) }];
            move |bytes| BenchmarkSizes::streaming(&DeviceInfo { physical: physical.clone(), ..info() }, bytes).words
        };
        let gpu = with(DeviceKind::DiscreteGpu, 64 << 30);
        assert_eq!([gpu(0), gpu(600 << 20), gpu(u64::MAX)], [1 << 18, 1 << 28, 1 << 28]);
        assert_eq!(with(DeviceKind::DiscreteGpu, 1 << 30)(600 << 20), 1 << 25);
        assert_eq!(with(DeviceKind::Emulated, 64 << 30)(600 << 20), 1 << 18);
    }

    fn info() -> DeviceInfo {
        DeviceInfo {
            uri: "null".parse().expect("a URI"),
            physical: Vec::new(),
            queues: Vec::new(),
            memory_types: Vec::new(),
            max_allocation: 1 << 40,
            binding_alignment: 4,
            max_binding: u64::MAX,
            max_bindings: 8,
            max_constants: 128,
            formats: Vec::new(),
        }
    }

    #[test]
    fn one_wrong_byte_of_a_transfer_is_found() {
        let sizes = BenchmarkSizes { words: SUMMED, side: 4 };
        let mut bytes = stream(&sizes);
        for problem in [Benchmark::Upload, Benchmark::Download] {
            assert_eq!(problem.verify(&sizes, &bytes), Ok(()));
            assert_eq!(problem.verify(&sizes, &bytes[4..]), Err("16380 bytes arrived of 16384".to_owned()));
        }
        bytes[4 * 1234 + 3] ^= 1;
        let wrong = Benchmark::Upload.verify(&sizes, &bytes).unwrap_err();
        assert!(wrong.starts_with("word 1234 is "), "{wrong}");
    }

    #[test]
    fn wrong_sums_are_found() {
        let sizes = BenchmarkSizes { words: 2 * SUMMED, side: 4 };
        let row = |row: u32| (0..SUMMED).map(|i| number(row * SUMMED + i)).sum::<f32>();
        let bytes = |sums: [f32; 2]| sums.map(f32::to_le_bytes).concat();
        assert_eq!(Benchmark::Sum.verify(&sizes, &bytes([row(0), row(1)])), Ok(()));
        let wrong = Benchmark::Sum.verify(&sizes, &bytes([row(0), row(1) + 0.125])).unwrap_err();
        assert!(wrong.starts_with("element 1 is "), "{wrong}");
    }
}
