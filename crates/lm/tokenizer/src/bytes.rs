//! GPT-2's mapping of bytes to printable characters: bytes that are printable in Latin-1 map to
//! themselves, the others to the characters from U+0100 on, in order.

/// Whether a byte maps to itself.
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
        // Always a valid character: there are only 68 of them.
        char::from_u32(next - 1).unwrap_or_default()
    })
}

/// The byte of a character; `None` if no byte maps to it.
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
    fn the_mapping_is_invertible() {
        let table = table();
        for at in 0..=255u8 {
            assert_eq!(byte(table[usize::from(at)]), Some(at));
        }
        assert_eq!((table[usize::from(b' ')], table[usize::from(b'\n')], table[usize::from(b'a')]), ('Ġ', 'Ċ', 'a'));
        assert_eq!((byte(' '), byte('\u{144}'), byte('\u{143}'), byte('▁')), (None, None, Some(0xad), None));
    }
}
