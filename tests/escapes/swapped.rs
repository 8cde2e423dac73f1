//! A call's directory that is exchanged for a link while the call runs, by somebody with the user's own rights.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use ampoule::{Call, CancellationToken, Sink, Status, Stdin};
use tokio::io::AsyncWriteExt;

use crate::outside::Outside;
use crate::support::{Runtime, python};

/// The one directory of a call that is running.
fn directory(runtime: &Runtime) -> PathBuf {
    let root = fs::read_dir(runtime.scratch.path()).unwrap().map(|entry| entry.unwrap().path());
    let root =
        root.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with("ampoule-")).unwrap();
    let inside = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    inside.into_iter().find(|path| path.is_dir()).unwrap()
}

#[tokio::test]
async fn a_directory_that_becomes_a_link_while_it_is_open_leads_nowhere_and_its_target_is_not_emptied() {
    for keep in [false, true] {
        let python = python();
        let outside = Outside::of(&python);
        let kept = tempfile::tempdir().unwrap();
        let (mut input, stdin) = tokio::io::duplex(64);
        let (sink, mut output) = Sink::channel(8);
        let script = "
import os
open('before', 'w').close()
print('ready', flush=True)
input()
open('after', 'w').write('x')
os.mkdir('d')
print(sorted(os.listdir()))
";
        let mut call = Call::new(script).stdin(Stdin::Stream(Box::new(stdin)));
        call.stdout = Some(sink);
        call.keep = keep.then(|| kept.path().join("kept"));
        let cancel = CancellationToken::new();
        let swap = async {
            assert_eq!(output.recv().await.unwrap(), "ready\n");
            let place = directory(&python);
            let aside = place.with_file_name("aside");
            fs::rename(&place, &aside).unwrap();
            std::os::unix::fs::symlink(outside.path("folder"), &place).unwrap();
            input.write_all(b"\n").await.unwrap();
            let said = output.recv().await.unwrap();
            (place, aside, said)
        };
        let (outcome, (place, aside, said)) = tokio::join!(python.call(call, &cancel), swap);
        assert_eq!(said, "['after', 'before', 'd']\n");
        assert!(aside.join("after").exists(), "what was open is what is written to");
        if let Ok(outcome) = outcome {
            assert_eq!(outcome.status, Status::Exited(0));
        }
        assert!(!kept.path().join("kept/secret").exists());
        outside.is_as_it_was();
        // What the link leads to was not touched; the link itself may be gone.
        if place.is_symlink() {
            fs::remove_file(&place).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
        let next = python.run("import os; print(os.listdir())", |_| {}).await;
        assert_eq!(next.stdout_text(), "[]\n");
    }
}
