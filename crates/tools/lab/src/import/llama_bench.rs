//! Parses the output of `llama-bench`: `-o json`, `-o jsonl`, and its Markdown table.
//!
//! Such files often start with log lines, and end early after a crash: complete entries are used,
//! and the rest is reported.

use std::collections::BTreeMap;

use serde_json::{Deserializer, Map, Value};

/// One result: a test with its settings and samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// `pp512`, `tg128`, `pp512+tg128`, with ` x8` for several sequences and ` @ d4096` for a
    /// depth.
    pub name: String,
    /// Tokens per second, one per repetition; only the average if no more was printed.
    pub samples: Vec<f64>,
    /// Seconds of each repetition, if printed.
    pub seconds: Vec<f64>,
    /// All settings: model, backend, GPU layers, flash attention…
    pub settings: BTreeMap<String, String>,
    /// Start time as printed.
    pub time: Option<String>,
}

/// Contents of a file.
#[derive(Debug, Default, PartialEq)]
pub struct ParsedFile {
    /// Tests, in file order.
    pub tests: Vec<Test>,
    /// Descriptions of the parts that could not be used.
    pub notes: Vec<String>,
}

/// Fields that are results or properties of the model; all others are settings.
const RESULTS: &[&str] = &[
    "avg_ns",
    "avg_ts",
    "build_number",
    "model_n_params",
    "model_size",
    "n_depth",
    "n_gen",
    "n_prompt",
    "params",
    "samples_ns",
    "samples_ts",
    "size",
    "stddev_ns",
    "stddev_ts",
    "t/s",
    "test",
    "test_time",
];
/// Maximum length of the value of a setting.
const MAX_SETTING_LENGTH: usize = 300;
/// Maximum number of samples per entry: the store has a row for each.
const MAX_SAMPLES: usize = 10_000;

/// Parses all complete entries. `tests` is empty if there are none.
pub fn read(text: &str) -> ParsedFile {
    let mut read = ParsedFile::default();
    let text = text.trim_start_matches('\u{feff}');
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let start = line.trim_start();
        if start.starts_with('[') && values(&text[offset..], &mut read) {
            return read;
        }
        if start.starts_with('{') {
            json_lines(&text[offset..], &mut read);
            return read;
        }
        offset += line.len();
    }
    table(text, &mut read);
    read
}

