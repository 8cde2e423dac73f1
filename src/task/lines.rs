//! Output as it comes, taken apart into lines.

use bytes::Bytes;
use tokio::sync::mpsc;

use super::{StreamName, TaskEvent};

/// A line that is longer comes in several events.
const LONGEST_LINE: usize = 64 << 10;

/// One stream of a task: lines for whoever reads them, and the whole, up to a cap, for the result.
pub(super) struct Lines {
    name: StreamName,
    events: mpsc::Sender<TaskEvent>,
    cap: usize,
    kept: Vec<u8>,
    line: Vec<u8>,
}

impl Lines {
    pub fn new(name: StreamName, events: mpsc::Sender<TaskEvent>, cap: usize) -> Lines {
        Lines { name, events, cap, kept: Vec::new(), line: Vec::new() }
    }

    /// Reads a stream to its end. A line waits until there is room for it, and the script waits with it.
    pub async fn read(mut self, mut pieces: mpsc::Receiver<Bytes>) -> String {
        while let Some(piece) = pieces.recv().await {
            // An executor that ignores its cap does not fill our memory.
            let piece = piece.slice(..piece.len().min(self.cap - self.kept.len()));
            self.kept.extend_from_slice(&piece);
            self.take(&piece).await;
        }
        if !self.line.is_empty() {
            self.send().await;
        }
        String::from_utf8_lossy(&self.kept).into_owned()
    }

    async fn take(&mut self, piece: &[u8]) {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            match part.strip_suffix(b"\n") {
                Some(end) => {
                    self.line.extend_from_slice(end);
                    if self.line.last() == Some(&b'\r') {
                        self.line.pop();
                    }
                    self.send().await;
                }
                None => self.line.extend_from_slice(part),
            }
            while self.line.len() >= LONGEST_LINE {
                let whole = crate::script::whole_characters(&self.line[..LONGEST_LINE]);
                let rest = self.line.split_off(if whole == 0 { LONGEST_LINE } else { whole });
                self.send().await;
                self.line = rest;
            }
        }
    }

    async fn send(&mut self) {
        let text = String::from_utf8_lossy(&std::mem::take(&mut self.line)).into_owned();
        // Whoever went away is told nothing.
        let _ = self.events.send(TaskEvent::Line { stream: self.name, text }).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(cap: usize, pieces: &[&str]) -> (Vec<String>, String) {
        let (events, mut lines) = mpsc::channel(100);
        let (sender, receiver) = mpsc::channel(100);
        for piece in pieces {
            sender.send(Bytes::copy_from_slice(piece.as_bytes())).await.unwrap();
        }
        drop(sender);
        let whole = Lines::new(StreamName::Stdout, events, cap).read(receiver).await;
        let mut found = Vec::new();
        while let Some(TaskEvent::Line { text, .. }) = lines.recv().await {
            found.push(text);
        }
        (found, whole)
    }

    #[tokio::test]
    async fn lines_are_whole_however_the_pieces_are_cut() {
        let (lines, whole) = read(100, &["a", "b\nc\r", "\n\n", "d"]).await;
        assert_eq!((lines, whole.as_str()), (["ab", "c", "", "d"].map(str::to_owned).to_vec(), "ab\nc\r\n\nd"));
        assert_eq!(read(100, &[]).await, (Vec::new(), String::new()));
    }

    #[tokio::test]
    async fn a_long_line_comes_in_parts_and_what_is_beyond_the_cap_not_at_all() {
        let long = "é".repeat(LONGEST_LINE);
        let (lines, whole) = read(1 << 20, &[&long]).await;
        assert_eq!((lines.concat(), whole), (long.clone(), long));
        assert!(lines.iter().all(|line| line.len() <= LONGEST_LINE));
        assert_eq!(read(3, &["ab", "cd"]).await.1, "abc");
    }
}
