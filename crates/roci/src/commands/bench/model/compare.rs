//! Which device is faster, in a sentence.

use super::entry::Entry;
use super::plan::Kind;

/// One sentence for prompts and written tokens, each by the first test of its kind that several devices have; `None` if there is none.
pub(super) fn sentence(entries: &[Entry]) -> Option<String> {
    let parts: Vec<_> = [(Kind::Prompt, "reads prompts"), (Kind::Written, "writes")]
        .iter()
        .filter_map(|(kind, verb)| part(entries, *kind, verb))
        .collect();
    (!parts.is_empty()).then(|| format!("Here {}.", parts.join(", and ")))
}

fn part(entries: &[Entry], kind: Kind, verb: &str) -> Option<String> {
    let of = |entry: &&Entry| entry.test.kind == kind;
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
    // Less apart than either varies by itself is not apart.
    if fast.mean - slow.mean <= fast.deviation.max(slow.deviation) {
        return Some(format!("{a} {verb} as fast as {b}{next} ({test})"));
    }
    Some(format!("{a} {verb} {:.2} times as fast as {b}{next} ({test})", fast.mean / slow.mean))
}

#[cfg(test)]
mod tests {
    use super::super::entry::played::entry;
    use super::*;

    #[test]
    fn each_kind_has_its_winner() {
        let entries = [
            entry("cpu", Kind::Prompt, 512, &[4000]),
            entry("cpu", Kind::Written, 128, &[1000]),
            entry("vulkan:0", Kind::Prompt, 512, &[1000]),
            entry("vulkan:0", Kind::Written, 128, &[1500]),
        ];
        let wanted = "Here vulkan:0 reads prompts 4.00 times as fast as cpu (pp512), and cpu writes 1.50 times as fast as vulkan:0 (tg128).";
        assert_eq!(sentence(&entries).as_deref(), Some(wanted));
    }

    #[test]
    fn noise_is_no_difference_and_the_third_is_not_named() {
        let entries = [
            entry("cpu", Kind::Written, 8, &[1000, 1400]),
            entry("opencl:0", Kind::Written, 8, &[9000, 9000]),
            entry("vulkan:0", Kind::Written, 8, &[1190, 1190]),
        ];
        assert_eq!(sentence(&entries).as_deref(), Some("Here cpu writes as fast as vulkan:0, the next (tg8)."));
    }

    #[test]
    fn what_only_one_device_did_is_not_compared() {
        let alone = [entry("cpu", Kind::Prompt, 512, &[4000]), entry("cpu", Kind::Written, 128, &[1000])];
        assert_eq!(sentence(&alone), None);
        let interrupted = [
            entry("cpu", Kind::Prompt, 8, &[4]),
            entry("cpu", Kind::Prompt, 512, &[4000]),
            entry("vulkan:0", Kind::Prompt, 512, &[2000]),
        ];
        assert_eq!(
            sentence(&interrupted).as_deref(),
            Some("Here vulkan:0 reads prompts 2.00 times as fast as cpu (pp512).")
        );
    }
}
