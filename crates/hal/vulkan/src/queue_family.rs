//! Choice of the queue family.

use ash::vk;
use roci_hal::Error;

/// Maximum queues of a device. A second one lets transfers overlap kernels; more gain nothing.
const QUEUES: u32 = 2;
/// A target whose compute queues hang.
const BROKEN_TARGET: &str = "gfx1013";

/// Value of `?queue=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueChoice {
    /// The preferred family.
    Any,
    /// A family with compute and graphics.
    Graphics,
    /// A family with compute and without graphics.
    Compute,
    /// The family with this index.
    Family(u32),
}

impl QueueChoice {
    /// Parses the parameter.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Error> {
        match text {
            None => Ok(Self::Any),
            Some("graphics") => Ok(Self::Graphics),
            Some("compute") => Ok(Self::Compute),
            Some(text) => text.parse().map(Self::Family).map_err(|_| {
                Error::invalid("`?queue=`", format!("`{text}` is not `graphics`, `compute` or a number"))
                    .with_hint("give a kind of queue, or the index of a queue family as listed by `vulkaninfo`")
            }),
        }
    }
}

/// Whether a family can run kernels.
pub(crate) fn computes(family: &vk::QueueFamilyProperties) -> bool {
    family.queue_count > 0 && family.queue_flags.contains(vk::QueueFlags::COMPUTE)
}

fn draws(family: &vk::QueueFamilyProperties) -> bool {
    family.queue_flags.contains(vk::QueueFlags::GRAPHICS)
}

/// User-facing description of the workaround for a target.
pub(crate) fn quirk(target: Option<&str>) -> Option<String> {
    (target == Some(BROKEN_TARGET))
        .then(|| "kernels run on the graphics queue: the compute queues of this chip hang".to_owned())
}

/// The index of the family to use, and how many of its queues.
pub(crate) fn choose(
    families: &[vk::QueueFamilyProperties],
    choice: QueueChoice,
    target: Option<&str>,
) -> Result<(u32, u32), Error> {
    let is_broken = target == Some(BROKEN_TARGET);
    let fits = |number: u32, family: &vk::QueueFamilyProperties| match choice {
        _ if !computes(family) => false,
        QueueChoice::Any => !is_broken || draws(family),
        QueueChoice::Graphics => draws(family),
        QueueChoice::Compute => !draws(family),
        QueueChoice::Family(expected) => expected == number,
    };
    // A compute-only family leaves the graphics queue to the desktop. An explicit request is
    // honored even for one that hangs.
    let found = (0u32..).zip(families).filter(|(number, family)| fits(*number, family));
    let best = found.min_by_key(|(number, family)| (choice == QueueChoice::Any && draws(family), *number));
    if let Some((number, family)) = best {
        return Ok((number, family.queue_count.min(QUEUES)));
    }
    if choice == QueueChoice::Any {
        return Err(Error::Unavailable {
            what: "a queue".to_owned(),
            reason: "the compute queues of this chip hang, and its driver has no graphics queue".to_owned(),
            hint: "`?queue=compute` uses a compute queue anyway, which may hang".to_owned(),
        });
    }
    let list: Vec<_> = (0u32..)
        .zip(families)
        .filter(|(_, family)| computes(family))
        .map(|(number, family)| format!("{number} ({})", if draws(family) { "graphics" } else { "compute" }))
        .collect();
    let error = Error::invalid("`?queue=`", format!("the device has no such queue family; it has {}", list.join(", ")));
    Err(error.with_hint("give one of those, or omit the parameter"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(queue_flags: vk::QueueFlags, queue_count: u32) -> vk::QueueFamilyProperties {
        vk::QueueFamilyProperties { queue_flags, queue_count, ..vk::QueueFamilyProperties::default() }
    }

    /// The families that RADV reports for a card.
    fn radv() -> [vk::QueueFamilyProperties; 3] {
        let transfer = vk::QueueFlags::TRANSFER;
        [
            family(vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE | transfer, 1),
            family(vk::QueueFlags::COMPUTE | transfer, 4),
            family(transfer, 1),
        ]
    }

    #[test]
    fn a_compute_only_family_is_preferred_except_where_it_hangs() {
        assert_eq!(choose(&radv(), QueueChoice::Any, Some("gfx1010")).unwrap(), (1, 2));
        assert_eq!(choose(&radv(), QueueChoice::Any, Some("gfx1013")).unwrap(), (0, 1));
        assert_eq!(choose(&radv()[..1], QueueChoice::Any, None).unwrap(), (0, 1));
        let refused = choose(&radv()[1..], QueueChoice::Any, Some("gfx1013")).unwrap_err().to_string();
        assert!(refused.contains("hang") && !refused.contains("?queue="), "{refused}");
        assert!(quirk(Some("gfx1013")).is_some() && quirk(Some("gfx1010")).is_none());
    }

    #[test]
    fn a_requested_family_is_used_or_the_error_lists_those_that_exist() {
        let choice = |text| QueueChoice::parse(Some(text));
        assert_eq!(choose(&radv(), choice("graphics").unwrap(), None).unwrap(), (0, 1));
        assert_eq!(choose(&radv(), choice("compute").unwrap(), Some("gfx1013")).unwrap(), (1, 2));
        assert_eq!(choose(&radv(), choice("1").unwrap(), None).unwrap(), (1, 2));
        let refused = choose(&radv(), choice("2").unwrap(), None).unwrap_err().to_string();
        assert!(refused.contains("0 (graphics), 1 (compute)"), "{refused}");
        assert!(choice("fast").unwrap_err().to_string().contains("`fast`"));
    }
}
