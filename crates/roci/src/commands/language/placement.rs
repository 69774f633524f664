//! Placement of a model on devices, and which experts the CPU computes.

use roci_gguf::Gguf;
use roci_hal::{Device, DeviceInfo, Registry};
use roci_lm::architecture::Model;
use roci_lm::architecture::blocks::FeedForward;
use roci_lm_device::{Error, Estimate, Options, estimate};
use roci_probe::units;

use super::{LanguageError, disk};

/// Layers and bytes on one device.
#[derive(Clone, Debug, serde::Serialize)]
pub(crate) struct DevicePlacement {
    /// URI of the device.
    pub(crate) device: String,
    /// Number of layers.
    pub(crate) layers: usize,
    /// Bytes of all weights, caches and scratch memory.
    pub(crate) bytes: u64,
    /// Bytes of the experts that it computes for layers of other devices.
    pub(crate) expert_bytes: u64,
}

/// The memory that a model needs on each device.
pub(crate) fn fits(file: &Gguf, model: &Model, devices: &[Device], options: &Options) -> Result<Estimate, Error> {
    let infos: Vec<_> = devices.iter().map(Device::info).collect();
    estimate(file, model, &infos, options)
}

/// Adds the CPU to the devices unless it is there.
pub(crate) fn add_cpu(registry: &Registry, devices: &mut Vec<Device>) -> Result<(), LanguageError> {
    if !devices.iter().any(|device| roci_kernels::runs_native_kernels(device.info())) {
        devices.push(registry.open(&registry.parse("cpu")?, None)?);
    }
    Ok(())
}

/// Options with the minimum number of leading layers whose experts run on the CPU, such that the
/// first device holds the rest of the model; `None` if that is impossible or the model has no
/// experts.
pub(crate) fn with_fewest_experts(
    file: &Gguf,
    model: &Model,
    devices: &[&DeviceInfo],
    options: &Options,
) -> Option<Options> {
    let count = model.layers.len();
    let has_experts = |layer: usize| model.layers[layer].feed_forward.as_ref().is_some_and(FeedForward::has_experts);
    if !(0..count).any(has_experts) {
        return None;
    }
    let with = |layers: usize| Options { cpu_expert_layers: layers, ..options.clone() };
    let on_first = |layers: usize| {
        let shares = estimate(file, model, devices, &with(layers)).map(|estimate| estimate.shares);
        shares.is_ok_and(|shares| shares.first().is_some_and(|share| share.layers.len() == count))
    };
    let (mut low, mut high) = (1, count);
    if !on_first(high) {
        return None;
    }
    while low < high {
        let middle = (low + high) / 2;
        if on_first(middle) { high = middle } else { low = middle + 1 }
    }
    Some(with(high))
}

/// The devices that hold a part of the model.
pub(crate) fn placement(devices: &[Device], estimate: &Estimate) -> Vec<DevicePlacement> {
    let shares = devices.iter().zip(&estimate.shares).filter(|(_, share)| share.total() > 0);
    shares
        .map(|(device, share)| DevicePlacement {
            device: device.info().uri.to_string(),
            layers: share.layers.len(),
            bytes: share.total(),
            expert_bytes: share.experts,
        })
        .collect()
}

/// A note if the CPU reads weights from the file because they exceed the memory.
pub(crate) fn larger_than_memory(file: &Gguf, devices: &[Device], estimate: &Estimate) -> Option<String> {
    let cpu = devices.iter().zip(&estimate.shares).find(|(_, share)| share.mapped > 0)?;
    let (device, share) = cpu;
    estimate.exceeds_memory.then(|| {
        let limits = Limits {
            device: device.info().uri.to_string(),
            needed: share.total(),
            file: file.file_bytes(),
            memory: share.available,
            free: disk::free_memory(),
            read: estimate.read_per_token,
            speed: disk::read_speed(file),
        };
        limits.to_string()
    })
}

/// What limits the speed of a model that exceeds the memory; sizes in bytes.
struct Limits {
    device: String,
    needed: u64,
    file: u64,
    memory: u64,
    free: Option<u64>,
    /// Read for a token at most.
    read: u64,
    /// Bytes that the disk reads per second.
    speed: Option<f64>,
}

impl std::fmt::Display for Limits {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [needed, file, memory, read] = [self.needed, self.file, self.memory, self.read].map(units::bytes);
        write!(formatter, "{} needs {needed} for this model ({file} in the file) and has {memory}", self.device)?;
        if let Some(free) = self.free {
            write!(formatter, ", of which {} are free", units::bytes(free))?;
        }
        write!(formatter, ": weights are read from the disk again for every token, up to {read} each")?;
        if let Some(speed) = self.speed {
            let tokens = speed / self.read.max(1) as f64;
            write!(
                formatter,
                "; the disk reads {} per second, enough for {tokens:.1} tokens",
                units::bytes(speed as u64)
            )?;
        }
        Ok(())
    }
}

