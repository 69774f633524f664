//! Faults that a software rasterizer never produces: a lost device, failed or invalid calls, a
//! missing clock.

#![expect(unsafe_code, reason = "replaces Vulkan functions")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ash::vk;
use parking_lot::Mutex;
use roci_hal::driver::OpenRequest;
use roci_hal::profile::CommandRecord;
use roci_hal::{BufferDesc, Deadline, Device, Error, Profile, Submit};

use crate::device::VulkanDevice;
use crate::device_state::{DeviceState, Settings};
use crate::discover::cards;
use crate::instance::Instance;
use crate::queue_family::QueueChoice;
use crate::validation::ValidationHook;

/// Opens the first device; `None` if there is none.
fn open(hook: Option<&ValidationHook>) -> Option<Arc<DeviceState>> {
    let shared = || {
        let instance = Instance::new(hook)?;
        let card = cards(&instance)?.into_iter().next();
        let card = card.ok_or_else(|| crate::error::unavailable("vulkan", "there is no device"))?;
        let settings = Settings { queue: QueueChoice::Any, timeline: true, subgroup: None };
        DeviceState::open(&instance, card, "vulkan".to_owned(), settings, None)
    };
    roci_testkit::require("vulkan", shared())
}

fn device(shared: Arc<DeviceState>) -> Device {
    let uri = "vulkan".parse().expect("a URI");
    let physical = [(0, shared.card.info.clone())];
    let request = OpenRequest { uri: &uri, physical: &physical };
    Device::new(Arc::new(VulkanDevice::open(&request, shared).expect("a device")), None)
}

/// Fills a buffer and returns the result.
fn fill(device: &Device) -> Result<(), Error> {
    fill_often(device, 1, 64)
}

/// Records `times` fills and runs them.
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

/// Replaces function pointers of a device.
fn replace(
    shared: &mut Arc<DeviceState>,
    submit: Option<vk::PFN_vkQueueSubmit>,
    wait: Option<vk::PFN_vkWaitSemaphores>,
) {
    let own = Arc::get_mut(shared).expect("the only reference");
    let raw = &own.device;
    let (mut first, mut third) = (raw.fp_v1_0().clone(), raw.fp_v1_2().clone());
    first.queue_submit = submit.unwrap_or(first.queue_submit);
    third.wait_semaphores = wait.unwrap_or(third.wait_semaphores);
    own.device = ash::Device::from_parts_1_3(raw.handle(), first, raw.fp_v1_1().clone(), third, raw.fp_v1_3().clone());
}

/// A device whose calls return `VK_ERROR_DEVICE_LOST`.
fn broken(in_submit: bool) -> Option<Device> {
    let mut shared = open(None)?;
    let (submit, wait): (vk::PFN_vkQueueSubmit, vk::PFN_vkWaitSemaphores) = (lost_submit, lost_wait);
    replace(&mut shared, in_submit.then_some(submit), (!in_submit).then_some(wait));
    Some(device(shared))
}

/// The current instance's functions, and the number of calls that succeed before one fails. The
/// loader may unload a layer with its last instance, so functions of an earlier instance are
/// invalid.
static SUBMIT: Mutex<Option<vk::PFN_vkQueueSubmit>> = Mutex::new(None);
static WAIT: Mutex<Option<vk::PFN_vkWaitSemaphores>> = Mutex::new(None);
static GOOD_CALLS: AtomicUsize = AtomicUsize::new(0);

/// Whether this call must fail.
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
        // SAFETY: guaranteed by the caller.
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
        // SAFETY: guaranteed by the caller.
        Some(wait) if !is_refused() => unsafe { wait(device, info, time) },
        _ => vk::Result::ERROR_OUT_OF_HOST_MEMORY,
    }
}

