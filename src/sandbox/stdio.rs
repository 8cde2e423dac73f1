//! The guest's standard streams: input that is there as a whole or comes as it comes, output that is kept up to a cap.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::io::AsyncRead;
use tokio::sync::mpsc;
use wasmtime_wasi::cli::{IsTerminal, StdinStream, StdoutStream};
use wasmtime_wasi::p2::pipe::{AsyncReadStream, MemoryInputPipe};
use wasmtime_wasi::p2::{InputStream, OutputStream, Pollable, StreamError, StreamResult};

use crate::script::whole_characters;

/// A call's standard input.
#[derive(Default)]
#[non_exhaustive]
pub enum Stdin {
    /// At end of file from the start.
    #[default]
    Closed,
    /// These bytes, then end of file.
    Bytes(Bytes),
    /// Whatever comes, when it comes. The call's timeout and cancellation also end a wait for it. Not counted against
    /// [`Limits::stdin_bytes`](crate::Limits::stdin_bytes), since it is never held as a whole.
    Stream(Box<dyn AsyncRead + Send + Sync + Unpin>),
}

impl Stdin {
    pub(crate) fn len(&self) -> usize {
        match self {
            Stdin::Bytes(bytes) => bytes.len(),
            Stdin::Closed | Stdin::Stream(_) => 0,
        }
    }
}

impl std::fmt::Debug for Stdin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stdin::Closed => "Closed",
            Stdin::Bytes(_) => "Bytes(..)",
            Stdin::Stream(_) => "Stream(..)",
        })
    }
}

/// [`Stdin`] as the WASI context takes it. The context asks for its stream once, when the guest first touches a
/// descriptor.
pub(super) struct GuestStdin(Mutex<Stdin>);

impl GuestStdin {
    pub fn new(stdin: Stdin) -> GuestStdin {
        GuestStdin(Mutex::new(stdin))
    }
}

impl IsTerminal for GuestStdin {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdinStream for GuestStdin {
    fn async_stream(&self) -> Box<dyn AsyncRead + Send + Sync> {
        match std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            Stdin::Closed => Box::new(tokio::io::empty()),
            Stdin::Bytes(bytes) => Box::new(std::io::Cursor::new(bytes)),
            Stdin::Stream(stream) => Box::new(stream),
        }
    }

    fn p2_stream(&self) -> Box<dyn InputStream> {
        match std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner)) {
            Stdin::Closed => Box::new(MemoryInputPipe::new(Bytes::new())),
            Stdin::Bytes(bytes) => Box::new(MemoryInputPipe::new(bytes)),
            Stdin::Stream(stream) => Box::new(AsyncReadStream::new(stream)),
        }
    }
}

/// Takes a stream's output as it comes, instead of the outcome.
///
/// It holds a bounded number of pieces: a reader that is slow makes the script wait, and a script that waits can still
/// time out or be cancelled. A reader that went away is no reason to stop the script; what it writes is dropped.
#[derive(Debug)]
pub struct Sink(mpsc::Sender<Bytes>);

impl Sink {
    /// A sink and its reader, with room for `pieces` pieces (2 at least) of at most 64 KiB.
    pub fn channel(pieces: usize) -> (Sink, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = mpsc::channel(pieces.max(ROOM));
        (Sink(sender), receiver)
    }
}

/// The free places a write waits for: one for itself and one for the last bytes of the stream, which come without a
/// write.
const ROOM: usize = 2;

/// One output stream: keeps up to its cap, drops the rest, and remembers that it did. The guest sees every write
/// succeed, because a write that failed would change what the script does.
#[derive(Clone)]
pub(super) struct Capture(Arc<Mutex<Captured>>);

struct Captured {
    bytes: Vec<u8>,
    /// Bytes let through, which is `bytes.len()` unless they went to the sink.
    kept: usize,
    cap: usize,
    written: u64,
    sink: Option<Sink>,
    /// The end of a character that the next write may complete. Only used with a sink.
    pending: Vec<u8>,
}

/// What is left of a stream after a call.
pub(super) struct Kept {
    pub bytes: Vec<u8>,
    pub written: u64,
    pub truncated: bool,
}

