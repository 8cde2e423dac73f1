//! Every status has its reason, and a request that is refused changes nothing for the next.

use serde_json::{Value, json};

use crate::server::{Answer, Server};

#[tokio::test]
async fn a_request_that_is_wrong_is_told_which_field() {
    let server = Server::start("");
    let run = async |body: Value| server.run(&body).await;
    run(json!({"source": "1"})).await.is_problem(400, None, "missing field `runtime`");
    run(json!({"runtime": "python", "source": 1})).await.is_problem(400, Some("source"), "expected a string");
    run(json!({"runtime": "nothing", "source": ""})).await.is_problem(403, Some("runtime"), "javascript, python, sh");
    let answer = run(json!({"runtime": "nothing", "source": ""})).await;
    assert_eq!(answer.json["allowed"], "javascript, python, sh");
    for (path, said) in [("../a", "`../a`"), ("/a", "`/a`"), ("", "relative path")] {
        let body = json!({"runtime": "sh", "source": "", "files": [{"path": path, "content": ""}]});
        run(body).await.is_problem(400, Some("files"), said);
    }
    let nul = json!({"runtime": "sh", "source": "", "arguments": ["a\u{0}b"]});
    run(nul).await.is_problem(400, Some("arguments"), "NUL");
    let small = json!({"runtime": "python", "source": "", "memoryBytes": 1000});
    run(small).await.is_problem(400, Some("memoryBytes"), "memory_bytes");
    run(json!({"runtime": "sh", "source": "", "memoryBytes": 0})).await.is_problem(400, Some("memoryBytes"), "0");
    assert_eq!(server.outcome("sh", "echo still here").await["standardOutput"], "still here\n");
}

#[tokio::test]
async fn forms_that_are_not_known_are_refused() {
    let server = Server::start("");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = r#"{"runtime": "sh", "source": ""}"#;
    let sent = client.post(server.url("/runs")).body(body).send().await.unwrap();
    Answer::of(sent).await.is_problem(415, None, "application/json");
    let text = client.post(server.url("/runs")).header("content-type", "text/plain").body(body).send().await.unwrap();
    Answer::of(text).await.is_problem(415, None, "application/json");
    let image = server.post(&json!({"runtime": "sh", "source": ""})).header("accept", "image/png");
    Answer::of(image.send().await.unwrap()).await.is_problem(406, None, "text/event-stream");
}

#[tokio::test]
async fn what_is_not_there_is_404_and_what_is_there_by_another_method_405() {
    let server = Server::start("");
    let answer = Answer::of(server.get("/nothing").send().await.unwrap()).await;
    answer.is_problem(404, None, "/nothing");
    let answer = Answer::of(server.get("/runs").send().await.unwrap()).await;
    answer.is_problem(405, None, "Allow");
    assert_eq!(answer.header("allow"), Some("POST"));
}

#[tokio::test]
async fn the_service_says_what_it_is_and_that_it_is_ready() {
    let server = Server::start("");
    let get = async |path: &str| Answer::of(server.get(path).send().await.unwrap()).await;
    assert_eq!(get("/healthz").await.json["status"], "live");
    let ready = get("/readyz").await.json;
    assert_eq!(ready["status"], "ready");
    assert_eq!(ready["images"], json!(["javascript", "python", "python-data", "sh"]));
    let runtimes = get("/runtimes").await.json;
    let names: Vec<_> = runtimes["runtimes"].as_array().unwrap().iter().map(|row| row["runtime"].clone()).collect();
    assert_eq!(names, ["javascript", "python", "sh"]);
    assert_eq!(runtimes["limits"]["timeoutSeconds"], 30.0);
    let page = server.get("/docs").send().await.unwrap();
    assert_eq!(page.headers()["content-type"], "text/html; charset=utf-8");
    assert!(page.text().await.unwrap().contains("POST /runs"));
}

#[tokio::test]
async fn a_problem_s_type_is_a_place_in_the_page() {
    let page = include_str!("../../src/serve/api/docs.html");
    let problems = include_str!("../../src/serve/problem.rs");
    let mut found = 0;
    for kind in [
        "bad-request",
        "unauthorized",
        "forbidden",
        "foreign",
        "not-found",
        "media-types",
        "slow",
        "too-large",
        "hash-mismatch",
        "busy",
        "stopping",
        "failed",
    ] {
        assert!(page.contains(&format!("id=\"{kind}\"")), "{kind}");
        found += problems.matches(&format!("\"{kind}\"")).count();
    }
    // Each constructor of a problem names one of them, and no other.
    assert_eq!(found, problems.matches("Problem::new(").count());
}

#[tokio::test]
async fn a_script_that_mentions_pandas_runs_where_it_is_there_already() {
    let server = Server::start("");
    let outcome = server.outcome("python", "import pandas as pd\nprint(pd.DataFrame({'a': [1, 2]}).a.sum())").await;
    assert_eq!(outcome["standardOutput"], "3\n", "{outcome}");
    // Importing it takes seconds where it is not.
    assert!(outcome["usage"]["wallMs"].as_f64().unwrap() < 700.0, "{outcome}");
}
