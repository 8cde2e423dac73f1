//! A connection whose client must take what it is sent: one that takes nothing of an answer for some time is given up,
//! so that answers which nobody reads do not stay in memory. Only a write that is blocked counts: a stream that is open
//! for what may come waits as long as it likes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

pub(super) struct Patient<S> {
    stream: S,
    most: Duration,
    /// There while a write is blocked.
    until: Option<Pin<Box<Sleep>>>,
}

impl<S> Patient<S> {
    pub fn new(stream: S, most: Duration) -> Patient<S> {
        Patient { stream, most, until: None }
    }

    /// What came of a write: when it is blocked, and for how long it may be.
    fn timed<T>(&mut self, result: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.until = None;
            return result;
        }
        let most = self.most;
        let until = self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + most)));
        ready!(until.as_mut().poll(context));
        let problem = format!("the client took nothing of an answer for {most:?}, which is `requests.write-time`");
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, problem)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.timed(result, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.timed(result, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Sockets hold nothing back: this says nothing about what was taken, and must not stop the clock.
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.stream).poll_shutdown(context);
        self.timed(result, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const TIME: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn a_write_that_nobody_takes_fails_and_one_that_is_taken_slowly_does_not() {
        let (near, mut far) = duplex(4);
        let mut stream = Patient::new(near, TIME);
        let reads = tokio::spawn(async move {
            for _ in 0..4 {
                tokio::time::sleep(TIME / 2).await;
                far.read_exact(&mut [0; 4]).await.unwrap();
            }
            far
        });
        stream.write_all(&[0; 20]).await.unwrap();
        let _far = reads.await.unwrap();
        let error = stream.write_all(&[0; 20]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("200ms") && error.to_string().contains("write-time"), "{error}");
    }

    #[tokio::test]
    async fn a_stream_that_writes_nothing_for_long_is_not_given_up() {
        let (near, mut far) = duplex(4);
        let mut stream = Patient::new(near, TIME);
        stream.write_all(&[1; 4]).await.unwrap();
        let idle = tokio::time::timeout(TIME * 2, stream.read(&mut [0; 1])).await;
        assert!(idle.is_err());
        far.read_exact(&mut [0; 4]).await.unwrap();
        stream.write_all(&[2; 4]).await.unwrap();
    }
}