/// Results of calls that fail for lack of memory. If the first submission fails, the device stays
/// usable; a later submission or a wait loses it. Running work is kept until it ends; otherwise the
/// validation layer would report it.
#[test]
fn running_work_survives_a_rejected_call() {
    let messages: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = Arc::clone(&messages);
    let hook: ValidationHook = Arc::new(move |message| note.lock().push(message.to_owned()));
    let hook = crate::has_validation().then_some(&hook);
    // With fences each submission is a separate call; with a timeline semaphore there is one call
    // for all.
    for (good_calls, in_submit, timeline) in [(0, true, true), (0, true, false), (1, true, false), (0, false, true)] {
        let Some(mut shared) = open(hook) else { return };
        *SUBMIT.lock() = Some(shared.device.fp_v1_0().queue_submit);
        *WAIT.lock() = Some(shared.device.fp_v1_2().wait_semaphores);
        let (submit, wait): (vk::PFN_vkQueueSubmit, vk::PFN_vkWaitSemaphores) = (refused_submit, refused_wait);
        replace(&mut shared, in_submit.then_some(submit), (!in_submit).then_some(wait));
        Arc::get_mut(&mut shared).expect("the only reference").settings.timeline = timeline;
        let rest = Arc::downgrade(&shared);
        let device = device(shared);
        GOOD_CALLS.store(good_calls, Ordering::Relaxed);
        // Two chunks.
        let error = fill_often(&device, 200, 1 << 20).expect_err("it is rejected");
        let error_message = error.to_string();
        assert!(error_message.contains("VK_ERROR_OUT_OF_HOST_MEMORY"), "{error_message}");
        if in_submit && good_calls == 0 {
            assert!(matches!(error, Error::Kernel { .. }) && device.loss().is_none(), "{error_message}");
            fill(&device).expect("the device stays usable");
        } else {
            assert!(matches!(error, Error::Lost(_)), "{error_message}");
        }
        drop(device);
        let deadline = Instant::now() + Duration::from_secs(60);
        while rest.strong_count() > 0 {
            assert!(Instant::now() < deadline, "the device is never closed");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(messages.lock().is_empty(), "{messages:?}");
    }
}

/// More chunks than may be in flight.
#[test]
fn long_recordings_are_submitted_in_chunks() {
    for timeline in [true, false] {
        let Some(mut shared) = open(None) else { return };
        Arc::get_mut(&mut shared).expect("the only reference").settings.timeline = timeline;
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
        let expected: Vec<u8> = (0..words as u32).flat_map(u32::to_ne_bytes).collect();
        assert!(run().expect("it runs") == expected, "a chunk was not run");
    }
}

#[test]
fn a_lost_device_names_the_command_and_stays_lost() {
    for in_submit in [true, false] {
        let Some(device) = broken(in_submit) else { return };
        for _ in 0..2 {
            let error = fill(&device).expect_err("the device is lost");
            let error_message = error.to_string();
            assert!(matches!(error, Error::Lost(_)), "{error_message}");
            for word in ["VK_ERROR_DEVICE_LOST", "\"fill\" in flight", "submission \"layer 3\""] {
                assert!(error_message.contains(word), "{error_message}");
            }
        }
        // Other devices are unaffected.
        let Some(shared) = open(None) else { return };
        fill(&self::device(shared)).expect("a fresh device works");
    }
}

/// The profile of a fill on a device whose state was changed by `change`.
fn profile_of_fill(change: impl FnOnce(&mut DeviceState)) -> Option<Result<Vec<CommandRecord>, Error>> {
    let mut shared = open(None)?;
    change(Arc::get_mut(&mut shared).expect("the only reference"));
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
fn timings_are_reported_with_and_without_calibrated_timestamps() {
    for calibrated in [true, false] {
        let reported = profile_of_fill(|shared| {
            if !calibrated {
                shared.calibrated = None;
            }
        });
        let Some(reported) = reported else { return };
        let records = reported.expect("the rasterizer has a clock");
        assert_eq!(records.len(), 2);
        assert!(records[1].start >= records[0].end, "{records:?}");
    }
    let refused = profile_of_fill(|shared| shared.timestamp_clock = None).expect("as above");
    assert!(matches!(refused, Err(Error::Unavailable { .. })), "{refused:?}");
}

#[test]
fn the_validation_layer_reports_errors() {
    let layer = if crate::has_validation() { Ok(()) } else { Err("the validation layer is not installed") };
    if roci_testkit::require("vulkan", layer).is_none() {
        return;
    }
    let messages: Arc<Mutex<Vec<String>>> = Arc::default();
    let note = Arc::clone(&messages);
    let hook: ValidationHook = Arc::new(move |message| note.lock().push(message.to_owned()));
    let Some(shared) = open(Some(&hook)) else { return };
    assert!(messages.lock().is_empty(), "{messages:?}");
    let nothing = vk::BufferCreateInfo::default().usage(vk::BufferUsageFlags::STORAGE_BUFFER);
    // SAFETY: the layer rejects it, and the rasterizer would accept it.
    if let Ok(buffer) = unsafe { shared.device.create_buffer(&nothing, None) } {
        // SAFETY: created above and unused.
        unsafe { shared.device.destroy_buffer(buffer, None) };
    }
    assert!(messages.lock().iter().any(|message| message.contains("VkBufferCreateInfo-size")), "{messages:?}");
}
