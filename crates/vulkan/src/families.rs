//! Which queues a device is used through.

use ash::vk;
use roci_hal::Error;

/// Queues of a device at most; one more lets transfers run beside kernels, and that is all that is gained.
const QUEUES: u32 = 2;
/// The chip whose compute queues hang.
const BROKEN: &str = "gfx1013";

/// What `?queue=` may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The best there is.
    Any,
    /// A family that computes and draws.
    Graphics,
    /// A family that computes and does not draw.
    Compute,
    /// The family of this number.
    Family(u32),
}

impl Wish {
    /// Reads the parameter.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Error> {
        match text {
            None => Ok(Self::Any),
            Some("graphics") => Ok(Self::Graphics),
            Some("compute") => Ok(Self::Compute),
            Some(text) => text.parse().map(Self::Family).map_err(|_| {
                Error::invalid("`?queue=`", format!("`{text}` is neither `graphics` nor `compute` nor a number"))
                    .hinted("name a kind of queue, or a family by its number as `vulkaninfo` lists it")
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

/// What the driver does otherwise on a chip, for people.
pub(crate) fn quirk(target: Option<&str>) -> Option<String> {
    (target == Some(BROKEN))
        .then(|| "kernels run on the graphics queue: the compute queues of this chip hang".to_owned())
}

/// The family to use, by its number, and how many of its queues.
pub(crate) fn choose(
    families: &[vk::QueueFamilyProperties],
    wish: Wish,
    target: Option<&str>,
) -> Result<(u32, u32), Error> {
    let is_broken = target == Some(BROKEN);
    let fits = |number: u32, family: &vk::QueueFamilyProperties| match wish {
        _ if !computes(family) => false,
        Wish::Any => !is_broken || draws(family),
        Wish::Graphics => draws(family),
        Wish::Compute => !draws(family),
        Wish::Family(wanted) => wanted == number,
    };
    // One of its own leaves the desktop its queue. A wish for one that hangs is granted: it was asked for by name.
    let found = (0u32..).zip(families).filter(|(number, family)| fits(*number, family));
    let best = found.min_by_key(|(number, family)| (wish == Wish::Any && draws(family), *number));
    if let Some((number, family)) = best {
        return Ok((number, family.queue_count.min(QUEUES)));
    }
    if wish == Wish::Any {
        return Err(Error::Unavailable {
            what: "a queue".to_owned(),
            reason: "the compute queues of this chip hang, and its driver shows no queue that draws".to_owned(),
            hint: "`?queue=compute` takes one that may hang".to_owned(),
        });
    }
    let list: Vec<_> = (0u32..)
        .zip(families)
        .filter(|(_, family)| computes(family))
        .map(|(number, family)| format!("{number} ({})", if draws(family) { "graphics" } else { "compute" }))
        .collect();
    let error = Error::invalid("`?queue=`", format!("the device has no such queue; it has {}", list.join(", ")));
    Err(error.hinted("name one of those, or leave the choice to the driver"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(queue_flags: vk::QueueFlags, queue_count: u32) -> vk::QueueFamilyProperties {
        vk::QueueFamilyProperties { queue_flags, queue_count, ..vk::QueueFamilyProperties::default() }
    }

    /// As RADV shows a card.
    fn radv() -> [vk::QueueFamilyProperties; 3] {
        let transfer = vk::QueueFlags::TRANSFER;
        [
            family(vk::QueueFlags::GRAPHICS | vk::QueueFlags::COMPUTE | transfer, 1),
            family(vk::QueueFlags::COMPUTE | transfer, 4),
            family(transfer, 1),
        ]
    }

    #[test]
    fn a_family_of_its_own_is_taken_except_on_the_chip_where_it_hangs() {
        assert_eq!(choose(&radv(), Wish::Any, Some("gfx1010")).unwrap(), (1, 2));
        assert_eq!(choose(&radv(), Wish::Any, Some("gfx1013")).unwrap(), (0, 1));
        assert_eq!(choose(&radv()[..1], Wish::Any, None).unwrap(), (0, 1));
        let refused = choose(&radv()[1..], Wish::Any, Some("gfx1013")).unwrap_err().to_string();
        assert!(refused.contains("hang") && !refused.contains("?queue="), "{refused}");
        assert!(quirk(Some("gfx1013")).is_some() && quirk(Some("gfx1010")).is_none());
    }

    #[test]
    fn a_wish_is_granted_or_refused_with_what_exists() {
        let wish = |text| Wish::parse(Some(text));
        assert_eq!(choose(&radv(), wish("graphics").unwrap(), None).unwrap(), (0, 1));
        assert_eq!(choose(&radv(), wish("compute").unwrap(), Some("gfx1013")).unwrap(), (1, 2));
        assert_eq!(choose(&radv(), wish("1").unwrap(), None).unwrap(), (1, 2));
        let refused = choose(&radv(), wish("2").unwrap(), None).unwrap_err().to_string();
        assert!(refused.contains("0 (graphics), 1 (compute)"), "{refused}");
        assert!(wish("fast").unwrap_err().to_string().contains("`fast`"));
    }
}
