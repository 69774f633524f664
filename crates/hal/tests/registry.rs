//! How a URI becomes a device: what each form resolves to, and what a wrong one says.

use std::sync::Arc;

use roci_hal::driver::{DeviceBackend, Driver, OpenRequest, Parameter};
use roci_hal::null::NullDriver;
use roci_hal::registry::Registry;
use roci_hal::uri::{UriError, UriReason};
use roci_hal::{Device, DeviceKind, Error, Hint, PhysicalInfo};

/// Three devices: two that fit each other and one that fits neither.
fn registry() -> Registry {
    Registry::new().with(NullDriver::of(["gfx1010", "gfx1010", "gfx1030"]))
}

fn open(uri: &str) -> Result<Device, Error> {
    registry().open(&uri.parse()?, None)
}

/// The canonical URI and, by queue, the device that executes it.
fn opened(uri: &str) -> (String, Vec<usize>) {
    let device = open(uri).unwrap();
    let info = device.info();
    (info.uri.to_string(), info.queues.iter().map(|queue| queue.physical).collect())
}

/// The message and the hint of a refusal.
fn refusal(registry: &Registry, uri: &str) -> [String; 2] {
    let result = registry.parse(uri).and_then(|uri| registry.open(&uri, None));
    let Err(error) = result else { panic!("`{uri}` was opened") };
    [error.to_string(), error.hint().unwrap_or_default()]
}

const ALL: &str = "devices are: null://GPU-0000000000000000, null://GPU-0000000000000001, null://GPU-0000000000000002";

#[test]
fn one_device_by_every_name() {
    for uri in ["null:1", "null:/1", "null://1", "null://GPU-0000000000000001"] {
        assert_eq!(opened(uri), ("null://GPU-0000000000000001".into(), vec![0, 0]), "{uri}");
    }
}

#[test]
fn several_devices_form_one_with_the_queues_of_all() {
    let both = "null://GPU-0000000000000000,GPU-0000000000000001";
    for uri in ["null://0,1", "null://*", both, "null://GPU-0000000000000000,1"] {
        assert_eq!(opened(uri), (both.into(), vec![0, 0, 1, 1]), "{uri}");
    }
    assert_eq!(opened("null"), ("null".into(), vec![0, 0, 1, 1]));
    let turned = "null://GPU-0000000000000001,GPU-0000000000000000";
    assert_eq!(opened("null://1,0"), (turned.into(), vec![0, 0, 1, 1]));
}

#[test]
fn memory_of_a_logical_device_serves_all_its_queues() {
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
fn wrong_devices_say_which_exist() {
    let registry = registry();
    for (uri, reason) in [
        ("null://GPU-00000000000000ff", "there is no device `GPU-00000000000000ff`"),
        ("null://pci/0000:03:00.0", "there is no device `pci/0000:03:00.0`"),
        ("null://gfx1100", "there is no device `gfx1100`"),
        ("null://3", "there is no device 3: the last one is 2"),
        ("null://0,7", "there is no device 7: the last one is 2"),
        ("null://0,GPU-0000000000000000", "`GPU-0000000000000000` names a device that is already in the list"),
        ("null://0,2", "these devices cannot be one logical device: gfx1010 and gfx1030 do not run the same code"),
    ] {
        let advice = if reason.contains("already") { "write each device once; " } else { "" };
        assert_eq!(refusal(&registry, uri), [format!("device `{uri}`: {reason}"), format!("{advice}{ALL}")]);
    }
}

#[test]
fn wrong_forms_say_what_to_write() {
    let (comma, query) = (
        "write one comma between two devices; ",
        "write `?key=value`, each key once, with `&` between two parameters; ",
    );
    let colon = "name a device behind the colon, or leave the colon out for the driver's default; ";
    for (uri, reason, advice) in [
        ("null://0,,1", "an item of the device list is empty", comma),
        ("null://,1", "an item of the device list is empty", comma),
        ("null://0,", "the device list ends with a comma", comma),
        ("null://0,0", "`0` names a device that is already in the list", "write each device once; "),
        ("null://", "there is no device behind the colon", colon),
        ("null://*,0", "`*` means all devices and cannot stand in a list", "write `*` alone, or name the devices; "),
        ("null://zero", "`zero` is not an ordinal, a `GPU-` UUID, a `pci/` address or a chip name", ""),
        ("null://99999999999", "there is no device 99999999999: the ordinal is out of range", ""),
        ("null?", "`` is not a `key=value` parameter", query),
        ("null?a=1&a=2", "parameter `a` is given twice", query),
    ] {
        assert_eq!(refusal(&registry(), uri), [format!("device `{uri}`: {reason}"), format!("{advice}{ALL}")]);
    }
}

#[test]
fn every_form_that_must_be_refused_lists_what_exists() {
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
        let [message, hint] = refusal(&registry, uri);
        assert!(message.contains(reason), "{message}");
        assert!(hint.contains(ALL), "{uri}: {hint}");
        // The driver is known but for one, so the others' devices are no answer.
        assert_eq!(hint.ends_with(", fake"), uri == "cuda:0", "{uri}: {hint}");
    }
}

