//! The read speed of the disk and the free memory, which limit models that exceed the memory.

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::time::{Duration, Instant};

use roci_gguf::Gguf;

/// Bytes of a read, and the alignment of its memory and offset.
const BLOCK: usize = 4 << 20;
const ALIGNMENT: usize = 4096;
/// Bytes and time after which the measurement ends.
const MAX_BYTES: usize = 256 << 20;
const MAX_TIME: Duration = Duration::from_millis(300);

/// Bytes per second that the disk of a model reads, bypassing the page cache; `None` if the file
/// system does not support that.
pub(super) fn read_speed(file: &Gguf) -> Option<f64> {
    let first = file.tensors().find_map(|tensor| file.location(tensor.info().name()))?;
    speed_of(first.file)
}

fn speed_of(file: &File) -> Option<f64> {
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let file = OpenOptions::new().read(true).custom_flags(direct).open(path).ok()?;
    let blocks = usize::try_from(file.metadata().ok()?.len()).ok()? / BLOCK;
    let mut memory = vec![0; BLOCK + ALIGNMENT];
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    let block = memory.get_mut(start..start + BLOCK)?;
    let begin = Instant::now();
    let mut bytes = 0;
    let count = blocks.min(MAX_BYTES / BLOCK);
    // Blocks from all parts of the file.
    for index in 0..count {
        file.read_exact_at(block, (index * blocks / count * BLOCK) as u64).ok()?;
        bytes += BLOCK;
        if begin.elapsed() > MAX_TIME {
            break;
        }
    }
    (bytes > 0).then(|| bytes as f64 / begin.elapsed().as_secs_f64().max(1e-9))
}

/// Bytes of memory that programs can still allocate, including reclaimable caches.
pub(super) fn free_memory() -> Option<u64> {
    free_of(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn free_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_less_than_a_block_has_no_speed() {
        let path = std::env::temp_dir().join(format!("roci-disk-{}", std::process::id()));
        std::fs::write(&path, vec![0; ALIGNMENT]).expect("the folder is writable");
        let file = File::open(&path).expect("the file exists");
        assert_eq!(speed_of(&file), None);
        std::fs::write(&path, vec![0; BLOCK]).expect("the folder is writable");
        // `None` on file systems that always read through the cache.
        assert!(speed_of(&file).is_none_or(|speed| speed > 0.0));
        std::fs::remove_file(&path).expect("the file exists");
    }

    #[test]
    fn free_memory_includes_caches() {
        let text = "MemTotal:       100 kB\nMemFree:        1 kB\nMemAvailable:   64 kB\n";
        assert_eq!(free_of(text), Some(64 << 10));
        assert_eq!(free_of("MemTotal: 100 kB\n"), None);
    }
}
