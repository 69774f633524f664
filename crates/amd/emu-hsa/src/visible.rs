//! UUIDs of GPUs, and which GPUs are visible: `ROCR_VISIBLE_DEVICES` with the rules of AMD's
//! runtime.

use roci_emu::Chip;

/// UUID of a GPU by chip and physical index. It is the same in every process, so users can list
/// UUIDs in variables.
pub(crate) fn uuid(chip: Chip, physical_index: u32) -> String {
    // FNV-1a: short, and the first digits differ between GPUs.
    let bytes = chip.name().bytes().chain(physical_index.to_le_bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("GPU-{hash:016x}")
}

/// The GPUs that a list selects, in its order, each with its physical index.
///
/// Items are separated by commas. An item is an index in C notation, or a prefix of at least 5
/// characters that matches exactly one UUID. The first item that is invalid, matches no GPU or
/// repeats one ends the list; the items before it count. An empty list selects nothing.
pub(crate) fn visible(chips: &[Chip], list: &str) -> Vec<(u32, Chip)> {
    let ids: Vec<String> = (0..).zip(chips).map(|(index, chip)| uuid(*chip, index).to_uppercase()).collect();
    let mut selected: Vec<(u32, Chip)> = Vec::new();
    for item in list.split(',') {
        let item = item.trim().to_uppercase();
        let index = if item.starts_with('G') { by_uuid_prefix(&ids, &item) } else { number(&item) };
        let found = index.and_then(|index| Some((index, *chips.get(index as usize)?)));
        match found {
            Some(found) if !selected.contains(&found) => selected.push(found),
            _ => break,
        }
    }
    selected
}

/// Index of the only UUID with this prefix.
fn by_uuid_prefix(ids: &[String], item: &str) -> Option<u32> {
    if !(5..=20).contains(&item.len()) {
        return None;
    }
    let mut found = (0..).zip(ids).filter(|(_, id)| id.starts_with(item)).map(|(index, _)| index);
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// Parses an index as `strtol` does with base 0; the only negative one is -0.
fn number(item: &str) -> Option<u32> {
    let (negative, digits) = match item.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, item.strip_prefix('+').unwrap_or(item)),
    };
    let (digits, base) = match digits.strip_prefix("0X") {
        Some(digits) => (digits, 16),
        None if digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    if !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    u32::from_str_radix(digits, base).ok().filter(|number| !negative || *number == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_unique_and_stable() {
        let mut ids: Vec<String> = Vec::new();
        for chip in Chip::ALL {
            ids.extend((0..64).map(|index| uuid(chip, index)));
        }
        for id in &ids {
            let digits = id.strip_prefix("GPU-").expect("the prefix");
            assert!(digits.len() == 16 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()), "{id}");
        }
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
        // UUIDs must not change: users' scripts contain them.
        assert_eq!(uuid(Chip::Gfx1010, 0), "GPU-8ad12c276e8e7350");
    }

    #[test]
    fn lists_follow_the_rules_of_amds_runtime() {
        let chips = [Chip::Gfx1010, Chip::Gfx1010, Chip::Gfx1151];
        let ids: Vec<String> = (0..).zip(chips).map(|(index, chip)| uuid(chip, index)).collect();
        let start = |index: usize| &ids[index][..8];
        let cases: Vec<(String, &[u32])> = vec![
            (String::new(), &[]),
            (" ".to_owned(), &[]),
            ("0".to_owned(), &[0]),
            ("2,0".to_owned(), &[2, 0]),
            (" 1 , 2 ".to_owned(), &[1, 2]),
            ("0,1,2".to_owned(), &[0, 1, 2]),
            // C notation.
            ("0x1,02,+0".to_owned(), &[1, 2, 0]),
            ("0X2".to_owned(), &[2]),
            ("-0".to_owned(), &[0]),
            // Items that end the list.
            ("0,-1,1".to_owned(), &[0]),
            ("1,3,0".to_owned(), &[1]),
            ("1,1,0".to_owned(), &[1]),
            ("1,,0".to_owned(), &[1]),
            ("1,0,".to_owned(), &[1, 0]),
            (",1".to_owned(), &[]),
            ("1,two,0".to_owned(), &[1]),
            ("1,2nd".to_owned(), &[1]),
            ("0x,1".to_owned(), &[]),
            ("08".to_owned(), &[]),
            ("+-1".to_owned(), &[]),
            ("99999999999999999999".to_owned(), &[]),
            // UUIDs.
            (ids[2].clone(), &[2]),
            (ids[2].to_uppercase(), &[2]),
            (format!("{},{}", start(1), start(0)), &[1, 0]),
            (format!("{},1", ids[0].to_lowercase()), &[0, 1]),
            (format!("{},0", ids[0]), &[0]),
            (format!("0,{}0", ids[1]), &[0]),
            ("2,GPU-,0".to_owned(), &[2]),
            ("GPU-XX".to_owned(), &[]),
            ("GPU-ffffffffffffffff".to_owned(), &[]),
        ];
        for (list, expected) in cases {
            let selected: Vec<u32> = visible(&chips, &list).iter().map(|one| one.0).collect();
            assert_eq!(selected, expected, "{list:?}");
        }
    }

    #[test]
    fn an_ambiguous_prefix_matches_nothing() {
        let ids = ["GPU-12345".to_owned(), "GPU-12399".to_owned()];
        assert_eq!(by_uuid_prefix(&ids, "GPU-123"), None);
        assert_eq!(by_uuid_prefix(&ids, "GPU-1239"), Some(1));
        assert_eq!(by_uuid_prefix(&ids, "GPU-"), None);
    }

    #[test]
    fn chips_come_with_their_physical_index() {
        let chips = [Chip::Gfx1010, Chip::Gfx1151];
        assert_eq!(visible(&chips, "1,0"), [(1, Chip::Gfx1151), (0, Chip::Gfx1010)]);
    }
}
