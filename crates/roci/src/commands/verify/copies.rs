//! Copies of about 16 KiB, where drivers change from one way of copying to another, at even and odd places.

use roci_hal::{BufferDesc, Deadline, Device, Submit};

use super::checks::{Stop, compare};

const SIZES: [u64; 5] = [16380, 16383, 16384, 16385, 16388];
/// Where copies start: in the source, in the target.
const PLACES: [(u64, u64); 4] = [(0, 0), (1, 0), (0, 3), (5, 7)];
/// Bytes of the buffers: room on both sides.
const ROOM: usize = 16448;
const UNTOUCHED: u8 = 0xc3;

/// Copies up, down and on the device; what lies beside must stay as it was.
pub(super) fn run(device: &Device) -> Result<(), Stop> {
    let memory = device.info().fastest_memory();
    let desc = |label: &str| BufferDesc { size: ROOM as u64, memory, label: Some(label.into()) };
    let (source, target) = (device.allocate(desc("source"))?, device.allocate(desc("target"))?);
    let data: Vec<u8> = (0..ROOM as u32).map(|index| (index.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
    device.write(&source, &data)?;
    for size in SIZES {
        for (from, to) in PLACES {
            let part = &data[from as usize..(from + size) as usize];
            let mut expected = vec![UNTOUCHED; ROOM];
            expected[to as usize..(to + size) as usize].copy_from_slice(part);

            device.write(&target, &[UNTOUCHED; ROOM])?;
            device.write(target.range(to, size)?, part)?;
            compare(&format!("{size} bytes up to {to}"), &device.read(&target)?, &expected)?;

            let down = device.read(source.range(from, size)?)?;
            compare(&format!("{size} bytes down from {from}"), &down, part)?;

            device.write(&target, &[UNTOUCHED; ROOM])?;
            let mut recorder = device.record();
            recorder.copy(source.range(from, size)?, target.range(to, size)?)?;
            let (commands, done) = (recorder.finish()?, device.semaphore(0));
            device.queue(0)?.submit(&commands, Submit::new().signal(&done, 1).label("copy"))?;
            done.wait(1, Deadline::default())?;
            compare(&format!("{size} bytes from {from} to {to}"), &device.read(&target)?, &expected)?;
        }
    }
    Ok(())
}
