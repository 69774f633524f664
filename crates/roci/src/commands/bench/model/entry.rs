//! One line of results, with the names that llama-bench gives its fields.

use roci_hal::{DeviceInfo, DeviceKind};
use roci_llm_device::CacheType;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::about::About;
use super::plan::{Kind, Test};
use super::samples::Samples;
use super::work::Work;

/// What made the figures, where llama-bench has its commit.
pub(super) const BUILD: &str = concat!("roci ", env!("CARGO_PKG_VERSION"));

/// What holds for all tests of one device.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) about: About,
    pub(super) work: Work,
    /// The device's URI.
    pub(super) device: String,
    /// Its driver.
    pub(super) driver: String,
    /// Its name for people.
    pub(super) name: String,
    /// Threads, where it is this machine's processor.
    pub(super) threads: Option<u32>,
    /// Bytes that it reads in a second, where that could be measured.
    pub(super) bandwidth: Option<f64>,
    /// The most tokens of one call.
    pub(super) batch: usize,
    pub(super) cache: CacheType,
}

/// One line of results.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) setting: Setting,
    pub(super) test: Test,
    pub(super) samples: Samples,
    /// When the test began.
    pub(super) time: String,
}

/// The threads of a device that is this machine's processor.
pub(super) fn threads(info: &DeviceInfo) -> Option<u32> {
    let physical = info.physical.iter().filter(|one| one.kind == DeviceKind::Cpu);
    let cores: u32 = physical.map(|one| one.compute_units).sum();
    let named = info.uri.parameter("threads").and_then(|text| text.parse().ok());
    (cores > 0).then(|| named.unwrap_or(cores))
}

impl Entry {
    /// Tokens in a second that the device's memory allows; only where tokens are written one by one.
    pub(super) fn limit(&self) -> Option<f64> {
        let bytes = self.setting.work.bytes as f64;
        self.setting.bandwidth.filter(|_| self.test.kind == Kind::Written && bytes > 0.0).map(|rate| rate / bytes)
    }

    /// Which share of the limit was reached.
    pub(super) fn share(&self) -> Option<f64> {
        self.limit().map(|limit| self.samples.rate().mean / limit)
    }

    /// Operations in a second; only where a prompt is read.
    pub(super) fn operations(&self) -> Option<f64> {
        (self.test.kind == Kind::Prompt).then(|| self.samples.rate().mean * self.setting.work.operations as f64)
    }

    /// Fields that llama-bench has too, in its order. What roci has no setting for is absent.
    pub(super) fn columns(&self) -> Vec<(&'static str, Value)> {
        let Setting { about, device, driver, name, threads, batch, cache, .. } = &self.setting;
        let (rate, time) = (self.samples.rate(), self.samples.time());
        let of = |kind| if self.test.kind == kind { self.test.tokens } else { 0 };
        let (processor, card) = if threads.is_some() { (name.as_str(), "") } else { ("", name.as_str()) };
        let cache = cache.to_string();
        vec![
            ("build_commit", json!(BUILD)),
            ("build_number", json!(0)),
            ("cpu_info", json!(processor)),
            ("gpu_info", json!(card)),
            ("backends", json!(driver)),
            ("model_filename", json!(about.file)),
            ("model_type", json!(about.kind)),
            ("model_size", json!(about.bytes)),
            ("model_n_params", json!(about.parameters)),
            ("n_batch", json!(batch)),
            ("n_ubatch", json!(batch)),
            ("n_threads", json!(threads.unwrap_or(0))),
            ("type_k", json!(cache)),
            ("type_v", json!(cache)),
            ("n_gpu_layers", json!(if threads.is_some() { 0 } else { about.layers })),
            ("devices", json!(device)),
            ("n_prompt", json!(of(Kind::Prompt))),
            ("n_gen", json!(of(Kind::Written))),
            ("n_depth", json!(self.test.depth)),
            ("test_time", json!(self.time)),
            ("avg_ns", json!(time.mean.round() as u64)),
            ("stddev_ns", json!(time.deviation.round() as u64)),
            ("avg_ts", json!(rate.mean)),
            ("stddev_ts", json!(rate.deviation)),
        ]
    }

