//! GPT-2's way to write any byte as a visible character: those that print in Latin-1 stand for themselves, the others for the
//! characters from U+0100 on, in order.

/// Whether a byte stands for itself.
fn prints(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff)
}

/// The character of each byte.
pub(crate) fn table() -> [char; 256] {
    let mut next = 0x100;
    std::array::from_fn(|at| {
        let byte = at as u8;
        if prints(byte) {
            return char::from(byte);
        }
        next += 1;
        // Always a character: there are 68 of them.
        char::from_u32(next - 1).unwrap_or_default()
    })
}

/// The byte of a character, where it stands for one.
pub(crate) fn byte(character: char) -> Option<u8> {
    let code = character as u32;
    match u8::try_from(code) {
        Ok(byte) => prints(byte).then_some(byte),
        Err(_) => (0..=255u8).filter(|byte| !prints(*byte)).nth((code - 0x100) as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_characters_belong_together() {
        let table = table();
        for at in 0..=255u8 {
            assert_eq!(byte(table[usize::from(at)]), Some(at));
        }
        assert_eq!((table[usize::from(b' ')], table[usize::from(b'\n')], table[usize::from(b'a')]), ('Ġ', 'Ċ', 'a'));
        assert_eq!((byte(' '), byte('\u{144}'), byte('\u{143}'), byte('▁')), (None, None, Some(0xad), None));
    }
}