/// The placement in one line: `experts of the first 12 of 48 layers on the CPU: 7.1 GiB on
/// vulkan://0, 5.2 GiB on cpu`.
pub(crate) fn describe(model: &Model, options: &Options, placement: &[DevicePlacement]) -> String {
    let count = model.layers.len();
    let layers = match options.cpu_expert_layers {
        layers if layers >= count => format!("all {count} layers"),
        layers => format!("the first {layers} of {count} layers"),
    };
    let memory: Vec<String> =
        placement.iter().map(|one| format!("{} on {}", units::bytes(one.bytes), one.device)).collect();
    format!("experts of {layers} on the CPU: {}", memory.join(", "))
}

#[cfg(test)]
mod tests {
    use roci_hal::CodeFormat;
    use roci_hal::null::NullDriver;

    use super::*;

    fn model(name: &str) -> (Gguf, Model) {
        let cases = roci_lm::synthetic::architectures();
        let case = cases.iter().find(|case| case.name == name).expect("the architecture exists");
        let file = case.open().expect("the synthetic file is valid");
        let model = Model::new(&file, Some(64)).expect("the architecture is described");
        (file, model)
    }

    /// A device that reports this amount of memory.
    fn device(format: CodeFormat, memory: u64) -> DeviceInfo {
        let driver = NullDriver::new(1).with_formats(vec![format]);
        let device = Registry::new().with(driver).open(&"null".parse().expect("a URI"), None).expect("it opens");
        let mut info = device.info().clone();
        (info.physical[0].memory, info.physical[0].true_memory) = (memory, None);
        info
    }

    #[test]
    fn the_fewest_experts_that_do_not_fit_are_on_the_cpu() {
        let cpu = device(CodeFormat::Native, 1 << 40);
        let options = Options { cache_tokens: Some(64), max_batch_tokens: Some(8), ..Options::default() };
        let (file, model) = model("qwen3moe");
        let count = model.layers.len();
        let all = Options { cpu_expert_layers: count, ..options.clone() };
        let share = |gpu: &DeviceInfo, options: &Options| {
            estimate(&file, &model, &[gpu, &cpu], options).map(|estimate| estimate.shares[0].clone())
        };
        let large = device(CodeFormat::Spirv, 1 << 40);
        let [least, most] = [&all, &options].map(|options| share(&large, options).expect("it fits").total());
        assert!(least < most, "{least} < {most}");
        for memory in [least, (least + most) / 2, most - 64] {
            let gpu = device(CodeFormat::Spirv, memory * 16 / 15 + 16);
            let found = with_fewest_experts(&file, &model, &[&gpu, &cpu], &options).expect("it fits with the CPU");
            let layers = found.cpu_expert_layers;
            assert!((1..=count).contains(&layers));
            assert_eq!(share(&gpu, &found).expect("it fits").layers, 0..count);
            let fewer = Options { cpu_expert_layers: layers - 1, ..options.clone() };
            assert!(share(&gpu, &fewer).is_ok_and(|share| share.layers.len() < count), "one layer fewer fits too");
        }
        let small = device(CodeFormat::Spirv, least / 2);
        assert_eq!(with_fewest_experts(&file, &model, &[&small, &cpu], &options), None);
    }

    #[test]
    fn a_dense_model_has_no_experts_to_move() {
        let (file, model) = model("llama");
        let (gpu, cpu) = (device(CodeFormat::Spirv, 1 << 40), device(CodeFormat::Native, 1 << 40));
        assert_eq!(with_fewest_experts(&file, &model, &[&gpu, &cpu], &Options::default()), None);
    }

    #[test]
    fn the_note_says_what_limits_the_speed() {
        let limits = Limits {
            device: "cpu".to_owned(),
            needed: 40 << 30,
            file: 39 << 30,
            memory: 32 << 30,
            free: Some(20 << 30),
            read: 3 << 30,
            speed: Some((6u64 << 30) as f64),
        };
        let start = "cpu needs 40.0 GiB for this model (39.0 GiB in the file) and has 32.0 GiB";
        let read = "weights are read from the disk again for every token, up to 3.0 GiB each";
        let speed = "the disk reads 6.0 GiB per second, enough for 2.0 tokens";
        assert_eq!(limits.to_string(), format!("{start}, of which 20.0 GiB are free: {read}; {speed}"));
        let unknown = Limits { free: None, speed: None, ..limits };
        assert_eq!(unknown.to_string(), format!("{start}: {read}"));
    }

    #[test]
    fn the_line_says_how_much_is_where() {
        let (_, model) = model("qwen3moe");
        let on =
            |device: &str, bytes: u64| DevicePlacement { device: device.into(), layers: 1, bytes, expert_bytes: 0 };
        let options = Options { cpu_expert_layers: 1, ..Options::default() };
        let line = describe(&model, &options, &[on("vulkan:0", 3 << 30), on("cpu", 5 << 20)]);
        let count = model.layers.len();
        let expected =
            format!("experts of the first 1 of {count} layers on the CPU: 3.0 GiB on vulkan:0, 5.0 MiB on cpu");
        assert_eq!(line, expected);
    }
}
