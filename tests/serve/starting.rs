//! Starting: what is wrong is said at once, with the way out.

use std::net::TcpListener;

use crate::program::{Place, Ran};

/// `ampoule serve` with these words, which must fail.
#[track_caller]
fn fails(place: &Place, words: &[&str], said: &[&str]) {
    let words = ["serve"].iter().chain(words);
    place.end(&mut place.ampoule(words)).fails(125, said);
}

fn check(place: &Place, config: &str) -> Ran {
    place.write("ampoule.toml", config);
    place.end(&mut place.ampoule(["serve", "--check", "--config", "ampoule.toml"]))
}

#[test]
fn a_port_in_use_is_named() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    fails(&place, &["--listen", &address], &[&address, "in use", "--listen"]);
}

#[test]
fn beyond_this_machine_a_token_is_needed() {
    let place = Place::new();
    fails(&place, &["--listen", "0.0.0.0:0"], &["http://0.0.0.0:0", "no token", "--new-token", "127.0.0.1"]);
}

#[cfg(unix)]
#[test]
fn a_token_file_that_others_may_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.write("token", "0123456789012345678901234567890123456789");
    std::fs::set_permissions(place.path("token"), std::fs::Permissions::from_mode(0o644)).unwrap();
    fails(&place, &["--token-file", "token"], &["`token`", "mode 644", "chmod 600"]);
    fails(&place, &["--token-file", "missing"], &["`missing`", "No such file"]);
}

#[test]
fn a_configuration_is_checked_without_serving() {
    let place = Place::new();
    let sound = check(&place, "[runtimes]\n'python-3.15' = 'python'\nsh = 'sh'");
    sound.prints("the configuration is sound: it allows python-3.15, sh, and no token is needed\n");
    let small = check(&place, "[tenants.small]\nmemory = '1MiB'");
    small.fails(125, &["the tenant `small`", "1048576", "raise it", "allow-list"]);
    check(&place, "[limits]\nmemory = '1MiB'").fails(125, &["all tenants", "1048576"]);
    for (config, said) in [
        ("lisen = []", "lisen"),
        ("[limits]\ntimeout = 'soon'", "soon"),
        ("[runtimes]\nruby = 'ruby'", "ruby"),
        ("x", "line 1"),
    ] {
        check(&place, config).fails(125, &[said]);
    }
    fails(&place, &["--check", "--config", "missing.toml"], &["missing.toml"]);
}

#[test]
fn without_a_runtime_the_command_that_installs_one_is_named() {
    let place = Place::new();
    let mut command = place.ampoule(["serve", "--listen", "127.0.0.1:0"]);
    place.end(command.env("AMPOULE_HOME", place.path("empty"))).fails(125, &["ampoule runtime install python"]);
}

#[test]
fn a_new_token_comes_with_its_entry() {
    let place = Place::new();
    let ran = place.end(&mut place.ampoule(["serve", "--new-token"]));
    let token = ran.stdout.trim();
    assert!(token.starts_with("ampoule_") && token.len() > 40, "{ran:?}");
    let entry = ran.stderr.split_once("\n\n").unwrap().1;
    assert!(entry.contains(&ampoule::serve::token_digest(token)), "{ran:?}");
    check(&place, entry)
        .prints("the configuration is sound: it allows javascript, python, sh, and a token is needed\n");
}

#[cfg(unix)]
#[tokio::test]
async fn a_socket_in_the_file_system_serves_as_well() {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use serde_json::json;

    use crate::server::Server;

    let mut server = Server::start_with("socket-mode = '600'", &["--listen", "unix:ampoule.sock"]);
    let path = server.place.path("ampoule.sock");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let client = reqwest::Client::builder().unix_socket(path.clone()).build().unwrap();
    let body = json!({"runtime": "sh", "source": "echo hi"}).to_string();
    let request = client.post("http://localhost/runs").header("content-type", "application/json").body(body);
    let answer = request.send().await.unwrap().text().await.unwrap();
    assert!(answer.contains(r#""standardOutput":"hi\n""#), "{answer}");
    assert_eq!(server.outcome("sh", "echo tcp").await["standardOutput"], "tcp\n");
    // Another service is told that the place is taken; this one clears it when it ends.
    let place = Place::new();
    fails(&place, &["--listen", &format!("unix:{}", path.display())], &["another program listens"]);
    server.terminate();
    server.ended(Duration::from_secs(10));
    assert!(!path.exists());
}
