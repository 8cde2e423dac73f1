//! Standard input and output, a message a line. A line that is no JSON, or is too long, is answered here: the protocol's
//! own part leaves such lines out, and whoever sent one would wait for its answer.

use std::io;
use std::sync::Arc;

use serde::de::IgnoredAny;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, DuplexStream, duplex,
};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

/// A line, at most: what the protocol's own part takes.
const LONGEST: usize = 16 << 20;

/// What is on its way between here and the protocol's own part.
const PIPE: usize = 64 << 10;

/// The two ends for the protocol's own part, and what ends when all that it wrote has gone out.
pub fn checked<R, W>(input: R, output: W) -> (DuplexStream, DuplexStream, JoinHandle<io::Result<()>>)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let ((theirs_in, ours_in), (theirs_out, ours_out)) = (duplex(PIPE), duplex(PIPE));
    let output = Arc::new(Mutex::new(output));
    tokio::spawn(read(BufReader::new(input), ours_in, output.clone()));
    (theirs_in, theirs_out, tokio::spawn(write(BufReader::new(ours_out), output)))
}

/// Passes on the lines that are JSON.
async fn read<W: AsyncWrite + Unpin>(
    mut input: impl AsyncBufRead + Unpin,
    mut to: DuplexStream,
    output: Arc<Mutex<W>>,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if (&mut input).take(LONGEST as u64).read_until(b'\n', &mut line).await? == 0 {
            return Ok(());
        }
        if line.len() == LONGEST && !line.ends_with(b"\n") {
            skip_line(&mut input).await?;
            say(&output, &format!("the line is longer than {LONGEST} bytes")).await?;
        } else if line.trim_ascii().is_empty() || serde_json::from_slice::<IgnoredAny>(&line).is_ok() {
            to.write_all(&line).await?;
        } else {
            say(&output, "the line is not JSON: send each message as one line of it").await?;
        }
    }
}

async fn skip_line(input: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let piece = input.fill_buf().await?;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let (length, is_last) = (end.map_or(piece.len(), |end| end + 1), end.is_some() || piece.is_empty());
        input.consume(length);
        if is_last {
            return Ok(());
        }
    }
}

/// The protocol's "parse error". Whose request it was cannot be known.
async fn say<W: AsyncWrite + Unpin>(output: &Mutex<W>, problem: &str) -> io::Result<()> {
    let error = serde_json::json!({ "code": -32700, "message": format!("Parse error: {problem}") });
    let answer = serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error });
    put(output, format!("{answer}\n").as_bytes()).await
}

/// Passes on whole lines, so that none has another inside.
async fn write<W: AsyncWrite + Unpin>(mut from: impl AsyncBufRead + Unpin, output: Arc<Mutex<W>>) -> io::Result<()> {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).await? > 0 {
        put(&output, &line).await?;
        line.clear();
    }
    Ok(())
}

async fn put<W: AsyncWrite + Unpin>(output: &Mutex<W>, bytes: &[u8]) -> io::Result<()> {
    let mut output = output.lock().await;
    output.write_all(bytes).await?;
    output.flush().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_that_are_json_go_through_and_others_are_answered() {
        let (input, mut agent_in) = duplex(64);
        let (output, agent_out) = duplex(1 << 20);
        let (theirs_in, mut theirs_out, written) = checked(input, output);
        let sent = tokio::spawn(async move {
            agent_in.write_all(b"{\"a\": 1}\n\n{bad\n[1, \"\xC3\xBC\"]\n").await.unwrap();
            // One that is longer than may be, and what comes after it.
            let piece = vec![b' '; 1 << 20];
            for _ in 0..17 {
                agent_in.write_all(&piece).await.unwrap();
            }
            agent_in.write_all(b"\n2\n").await.unwrap();
        });
        let mut lines = BufReader::new(theirs_in).lines();
        let mut passed = Vec::new();
        while let Some(line) = lines.next_line().await.unwrap() {
            passed.push(line);
        }
        sent.await.unwrap();
        assert_eq!(passed, ["{\"a\": 1}", "", "[1, \"ü\"]", "2"]);
        theirs_out.write_all(b"an answer\n").await.unwrap();
        drop(theirs_out);
        written.await.unwrap().unwrap();
        let mut answers = String::new();
        BufReader::new(agent_out).read_to_string(&mut answers).await.unwrap();
        let answers: Vec<_> = answers.lines().collect();
        assert_eq!((answers.len(), answers[2]), (3, "an answer"));
        assert!(answers[0].contains("-32700") && answers[0].contains("\"id\":null"), "{answers:?}");
        assert!(answers[1].contains("longer than 16777216 bytes"), "{answers:?}");
    }
}
