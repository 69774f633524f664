//! What a rasteriser never does by itself: a device that is lost, a call that is refused or wrong, a clock that is missing.

#![expect(unsafe_code, reason = "puts functions in the place of Vulkan's")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

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
    fill_often(device, 1, 64)
}

/// The same so many times in one recording.
fn fill_often(device: &Device, times: u32, bytes: u64) -> Result<(), Error> {
    let buffer = device.allocate(BufferDesc::device(bytes))?;
    let mut recorder = device.record();
    for pattern in 0..times {
        recorder.fill(&buffer, pattern)?.barrier();
    }
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

/// Puts other functions in the place of a device's.
fn replace(shared: &mut Arc<Shared>, submit: Option<vk::PFN_vkQueueSubmit>, wait: Option<vk::PFN_vkWaitSemaphores>) {
    let own = Arc::get_mut(shared).expect("nobody else has it");
    let raw = &own.device;
    let (mut first, mut third) = (raw.fp_v1_0().clone(), raw.fp_v1_2().clone());
    first.queue_submit = submit.unwrap_or(first.queue_submit);
    third.wait_semaphores = wait.unwrap_or(third.wait_semaphores);
    own.device = ash::Device::from_parts_1_3(raw.handle(), first, raw.fp_v1_1().clone(), third, raw.fp_v1_3().clone());
}

/// A device whose functions answer that it is lost.
fn broken(in_submit: bool) -> Option<Device> {
    let mut shared = open(None)?;
    let (submit, wait): (vk::PFN_vkQueueSubmit, vk::PFN_vkWaitSemaphores) = (lost_submit, lost_wait);
    replace(&mut shared, in_submit.then_some(submit), (!in_submit).then_some(wait));
    Some(device(shared))
}

/// The functions of the instance at hand, and how many calls are let through before one is refused. The loader may unload a layer with its last
/// instance, so that functions of an earlier one are gone.
static SUBMIT: Mutex<Option<vk::PFN_vkQueueSubmit>> = Mutex::new(None);
static WAIT: Mutex<Option<vk::PFN_vkWaitSemaphores>> = Mutex::new(None);
static GOOD_CALLS: AtomicUsize = AtomicUsize::new(0);

/// Whether this is the call that is refused.
fn is_refused() -> bool {
    GOOD_CALLS.fetch_sub(1, Ordering::Relaxed) == 0
}

unsafe extern "system" fn refused_submit(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    let known = *SUBMIT.lock();
    match known {
        // SAFETY: what the caller promises.
        Some(submit) if !is_refused() => unsafe { submit(queue, count, infos, fence) },
        _ => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
    }
}

unsafe extern "system" fn refused_wait(
    device: vk::Device,
    info: *const vk::SemaphoreWaitInfo<'_>,
    time: u64,
) -> vk::Result {
    let known = *WAIT.lock();
    match known {
        // SAFETY: what the caller promises.
        Some(wait) if !is_refused() => unsafe { wait(device, info, time) },
        _ => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
    }
}

/// How long work ends that was refused for want of memory: a first submission leaves the device, a later one and a wait lose
/// it. What runs is kept until it ends, which the validation layer would tell otherwise.
#[test]
fn what_runs_outlives_a_call_that_is_refused() {
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = Arc::clone(&heard);
    let hook: Hook = Arc::new(move |message| note.lock().push(message.to_owned()));
    let hook = crate::has_validation().then_some(&hook);
    // By fences each submission is a call of its own, by a timeline all are one.
    for (good_calls, in_submit, timeline) in [(0, true, true), (0, true, false), (1, true, false), (0, false, true)] {
        let Some(mut shared) = open(hook) else { return };
        *SUBMIT.lock() = Some(shared.device.fp_v1_0().queue_submit);
        *WAIT.lock() = Some(shared.device.fp_v1_2().wait_semaphores);
        let (submit, wait): (vk::PFN_vkQueueSubmit, vk::PFN_vkWaitSemaphores) = (refused_submit, refused_wait);
        replace(&mut shared, in_submit.then_some(submit), (!in_submit).then_some(wait));
        Arc::get_mut(&mut shared).expect("nobody else has it").settings.timeline = timeline;
        let rest = Arc::downgrade(&shared);
        let device = device(shared);
        GOOD_CALLS.store(good_calls, Ordering::Relaxed);
        // Two pieces.
        let error = fill_often(&device, 200, 1 << 20).expect_err("it is refused");
        let said = error.to_string();
        assert!(said.contains("VK_ERROR_OUT_OF_HOST_MEMORY"), "{said}");
        if in_submit && good_calls == 0 {
            assert!(matches!(error, Error::Kernel { .. }) && device.loss().is_none(), "{said}");
            fill(&device).expect("the device goes on");
        } else {
            assert!(matches!(error, Error::Lost(_)), "{said}");
        }
        drop(device);
        let deadline = Instant::now() + Duration::from_secs(60);
        while rest.strong_count() > 0 {
            assert!(Instant::now() < deadline, "the device is never closed");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(heard.lock().is_empty(), "{heard:?}");
    }
}

/// More pieces than Vulkan may have at a time.
#[test]
fn long_recordings_are_submitted_as_there_is_room() {
    for timeline in [true, false] {
        let Some(mut shared) = open(None) else { return };
        Arc::get_mut(&mut shared).expect("nobody else has it").settings.timeline = timeline;
        let device = device(shared);
        let words = 128 * 60;
        let run = || {
            let buffer = device.allocate(BufferDesc::device(4 * words))?;
            let mut recorder = device.record();
            for word in 0..words {
                recorder.fill(buffer.range(4 * word, 4)?, word as u32)?;
            }
            let done = device.semaphore(0);
            let commands = recorder.finish()?;
            for count in 1..=2 {
                device.queue(0)?.submit(&commands, Submit::new().signal(&done, count))?;
            }
            done.wait(2, Deadline::default())?;
            device.read(&buffer)
        };
        let wanted: Vec<u8> = (0..words as u32).flat_map(u32::to_ne_bytes).collect();
        assert!(run().expect("it runs") == wanted, "a piece was not run");
    }
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
