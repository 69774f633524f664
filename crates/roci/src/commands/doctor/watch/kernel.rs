//! Follows the kernel log or a file, from now on.

use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::{FILE, KERNEL, Sender};

/// How often new text is looked for.
const INTERVAL: Duration = Duration::from_millis(100);
/// Bytes that are read at once; a record of the kernel is smaller.
const PIECE: usize = 64 << 10;

/// A log that is followed until this is dropped.
pub(super) struct Followed {
    name: String,
    /// `journalctl`, where the log itself cannot be read.
    child: Option<Child>,
}

impl Followed {
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Follows a file, or the kernel log if none is given.
pub(super) fn follow(file: Option<&Path>, to: Sender) -> Result<Followed, Error> {
    match file {
        Some(path) => follow_file(path, to),
        None => follow_kernel(&to).or_else(|error| follow_journal(to).map_err(|_| error)),
    }
}

fn follow_kernel(to: &Sender) -> Result<Followed, Error> {
    let path = "/dev/kmsg";
    let flags = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let mut log = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    log.seek(SeekFrom::End(0))?;
    let to = to.clone();
    std::thread::spawn(move || {
        let mut record = vec![0; PIECE];
        loop {
            match log.read(&mut record) {
                Ok(0) => return,
                Ok(length) => {
                    // Format: `6,1234,5678,-;text`, followed by continuation lines.
                    let text = &record[..length];
                    let start = memchr(text, b';').map_or(0, |at| at + 1);
                    let end = memchr(&text[start..], b'\n').map_or(length, |end| start + end);
                    if !to.send(KERNEL, &[&text[start..end], b"\n"].concat()) {
                        return;
                    }
                }
                // The kernel overwrote the next record.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(INTERVAL),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    Ok(Followed { name: path.to_owned(), child: None })
}

fn memchr(bytes: &[u8], byte: u8) -> Option<usize> {
    bytes.iter().position(|one| *one == byte)
}

/// Members of some groups may read the journal, but not the kernel's own log.
fn follow_journal(to: Sender) -> Result<Followed, Error> {
    let mut command = Command::new("journalctl");
    command.args(["--dmesg", "--follow", "--lines=0", "--output=cat", "--quiet"]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    // Without permission it ends at once.
    std::thread::sleep(INTERVAL);
    if child.try_wait()?.is_some() {
        return Err(Error::from(ErrorKind::PermissionDenied));
    }
    if let Some(mut output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut piece = vec![0; PIECE];
            while let Ok(length @ 1..) = output.read(&mut piece) {
                if !to.send(KERNEL, &piece[..length]) {
                    return;
                }
            }
        });
    }
    Ok(Followed { name: "the kernel log by journalctl".to_owned(), child: Some(child) })
}

/// Follows what is appended to a file. A file that is replaced or made empty is read from its start.
fn follow_file(path: &Path, to: Sender) -> Result<Followed, Error> {
    let kind = fs::metadata(path)?.file_type();
    if kind.is_dir() {
        return Err(Error::from(ErrorKind::IsADirectory));
    }
    let is_file = kind.is_file();
    // A pipe has no end to start from, and opening it waits for the writer.
    let (owned, is_pipe): (PathBuf, bool) = (path.to_owned(), kind.is_fifo());
    let opened = if is_pipe { None } else { Some(open_at_end(path, is_file)?) };
    std::thread::spawn(move || {
        let Some(mut file) = opened.or_else(|| File::open(&owned).ok()) else { return };
        let mut piece = vec![0; PIECE];
        loop {
            match file.read(&mut piece) {
                Ok(0) if !is_file => return,
                Ok(0) => {
                    std::thread::sleep(INTERVAL);
                    if let Some(new) = replaced(&owned, &mut file) {
                        file = new;
                    }
                }
                Ok(length) => {
                    if !to.send(FILE, &piece[..length]) {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    });
    Ok(Followed { name: format!("`{}`", path.display()), child: None })
}

fn open_at_end(path: &Path, is_file: bool) -> Result<File, Error> {
    let mut file = File::open(path)?;
    if is_file {
        file.seek(SeekFrom::End(0))?;
    }
    Ok(file)
}

/// The file that has taken the place of this one. A file that became shorter starts anew.
fn replaced(path: &Path, file: &mut File) -> Option<File> {
    let (now, own) = (fs::metadata(path).ok()?, file.metadata().ok()?);
    if (now.dev(), now.ino()) != (own.dev(), own.ino()) && now.is_file() {
        return File::open(path).ok();
    }
    if own.len() < file.stream_position().ok()? {
        file.seek(SeekFrom::Start(0)).ok()?;
    }
    None
}