#[test]
fn without_a_registry_a_refusal_says_what_uris_look_like() {
    let error = "null://zero".parse::<roci_hal::DeviceUri>().unwrap_err();
    assert_eq!(error.hint().unwrap(), "write `driver`, `driver:0`, `driver://GPU-<uuid>` or `driver://0,1`");
}

#[test]
fn unknown_drivers_and_parameters_list_the_known_ones() {
    let registry = Registry::new().with(NullDriver::new(1)).with(described("fake", &[("Fake", DeviceKind::Cpu)]));
    let all = "drivers are: null, fake, auto; devices are: null://GPU-0000000000000000, fake";
    for (uri, message) in [
        ("cuda:0", "device `cuda://0`: there is no driver `cuda`"),
        ("", "device ``: it must start with a driver's name (lower-case letters and digits)"),
        ("cuda:zero", "device `cuda:zero`: `zero` is not an ordinal, a `GPU-` UUID, a `pci/` address or a chip name"),
    ] {
        assert_eq!(refusal(&registry, uri), [message, all]);
    }
    for (uri, hint) in [
        ("null?speed=2", "the driver takes no parameters; devices are: null://GPU-0000000000000000"),
        ("fake?speed=2", "parameters are: threads; devices are: fake"),
    ] {
        let message = format!("device `{uri}`: the driver knows no parameter `speed`");
        assert_eq!(refusal(&registry, uri), [message, hint.to_owned()]);
    }
}

#[test]
fn a_value_that_the_driver_refuses_says_what_would_do() {
    let registry = Registry::new().with(described("fake", &[("Fake", DeviceKind::Cpu)]));
    assert_eq!(
        refusal(&registry, "fake?threads=0"),
        [
            "device `fake?threads=0`: parameter `threads` is `0`, not a positive number",
            "set `threads` to a positive number, or leave it out; devices are: fake"
        ]
    );
}

#[test]
fn one_card_reached_in_two_ways_is_named_by_its_ordinal() {
    let way = |name: &str| PhysicalInfo { pci: "03:00.0".parse().ok(), ..info(name, DeviceKind::DiscreteGpu) };
    let described = Described {
        scheme: "opencl",
        devices: vec![way("by one library"), way("by another"), info("alone", DeviceKind::Software)],
        made_to_order: false,
    };
    let registry = Registry::new().with(described);
    let uris: Vec<_> = registry.enumerate()[0].uris().map(|uri| uri.to_string()).collect();
    assert_eq!(uris, ["opencl://0", "opencl://1", "opencl://2"]);
}

#[test]
fn a_card_is_found_by_its_place_on_the_bus() {
    let card = |pci: &str| PhysicalInfo { pci: pci.parse().ok(), ..info("RX 5700", DeviceKind::DiscreteGpu) };
    let devices = vec![card("0000:03:00.0"), card("0000:0a:00.0")];
    let registry = Registry::new().with(Described { scheme: "vulkan", devices, made_to_order: false });
    let (first, both) = ("vulkan://pci/0000:03:00.0", "vulkan://pci/0000:0a:00.0,pci/0000:03:00.0");
    for (uri, canonical, ordinals) in [
        (first, first, "[0]"),
        ("vulkan://pci/03:00.0", first, "[0]"),
        ("vulkan:0", first, "[0]"),
        ("vulkan://pci/0000:0a:00.0,0", both, "[1, 0]"),
    ] {
        assert_eq!(refusal(&registry, uri)[0], format!("open: {canonical} is {ordinals}, described alone"));
    }
    let known = format!("devices are: {first}, vulkan://pci/0000:0a:00.0");
    for (uri, reason) in [
        ("vulkan://pci/0000:04:00.0", "there is no device `pci/0000:04:00.0`"),
        ("vulkan://0,pci/0000:03:00.0", "`pci/0000:03:00.0` names a device that is already in the list"),
    ] {
        let advice = if reason.contains("already") { "write each device once; " } else { "" };
        assert_eq!(refusal(&registry, uri), [format!("device `{uri}`: {reason}"), format!("{advice}{known}")]);
    }
}

