//! The kernel's own log, where this user may read it.

use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// One record is no longer.
const RECORD: usize = 8192;

/// All that the kernel still has, a line each.
pub(crate) fn read() -> Option<String> {
    // Without the flag the last read would wait for news.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg").ok()?;
    let mut lines = String::new();
    let mut record = [0; RECORD];
    loop {
        match file.read(&mut record) {
            Ok(0) => break,
            Ok(length) => {
                // `6,1234,5678,-;text`, with continuations below it.
                let text = String::from_utf8_lossy(&record[..length]).into_owned();
                let message = text.split_once(';').map_or(text.as_str(), |(_, message)| message);
                lines.push_str(message.lines().next().unwrap_or_default());
                lines.push('\n');
            }
            // The kernel has overwritten what would have been next.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            Err(_) => break,
        }
    }
    Some(lines)
}
