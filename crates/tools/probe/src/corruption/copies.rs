//! Copies of about 16 KiB, where drivers switch between copy paths, at even and odd offsets.

use roci_hal::{BufferDesc, Deadline, Device, Submit};

use super::{EarlyResult, compare};

const SIZES: [u64; 5] = [16380, 16383, 16384, 16385, 16388];
/// Offsets of a copy in the source and in the destination.
const OFFSETS: [(u64, u64); 4] = [(0, 0), (1, 0), (0, 3), (5, 7)];
/// Size of the buffers in bytes, with a margin on both sides of a copy.
const BUFFER_SIZE: usize = 16448;
const UNTOUCHED: u8 = 0xc3;

/// Tests uploads, downloads and device copies. Bytes outside the copied range must not change.
pub(super) fn run(device: &Device) -> Result<(), EarlyResult> {
    let memory = device.info().fastest_memory();
    let desc = |label: &str| BufferDesc::new(BUFFER_SIZE as u64, memory).label(label);
    let (source, target) = (device.allocate(desc("source"))?, device.allocate(desc("target"))?);
    let data: Vec<u8> = (0..BUFFER_SIZE as u32).map(|index| (index.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
    device.write(&source, &data)?;
    for size in SIZES {
        for (from, to) in OFFSETS {
            let part = &data[from as usize..(from + size) as usize];
            let mut expected = vec![UNTOUCHED; BUFFER_SIZE];
            expected[to as usize..(to + size) as usize].copy_from_slice(part);

            device.write(&target, &[UNTOUCHED; BUFFER_SIZE])?;
            device.write(target.range(to, size)?, part)?;
            compare(&format!("upload of {size} bytes to offset {to}"), &device.read(&target)?, &expected)?;

            let down = device.read(source.range(from, size)?)?;
            compare(&format!("download of {size} bytes from offset {from}"), &down, part)?;

            device.write(&target, &[UNTOUCHED; BUFFER_SIZE])?;
            let mut recorder = device.record();
            recorder.copy(source.range(from, size)?, target.range(to, size)?)?;
            let (commands, done) = (recorder.finish()?, device.semaphore(0));
            device.queue(0)?.submit(&commands, Submit::new().signal(&done, 1).label("copy"))?;
            done.wait(1, Deadline::default())?;
            compare(&format!("copy of {size} bytes from offset {from} to {to}"), &device.read(&target)?, &expected)?;
        }
    }
    Ok(())
}
