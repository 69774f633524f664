//! Measures prefill and decode of a model on a device, without an engine:
//! `speed MODEL.gguf DEVICE [prompt tokens] [generated tokens] [sequences...] [@depths...]`. With
//! numbers of sequences, it measures decode steps of that many at once; with depths, decode steps
//! after that many tokens of context, with uninitialized keys and values.

#[path = "../tests/models/devices.rs"]
#[expect(dead_code, reason = "only its drivers are used")]
mod devices;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use roci_engine::{Chunk, Forward as _, OutputKind, StateSlots};
use roci_gguf::Gguf;
use roci_hal::Profile;
use roci_hal::profile::CommandRecord;
use roci_lm::architecture::Model;
use roci_lm_device::{DeviceModel, Options};

/// Seconds to map the file and read all its tensors with one thread per processor: the lower bound
/// of the load time.
fn read_once(path: &str) -> Result<f64, Box<dyn std::error::Error>> {
    let start = Instant::now();
    let file = Gguf::open(path)?;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let sum = std::thread::scope(|scope| {
        let read = |thread: usize| {
            let file = &file;
            scope.spawn(move || {
                let own = file.tensors().map(|tensor| {
                    let words = tensor.bytes().as_chunks().0;
                    words[words.len() * thread / threads..words.len() * (thread + 1) / threads]
                        .iter()
                        .fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)))
                });
                own.fold(0, u64::wrapping_add)
            })
        };
        let running: Vec<_> = (0..threads).map(read).collect();
        running.into_iter().map(|thread| thread.join().unwrap_or(0)).fold(0, u64::wrapping_add)
    });
    std::hint::black_box(sum);
    Ok(start.elapsed().as_secs_f64())
}

#[expect(clippy::print_stdout, reason = "an example prints its results")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (depths, arguments): (Vec<String>, Vec<String>) = arguments.into_iter().partition(|text| text.starts_with('@'));
    let depths = depths.iter().map(|text| text[1..].parse()).collect::<Result<Vec<usize>, _>>()?;
    let [path, uri, rest @ ..] = &arguments[..] else { return Err("speed MODEL DEVICE [PROMPT] [WRITTEN]".into()) };
    let count = |at: usize, default| rest.get(at).map_or(Ok(default), |text| text.parse::<usize>());
    let (prompt, written) = (count(0, 512)?, count(1, 128)?);
    let file = Arc::new(Gguf::open(path)?);
    let longest = depths.iter().max().unwrap_or(&0) + 2 * STEPS;
    let model = Model::new(&file, Some(longest.max(4096) as u32))?;
    let bytes: u64 = model.tensors().iter().filter_map(|name| file.tensor(name)).map(|one| one.info().byte_len()).sum();
    let read = bytes as f64 / 1e9 / read_once(path)?;
    println!("the mapped file read once: {read:.2} GB/s");
    let device = devices::open(uri)?;
    let start = Instant::now();
    let options = Options { cache_tokens: Some(longest.max(4096)), ..Options::default() };
    let mut found = DeviceModel::load(file, model, &[device], &options, &|_, _| ())?;
    let seconds = start.elapsed().as_secs_f64();
    let rate = bytes as f64 / 1e9 / seconds;
    println!("loaded {:.1} MB in {seconds:.3} s, {rate:.2} GB/s: {:.2} of that", bytes as f64 / 1e6, rate / read);
    let limits = found.limits().clone();
    let pages: Vec<u32> = (0..limits.pages as u32).collect();
    let tokens: Vec<u32> = (0..4096).map(|at: u32| at * 7919 % limits.vocabulary as u32).collect();
    for round in 0..4 {
        let start = Instant::now();
        for (at, tokens) in tokens[..prompt].chunks(limits.max_batch_tokens).enumerate() {
            let chunk = Chunk {
                tokens,
                start: at * limits.max_batch_tokens,
                pages: &pages,
                state: StateSlots::of_only_sequence(&limits, at),
                output: OutputKind::LastLogits,
            };
            found.evaluate(&[chunk])?;
        }
        let prompt_time = start.elapsed().as_secs_f64();
        let start = Instant::now();
        for at in 0..written {
            let chunk = Chunk {
                tokens: &tokens[at..=at],
                start: at,
                pages: &pages,
                state: StateSlots::of_only_sequence(&limits, at),
                output: OutputKind::LastLogits,
            };
            found.evaluate(&[chunk])?;
        }
        let written_time = start.elapsed().as_secs_f64();
        println!(
            "round {round}: pp{prompt} {:.1} t/s, tg{written} {:.1} t/s, {:.2} GB/s",
            prompt as f64 / prompt_time,
            written as f64 / written_time,
            written as f64 / written_time * bytes as f64 / 1e9
        );
    }
    // To compare devices: the logits of the last prompt token, in one batch and token by token.
    let last =
        |found: &mut DeviceModel, tokens: &[u32], start: usize| -> Result<Vec<f32>, Box<dyn std::error::Error>> {
            let state = StateSlots::of_only_sequence(&limits, start);
            let chunk = Chunk { tokens, start, pages: &pages, state, output: OutputKind::LastLogits };
            Ok(found.evaluate(&[chunk])?.into_iter().flat_map(|output| output.rows).flatten().collect())
        };
    let count = prompt.min(limits.max_batch_tokens);
    let many = last(&mut found, &tokens[..count], 0)?;
    let one = last(&mut found, &tokens[count..=count], count)?;
    for (what, logits) in [("many tokens", many), ("one more", one)] {
        let size = logits.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        println!("{what}: logits of length {size:.4}, beginning with {:.4?}", &logits[..4.min(logits.len())]);
    }
    let deep = |found: &mut DeviceModel, at: usize| -> Result<(), Box<dyn std::error::Error>> {
        let state = StateSlots::of_only_sequence(&limits, at);
        let output = OutputKind::LastLogits;
        let outputs = found.evaluate(&[Chunk { tokens: &tokens[..1], start: at, pages: &pages, state, output }])?;
        found.recycle(outputs);
        Ok(())
    };
    for &depth in &depths {
        // Loads the kernels.
        deep(&mut found, depth)?;
        let start = Instant::now();
        for at in 1..STEPS {
            deep(&mut found, depth + at)?;
        }
        let seconds = start.elapsed().as_secs_f64() / (STEPS - 1) as f64;
        println!("after {depth} tokens: {:.3} ms per token, {:.1} t/s", seconds * 1e3, 1.0 / seconds);
    }
    let together = rest.iter().skip(2).map(|count| count.parse()).collect::<Result<Vec<usize>, _>>()?;
    for &count in &together {
        // Loads the kernels.
        decode(&mut found, count, 0..2)?;
        let start = Instant::now();
        decode(&mut found, count, 2..STEPS)?;
        let seconds = start.elapsed().as_secs_f64() / (STEPS - 2) as f64;
        println!("{count} sequences: {:.3} ms per step, {:.1} t/s", seconds * 1e3, count as f64 / seconds);
    }
    let profile = Profile::new();
    found.profile(&profile);
    for (tokens, start) in [(&tokens[..count], 0), (&tokens[..1], count.min(64))] {
        let state = StateSlots::of_only_sequence(&limits, start);
        found.evaluate(&[Chunk { tokens, start, pages: &pages, state, output: OutputKind::LastLogits }])?;
        let records = profile.take();
        for record in records.iter().skip(20).take(12) {
            println!("  {:24} {:7.2} us", record.name, record.duration().as_secs_f64() * 1e6);
        }
        println!("{} tokens", tokens.len());
        print_kernels(&records);
    }
    for depth in depths {
        deep(&mut found, depth + STEPS)?;
        println!("after {depth} tokens");
        print_kernels(&profile.take());
    }
    for count in together {
        decode(&mut found, count, 1..2)?;
        println!("{count} sequences");
        print_kernels(&profile.take());
    }
    Ok(())
}