impl Capture {
    /// Keeps at most `cap` bytes, for the outcome or, when there is one, for the sink.
    pub fn new(cap: usize, sink: Option<Sink>) -> Capture {
        Capture(Arc::new(Mutex::new(Captured {
            bytes: Vec::new(),
            kept: 0,
            cap,
            written: 0,
            sink,
            pending: Vec::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Captured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes what the host says in the script's stead.
    pub fn say(&self, text: &[u8]) {
        self.lock().write(text);
    }

    /// Ends the capture.
    pub fn finish(&self) -> Kept {
        let mut captured = self.lock();
        captured.finish()
    }
}

impl Captured {
    fn write(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        let room = self.cap - self.kept;
        let taken = &bytes[..bytes.len().min(room)];
        self.kept += taken.len();
        if self.sink.is_none() {
            self.bytes.extend_from_slice(taken);
            return;
        }
        // The reader gets whole characters only. The beginning of one waits for its end, or, when the cap cuts it off,
        // is never shown.
        self.pending.extend_from_slice(taken);
        self.drain(whole_characters(&self.pending));
    }

    fn drain(&mut self, len: usize) {
        let Some(sink) = &self.sink else { return };
        if len > 0 {
            // There is a free place (see `ROOM`) unless the reader went away.
            let _ = sink.0.try_send(self.pending.drain(..len).collect());
        }
    }

    fn finish(&mut self) -> Kept {
        let truncated = self.written > self.kept as u64;
        if truncated {
            self.bytes.truncate(whole_characters(&self.bytes));
        } else {
            self.drain(self.pending.len());
        }
        Kept { bytes: std::mem::take(&mut self.bytes), written: self.written, truncated }
    }
}

impl IsTerminal for Capture {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Capture {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(AsyncCapture(self.clone()))
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

/// The most one write may bring: larger ones come in parts.
const WRITE_BYTES: usize = 64 << 10;

#[wasmtime_wasi::async_trait]
impl Pollable for Capture {
    async fn ready(&mut self) {
        let sender = self.lock().sink.as_ref().map(|sink| sink.0.clone());
        if let Some(sender) = sender {
            // An error says that the reader went away: then nothing is waited for.
            let _ = sender.reserve_many(ROOM).await;
        }
    }
}

impl OutputStream for Capture {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > WRITE_BYTES {
            return Err(StreamError::trap("a write larger than was permitted"));
        }
        self.lock().write(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        let captured = self.lock();
        let room = captured.sink.as_ref().is_none_or(|sink| sink.0.is_closed() || sink.0.capacity() >= ROOM);
        Ok(if room { WRITE_BYTES } else { 0 })
    }
}

struct AsyncCapture(Capture);

impl tokio::io::AsyncWrite for AsyncCapture {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        bytes: &[u8],
    ) -> std::task::Poll<std::io::Result<usize>> {
        self.0.lock().write(bytes);
        std::task::Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<std::io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn capture(cap: usize, writes: &[&[u8]]) -> Kept {
        let capture = Capture::new(cap, None);
        for write in writes {
            capture.lock().write(write);
        }
        capture.finish()
    }

    #[test]
    fn output_at_the_cap_is_whole_and_one_byte_more_is_cut() {
        let kept = capture(4, &[b"ab", b"cd"]);
        assert_eq!((kept.bytes.as_slice(), kept.truncated, kept.written), (&b"abcd"[..], false, 4));
        let kept = capture(4, &[b"ab", b"cde"]);
        assert_eq!((kept.bytes.as_slice(), kept.truncated, kept.written), (&b"abcd"[..], true, 5));
        let kept = capture(0, &[b"a"]);
        assert_eq!((kept.bytes.as_slice(), kept.truncated), (&b""[..], true));
    }

    #[test]
    fn a_character_at_the_cap_is_never_split() {
        for cap in 1..4 {
            let kept = capture(cap, &["😀x".as_bytes()]);
            assert_eq!((kept.bytes.as_slice(), kept.truncated), (&b""[..], true), "{cap}");
        }
        assert_eq!(capture(4, &["😀x".as_bytes()]).bytes, "😀".as_bytes());
    }

    #[test]
    fn bytes_that_are_no_text_are_kept_as_they_are() {
        assert_eq!(capture(3, &[&[0xFF, 0x80, 0x80, 1]]).bytes, [0xFF, 0x80, 0x80]);
        assert_eq!(capture(8, &[&[0xF0, 0x9F]]).bytes, [0xF0, 0x9F]);
    }

    proptest! {
        #[test]
        fn a_sink_gets_what_the_outcome_would_hold(text in "\\PC{0,40}", cap in 0..60_usize, parts in 1..9_usize) {
            let (sink, mut reader) = Sink::channel(100);
            let streamed = Capture::new(cap, Some(sink));
            let captured = Capture::new(cap, None);
            for part in text.as_bytes().chunks(parts) {
                streamed.lock().write(part);
                captured.lock().write(part);
            }
            let (streamed, captured) = (streamed.finish(), captured.finish());
            let mut received = Vec::new();
            while let Ok(piece) = reader.try_recv() {
                received.extend_from_slice(&piece);
            }
            prop_assert_eq!(&received, &captured.bytes);
            prop_assert_eq!(streamed.truncated, captured.truncated);
            prop_assert!(std::str::from_utf8(&captured.bytes).is_ok());
            prop_assert_eq!(captured.truncated, text.len() > cap);
        }
    }
}
