//! A summary sentence: which device is faster.

use super::entry::Entry;
use super::plan::Phase;

/// Compares the two fastest devices in prefill and in decode, each by the first test that several
/// devices ran; `None` if there is none.
pub fn sentence(entries: &[Entry]) -> Option<String> {
    let parts: Vec<_> = [(Phase::Prefill, "processes prompts"), (Phase::Decode, "generates")]
        .iter()
        .filter_map(|(phase, verb)| part(entries, *phase, verb))
        .collect();
    (!parts.is_empty()).then(|| format!("Here {}.", parts.join(", and ")))
}

fn part(entries: &[Entry], phase: Phase, verb: &str) -> Option<String> {
    let of = |entry: &&Entry| entry.test.phase == phase;
    let test = entries.iter().filter(of).map(|entry| entry.test).find(|test| {
        let mut devices = entries.iter().filter(|entry| entry.test == *test).map(|entry| &entry.setting.device);
        devices.next().is_some_and(|first| devices.any(|device| device != first))
    })?;
    let mut all: Vec<&Entry> = entries.iter().filter(|entry| entry.test == test).collect();
    all.sort_by(|a, b| b.samples.rate().mean.total_cmp(&a.samples.rate().mean));
    let [first, second, rest @ ..] = &all[..] else { return None };
    let (fast, slow) = (first.samples.rate(), second.samples.rate());
    let (a, b) = (&first.setting.device, &second.setting.device);
    let next = if rest.is_empty() { "" } else { ", the next" };
    // A difference within the standard deviation is a tie.
    if fast.mean - slow.mean <= fast.deviation.max(slow.deviation) {
        return Some(format!("{a} {verb} as fast as {b}{next} ({test})"));
    }
    Some(format!("{a} {verb} {:.2} times as fast as {b}{next} ({test})", fast.mean / slow.mean))
}

#[cfg(test)]
mod tests {
    use super::super::entry::example::entry;
    use super::*;

    #[test]
    fn prefill_and_decode_are_compared_separately() {
        let entries = [
            entry("cpu", Phase::Prefill, 512, &[4000]),
            entry("cpu", Phase::Decode, 128, &[1000]),
            entry("vulkan:0", Phase::Prefill, 512, &[1000]),
            entry("vulkan:0", Phase::Decode, 128, &[1500]),
        ];
        let expected = "Here vulkan:0 processes prompts 4.00 times as fast as cpu (pp512), and cpu generates 1.50 times as fast as vulkan:0 (tg128).";
        assert_eq!(sentence(&entries).as_deref(), Some(expected));
    }

    #[test]
    fn a_difference_within_the_noise_is_a_tie_and_the_third_device_is_omitted() {
        let entries = [
            entry("cpu", Phase::Decode, 8, &[1000, 1400]),
            entry("opencl:0", Phase::Decode, 8, &[9000, 9000]),
            entry("vulkan:0", Phase::Decode, 8, &[1190, 1190]),
        ];
        assert_eq!(sentence(&entries).as_deref(), Some("Here cpu generates as fast as vulkan:0, the next (tg8)."));
    }

    #[test]
    fn tests_of_only_one_device_are_not_compared() {
        let alone = [entry("cpu", Phase::Prefill, 512, &[4000]), entry("cpu", Phase::Decode, 128, &[1000])];
        assert_eq!(sentence(&alone), None);
        let interrupted = [
            entry("cpu", Phase::Prefill, 8, &[4]),
            entry("cpu", Phase::Prefill, 512, &[4000]),
            entry("vulkan:0", Phase::Prefill, 512, &[2000]),
        ];
        assert_eq!(
            sentence(&interrupted).as_deref(),
            Some("Here vulkan:0 processes prompts 2.00 times as fast as cpu (pp512).")
        );
    }
}