#[test]
fn chips_are_made_to_order_as_often_as_they_are_named() {
    let chip = |name: &str| PhysicalInfo { target: Some(name.into()), ..info(name, DeviceKind::Emulated) };
    let devices = vec![chip("gfx1010"), chip("gfx1030")];
    let registry = Registry::new().with(Described { scheme: "emu", devices, made_to_order: true });
    for (uri, canonical, ordinals) in [
        ("emu://gfx1010", "emu://gfx1010", "[0]"),
        ("emu:gfx1030", "emu://gfx1030", "[1]"),
        ("emu://gfx1010,gfx1010", "emu://gfx1010,gfx1010", "[0, 0]"),
    ] {
        assert_eq!(refusal(&registry, uri)[0], format!("open: {canonical} is {ordinals}, described alone"));
    }
    let known = "devices are: emu://gfx1010, emu://gfx1030";
    for uri in ["emu", "emu://*"] {
        let message = format!("device `{uri}`: the driver makes its devices to order and must know which chip");
        assert_eq!(refusal(&registry, uri), [message, format!("name a chip; {known}")]);
    }
    for (uri, reason) in [
        ("emu://gfx1100", "there is no device `gfx1100`"),
        (
            "emu://gfx1010,gfx1030",
            "these devices cannot be one logical device: gfx1010 and gfx1030 do not run the same code",
        ),
    ] {
        assert_eq!(refusal(&registry, uri), [format!("device `{uri}`: {reason}"), known.to_owned()]);
    }
}

#[test]
fn a_driver_without_devices_says_so() {
    let registry = Registry::new().with(NullDriver::new(0));
    let none = "the driver finds no device; `roci devices` shows why".to_owned();
    assert_eq!(
        refusal(&registry, "null:0"),
        ["device `null://0`: there is no device 0: the driver has none".to_owned(), none]
    );
    for uri in ["null", "null://*"] {
        assert_eq!(refusal(&registry, uri)[0], format!("device `{uri}` is not available: the driver finds no device"));
    }
}

/// A driver that only describes devices.
struct Described {
    scheme: &'static str,
    devices: Vec<PhysicalInfo>,
    made_to_order: bool,
}

fn info(name: &str, kind: DeviceKind) -> PhysicalInfo {
    PhysicalInfo { compute_units: 1, ..PhysicalInfo::new(name, kind) }
}

impl Driver for Described {
    fn scheme(&self) -> &'static str {
        self.scheme
    }

    fn summary(&self) -> &'static str {
        "descriptions"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[Parameter { key: "threads", help: "a number" }]
    }

    fn made_to_order(&self) -> bool {
        self.made_to_order
    }

    fn enumerate(&self) -> Result<Vec<PhysicalInfo>, Error> {
        if self.devices.is_empty() {
            let (what, reason, hint) = (self.scheme.to_owned(), "its library is absent".into(), String::new());
            return Err(Error::Unavailable { what, reason, hint });
        }
        Ok(self.devices.clone())
    }

    /// Says what would be opened: the canonical URI and the ordinals.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Arc<dyn DeviceBackend>, Error> {
        if let Some(value) = request.uri.parameter("threads").filter(|value| *value == "0") {
            let (key, value, expected) = ("threads".into(), value.into(), "a positive number".into());
            return Err(UriError::new(request.uri.to_string(), UriReason::BadValue { key, value, expected }).into());
        }
        let ordinals: Vec<_> = request.physical.iter().map(|(ordinal, _)| ordinal).collect();
        Err(Error::invalid("open", format!("{} is {ordinals:?}, described alone", request.uri)))
    }
}

fn described(scheme: &'static str, devices: &[(&str, DeviceKind)]) -> Described {
    let devices = devices.iter().map(|(name, kind)| info(name, *kind)).collect();
    Described { scheme, devices, made_to_order: false }
}

fn choice(registry: &Registry) -> (String, String) {
    let choice = registry.choose(&"auto".parse().unwrap()).unwrap();
    (choice.uri.to_string(), choice.reason)
}

#[test]
fn auto_takes_the_first_real_device_and_says_why() {
    let software = described("vulkan", &[("llvmpipe", DeviceKind::Software)]);
    let cpu = || described("cpu", &[("Ryzen", DeviceKind::Cpu)]);
    let registry = Registry::new().with(described("amdgpu", &[])).with(software).with(cpu()).with(NullDriver::new(1));
    assert_eq!(
        choice(&registry),
        (
            "cpu".into(),
            "Ryzen (CPU); amdgpu: amdgpu is not available: its library is absent; vulkan: only software rasteriser; \
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
fn auto_never_takes_what_is_not_real() {
    let emulated = described("emu", &[("gfx1010", DeviceKind::Emulated)]);
    let registry = Registry::new().with(emulated).with(NullDriver::new(2));
    assert_eq!(
        refusal(&registry, "auto"),
        [
            "a device for `auto` is not available: emu: only emulated GPU; null: only null device".to_owned(),
            "name a device with `--device`; `roci devices` lists them".to_owned()
        ]
    );
    assert_eq!(refusal(&Registry::new(), "auto")[0], "a device for `auto` is not available: no driver is built in");
}

#[test]
fn nothing_stands_behind_auto() {
    let registry = Registry::new().with(NullDriver::new(1));
    for uri in ["auto://0", "auto://*", "auto?threads=2"] {
        assert_eq!(
            refusal(&registry, uri),
            [
                format!("device `{uri}`: `auto` chooses by itself, nothing can stand behind it"),
                "write `auto` alone, or name a driver or device; drivers are: null, auto; \
                 devices are: null://GPU-0000000000000000"
                    .into()
            ]
        );
    }
}
