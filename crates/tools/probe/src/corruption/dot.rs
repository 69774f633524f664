//! Packed 8-bit dot products, for which GPUs have special instructions.

use roci_hal::{Binding, BufferDesc, Deadline, Device, ExecutableSource, Submit};
use roci_kernels::params::{LmLinear, Params as _};
use roci_kernels::{Error as KernelError, Source, find, runs_native_kernels};

use super::{CheckResult, EarlyResult, compare};

// Not `dot`, which is a function of OpenCL C.
const NAME: &str = "packed_dot";
const COUNT: u32 = 1021;
const WORKGROUP: u32 = 64;
/// The prebuilt kernel with packed dot products, and a matrix size for it: more rows than a
/// workgroup has, and sums that f32 represents exactly.
const PREBUILT: &str = "lm_matvec_i8_q8";
const ROWS: u32 = 13;
const COLUMNS: u32 = 384;

const TEXT: &str = "
struct Params { count: u32, }
var<immediate> params: Params;
@group(0) @binding(0) var<storage, read> a: array<u32>;
@group(0) @binding(1) var<storage, read> b: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(64)
fn packed_dot(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i < params.count {
        y[2u * i] = bitcast<u32>(dot4I8Packed(a[i], b[i]));
        y[2u * i + 1u] = dot4U8Packed(a[i], b[i]);
    }
}
";

/// Runs products of signed and unsigned bytes, with the device's instructions or their emulation in
/// the shader. Devices that accept only prebuilt or native code run a language model kernel with
/// such products.
pub(super) fn run(device: &Device) -> Result<(), EarlyResult> {
    let info = device.info();
    let compiled = Source::parse("dot.wgsl", TEXT, &[]).map_err(KernelError::from)?;
    let Some(source) = compiled.executable(compiled.entry_points(), info).map_err(KernelError::from)? else {
        return rows(device);
    };
    let words = |factor: u32| (0..COUNT).map(move |index| (index + 1).wrapping_mul(factor));
    let (a, b) = (|| words(0x9e37_79b1), || words(0x85eb_ca77));
    let bytes = |words: &mut dyn Iterator<Item = u32>| words.flat_map(u32::to_le_bytes).collect::<Vec<_>>();
    let expected = bytes(&mut a().zip(b()).flat_map(|(a, b)| [signed(a, b), unsigned(a, b)]));
    let inputs = [bytes(&mut a()), bytes(&mut b())];
    let grid = [COUNT.div_ceil(WORKGROUP), 1, 1];
    let output = dispatch(device, &source, NAME, grid, &inputs, expected.len(), &COUNT.to_le_bytes())?;
    compare("packed products", &output, &expected)?;
    Ok(())
}

/// Multiplies a matrix of bytes by a vector of integers. Each block of 32 has the maximum 127, so
/// quantizing the vector to bytes is lossless and the sums are exact.
fn rows(device: &Device) -> Result<(), EarlyResult> {
    let info = device.info();
    if !runs_native_kernels(info) && !info.capabilities().integer_dot {
        let reason = "the chip has no instructions for them, and no kernel that it runs uses them";
        return Err(CheckResult::NotApplicable(reason.into()).into());
    }
    let weight = |row: u32, column: u32| ((row * COLUMNS + column + 1).wrapping_mul(0x9e37_79b1) >> 24) as i8;
    let number = |column: u32| match column % 32 {
        7 => 127,
        _ => i32::from(((column + 1).wrapping_mul(0x85eb_ca77) >> 24) as i8).max(-127),
    };
    let sum = |row: u32| (0..COLUMNS).map(|column| i32::from(weight(row, column)) * number(column)).sum::<i32>();
    let expected: Vec<u8> = (0..ROWS).flat_map(|row| (sum(row) as f32).to_le_bytes()).collect();
    let params = LmLinear {
        rows: ROWS,
        columns: COLUMNS,
        tokens: 1,
        x_stride: COLUMNS,
        y_stride: ROWS,
        sharing: 1,
        ..LmLinear::default()
    };
    let codes = (0..ROWS * COLUMNS).map(|at| weight(at / COLUMNS, at % COLUMNS) as u8).collect();
    // An f16 scale of 1 for each block of 32 columns.
    let scales = 0x3c00_u16.to_le_bytes().repeat((ROWS * COLUMNS / 32) as usize);
    let x = (0..COLUMNS).flat_map(|column| (number(column) as f32).to_le_bytes()).collect();
    // Bias, experts and norm are not read, but every binding needs a buffer.
    let none = || vec![0; 16];
    let inputs = [codes, scales, x, none(), none(), none()];
    let source = find(PREBUILT)?.executable(info)?;
    let constants = bytemuck::bytes_of(&params);
    let output = dispatch(device, &source, PREBUILT, params.grid(), &inputs, expected.len(), constants)?;
    compare("packed products of rows", &output, &expected)?;
    Ok(())
}

/// Runs a kernel and reads its output back.
fn dispatch(
    device: &Device,
    source: &ExecutableSource,
    name: &str,
    grid: [u32; 3],
    inputs: &[Vec<u8>],
    output_words: usize,
    constants: &[u8],
) -> Result<Vec<u8>, EarlyResult> {
    let kernel = device.load(source)?.kernel(name)?;
    let memory = device.info().fastest_memory();
    let allocate = |size: usize| device.allocate(BufferDesc::new(size as u64, memory));
    let mut buffers = inputs.iter().map(|input| allocate(input.len())).collect::<Result<Vec<_>, _>>()?;
    for (buffer, input) in buffers.iter().zip(inputs) {
        device.write(buffer, input)?;
    }
    let result = allocate(output_words)?;
    device.write(&result, &vec![0xff; output_words])?;
    buffers.push(result.clone());
    let bindings: Vec<_> = buffers.iter().map(Binding::from).collect();
    let mut recorder = device.record();
    recorder.dispatch(&kernel, grid, &bindings, constants)?;
    let (commands, done) = (recorder.finish()?, device.semaphore(0));
    device.queue(0)?.submit(&commands, Submit::new().signal(&done, 1).label(name))?;
    done.wait(1, Deadline::default())?;
    Ok(device.read(&result)?)
}

fn signed(a: u32, b: u32) -> u32 {
    let pairs = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    pairs.map(|(a, b)| i32::from(a as i8) * i32::from(b as i8)).sum::<i32>() as u32
}

fn unsigned(a: u32, b: u32) -> u32 {
    a.to_le_bytes().into_iter().zip(b.to_le_bytes()).map(|(a, b)| u32::from(a) * u32::from(b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_passes_the_wgsl_rules() {
        assert!(Source::parse("dot.wgsl", TEXT, &[]).is_ok());
    }

    #[test]
    fn signed_and_unsigned_bytes_are_distinguished() {
        assert_eq!((signed(0x0000_80ff, 0x0000_0102), signed(0x7f, 0x7f)), ((-130_i32) as u32, 127 * 127));
        assert_eq!((unsigned(0x0000_80ff, 0x0000_0102), unsigned(u32::MAX, u32::MAX)), (128 + 510, 4 * 255 * 255));
    }
}
