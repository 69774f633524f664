//! Measures a conclusion from a log of 100 MB, and loading the rules.
//!
//!     cargo bench -p roci-doctor --bench logs

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use roci_doctor::{Conclusion, LogReader, RuleSet};

const BYTES: usize = 100_000_000;
const RUNS: usize = 5;

/// A log with typical lines of several programs and varying numbers; a few lines have events.
fn long_log(bytes: usize) -> String {
    let mut log = String::with_capacity(bytes + 1024);
    let mut count = 0_u64;
    while log.len() < bytes {
        count += 1;
        let (time, number) = (count * 7, count.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40);
        let _ = match count % 11 {
            0 => writeln!(
                log,
                "[{time:8}.{number:06}] usb 3-2: new high-speed USB device number {number} using xhci_hcd"
            ),
            1 => writeln!(
                log,
                "[{time:8}.{number:06}] amdgpu 0000:03:00.0: amdgpu: ring comp_1.{}.0 uses VM inv eng {number}",
                number % 4
            ),
            2 => writeln!(log, "load_tensors:      Vulkan0 model buffer size = {number}.82 MiB"),
            3 => writeln!(log, "slot update_slots: id  0 | task {count} | progress, n_past = {number}, n_tokens = 512"),
            4 => writeln!(
                log,
                "Aug 16 21:15:49 desktop systemd[1]: Started session-{number}.scope - Session {count} of User anna."
            ),
            5 => writeln!(log, "llama_kv_cache: layer {number}: dev = Vulkan0, cells {count}"),
            6 if count % 1100 == 6 => writeln!(
                log,
                "[{time}.{number:06}] amdgpu 0000:03:00.0: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:1)"
            ),
            7 if count % 5500 == 7 => {
                writeln!(log, "[{time:8}.{number:06}] amdgpu 0000:03:00.0: amdgpu: GPU reset({number}) succeeded!")
            }
            8 => writeln!(
                log,
                "time=2026-05-01T11:05:13.123+03:00 level=INFO source=server.go:{number} msg=\"waiting for server\""
            ),
            9 => writeln!(log, "| llama 8B Q4_K - Medium | 4.58 GiB | 8.03 B | ROCm | 99 | pp512 | {number}.11 |"),
            _ => writeln!(
                log,
                "[{time:8}.{number:06}] audit: type=1400 audit({time}.{number}:{count}): apparmor=\"ALLOWED\""
            ),
        };
    }
    log
}

/// Prints the best and the median of several runs.
fn measure(name: &str, mut what: impl FnMut()) {
    let run = |_| {
        let start = Instant::now();
        what();
        start.elapsed()
    };
    let mut times: Vec<Duration> = (0..RUNS).map(run).collect();
    times.sort_unstable();
    println!("{name}: best {:.2?}, median {:.2?} of {RUNS}", times[0], times[RUNS / 2]);
}

fn main() {
    measure("rules and patterns read", || {
        RuleSet::builtin().expect("the rules are right");
        LogReader::new().expect("the patterns are right");
    });
    let (rule_set, reader) =
        (RuleSet::builtin().expect("the rules are right"), LogReader::new().expect("the patterns are right"));
    let words = "amdgpu page fault ring timeout ";
    for (name, log) in [("many lines", long_log(BYTES)), ("one line", words.repeat(BYTES / words.len()))] {
        measure(&format!("{name}, {} bytes", log.len()), || {
            let conclusion = Conclusion::of(&reader, &rule_set, &LogReader::decode(log.as_bytes()));
            // A single line with words of many rules that matches none of them.
            std::hint::black_box(conclusion.events.len());
        });
    }
}
