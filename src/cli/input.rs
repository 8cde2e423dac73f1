//! A script's standard input.

use std::io::{Cursor, IsTerminal};
use std::time::Duration;

use ampoule::Stdin;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

/// What is there at once is handed over as a whole up to this size: the shell is more of a shell with it.
const SMALL_BYTES: usize = 64 << 10;
/// How long "at once" is for a pipe, whose other end may still have to start.
const AT_ONCE: Duration = Duration::from_millis(10);
/// And for a file or `/dev/null`, which only a busy machine keeps waiting.
const SURELY: Duration = Duration::from_millis(200);

/// Ours: as a whole where it ends at once, else as it comes.
pub async fn standard() -> Stdin {
    let mut stdin = tokio::io::stdin();
    if std::io::stdin().is_terminal() {
        return Stdin::Stream(Box::new(stdin));
    }
    let patience = if is_pipe() { AT_ONCE } else { SURELY };
    let mut read = Vec::new();
    let mut part = vec![0; SMALL_BYTES];
    while read.len() < SMALL_BYTES {
        match timeout(patience, stdin.read(&mut part)).await {
            Ok(Ok(0)) => return Stdin::Bytes(read.into()),
            Ok(Ok(length)) => read.extend_from_slice(&part[..length]),
            // Later it may come, or fail again.
            Ok(Err(_)) | Err(_) => break,
        }
    }
    Stdin::Stream(Box::new(Cursor::new(read).chain(stdin)))
}

/// Whether something may come later.
#[cfg(unix)]
fn is_pipe() -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::FileTypeExt;
    let file = std::io::stdin().as_fd().try_clone_to_owned().map(std::fs::File::from);
    let kind = file.and_then(|file| file.metadata()).map(|metadata| metadata.file_type());
    kind.map_or(true, |kind| kind.is_fifo() || kind.is_socket())
}

#[cfg(not(unix))]
fn is_pipe() -> bool {
    true
}
