//! Output of one call is never in another's.

use std::sync::Arc;

use ampoule::{Call, Status, Stdin};

use crate::support::{python, shell};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forty_calls_at_once_each_get_their_own_output_and_input() {
    let (python, shell) = (Arc::new(python()), Arc::new(shell()));
    for round in 0..5 {
        let calls: Vec<_> = (0..40)
            .map(|index| {
                let (python, shell) = (python.clone(), shell.clone());
                tokio::spawn(async move {
                    let word = format!("word-{round}-{index}-");
                    let call = |script: &str| {
                        Call::new(script).arguments([word.as_str()]).stdin(Stdin::Bytes(word.clone().into()))
                    };
                    let outcome = if index % 2 == 0 {
                        let script = "import sys\nfor _ in range(300): print(sys.argv[1]); print(sys.argv[1], file=sys.stderr)\nprint(input())";
                        python.try_run(call(script)).await.unwrap()
                    } else {
                        let script = "i=0; while [ $i -lt 300 ]; do echo $1; echo $1 >&2; i=$((i+1)); done; cat; echo";
                        shell.try_run(call(script)).await.unwrap()
                    };
                    assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
                    assert_eq!(outcome.stdout_text(), format!("{word}\n").repeat(301));
                    assert_eq!(outcome.stderr_text(), format!("{word}\n").repeat(300));
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
    }
}
