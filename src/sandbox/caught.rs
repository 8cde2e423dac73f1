//! A panic of the host in the middle of a call: an error for that call, and for no other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// What a future comes to, or what it panicked with. After that it is not polled again.
pub(super) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, String> {
    let mut future = pin!(future);
    std::future::poll_fn(|context| {
        // What the future left in the middle is dropped and not looked at: the store, its guest, the call's streams.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                Poll::Ready(Err(text.unwrap_or_else(|| "something that is no text".to_owned())))
            }
        }
    })
    .await
}

/// Does something on a thread for blocking work. The error is text: it panicked, or there was no thread to be had, and
/// the work was dropped where it was.
pub(super) async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(|| tokio::task::spawn_blocking(work))) {
        Ok(working) => working.await.map_err(|error| error.to_string()),
        Err(_) => Err("no thread can be started".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_elsewhere_comes_back_and_its_panic_is_an_error() {
        assert_eq!(elsewhere(|| 1).await, Ok(1));
        assert!(elsewhere(|| panic!("said")).await.is_err_and(|error: String| error.contains("panic")));
    }

    #[tokio::test]
    async fn a_panic_in_a_future_is_an_error_that_says_what_it_said() {
        assert_eq!(caught(async { 1 }).await, Ok(1));
        let panics = |text: Option<String>| async move {
            tokio::task::yield_now().await;
            match text {
                Some(text) => panic!("{text}"),
                None => std::panic::panic_any(7),
            }
        };
        assert_eq!(caught(panics(Some("said".into()))).await, Err("said".into()));
        assert_eq!(caught(panics(None)).await, Err("something that is no text".into()));
    }
}
