//! A script's standard input: ours, or a file's content.

use std::io::{self, Read};
use std::path::Path;

use ampoule::Stdin;
use tokio::runtime::Handle;

use super::{files, say};

/// Ours. Nothing of it is read before the script reads, because what it leaves is for whoever reads after it; input that
/// has ended already is said to be none, so that a shell need not expect any.
pub fn standard() -> Stdin {
    if has_ended() { Stdin::Closed } else { Stdin::Stream(Box::new(tokio::io::stdin())) }
}

/// A file's content, of which no more is read than tells that it is too long; what comes from a pipe or a device, as it
/// comes.
pub fn of_file(path: &Path, bytes_at_most: usize, runtime: &Handle) -> io::Result<Stdin> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        let (input, mut gives) = tokio::io::duplex(64 << 10);
        let path = path.to_owned();
        // Opening a pipe waits for somebody who writes to it, which is time of the call's.
        runtime.spawn(async move {
            let given = async { tokio::io::copy(&mut tokio::fs::File::open(&path).await?, &mut gives).await };
            match given.await {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    say(format_args!("the input `{}`: {error}", path.display()));
                }
                _ => {}
            }
        });
        return Ok(Stdin::Stream(Box::new(input)));
    }
    let mut bytes = Vec::new();
    let bound = (bytes_at_most as u64).saturating_add(1);
    files::open(path)?.take(bound).read_to_end(&mut bytes)?;
    Ok(Stdin::Bytes(bytes.into()))
}

/// Whether nothing more can come, as far as can be told without reading.
#[cfg(unix)]
fn has_ended() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::tell;
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    // The other end of a pipe may still be about to close it.
    const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
    let stdin = io::stdin();
    let file = stdin.as_fd().try_clone_to_owned().map(std::fs::File::from);
    let Ok(found) = file.and_then(|file| file.metadata()) else { return false };
    let kind = found.file_type();
    if kind.is_file() {
        tell(&stdin).is_ok_and(|at| at >= found.len())
    } else if kind.is_fifo() || kind.is_socket() {
        let mut wanted = [PollFd::new(&stdin, PollFlags::IN)];
        let polled = poll(&mut wanted, Some(&PATIENCE));
        let seen = wanted[0].revents();
        polled.is_ok() && seen.contains(PollFlags::HUP) && !seen.contains(PollFlags::IN)
    } else {
        let is_null = |null: std::fs::Metadata| null.rdev() == found.rdev();
        kind.is_char_device() && std::fs::metadata("/dev/null").is_ok_and(is_null)
    }
}

/// It cannot be told here.
#[cfg(not(unix))]
fn has_ended() -> bool {
    false
}
