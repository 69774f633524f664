//! A line of results, with the field names of llama-bench.

use roci_hal::{DeviceInfo, DeviceKind};
use roci_lm_device::CacheType;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

use super::model_info::ModelInfo;
use super::plan::{Phase, Test};
use super::samples::Samples;
use super::work::TokenCost;

/// Program and version, where llama-bench has its commit.
pub const BUILD: &str = concat!("roci ", env!("CARGO_PKG_VERSION"));

/// The properties that all tests of one device share.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Name and size of the model.
    pub about: ModelInfo,
    /// Minimum cost of a token.
    pub work: TokenCost,
    /// URI of the device.
    pub device: String,
    /// Scheme of the driver, such as `vulkan`.
    pub driver: String,
    /// Name of the device.
    pub name: String,
    /// Number of threads; `None` if the device is not the host's CPU.
    pub threads: Option<u32>,
    /// Memory bandwidth in bytes per second; `None` if it could not be measured.
    pub bandwidth: Option<f64>,
    /// Maximum number of tokens in one forward pass.
    pub batch: usize,
    /// Element type of the KV cache.
    pub cache: CacheType,
}

/// One line of results.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Model and device.
    pub setting: Setting,
    /// The test.
    pub test: Test,
    /// The measured runs.
    pub samples: Samples,
    /// Start of the test, in UTC.
    pub time: String,
}

/// Number of threads of a device that is the host's CPU.
pub fn threads(info: &DeviceInfo) -> Option<u32> {
    let physical = info.physical.iter().filter(|one| one.kind == DeviceKind::Cpu);
    let cores: u32 = physical.map(|one| one.compute_units).sum();
    let named = info.uri.parameter("threads").and_then(|text| text.parse().ok());
    (cores > 0).then(|| named.unwrap_or(cores))
}

impl Entry {
    /// Upper limit of tokens per second by memory bandwidth; decode only. Concurrent sequences
    /// share each read of the weights.
    pub fn limit(&self) -> Option<f64> {
        let (bytes, tokens) = (self.setting.work.bytes as f64, self.test.parallel as f64);
        let rate = self.setting.bandwidth.filter(|_| self.test.phase == Phase::Decode && bytes > 0.0);
        rate.map(|rate| tokens * rate / bytes)
    }

    /// Bytes of weights read per second; decode only.
    pub fn bytes_per_second(&self) -> Option<f64> {
        let bytes = self.setting.work.bytes as f64 / self.test.parallel as f64;
        (self.test.phase == Phase::Decode).then(|| self.samples.rate().mean * bytes)
    }

    /// The measured speed as a fraction of the limit.
    pub fn share(&self) -> Option<f64> {
        self.limit().map(|limit| self.samples.rate().mean / limit)
    }

    /// Operations per second; prefill only.
    pub fn operations(&self) -> Option<f64> {
        (self.test.phase == Phase::Prefill).then(|| self.samples.rate().mean * self.setting.work.operations as f64)
    }

    /// The fields of llama-bench in its order. Settings that roci does not have are absent.
    pub fn columns(&self) -> Vec<(&'static str, Value)> {
        let Setting { about, device, driver, name, threads, batch, cache, .. } = &self.setting;
        let (rate, time) = (self.samples.rate(), self.samples.time());
        let of = |kind| if self.test.phase == kind { self.test.tokens } else { 0 };
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
            ("n_prompt", json!(of(Phase::Prefill))),
            ("n_gen", json!(of(Phase::Decode))),
            ("n_depth", json!(self.test.depth)),
            ("test_time", json!(self.time)),
            ("avg_ns", json!(time.mean.round() as u64)),
            ("stddev_ns", json!(time.deviation.round() as u64)),
            ("avg_ts", json!(rate.mean)),
            ("stddev_ts", json!(rate.deviation)),
        ]
    }

    /// Fields that llama-bench does not have; null if they do not apply to the test.
    pub fn own(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("n_parallel", json!(self.test.parallel)),
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
        // In an object of their own: tools for llama-bench treat unknown fields as settings.
        let mut own = serde_json::Map::new();
        own.insert("schema".to_owned(), json!("roci.bench-model"));
        own.insert("version".to_owned(), json!(1));
        own.extend(self.own().into_iter().map(|(name, value)| (name.to_owned(), value)));
        map.serialize_entry("roci", &own)?;
        map.end()
    }
}

/// Example entries for tests.
#[cfg(test)]
pub(crate) mod example {
    use std::time::Duration;

    use super::*;

    /// An entry whose runs took these milliseconds.
    pub(crate) fn entry(device: &str, phase: Phase, tokens: usize, runs: &[u64]) -> Entry {
        let threads = device.starts_with("cpu").then_some(2);
        Entry {
            setting: Setting {
                about: ModelInfo {
                    file: "it's.gguf".to_owned(),
                    kind: "llama 1.1B Q4_0".to_owned(),
                    bytes: 636_000_000,
                    parameters: 1_100_048_384,
                    layers: 22,
                },
                work: TokenCost { bytes: 600_000_000, operations: 2_000_000_000 },
                device: device.to_owned(),
                driver: device.split(':').next().unwrap_or(device).to_owned(),
                name: "a \"device\", fast".to_owned(),
                threads,
                bandwidth: Some(24e9),
                batch: 512,
                cache: CacheType::F16,
            },
            test: Test { phase, tokens, depth: 0, parallel: 1 },
            samples: Samples { tokens, runs: runs.iter().map(|run| Duration::from_millis(*run)).collect() },
            time: "2026-11-17T09:30:00Z".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::example::entry;
    use super::*;

    #[test]
    fn the_limit_of_decode_is_bandwidth_over_bytes() {
        let written = entry("cpu", Phase::Decode, 100, &[5000]);
        assert_eq!((written.limit(), written.share(), written.operations()), (Some(40.0), Some(0.5), None));
        let prompt = entry("cpu", Phase::Prefill, 100, &[5000]);
        assert_eq!((prompt.limit(), prompt.share(), prompt.operations()), (None, None, Some(4e10)));
        let mut together = written.clone();
        (together.test.parallel, together.samples.tokens) = (4, 400);
        assert_eq!((together.limit(), together.share()), (Some(160.0), Some(0.5)));
        assert_eq!((together.bytes_per_second(), written.bytes_per_second()), (Some(12e9), Some(12e9)));
        let mut unknown = written;
        unknown.setting.bandwidth = None;
        assert_eq!((unknown.limit(), unknown.share()), (None, None));
    }

    #[test]
    fn columns_of_the_other_phase_and_the_other_device_are_empty() {
        let value = |entry: &Entry, name: &str| {
            entry.columns().into_iter().find(|(column, _)| *column == name).expect("the column exists").1
        };
        let cpu = entry("cpu", Phase::Decode, 100, &[1, 2]);
        assert_eq!([value(&cpu, "n_prompt"), value(&cpu, "n_gen"), value(&cpu, "n_gpu_layers")], [0, 100, 0]);
        let gpu = entry("vulkan:0", Phase::Prefill, 100, &[1, 2]);
        assert_eq!([value(&gpu, "n_prompt"), value(&gpu, "n_gpu_layers"), value(&gpu, "n_threads")], [100, 22, 0]);
        assert_eq!((value(&gpu, "cpu_info"), value(&cpu, "gpu_info")), (json!(""), json!("")));
    }
}
