//! URIs of code objects, for debuggers and profilers: `file://` with a path and optionally a range
//! of the file, or `memory://` with a process and an address.

use std::fmt::Write;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// URI of bytes in memory. Bytes of a mapped file, such as code embedded in a program or library,
/// get a `file://` URI.
pub(super) fn of_memory(address: u64, size: usize) -> String {
    let mapped = std::fs::read("/proc/self/maps").ok().and_then(|maps| in_mapped_file(&maps, address, size));
    mapped.unwrap_or_else(|| of_anonymous_memory(address, size))
}

/// `memory://` URI.
pub(super) fn of_anonymous_memory(address: u64, size: usize) -> String {
    format!("memory://{}#offset={address:#x}&size={size}", std::process::id())
}

/// URI of an open file or of a range (offset, size) of it; `None` if its path is unknown.
pub(super) fn of_file(file: &File, range: Option<(u64, usize)>) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    Some(of_path(&path, range))
}

fn of_path(path: &Path, range: Option<(u64, usize)>) -> String {
    let mut uri = String::from("file://");
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            uri.push(byte.into());
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    if let Some((offset, size)) = range {
        let _ = write!(uri, "#offset={offset}&size={size}");
    }
    uri
}

/// URI of bytes that lie in one mapping of a file. `maps` has the format of `/proc/self/maps`:
/// lines of `from-to permissions offset device inode path`.
fn in_mapped_file(maps: &[u8], address: u64, size: usize) -> Option<String> {
    let end = address.checked_add(size as u64)?;
    for line in maps.split(|&byte| byte == b'\n') {
        let mut fields = line.splitn(6, |&byte| byte == b' ');
        let mut field = || std::str::from_utf8(fields.next()?).ok();
        let Some((from, to)) = field().and_then(|range| range.split_once('-')) else { continue };
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        let (Some(from), Some(to)) = (number(from), number(to)) else { continue };
        if address < from || end > to {
            continue;
        }
        let (_permissions, offset, _device, inode) = (field()?, number(field()?)?, field()?, field()?);
        let path = fields.next()?.trim_ascii_start();
        if inode == "0" || !path.starts_with(b"/") {
            return None;
        }
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        return Some(of_path(path, Some((offset + (address - from), size))));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_percent_encoded() {
        assert_eq!(of_path(Path::new("/a b/%ä-_.~"), None), "file:///a%20b/%25%C3%A4-_.~");
        assert_eq!(of_path(Path::new("/x"), Some((8192, 3000))), "file:///x#offset=8192&size=3000");
    }

    #[test]
    fn mappings_are_found_by_address() {
        let maps = b"7f00-8f00 r--p 00001000 fe:00 123     /usr/lib/lib x.so\n\
            9000-a000 rw-p 00000000 00:00 0 \n\
            a000-b000 rw-p 00000000 00:00 0                          [heap]\n";
        let file = |address, size| in_mapped_file(maps, address, size);
        assert_eq!(file(0x7f10, 16), Some("file:///usr/lib/lib%20x.so#offset=4112&size=16".to_owned()));
        assert_eq!(file(0x8ef8, 16), None, "exceeds the mapping");
        assert_eq!(file(0x9000, 16), None, "anonymous memory");
        assert_eq!(file(0xa000, 16), None, "the heap");
        assert_eq!(file(u64::MAX, 16), None, "overflow");
    }

    #[test]
    fn data_of_this_program_is_in_a_file() {
        static BYTES: [u8; 64] = [1; 64];
        let uri = of_memory(BYTES.as_ptr().addr() as u64, BYTES.len());
        assert!(uri.starts_with("file:///") && uri.ends_with("&size=64"), "{uri}");
        let heap = vec![1; 64];
        assert!(of_memory(heap.as_ptr().addr() as u64, 64).starts_with("memory://"));
    }
}
