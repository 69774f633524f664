//! Which GPUs programs see: the rules of `ROCR_VISIBLE_DEVICES` as AMD's runtime has them.

use roci_emu::Chip;

use super::uuid;

/// The GPUs that a list lets through, in its order, each with its place in the machine.
///
/// Items between commas are numbers, in C's notation, or the beginnings of ids, of which 5 characters or more must be given and
/// which must be one GPU's alone. The first item that is neither, that names no GPU or one named before, ends the list; what
/// came before it counts. An empty list lets nothing through.
pub(crate) fn visible(chips: &[Chip], list: &str) -> Vec<(u32, Chip)> {
    let ids: Vec<String> = (0..).zip(chips).map(|(place, chip)| uuid(*chip, place).to_uppercase()).collect();
    let mut seen: Vec<(u32, Chip)> = Vec::new();
    for item in list.split(',') {
        let item = item.trim().to_uppercase();
        let place = if item.starts_with('G') { by_id(&ids, &item) } else { number(&item) };
        let found = place.and_then(|place| Some((place, *chips.get(place as usize)?)));
        match found {
            Some(found) if !seen.contains(&found) => seen.push(found),
            _ => break,
        }
    }
    seen
}

/// The only GPU whose id begins so.
fn by_id(ids: &[String], item: &str) -> Option<u32> {
    if !(5..=20).contains(&item.len()) {
        return None;
    }
    let mut found = (0..).zip(ids).filter(|(_, id)| id.starts_with(item)).map(|(place, _)| place);
    let first = found.next();
    first.filter(|_| found.next().is_none())
}

/// A number as `strtol` reads it with base 0; of negative ones only zero is a place.
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
    fn lists_are_read_as_the_real_runtime_reads_them() {
        let chips = [Chip::Gfx1010, Chip::Gfx1010, Chip::Gfx1151];
        let ids: Vec<String> = (0..).zip(chips).map(|(place, chip)| uuid(chip, place)).collect();
        let start = |place: usize| &ids[place][..8];
        let cases: Vec<(String, &[u32])> = vec![
            (String::new(), &[]),
            (" ".to_owned(), &[]),
            ("0".to_owned(), &[0]),
            ("2,0".to_owned(), &[2, 0]),
            (" 1 , 2 ".to_owned(), &[1, 2]),
            ("0,1,2".to_owned(), &[0, 1, 2]),
            // Notation of C.
            ("0x1,02,+0".to_owned(), &[1, 2, 0]),
            ("0X2".to_owned(), &[2]),
            ("-0".to_owned(), &[0]),
            // What ends the list.
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
            // Ids.
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
        for (list, want) in cases {
            let seen: Vec<u32> = visible(&chips, &list).iter().map(|one| one.0).collect();
            assert_eq!(seen, want, "{list:?}");
        }
    }

    #[test]
    fn what_two_ids_begin_with_names_neither() {
        let ids = ["GPU-12345".to_owned(), "GPU-12399".to_owned()];
        assert_eq!(by_id(&ids, "GPU-123"), None);
        assert_eq!(by_id(&ids, "GPU-1239"), Some(1));
        assert_eq!(by_id(&ids, "GPU-"), None);
    }

    #[test]
    fn chips_come_with_their_places() {
        let chips = [Chip::Gfx1010, Chip::Gfx1151];
        assert_eq!(visible(&chips, "1,0"), [(1, Chip::Gfx1151), (0, Chip::Gfx1010)]);
    }
}