/// Parses an array at the start of `text`; returns false if it is not an array of objects, since
/// log lines start with brackets too.
fn values(text: &str, read: &mut ParsedFile) -> bool {
    let Some(inner) = text.trim_start().strip_prefix('[') else { return false };
    let mut rest = inner.trim_start();
    if !rest.starts_with('{') {
        return false;
    }
    while rest.starts_with('{') {
        let mut stream = Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        match stream.next() {
            Some(Ok(entry)) => take(&entry, read),
            Some(Err(error)) => {
                read.notes.push(format!("entry {} is incomplete: {error}", read.tests.len() + 1));
                return true;
            }
            None => break,
        }
        rest = rest[stream.byte_offset()..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    if !rest.starts_with(']') {
        read.notes.push(format!("the list ends early, after {} entries", read.tests.len()));
    }
    true
}

fn json_lines(text: &str, read: &mut ParsedFile) {
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with('{') {
            match serde_json::from_str::<Map<String, Value>>(line) {
                Ok(entry) => take(&entry, read),
                Err(error) => read.notes.push(format!("line {} of the entries is incomplete: {error}", index + 1)),
            }
        }
    }
}

fn take(entry: &Map<String, Value>, read: &mut ParsedFile) {
    match test(entry) {
        Ok(test) => read.tests.push(test),
        Err(why) => read.notes.push(format!("entry {}: {why}", read.tests.len() + 1)),
    }
}

fn test(entry: &Map<String, Value>) -> Result<Test, String> {
    let count = |key: &str| entry.get(key).and_then(Value::as_u64).unwrap_or(0);
    let name = match (count("n_prompt"), count("n_gen")) {
        (0, 0) => return Err("neither `n_prompt` nor `n_gen` is set: not an entry of llama-bench".to_owned()),
        (prompt, 0) => format!("pp{prompt}"),
        (0, generated) => format!("tg{generated}"),
        (prompt, generated) => format!("pp{prompt}+tg{generated}"),
    };
    // `roci bench` measures several sequences at once too.
    let parallel = entry.get("roci").and_then(|own| own.get("n_parallel")).and_then(Value::as_u64).unwrap_or(1);
    let name = if parallel > 1 { format!("{name} x{parallel}") } else { name };
    let name = if count("n_depth") > 0 { format!("{name} @ d{}", count("n_depth")) } else { name };
    let numbers = |key: &str, scale: f64| -> Vec<f64> {
        let list = entry.get(key).and_then(Value::as_array).into_iter().flatten().take(MAX_SAMPLES);
        list.filter_map(Value::as_f64)
            .map(|value| value * scale)
            .filter(|value| value.is_finite() && *value > 0.0)
            .collect()
    };
    let mut samples = numbers("samples_ts", 1.0);
    if samples.is_empty() {
        samples.extend(entry.get("avg_ts").and_then(Value::as_f64).filter(|value| value.is_finite() && *value > 0.0));
    }
    if samples.is_empty() {
        return Err(format!("`{name}` has no speed (`samples_ts` or `avg_ts`)"));
    }
    let settings = entry.iter().filter(|(key, _)| !RESULTS.contains(&key.as_str()));
    let settings = settings.filter_map(|(key, value)| Some((key.clone(), word(value)?))).collect();
    let time = entry.get("test_time").and_then(Value::as_str).map(str::to_owned);
    Ok(Test { name, samples, seconds: numbers("samples_ns", 1e-9), settings, time })
}

/// A setting as text; `None` for lists, objects and null.
fn word(value: &Value) -> Option<String> {
    let word = match value {
        Value::String(text) => text.trim().to_owned(),
        // llama-bench prints switches as words in some versions and as numbers in others.
        Value::Bool(on) => u8::from(*on).to_string(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    (!word.is_empty() && word.len() <= MAX_SETTING_LENGTH).then_some(word)
}

/// Parses a table `| model | … | test | t/s |`, whose last column is `721.50 ± 3.20`.
fn table(text: &str, read: &mut ParsedFile) {
    let mut heads: Vec<String> = Vec::new();
    for line in text.lines() {
        let Some(cells) = cells(line) else { continue };
        if cells.contains(&"test") && cells.contains(&"t/s") {
            heads = cells.iter().map(|&cell| cell.to_owned()).collect();
            continue;
        }
        if heads.is_empty() || cells.len() != heads.len() || cells[0].starts_with("---") {
            continue;
        }
        let row: BTreeMap<_, _> = heads.iter().map(String::as_str).zip(cells).collect();
        let speed = row["t/s"].split('±').next().unwrap_or_default().trim().parse::<f64>();
        let Some(speed) = speed.ok().filter(|speed| speed.is_finite() && *speed > 0.0) else {
            read.notes.push(format!("`{}` is not a speed", row["t/s"]));
            continue;
        };
        let settings = row.iter().filter(|(key, value)| !RESULTS.contains(key) && !value.is_empty());
        let settings = settings.map(|(&key, &value)| (key.to_owned(), value.to_owned())).collect();
        let (name, seconds) = (row["test"].to_owned(), Vec::new());
        read.tests.push(Test { name, samples: vec![speed], seconds, settings, time: None });
    }
    if !read.tests.is_empty() {
        read.notes
            .push("a table has only averages, so the noise is unknown: `llama-bench -o jsonl` has every sample".into());
    }
}

fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ENTRY: &str = r#"{"build_commit": "0a1b2c3", "backends": "Vulkan", "model_filename": "m.gguf", "model_size": 5,
        "n_gpu_layers": 99, "flash_attn": true, "tensor_split": "0.00", "n_prompt": 512, "n_gen": 0, "n_depth": 0,
        "test_time": "2026-11-17T09:30:00Z", "avg_ns": 2, "avg_ts": 720.5, "stddev_ts": 1.5,
        "samples_ns": [500000000, 250000000], "samples_ts": [721.0, 720.0]}"#;

    #[test]
    fn an_entry_has_its_samples_and_its_settings() {
        let read = read(&format!("ggml_vulkan: Found 1 Vulkan devices:\n[1] a log\n[\n {ENTRY}\n]\n"));
        assert_eq!(read.notes, [""; 0]);
        let test = &read.tests[0];
        assert_eq!(
            (test.name.as_str(), &test.samples[..], &test.seconds[..]),
            ("pp512", &[721.0, 720.0][..], &[0.5, 0.25][..])
        );
        assert_eq!(test.time.as_deref(), Some("2026-11-17T09:30:00Z"));
        let keys: Vec<_> = test.settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
        let expected = [
            "backends=Vulkan",
            "build_commit=0a1b2c3",
            "flash_attn=1",
            "model_filename=m.gguf",
            "n_gpu_layers=99",
            "tensor_split=0.00",
        ];
        assert_eq!(keys, expected);
    }

    #[test]
    fn complete_entries_of_a_truncated_file_are_used() {
        let whole = ENTRY.replace('\n', " ");
        let cut = read(&format!("[{whole},\n{}", &whole[..100]));
        assert_eq!((cut.tests.len(), cut.notes.len()), (1, 1), "{:?}", cut.notes);
        let early = read(&format!("[{whole},"));
        assert_eq!((early.tests.len(), early.notes), (1, vec!["the list ends early, after 1 entries".to_owned()]));
        let lines = read(&format!("log\n{whole}\nlog\n{}\n{whole}\n", &whole[..50]));
        assert_eq!((lines.tests.len(), lines.notes.len()), (2, 1), "{:?}", lines.notes);
    }

    #[test]
    fn a_table_gives_averages() {
        let text = "| model | size | params | backend | ngl | test | t/s |\n| --- | ---: | ---: | --- | --: | ---: | ---: |\n\
                    | llama 7B Q4_0 | 3.5 GiB | 6.7 B | Vulkan | 99 | pp512 | 721.50 ± 3.20 |\n\
                    | llama 7B Q4_0 | 3.5 GiB | 6.7 B | Vulkan | 99 | tg128 | nan |\n\nbuild: 0a1b2c3 (1)\n";
        let read = read(text);
        assert_eq!((read.tests.len(), read.tests[0].samples[0]), (1, 721.5));
        assert_eq!(read.tests[0].settings["ngl"], "99");
        assert_eq!(read.notes.len(), 2);
    }

    #[test]
    fn other_files_have_no_tests() {
        for text in
            ["", "[]", "[1, 2]", "{\"a\": 1}", "hello\n| a | b |\n", "[{}]", "\u{feff}", "| test | t/s |\n|||\n"]
        {
            assert_eq!(read(text).tests, [], "{text}");
        }
        let negative = ENTRY.replace("721.0, 720.0", "-1, \"x\", null").replace("720.5", "1e999");
        assert_eq!(read(&negative).tests, []);
    }

    #[test]
    fn truncated_and_corrupted_files_do_not_panic() {
        let text = format!("[{ENTRY}, {ENTRY}]");
        for end in 0..text.len() {
            assert!(read(&text[..end]).tests.len() <= 2);
        }
        // Deeper than any stack.
        let deep = format!("[{{\"a\": {}", "[".repeat(200_000));
        assert_eq!(read(&deep).tests, []);
    }

    proptest! {
        #[test]
        fn anything_is_read_or_not(text in "\\PC*|[\\[{}\\]|:,\"a-z0-9\\n ]*") {
            let read = read(&text);
            prop_assert!(read.tests.iter().all(|test| test.samples.iter().all(|sample| sample.is_finite() && *sample > 0.0)));
        }

        #[test]
        fn one_changed_byte_does_not_panic(at in 0..ENTRY.len(), byte in 0_u8..128) {
            let mut text = format!("[{ENTRY}]").into_bytes();
            text[at] = byte;
            read(&String::from_utf8_lossy(&text));
        }
    }
}
