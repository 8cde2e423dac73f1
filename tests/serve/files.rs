//! Files for a script and files of a script, in base64 and as a form.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::server::{Answer, Server};

const COPY: &str = "import os\nos.makedirs('out')\ndata = open('in/data.bin', 'rb').read()\n\
                    open('out/copy.bin', 'wb').write(data * 2)\nprint(open('note.txt').read())";

#[tokio::test]
async fn files_go_in_and_come_back_in_base64() {
    let server = Server::start("");
    let body = json!({
        "runtime": "python", "source": COPY, "keepFiles": true,
        "files": [{"path": "in/data.bin", "contentBase64": "AP8="}, {"path": "note.txt", "content": "grüß"}],
    });
    let outcome = server.run(&body).await.json;
    assert_eq!(outcome["standardOutput"], "grüß\n", "{outcome}");
    // What it was given and did not change is left out.
    assert_eq!(outcome["files"], json!([{"path": "out/copy.bin", "contentBase64": "AP8A/w=="}]));
    assert_eq!(outcome.get("filesOmitted"), None);
    assert_eq!(server.files_left(), [""; 0]);
}

#[tokio::test]
async fn files_are_not_there_unless_they_are_asked_for() {
    let server = Server::start("");
    let outcome = server.outcome("sh", "echo x > left").await;
    assert_eq!(outcome.get("files"), None);
    let asked = server.run(&json!({"runtime": "sh", "source": ":", "keepFiles": true})).await.json;
    assert_eq!(asked["files"], json!([]));
}

#[tokio::test]
async fn files_beyond_the_caps_are_named() {
    let server = Server::start("[requests]\nfiles-out = 10\nfiles-out-count = 2");
    let source = "printf 12345 > a; printf 1234567 > b; printf 123 > c; : > d";
    let outcome = server.run(&json!({"runtime": "sh", "source": source, "keepFiles": true})).await.json;
    let paths: Vec<_> = outcome["files"].as_array().unwrap().iter().map(|file| file["path"].clone()).collect();
    assert_eq!(paths, ["a", "c"], "{outcome}");
    assert_eq!(outcome["filesOmitted"], json!([{"path": "b", "bytes": 7}, {"path": "d", "bytes": 0}]));
    assert_eq!(outcome["filesOmittedCount"], 2);
    let many = json!({"runtime": "sh", "source": "for i in $(seq 1 300); do : > $i; done", "keepFiles": true});
    let outcome = server.run(&many).await.json;
    assert_eq!(outcome["filesOmitted"].as_array().map(Vec::len), Some(100));
    assert_eq!(outcome["filesOmittedCount"], 298);
}

#[tokio::test]
async fn files_whose_names_clash_or_are_too_long_are_refused_by_name() {
    let server = Server::start("");
    let send = async |paths: &[&str]| {
        let files: Vec<_> = paths.iter().map(|path| json!({"path": path, "content": ""})).collect();
        server.run(&json!({"runtime": "sh", "source": ":", "files": files})).await
    };
    send(&["a", "a"]).await.is_problem(400, Some("files"), "`a` cannot be placed: it is there twice");
    send(&["a", "a/b"]).await.is_problem(400, Some("files"), "`a` is a file");
    send(&["a/b", "a"]).await.is_problem(400, Some("files"), "`a` is a file");
    send(&[&"n".repeat(300)]).await.is_problem(400, Some("files"), "300 bytes, but may have 255");
    send(&["a\0b"]).await.is_problem(400, Some("files"), "a\0b");
    assert_eq!(send(&["a", "b/a"]).await.status, 200);
}

#[tokio::test]
async fn what_a_script_leaves_is_kept_in_the_executor_s_own_folder_until_it_is_read() {
    let server = Server::start("");
    let keeps = json!({"runtime": "sh", "source": "echo x > left; sleep 1", "keepFiles": true});
    let look = async {
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        let entries = std::fs::read_dir(server.place.temporary()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
    };
    let (answer, found) = tokio::join!(server.run(&keeps), look);
    assert_eq!(answer.json["files"][0]["path"], "left");
    assert!(!found.is_empty() && found.iter().all(|name| name.starts_with("ampoule-")), "{found:?}");
    assert_eq!(server.files_left(), [""; 0]);
}

/// A form with these parts: their disposition and content.
fn form(server: &Server, parts: &[(&str, &[u8])]) -> RequestBuilder {
    let mut body = Vec::new();
    for (disposition, content) in parts {
        body.extend_from_slice(format!("--b\r\nContent-Disposition: form-data; {disposition}\r\n\r\n").as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--b--\r\n");
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    client.post(server.url("/runs")).header("content-type", "multipart/form-data; boundary=b").body(body)
}

fn request(more: Value) -> Vec<u8> {
    let mut request = json!({"runtime": "python", "source": COPY, "keepFiles": true});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request.to_string().into_bytes()
}

#[tokio::test]
async fn files_go_in_and_come_back_as_a_form() {
    let server = Server::start("");
    let parts = [
        ("name=\"request\"", request(json!({}))),
        ("name=\"file\"; filename=\"in/data.bin\"", vec![0, b'\r', b'\n', 255]),
        ("name=\"file\"; filename=\"note.txt\"", b"a note".to_vec()),
    ];
    let parts: Vec<_> = parts.iter().map(|(name, content)| (*name, content.as_slice())).collect();
    let response = form(&server, &parts).header("accept", "multipart/form-data").send().await.unwrap();
    assert_eq!(response.status(), 200);
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap().to_owned();
    let body = response.bytes().await.unwrap().to_vec();
    let file = [
        &b"filename=\"out/copy.bin\"\r\nContent-Type: application/octet-stream\r\n\r\n"[..],
        &[0, 13, 10, 255, 0, 13, 10, 255],
        b"\r\n--",
    ]
    .concat();
    assert!(body.windows(file.len()).any(|window| window == file), "{}", String::from_utf8_lossy(&body));
    let text = String::from_utf8_lossy(&body);
    assert!(text.starts_with(&format!("--{boundary}\r\nContent-Disposition: form-data; name=\"outcome\"")), "{text}");
    assert!(
        text.ends_with(&format!("--{boundary}--\r\n")) && text.contains(r#""standardOutput":"a note\n""#),
        "{text}"
    );
}

#[tokio::test]
async fn a_form_that_is_wrong_is_told_what_it_lacks() {
    let server = Server::start("");
    let send = async |parts: &[(&str, &[u8])]| Answer::of(form(&server, parts).send().await.unwrap()).await;
    send(&[("name=\"file\"; filename=\"a\"", b"")]).await.is_problem(400, Some("request"), "no part of this name");
    let json = request(json!({}));
    send(&[("name=\"request\"", &json), ("name=\"request\"", &json)]).await.is_problem(
        400,
        Some("request"),
        "more than one",
    );
    send(&[("name=\"request\"", &json), ("name=\"file\"", b"x")]).await.is_problem(400, Some("file"), "file name");
    send(&[("name=\"request\"", b"{")]).await.is_problem(400, None, "EOF");
    send(&[("name=\"request\"", &json), ("name=\"file\"; filename=\"../x\"", b"")]).await.is_problem(
        400,
        Some("files"),
        "`../x`",
    );
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let cut = client.post(server.url("/runs")).header("content-type", "multipart/form-data; boundary=b");
    let cut = cut.body("--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{").send().await.unwrap();
    Answer::of(cut).await.is_problem(400, None, "form");
    let none = client.post(server.url("/runs")).header("content-type", "multipart/form-data").body("x");
    Answer::of(none.send().await.unwrap()).await.is_problem(400, None, "form");
}
