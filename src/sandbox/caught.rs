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

#[cfg(test)]
mod tests {
    use super::*;

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
