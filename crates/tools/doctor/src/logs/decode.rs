//! Decodes logs: character encodings, terminal escapes, invalid bytes.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// Decodes a log to text. Removes terminal escapes and NUL bytes; invalid bytes become replacement
/// characters.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    };
    match text {
        Cow::Borrowed(text) => plain(text),
        Cow::Owned(text) => Cow::Owned(plain(&text).into_owned()),
    }
}

/// Removes terminal escapes and NUL bytes.
pub(super) fn plain(text: &str) -> Cow<'_, str> {
    match memchr2(ESCAPE, 0, text.as_bytes()) {
        None => Cow::Borrowed(text),
        Some(_) => Cow::Owned(strip_escapes(text)),
    }
}

const ESCAPE: u8 = 0x1b;

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Removes terminal escapes and NUL bytes.
fn strip_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr2(ESCAPE, 0, rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        rest = if rest.as_bytes()[at] == 0 { behind } else { &behind[command(behind.as_bytes())..] };
    }
    out.push_str(rest);
    out
}

/// Length of the escape sequence. It never extends past the end of a line.
fn command(bytes: &[u8]) -> usize {
    let line = &bytes[..memchr(b'\n', bytes).unwrap_or(bytes.len())];
    match line.first() {
        // CSI such as `[31;1m`: parameters, then one letter.
        Some(b'[') => {
            let parameters = line[1..].iter().take_while(|byte| (0x20..=0x3f).contains(*byte)).count();
            let last = line.get(1 + parameters).is_some_and(|byte| (0x40..=0x7e).contains(byte));
            1 + parameters + usize::from(last)
        }
        // OSC (title or link), up to BEL or the next escape.
        Some(b']') => memchr2(0x07, ESCAPE, line).map_or(1, |end| end + usize::from(line[end] == 0x07)),
        // Character set selection such as `(B`.
        Some(b' '..=b'/') => 1 + usize::from(line.get(1).is_some_and(u8::is_ascii)),
        Some(byte) if (0x30..=0x7e).contains(byte) => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_encodings_are_read() {
        let text = "ring gfx_0.0.0 timeout — é\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decode(&[&[0xff, 0xfe], little.as_slice()].concat()), text);
        assert_eq!(decode(&[&[0xfe, 0xff], big.as_slice()].concat()), text);
        assert_eq!(decode(&[b"\xef\xbb\xbf", text.as_bytes()].concat()), text);
        assert_eq!(decode(b"a\0m\0d\0g\0p\0u\0"), "amdgpu", "no mark in front");
        assert_eq!(decode(b"amdgpu \xff\xfe"), "amdgpu \u{fffd}\u{fffd}");
        assert!(matches!(decode(b"plain"), Cow::Borrowed("plain")));
        assert_eq!(decode(b"\x1b(\xff\x1b(B"), "\u{fffd}", "a truncated command");
    }

    #[test]
    fn terminal_escapes_are_removed() {
        assert_eq!(decode(b"\x1b[1;31mamdgpu\x1b[0m: \x1b]0;title\x07x\x1b(By"), "amdgpu: xy");
        assert_eq!(decode(b"\x1b]8;;http://a\x1b\\link\x1b"), "link");
        assert_eq!(decode(b"\x1b[\x1b[31\nnext"), "\nnext");
    }
}
