//! Packed 8-bit dot products, for which devices have instructions of their own.

use roci_hal::{Access, Binding, BufferDesc, Deadline, Device, EntryPoint, Submit};
use roci_kernels::Source;

use super::checks::{Stop, Verdict, compare};

// Not `dot`, which OpenCL C has a function of.
const NAME: &str = "packed_dot";
const COUNT: u32 = 1021;
const WORKGROUP: u32 = 64;

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

/// Runs products of signed and of unsigned bytes, by the device's instructions or, where it has none, by what stands for
/// them. The prebuilt kernels have no such products, so that devices that take those alone have nothing to check.
pub(super) fn run(device: &Device) -> Result<(), Stop> {
    let info = device.info();
    let entry_point = EntryPoint {
        name: NAME.into(),
        workgroup_size: [WORKGROUP, 1, 1],
        bindings: vec![Access::Read, Access::Read, Access::ReadWrite],
        constants: 4,
        in_place: false,
    };
    let Some(source) = Source::parse("dot.wgsl", TEXT, &[])?.executable(entry_point, info)? else {
        return Err(Verdict::NotApplicable("its kernels are prebuilt, and none uses packed dot products".into()).into());
    };
    let kernel = device.load(&source)?.kernel(NAME)?;
    let words = |factor: u32| (0..COUNT).map(move |index| (index + 1).wrapping_mul(factor));
    let (a, b) = (|| words(0x9e37_79b1), || words(0x85eb_ca77));
    let bytes = |words: &mut dyn Iterator<Item = u32>| words.flat_map(u32::to_le_bytes).collect::<Vec<_>>();
    let expected = bytes(&mut a().zip(b()).flat_map(|(a, b)| [signed(a, b), unsigned(a, b)]));

    let memory = info.fastest_memory();
    let allocate = |words: u32| device.allocate(BufferDesc { size: u64::from(words) * 4, memory, label: None });
    let buffers = [allocate(COUNT)?, allocate(COUNT)?, allocate(2 * COUNT)?];
    device.write(&buffers[0], &bytes(&mut a()))?;
    device.write(&buffers[1], &bytes(&mut b()))?;
    device.write(&buffers[2], &vec![0xff; expected.len()])?;
    let bindings: Vec<_> = buffers.iter().map(Binding::from).collect();
    let mut recorder = device.record();
    recorder.dispatch(&kernel, [COUNT.div_ceil(WORKGROUP), 1, 1], &bindings, &COUNT.to_le_bytes())?;
    let (commands, done) = (recorder.finish()?, device.semaphore(0));
    device.queue(0)?.submit(&commands, Submit::new().signal(&done, 1).label(NAME))?;
    done.wait(1, Deadline::default())?;
    compare("packed products", &device.read(&buffers[2])?, &expected)?;
    Ok(())
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
    fn the_kernel_obeys_the_house_rules() {
        assert!(Source::parse("dot.wgsl", TEXT, &[]).is_ok());
    }

    #[test]
    fn bytes_are_signed_or_not() {
        assert_eq!((signed(0x0000_80ff, 0x0000_0102), signed(0x7f, 0x7f)), ((-130_i32) as u32, 127 * 127));
        assert_eq!((unsigned(0x0000_80ff, 0x0000_0102), unsigned(u32::MAX, u32::MAX)), (128 + 510, 4 * 255 * 255));
    }
}