/// Total time of each kernel.
#[expect(clippy::print_stdout, reason = "an example prints its results")]
fn print_kernels(records: &[CommandRecord]) {
    let mut kernels: BTreeMap<String, (usize, f64)> = BTreeMap::new();
    for record in records {
        let entry = kernels.entry(record.name.to_string()).or_default();
        *entry = (entry.0 + 1, entry.1 + record.duration().as_secs_f64() * 1e6);
    }
    let span = records.first().zip(records.last()).map_or(0.0, |(first, last)| (last.end - first.start).as_secs_f64());
    println!("  {:.3} ms from first to last", span * 1e3);
    for (name, (count, time)) in kernels {
        println!("  {count:5} x {name:32} {time:9.1} us, {:7.2} each", time / count as f64);
    }
}

/// Steps of several sequences.
const STEPS: usize = 64;

/// Decodes one token of each sequence for each of these positions.
fn decode(
    found: &mut DeviceModel,
    count: usize,
    positions: std::ops::Range<usize>,
) -> Result<(), Box<dyn std::error::Error>> {
    let limits = found.limits().clone();
    let each = STEPS.div_ceil(limits.page_size) as u32;
    let pages: Vec<Vec<u32>> = (0..count as u32).map(|text| (text * each..(text + 1) * each).collect()).collect();
    let tokens: Vec<u32> = (0..(count * STEPS) as u32).map(|at| at * 7919 % limits.vocabulary as u32).collect();
    for at in positions {
        let chunks: Vec<Chunk<'_>> = pages
            .iter()
            .zip(tokens.chunks_exact(STEPS))
            .map(|(pages, tokens)| Chunk {
                tokens: &tokens[at..=at],
                start: at,
                pages,
                state: None,
                output: OutputKind::LastLogits,
            })
            .collect();
        let outputs = found.evaluate(&chunks)?;
        found.recycle(outputs);
    }
    Ok(())
}
