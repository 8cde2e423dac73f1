//! Output as it comes, and what a slow reader does to it.

use std::time::{Duration, Instant};

use ampoule::CancellationToken;
use ampoule::task::{StreamName, TaskCall, TaskEvent, TaskStatus};
use tokio_stream::StreamExt;

use crate::world::World;

#[tokio::test]
async fn row_streaming_lines_of_both_streams_come_while_it_runs_then_the_whole_result() {
    let script = "import sys, time\nprint('one', flush=True)\ntime.sleep(0.5)\nprint('two', file=sys.stderr, flush=True)\n\
                  time.sleep(0.5)\nsys.stdout.write('end')";
    let world = World::of("python", "t.py", script, "");
    let start = Instant::now();
    let mut run = world.runner().start("t", TaskCall::new(), &CancellationToken::new()).unwrap();
    let mut lines = Vec::new();
    while let Some(event) = run.next().await {
        if let TaskEvent::Line { stream, text } = event {
            lines.push((stream, text, start.elapsed()));
        }
    }
    let result = run.result().await.unwrap();
    let found: Vec<(StreamName, &str)> = lines.iter().map(|(stream, text, _)| (*stream, text.as_str())).collect();
    assert_eq!(found, [(StreamName::Stdout, "one"), (StreamName::Stderr, "two"), (StreamName::Stdout, "end")]);
    assert!(lines[1].2 - lines[0].2 > Duration::from_millis(300), "they came together");
    assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("one\nend", "two\n"));
}

#[tokio::test]
async fn a_reader_that_is_slow_makes_the_script_wait_and_its_timeout_still_counts() {
    let script = "import sys\nfor n in range(100000): print(n, flush=True)\n";
    let world = World::of("python", "t.py", script, "");
    let call = TaskCall::new().timeout(Duration::from_millis(500));
    let mut run = world.runner().start("t", call, &CancellationToken::new()).unwrap();
    assert!(run.next().await.is_some());
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let result = run.result().await.unwrap();
    assert_eq!(result.status, TaskStatus::Timeout);
    // It came no further than what is kept for the reader.
    assert!(result.stdout.lines().count() < 1000, "{} lines", result.stdout.lines().count());
}

#[tokio::test]
async fn output_beyond_the_cap_is_dropped_and_one_notice_says_so() {
    let mut world = World::of("shell", "t.sh", "yes x | head -n 5000; echo '{\"a\": 1}'", "");
    world.config.max_output_bytes = 1000;
    let result = world.run(TaskCall::new()).await;
    assert_eq!(result.status, TaskStatus::Completed);
    assert_eq!(result.stdout, format!("{}[output truncated at 1000 bytes]\n", "x\n".repeat(500)));
    assert_eq!(result.result, None);
}

#[tokio::test]
async fn dropping_the_stream_cancels_the_task() {
    let world = World::of("shell", "t.sh", "echo ready; sleep 30", "");
    let mut run = world.runner().start("t", TaskCall::new(), &CancellationToken::new()).unwrap();
    run.next().await.unwrap();
    drop(run);
    let mut entries = Vec::new();
    for _ in 0..200 {
        entries.extend(world.audit.take());
        if entries.len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(entries[1].ended.as_ref().unwrap().status, "cancelled");
}
