//! Time to summarize files of gigabytes, compared with reading them.
//!
//!     cargo bench -p roci-codeobj --bench file_summary [FILE]

#![expect(clippy::print_stdout, reason = "benchmarks print their results")]

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::time::{Duration, Instant};

use roci_codeobj::FileSummary;

const CHUNK: usize = 16 << 20;
const CHUNKS: usize = 128;

/// Two gigabytes of zeros between `first` and `last`.
fn filler_between(first: &[u8], last: &[u8]) -> File {
    let mut random = fastrand::Rng::with_seed(1);
    let noise: Vec<u8> = (0..CHUNK).map(|_| random.u8(..)).collect();
    let mut file = tempfile::tempfile().expect("temporary files can be written");
    let mut write = |bytes: &[u8]| file.write_all(bytes).expect("there is room for 2 GiB of temporary files");
    write(first);
    (0..CHUNKS).for_each(|_| write(&noise));
    write(last);
    file
}

/// A bundle with one entry, up to its code.
fn bundle_head(size: u64) -> Vec<u8> {
    let id = b"hipv4-amdgcn-amd-amdhsa--gfx1013";
    let mut head = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    for number in [1, 4096, size, id.len() as u64] {
        head.extend(number.to_le_bytes());
    }
    head.extend(id);
    head.resize(4096, 0);
    head
}

fn best(mut what: impl FnMut()) -> Duration {
    let run = |_| {
        let start = Instant::now();
        what();
        start.elapsed()
    };
    (0..5).map(run).min().unwrap_or_default()
}

fn measure(what: &str, mut file: File) {
    let size = file.metadata().expect("it is open").len();
    let mut buffer = vec![0; 256 << 10];
    let reading = best(|| {
        file.rewind().expect("a file");
        while file.read(&mut buffer).expect("a file") > 0 {}
    });
    let mut pieces = 0;
    let summarizing = best(|| pieces = FileSummary::of_file(&file).expect("the file contains code").images.len());
    let rate = |time: Duration| size as f64 / time.as_secs_f64() / 1e9;
    println!(
        "{what}: {pieces} images in {:.2} GB, {summarizing:.1?} ({:.1} GB/s); reading alone {reading:.1?} ({:.1} GB/s)",
        size as f64 / 1e9,
        rate(summarizing),
        rate(reading)
    );
}

fn main() {
    let small = include_bytes!("../fixtures/plain.bundle");
    measure("data with a bundle at its end", filler_between(b"data", small));
    measure("one bundle", filler_between(&bundle_head((CHUNK * CHUNKS) as u64), &[]));
    for path in std::env::args().skip(1).filter(|argument| !argument.starts_with('-')) {
        measure(&path, File::open(&path).expect("the given file exists"));
    }
}
