//! Resolution of URIs to devices, and the errors of invalid ones.

use std::sync::Arc;

use roci_base::Hint;
use roci_hal::driver::{DeviceBackend, Driver, OpenRequest, Parameter};
use roci_hal::null::NullDriver;
use roci_hal::registry::Registry;
use roci_hal::uri::{UriError, UriErrorKind};
use roci_hal::{Device, DeviceKind, Error, PhysicalInfo};

/// Three devices: two compatible ones, and one that is compatible with neither.
fn registry() -> Registry {
    Registry::new().with(NullDriver::with_targets(["gfx1010", "gfx1010", "gfx1030"]))
}

fn open(uri: &str) -> Result<Device, Error> {
    registry().open(&uri.parse()?, None)
}

/// The canonical URI, and for each queue the device that executes it.
fn opened(uri: &str) -> (String, Vec<usize>) {
    let device = open(uri).unwrap();
    let info = device.info();
    (info.uri.to_string(), info.queues.iter().map(|queue| queue.physical).collect())
}

/// Message and hint of an error.
fn error_of(registry: &Registry, uri: &str) -> [String; 2] {
    let result = registry.parse(uri).and_then(|uri| registry.open(&uri, None));
    let Err(error) = result else { panic!("`{uri}` was opened") };
    [error.to_string(), error.hint().unwrap_or_default()]
}

const ALL: &str = "devices are: null://GPU-0000000000000000, null://GPU-0000000000000001, null://GPU-0000000000000002";

#[test]
fn every_form_of_uri_names_the_device() {
    for uri in ["null:1", "null:/1", "null://1", "null://GPU-0000000000000001"] {
        assert_eq!(opened(uri), ("null://GPU-0000000000000001".into(), vec![0, 0]), "{uri}");
    }
}

#[test]
fn a_logical_device_has_the_queues_of_all_its_devices() {
    let both = "null://GPU-0000000000000000,GPU-0000000000000001";
    for uri in ["null://0,1", "null://*", both, "null://GPU-0000000000000000,1"] {
        assert_eq!(opened(uri), (both.into(), vec![0, 0, 1, 1]), "{uri}");
    }
    assert_eq!(opened("null"), ("null".into(), vec![0, 0, 1, 1]));
    let turned = "null://GPU-0000000000000001,GPU-0000000000000000";
    assert_eq!(opened("null://1,0"), (turned.into(), vec![0, 0, 1, 1]));
}

#[test]
fn all_queues_of_a_logical_device_share_memory() {
    use roci_hal::{BufferDesc, Submit};
    let device = open("null://0,1").unwrap();
    let buffer = device.allocate(BufferDesc::device(16)).unwrap();
    let time = device.semaphore(0);
    for (value, queue) in (0..4).enumerate() {
        let mut recorder = device.record();
        recorder.fill(&buffer, queue as u32).unwrap();
        let commands = recorder.finish().unwrap();
        let submit = Submit::new().wait(&time, value as u64).signal(&time, value as u64 + 1);
        device.queue(queue).unwrap().submit(&commands, submit).unwrap();
    }
    assert_eq!(device.read(buffer.range(0, 4).unwrap()).unwrap(), 3u32.to_ne_bytes());
}

#[test]
fn a_canonical_uri_opens_the_same_device_again() {
    for uri in ["null", "null://0,1", "null:2"] {
        let (canonical, _) = opened(uri);
        assert_eq!(opened(&canonical).0, canonical);
    }
}

#[test]
fn errors_of_missing_devices_list_those_that_exist() {
    let registry = registry();
    for (uri, reason) in [
        ("null://GPU-00000000000000ff", "there is no device `GPU-00000000000000ff`"),
        ("null://pci/0000:03:00.0", "there is no device `pci/0000:03:00.0`"),
        ("null://gfx1100", "there is no device `gfx1100`"),
        ("null://3", "there is no device 3: the last one is 2"),
        ("null://0,7", "there is no device 7: the last one is 2"),
        ("null://0,GPU-0000000000000000", "`GPU-0000000000000000` names a device that is already in the list"),
        ("null://0,2", "these devices cannot form one logical device: gfx1010 and gfx1030 do not run the same code"),
    ] {
        let advice = if reason.contains("already") { "write each device once; " } else { "" };
        assert_eq!(error_of(&registry, uri), [format!("device `{uri}`: {reason}"), format!("{advice}{ALL}")]);
    }
}

