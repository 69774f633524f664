//! Soak test: parallel clients, every fifth of which disconnects in the middle of a response.
//!
//!     cargo run --release -p roci-serve --example soak -- http://127.0.0.1:8080 --clients 24 --seconds 300 [--tokens 64] [--pid PID] [--api-key KEY]
//!
//! Every stream must be complete. With the server's PID, memory is printed every ten seconds, and
//! must not grow by more than a tenth in the second half of the run; the first half fills the KV
//! pages. The exit status is 1 on failure.
#![expect(clippy::print_stdout, reason = "an example prints its results")]

#[path = "../tests/serve/http.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod http;
#[path = "../tests/serve/soak.rs"]
mod soak;

use std::error::Error;
use std::net::ToSocketAddrs;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Maximum memory growth after warm-up, as a factor: allocators keep freed memory.
const GROWTH: f64 = 1.1;

/// A process's resident memory in KiB, and its numbers of threads and open files.
fn process_stats(pid: u32) -> Option<(u64, u64, usize)> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let number = |key: &str| {
        let line = status.lines().find(|line| line.starts_with(key))?;
        line.split_whitespace().nth(1)?.parse().ok()
    };
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    Some((number("VmRSS:")?, number("Threads:")?, files))
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let place = arguments.iter().position(|argument| argument == name)?;
        arguments.get(place + 1).cloned()
    };
    let count = |name: &str, default: u64| value(name).map_or(Ok(default), |value| value.parse::<u64>());
    let url = arguments.first().cloned().unwrap_or_else(|| "http://127.0.0.1:8080".to_owned());
    let address = url.trim_start_matches("http://").trim_end_matches('/').to_socket_addrs()?;
    let address = address.into_iter().next().ok_or("the server's name has no address")?;
    let time = Duration::from_secs(count("--seconds", 300)?);
    let headers = value("--api-key").map_or(String::new(), |key| format!("Authorization: Bearer {key}\r\n"));
    let settings = soak::LoadSettings {
        address,
        clients: count("--clients", 24)? as usize,
        time,
        tokens: count("--tokens", 64)?.max(1) as usize,
        headers,
    };
    let pid = value("--pid").map(|pid| pid.parse::<u32>()).transpose()?;
    let over = AtomicBool::new(false);
    let start = Instant::now();
    let (report, memory) = std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut memory = Vec::new();
            let mut next = Duration::ZERO;
            while let Some(pid) = pid
                && !over.load(Ordering::Relaxed)
            {
                if start.elapsed() >= next {
                    next += Duration::from_secs(10).min(time / 10);
                    let Some((resident, threads, files)) = process_stats(pid) else { break };
                    println!(
                        "{:>5.0} s: {resident} KiB, {threads} threads, {files} files",
                        start.elapsed().as_secs_f32()
                    );
                    memory.push((start.elapsed(), resident));
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            memory
        });
        let report = soak::run(&settings);
        over.store(true, Ordering::Relaxed);
        (report, watching.join().unwrap_or_default())
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "{} clients, {seconds:.0} s: {} streams complete, {} left by their clients, {} refused for a full queue, {} errors; {:.1} tokens/s",
        settings.clients,
        report.complete,
        report.left,
        report.busy,
        report.errors.len(),
        report.tokens as f64 / seconds
    );
    report.errors.iter().take(10).for_each(|error| println!("  {error}"));
    let settled: Vec<u64> = memory.iter().filter(|(at, _)| *at > time / 2).map(|(_, resident)| *resident).collect();
    let grew = match (settled.first(), settled.last()) {
        (Some(first), Some(last)) => *last as f64 > *first as f64 * GROWTH,
        _ => false,
    };
    if grew {
        println!("the server's memory grew from {:?} to {:?} KiB", settled.first(), settled.last());
    }
    let good = report.errors.is_empty() && !grew && report.complete > 0;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
