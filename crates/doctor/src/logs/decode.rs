//! Logs as they come: other encodings, colours, bytes that are no text.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The text of a log. Colours and NULs are left out; what is no text becomes a replacement character.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest),
        _ => String::from_utf8_lossy(bytes),
    };
    if memchr2(ESCAPE, 0, text.as_bytes()).is_none() {
        return text;
    }
    Cow::Owned(without_commands(&text))
}

const ESCAPE: u8 = 0x1b;

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Leaves out what a terminal takes for a command, and NULs.
fn without_commands(text: &str) -> String {
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

/// How long the command after an escape is. It never reaches over the end of a line, whatever is written.
fn command(bytes: &[u8]) -> usize {
    let line = &bytes[..memchr(b'\n', bytes).unwrap_or(bytes.len())];
    match line.first() {
        // `[31;1m`: parameters, then one letter.
        Some(b'[') => {
            let parameters = line[1..].iter().take_while(|byte| (0x20..=0x3f).contains(*byte)).count();
            let last = line.get(1 + parameters).is_some_and(|byte| (0x40..=0x7e).contains(byte));
            1 + parameters + usize::from(last)
        }
        // A title or a link, up to a bell or the next escape.
        Some(b']') => memchr2(0x07, ESCAPE, line).map_or(1, |end| end + usize::from(line[end] == 0x07)),
        // `(B`: which letters a terminal shows.
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
        assert_eq!(decode(b"\x1b(\xff\x1b(B"), "\u{fffd}", "a command that is cut off");
    }

    #[test]
    fn colours_and_titles_are_left_out() {
        assert_eq!(decode(b"\x1b[1;31mamdgpu\x1b[0m: \x1b]0;title\x07x\x1b(By"), "amdgpu: xy");
        assert_eq!(decode(b"\x1b]8;;http://a\x1b\\link\x1b"), "link");
        assert_eq!(decode(b"\x1b[\x1b[31\nnext"), "\nnext");
    }
}