#[test]
fn errors_of_malformed_uris_show_the_form() {
    let (comma, query) = (
        "write one comma between two devices; ",
        "write `?key=value`, each key once, with `&` between two parameters; ",
    );
    let colon = "add a device after the colon, or omit the colon for the driver's default; ";
    for (uri, reason, advice) in [
        ("null://0,,1", "an item of the device list is empty", comma),
        ("null://,1", "an item of the device list is empty", comma),
        ("null://0,", "the device list ends with a comma", comma),
        ("null://0,0", "`0` names a device that is already in the list", "write each device once; "),
        ("null://", "no device follows the colon", colon),
        (
            "null://*,0",
            "`*` selects all devices and cannot be part of a list",
            "write `*` alone, or name the devices; ",
        ),
        ("null://zero", "`zero` is not an ordinal, a `GPU-` UUID, a `pci/` address or a chip name", ""),
        ("null://99999999999", "there is no device 99999999999: the ordinal is out of range", ""),
        ("null?", "`` is not a `key=value` parameter", query),
        ("null?a=1&a=2", "parameter `a` is given twice", query),
    ] {
        assert_eq!(error_of(&registry(), uri), [format!("device `{uri}`: {reason}"), format!("{advice}{ALL}")]);
    }
}

#[test]
fn every_rejected_form_lists_the_existing_devices() {
    let registry = registry().with(described("fake", &[("Fake", DeviceKind::Cpu)]));
    for (uri, reason) in [
        ("null://0,,1", "empty"),
        ("null://0,", "comma"),
        ("null://GPU-00000000000000ff", "there is no device `GPU-00000000000000ff`"),
        ("null://3", "there is no device 3"),
        ("null://0,0", "already in the list"),
        ("cuda:0", "there is no driver `cuda`"),
        ("null?threads=2", "no parameter `threads`"),
    ] {
        let [message, hint] = error_of(&registry, uri);
        assert!(message.contains(reason), "{message}");
        assert!(hint.contains(ALL), "{uri}: {hint}");
        // Only `cuda:0` has an unknown driver; for known drivers, other drivers' devices are not
        // listed.
        assert_eq!(hint.ends_with(", fake"), uri == "cuda:0", "{uri}: {hint}");
    }
}

#[test]
fn parse_errors_show_the_form_of_uris() {
    let error = "null://zero".parse::<roci_hal::DeviceUri>().unwrap_err();
    assert_eq!(error.hint().unwrap(), "write `driver`, `driver:0`, `driver://GPU-<uuid>` or `driver://0,1`");
}

#[test]
fn unknown_drivers_and_parameters_list_the_known_ones() {
    let registry = Registry::new().with(NullDriver::new(1)).with(described("fake", &[("Fake", DeviceKind::Cpu)]));
    let all = "drivers are: null, fake, auto; devices are: null://GPU-0000000000000000, fake";
    for (uri, message) in [
        ("cuda:0", "device `cuda://0`: there is no driver `cuda`"),
        ("", "device ``: it must start with a driver name (lower-case letters and digits)"),
        ("cuda:zero", "device `cuda:zero`: `zero` is not an ordinal, a `GPU-` UUID, a `pci/` address or a chip name"),
    ] {
        assert_eq!(error_of(&registry, uri), [message, all]);
    }
    for (uri, hint) in [
        ("null?speed=2", "the driver takes no parameters; devices are: null://GPU-0000000000000000"),
        ("fake?speed=2", "parameters are: threads; devices are: fake"),
    ] {
        let message = format!("device `{uri}`: the driver has no parameter `speed`");
        assert_eq!(error_of(&registry, uri), [message, hint.to_owned()]);
    }
}

#[test]
fn errors_of_parameter_values_list_the_valid_ones() {
    let registry = Registry::new().with(described("fake", &[("Fake", DeviceKind::Cpu)]));
    assert_eq!(
        error_of(&registry, "fake?threads=0"),
        [
            "device `fake?threads=0`: parameter `threads` is `0`, not a positive number",
            "set `threads` to a positive number, or omit it; devices are: fake"
        ]
    );
}