    /// Fields of our own; null where they make no sense for the test.
    pub(super) fn own(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("bytes_per_token", json!(self.setting.work.bytes)),
            ("operations_per_token", json!(self.setting.work.operations)),
            ("bandwidth", json!(self.setting.bandwidth)),
            ("limit_ts", json!(self.limit())),
            ("limit_share", json!(self.share())),
            ("operations_per_second", json!(self.operations())),
        ]
    }
}

impl Serialize for Entry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.columns() {
            map.serialize_entry(name, &value)?;
        }
        map.serialize_entry("samples_ns", &self.samples.nanoseconds())?;
        map.serialize_entry("samples_ts", &self.samples.rates())?;
        // Within an object of their own: whoever reads llama-bench's fields takes unknown ones for settings.
        let mut own = serde_json::Map::new();
        own.insert("schema".to_owned(), json!("roci.bench-model"));
        own.insert("version".to_owned(), json!(1));
        own.extend(self.own().into_iter().map(|(name, value)| (name.to_owned(), value)));
        map.serialize_entry("roci", &own)?;
        map.end()
    }
}

/// Entries for the tests of what is made of them.
#[cfg(test)]
pub(super) mod played {
    use std::time::Duration;

    use super::*;

    /// A test on a device in which each run took so many milliseconds.
    pub(in super::super) fn entry(device: &str, kind: Kind, tokens: usize, runs: &[u64]) -> Entry {
        let threads = device.starts_with("cpu").then_some(2);
        Entry {
            setting: Setting {
                about: About {
                    file: "it's.gguf".to_owned(),
                    kind: "llama 1.1B Q4_0".to_owned(),
                    bytes: 636_000_000,
                    parameters: 1_100_048_384,
                    layers: 22,
                },
                work: Work { bytes: 600_000_000, operations: 2_000_000_000 },
                device: device.to_owned(),
                driver: device.split(':').next().unwrap_or(device).to_owned(),
                name: "a \"device\", fast".to_owned(),
                threads,
                bandwidth: Some(24e9),
                batch: 512,
                cache: CacheType::F16,
            },
            test: Test { kind, tokens, depth: 0 },
            samples: Samples { tokens, runs: runs.iter().map(|run| Duration::from_millis(*run)).collect() },
            time: "2026-11-17T09:30:00Z".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::played::entry;
    use super::*;

    #[test]
    fn the_limit_is_bandwidth_over_bytes_and_only_for_written_tokens() {
        let written = entry("cpu", Kind::Written, 100, &[5000]);
        assert_eq!((written.limit(), written.share(), written.operations()), (Some(40.0), Some(0.5), None));
        let prompt = entry("cpu", Kind::Prompt, 100, &[5000]);
        assert_eq!((prompt.limit(), prompt.share(), prompt.operations()), (None, None, Some(4e10)));
        let mut unknown = written;
        unknown.setting.bandwidth = None;
        assert_eq!((unknown.limit(), unknown.share()), (None, None));
    }

    #[test]
    fn one_kind_of_tokens_is_counted_and_one_place_named() {
        let value = |entry: &Entry, name: &str| {
            entry.columns().into_iter().find(|(column, _)| *column == name).expect("it is there").1
        };
        let cpu = entry("cpu", Kind::Written, 100, &[1, 2]);
        assert_eq!([value(&cpu, "n_prompt"), value(&cpu, "n_gen"), value(&cpu, "n_gpu_layers")], [0, 100, 0]);
        let gpu = entry("vulkan:0", Kind::Prompt, 100, &[1, 2]);
        assert_eq!([value(&gpu, "n_prompt"), value(&gpu, "n_gpu_layers"), value(&gpu, "n_threads")], [100, 22, 0]);
        assert_eq!((value(&gpu, "cpu_info"), value(&cpu, "gpu_info")), (json!(""), json!("")));
    }
}
