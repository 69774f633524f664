//! What a rasteriser never does by itself: a device that is lost, a clock that is missing, and a call that is wrong.

#![expect(unsafe_code, reason = "puts functions in the place of Vulkan's")]

use std::sync::Arc;

use ash::vk;
use parking_lot::Mutex;
use roci_hal::driver::OpenRequest;
use roci_hal::profile::Record;
use roci_hal::{BufferDesc, Deadline, Device, Error, Profile, Submit};

use crate::device::VulkanDevice;
use crate::discover::cards;
use crate::families::Wish;
use crate::instance::Instance;
use crate::shared::{Settings, Shared};
use crate::validation::Hook;

/// The first device; `None` where there is none.
fn open(hook: Option<&Hook>) -> Option<Arc<Shared>> {
    let shared = || {
        let instance = Instance::new(hook)?;
        let card = cards(&instance)?.into_iter().next();
        let card = card.ok_or_else(|| crate::fault::unavailable("vulkan", "there is no device"))?;
        let settings = Settings { queue: Wish::Any, timeline: true, subgroup: None };
        Shared::open(&instance, card, "vulkan".to_owned(), settings, None)
    };
    roci_testkit::require("vulkan", shared())
}

fn device(shared: Arc<Shared>) -> Device {
    let uri = "vulkan".parse().expect("a URI");
    let physical = [(0, shared.card.info.clone())];
    let request = OpenRequest { uri: &uri, physical: &physical };
    Device::new(Arc::new(VulkanDevice::open(&request, shared).expect("a device")), None)
}

/// Fills memory and gives how that ended.
fn fill(device: &Device) -> Result<(), Error> {
    let buffer = device.allocate(BufferDesc::device(64))?;
    let mut recorder = device.record();
    recorder.fill(&buffer, 1)?;
    let done = device.semaphore(0);
    let submit = Submit::new().signal(&done, 1).label("layer 3");
    device.queue(0)?.submit(&recorder.finish()?, submit)?;
    done.wait(1, Deadline::default())
}

unsafe extern "system" fn lost_submit(
    _queue: vk::Queue,
    _count: u32,
    _infos: *const vk::SubmitInfo<'_>,
    _fence: vk::Fence,
) -> vk::Result {
    vk::Result::ERROR_DEVICE_LOST
}

unsafe extern "system" fn lost_wait(
    _device: vk::Device,
    _info: *const vk::SemaphoreWaitInfo<'_>,
    _time: u64,
) -> vk::Result {
    vk::Result::ERROR_DEVICE_LOST
}

/// A device whose functions answer that it is lost.
fn broken(in_submit: bool) -> Option<Device> {
    let mut shared = open(None)?;
    let own = Arc::get_mut(&mut shared).expect("nobody else has it");
    let raw = &own.device;
    let (mut first, mut third) = (raw.fp_v1_0().clone(), raw.fp_v1_2().clone());
    if in_submit {
        first.queue_submit = lost_submit;
    } else {
        third.wait_semaphores = lost_wait;
    }
    own.device = ash::Device::from_parts_1_3(raw.handle(), first, raw.fp_v1_1().clone(), third, raw.fp_v1_3().clone());
    Some(device(shared))
}

#[test]
fn a_lost_device_names_the_command_and_stays_lost() {
    for in_submit in [true, false] {
        let Some(device) = broken(in_submit) else { return };
        for _ in 0..2 {
            let error = fill(&device).expect_err("it is lost");
            let said = error.to_string();
            assert!(matches!(error, Error::Lost(_)), "{said}");
            for word in ["VK_ERROR_DEVICE_LOST", "\"fill\" in flight", "submission \"layer 3\""] {
                assert!(said.contains(word), "{said}");
            }
        }
        // Others go on.
        let Some(shared) = open(None) else { return };
        fill(&self::device(shared)).expect("a fresh device works");
    }
}

/// What the profile of a fill tells on a device that was changed before it was opened.
fn profile_of_fill(change: impl FnOnce(&mut Shared)) -> Option<Result<Vec<Record>, Error>> {
    let mut shared = open(None)?;
    change(Arc::get_mut(&mut shared).expect("nobody else has it"));
    let device = device(shared);
    let run = || {
        let buffer = device.allocate(BufferDesc::device(1 << 20))?;
        let mut recorder = device.record();
        recorder.fill(&buffer, 1)?.barrier().fill(&buffer, 2)?;
        let (done, profile) = (device.semaphore(0), Profile::new());
        device.queue(0)?.submit(&recorder.finish()?, Submit::new().signal(&done, 1).profile(&profile))?;
        done.wait(1, Deadline::default())?;
        Ok(profile.take())
    };
    Some(run())
}

#[test]
fn times_are_told_with_and_without_a_clock_that_the_host_can_read() {
    for calibrated in [true, false] {
        let told = profile_of_fill(|shared| {
            if !calibrated {
                shared.calibrated = None;
            }
        });
        let Some(told) = told else { return };
        let records = told.expect("the rasteriser has a clock");
        assert_eq!(records.len(), 2);
        assert!(records[1].start >= records[0].end, "{records:?}");
    }
    let refused = profile_of_fill(|shared| shared.ticks = None).expect("as above");
    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
}

#[test]
fn validation_can_say_no() {
    let layer = if crate::has_validation() { Ok(()) } else { Err("the validation layer is not installed") };
    if roci_testkit::require("vulkan", layer).is_none() {
        return;
    }
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = Arc::clone(&heard);
    let hook: Hook = Arc::new(move |message| note.lock().push(message.to_owned()));
    let Some(shared) = open(Some(&hook)) else { return };
    assert!(heard.lock().is_empty(), "{heard:?}");
    let nothing = vk::BufferCreateInfo::default().usage(vk::BufferUsageFlags::STORAGE_BUFFER);
    // SAFETY: the layer refuses it, and the rasteriser would take it.
    if let Ok(buffer) = unsafe { shared.device.create_buffer(&nothing, None) } {
        // SAFETY: made just now.
        unsafe { shared.device.destroy_buffer(buffer, None) };
    }
    assert!(heard.lock().iter().any(|message| message.contains("VkBufferCreateInfo-size")), "{heard:?}");
}