#[test]
fn a_card_of_two_platforms_is_named_by_its_ordinal() {
    let way = |name: &str| PhysicalInfo { pci: "03:00.0".parse().ok(), ..info(name, DeviceKind::DiscreteGpu) };
    let described = ListedDevices {
        scheme: "opencl",
        devices: vec![way("by one library"), way("by another"), info("alone", DeviceKind::Software)],
        creates_on_demand: false,
    };
    let registry = Registry::new().with(described);
    let uris: Vec<_> = registry.enumerate()[0].uris().map(|uri| uri.to_string()).collect();
    assert_eq!(uris, ["opencl://0", "opencl://1", "opencl://2"]);
}

#[test]
fn a_card_is_found_by_its_pci_address() {
    let card = |pci: &str| PhysicalInfo { pci: pci.parse().ok(), ..info("RX 5700", DeviceKind::DiscreteGpu) };
    let devices = vec![card("0000:03:00.0"), card("0000:0a:00.0")];
    let registry = Registry::new().with(ListedDevices { scheme: "vulkan", devices, creates_on_demand: false });
    let (first, both) = ("vulkan://pci/0000:03:00.0", "vulkan://pci/0000:0a:00.0,pci/0000:03:00.0");
    for (uri, canonical, ordinals) in [
        (first, first, "[0]"),
        ("vulkan://pci/03:00.0", first, "[0]"),
        ("vulkan:0", first, "[0]"),
        ("vulkan://pci/0000:0a:00.0,0", both, "[1, 0]"),
    ] {
        assert_eq!(error_of(&registry, uri)[0], format!("open: {canonical} is {ordinals}, described alone"));
    }
    let known = format!("devices are: {first}, vulkan://pci/0000:0a:00.0");
    for (uri, reason) in [
        ("vulkan://pci/0000:04:00.0", "there is no device `pci/0000:04:00.0`"),
        ("vulkan://0,pci/0000:03:00.0", "`pci/0000:03:00.0` names a device that is already in the list"),
    ] {
        let advice = if reason.contains("already") { "write each device once; " } else { "" };
        assert_eq!(error_of(&registry, uri), [format!("device `{uri}`: {reason}"), format!("{advice}{known}")]);
    }
}

#[test]
fn repeated_chip_names_create_several_devices() {
    let chip = |name: &str| PhysicalInfo { target: Some(name.into()), ..info(name, DeviceKind::Emulated) };
    let devices = vec![chip("gfx1010"), chip("gfx1030")];
    let registry = Registry::new().with(ListedDevices { scheme: "emu", devices, creates_on_demand: true });
    for (uri, canonical, ordinals) in [
        ("emu://gfx1010", "emu://gfx1010", "[0]"),
        ("emu:gfx1030", "emu://gfx1030", "[1]"),
        ("emu://gfx1010,gfx1010", "emu://gfx1010,gfx1010", "[0, 0]"),
    ] {
        assert_eq!(error_of(&registry, uri)[0], format!("open: {canonical} is {ordinals}, described alone"));
    }
    let known = "devices are: emu://gfx1010, emu://gfx1030";
    for uri in ["emu", "emu://*"] {
        let message = format!("device `{uri}`: the driver creates devices on demand and needs the name of a chip");
        assert_eq!(error_of(&registry, uri), [message, format!("name a chip; {known}")]);
    }
    for (uri, reason) in [
        ("emu://gfx1100", "there is no device `gfx1100`"),
        (
            "emu://gfx1010,gfx1030",
            "these devices cannot form one logical device: gfx1010 and gfx1030 do not run the same code",
        ),
    ] {
        assert_eq!(error_of(&registry, uri), [format!("device `{uri}`: {reason}"), known.to_owned()]);
    }
}

#[test]
fn a_driver_without_devices_is_reported() {
    let registry = Registry::new().with(NullDriver::new(0));
    let none = "the driver found no device; `roci devices` shows why".to_owned();
    assert_eq!(
        error_of(&registry, "null:0"),
        ["device `null://0`: there is no device 0: the driver has none".to_owned(), none]
    );
    for uri in ["null", "null://*"] {
        assert_eq!(error_of(&registry, uri)[0], format!("device `{uri}` is not available: the driver found no device"));
    }
}

/// A driver that only enumerates devices.
struct ListedDevices {
    scheme: &'static str,
    devices: Vec<PhysicalInfo>,
    creates_on_demand: bool,
}

