//! Reads the kernel log from `/dev/kmsg`.

use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;

/// Maximum length of a record, in bytes.
const RECORD: usize = 8192;

/// All records that the kernel still has, one per line; `None` without permission.
pub(crate) fn read() -> Option<String> {
    // Without this flag the last read blocks until the next message.
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut file = std::fs::OpenOptions::new().read(true).custom_flags(flags).open("/dev/kmsg").ok()?;
    let mut lines = String::new();
    let mut record = [0; RECORD];
    loop {
        match file.read(&mut record) {
            Ok(0) => break,
            Ok(length) => {
                // Format: `6,1234,5678,-;text`, followed by continuation lines.
                let text = String::from_utf8_lossy(&record[..length]).into_owned();
                let message = text.split_once(';').map_or(text.as_str(), |(_, message)| message);
                lines.push_str(message.lines().next().unwrap_or_default());
                lines.push('\n');
            }
            // The kernel overwrote the next record.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            Err(_) => break,
        }
    }
    Some(lines)
}