fn info(name: &str, kind: DeviceKind) -> PhysicalInfo {
    PhysicalInfo { compute_units: 1, ..PhysicalInfo::new(name, kind) }
}

impl Driver for ListedDevices {
    fn scheme(&self) -> &'static str {
        self.scheme
    }

    fn summary(&self) -> &'static str {
        "descriptions"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { key: "threads", help: "a number" }]
    }

    fn creates_on_demand(&self) -> bool {
        self.creates_on_demand
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        if self.devices.is_empty() {
            let (what, reason, hint) = (self.scheme.to_owned(), "its library is absent".into(), String::new());
            return Err(Error::Unavailable { what, reason, hint });
        }
        Ok(self.devices.clone())
    }

    /// Fails with the canonical URI and the ordinals that would be opened.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        if let Some(value) = request.uri.parameter("threads").filter(|value| *value == "0") {
            let (key, value, expected) = ("threads".into(), value.into(), "a positive number".into());
            return Err(UriError::new(request.uri.to_string(), UriErrorKind::BadValue { key, value, expected }).into());
        }
        let ordinals: Vec<_> = request.physical.iter().map(|(ordinal, _)| ordinal).collect();
        Err(Error::invalid("open", format!("{} is {ordinals:?}, described alone", request.uri)))
    }
}

fn described(scheme: &'static str, devices: &[(&str, DeviceKind)]) -> ListedDevices {
    let devices = devices.iter().map(|(name, kind)| info(name, *kind)).collect();
    ListedDevices { scheme, devices, creates_on_demand: false }
}

fn choice(registry: &Registry) -> (String, String) {
    let choice = registry.choose(&"auto".parse().unwrap()).unwrap();
    (choice.uri.to_string(), choice.reason)
}

#[test]
fn auto_opens_the_first_real_device_and_gives_the_reason() {
    let software = described("vulkan", &[("llvmpipe", DeviceKind::Software)]);
    let cpu = || described("cpu", &[("Ryzen", DeviceKind::Cpu)]);
    let registry = Registry::new().with(described("amdgpu", &[])).with(software).with(cpu()).with(NullDriver::new(1));
    assert_eq!(
        choice(&registry),
        (
            "cpu".into(),
            "Ryzen (CPU); amdgpu: amdgpu is not available: its library is absent; vulkan: only software rasterizer; \
             null: only null device"
                .into()
        )
    );
    let gpus = [("APU", DeviceKind::IntegratedGpu), ("RX 5700", DeviceKind::DiscreteGpu), ("V", DeviceKind::Emulated)];
    let registry = Registry::new().with(described("vulkan", &gpus)).with(cpu());
    assert_eq!(choice(&registry), ("vulkan://1".into(), "RX 5700 (GPU)".into()));
}

#[test]
fn auto_prefers_any_gpu_to_a_cpu() {
    let cpu = described("cpu", &[("Ryzen", DeviceKind::Cpu)]);
    let registry = Registry::new().with(cpu).with(described("opencl", &[("APU", DeviceKind::IntegratedGpu)]));
    assert_eq!(choice(&registry).0, "opencl");
}

#[test]
fn auto_never_opens_emulated_devices_or_software_rasterizers() {
    let emulated = described("emu", &[("gfx1010", DeviceKind::Emulated)]);
    let registry = Registry::new().with(emulated).with(NullDriver::new(2));
    assert_eq!(
        error_of(&registry, "auto"),
        [
            "a device for `auto` is not available: emu: only emulated GPU; null: only null device".to_owned(),
            "name a device with `--device`; `roci devices` lists them".to_owned()
        ]
    );
    assert_eq!(error_of(&Registry::new(), "auto")[0], "a device for `auto` is not available: no driver is built in");
}

#[test]
fn auto_takes_no_path() {
    let registry = Registry::new().with(NullDriver::new(1));
    for uri in ["auto://0", "auto://*", "auto?threads=2"] {
        assert_eq!(
            error_of(&registry, uri),
            [
                format!("device `{uri}`: `auto` takes no device and no parameters"),
                "write `auto` alone, or name a driver or device; drivers are: null, auto; \
                 devices are: null://GPU-0000000000000000"
                    .into()
            ]
        );
    }
}
