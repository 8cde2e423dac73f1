use super::*;
use crate::serve::token_digest;

fn read(text: &str) -> Result<Config, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ampoule.toml");
    std::fs::write(&path, text).unwrap();
    let config = Config::read(&path)?;
    config.check()?;
    Ok(config)
}

#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    let error = read(text).expect_err(text).to_string();
    for part in parts {
        assert!(error.contains(part), "no {part:?} in: {error}");
    }
}

#[test]
fn an_empty_configuration_is_the_default() {
    let config = read("").unwrap();
    assert_eq!(config.listen, [Address::Tcp(([127, 0, 0, 1], 8085).into())]);
    assert!(config.runtimes.is_none() && config.tokens.is_empty());
}

#[test]
fn every_setting_reaches_its_place() {
    let config = read(&format!(
        r#"
        listen = ["0.0.0.0:9", "127.0.0.1:0"]
        socket-mode = "660"
        shutdown-time = 5

        [runtimes]
        "python-3.15" = "python"

        [limits]
        timeout = "10s"
        fuel = 7
        memory = "256MiB"
        max-output = 1000
        disk = "1MiB"
        source = "1KiB"
        stdin = "2KiB"

        [concurrency]
        slots = 3
        slots-per-tenant = 2
        queue = 5
        queue-per-tenant = 4
        queue-time = 1.5

        [requests]
        body = "1MiB"
        bodies = "8MiB"
        head-time = "10s"
        body-time = "5s"
        write-time = "7s"
        answers = "64MiB"
        sessions = 20
        sessions-per-token = 10
        session-time = "1m"
        connections = 100
        files-out = "2MiB"
        files-out-count = 9

        [tenants.acme]
        slots = 1
        queue = 2
        timeout = "2s"
        memory = "128MiB"
        max-output = 10
        body = "10KiB"

        [[tokens]]
        name = "a"
        sha256 = "{}"
        tenants = ["acme"]

        [[tokens]]
        name = "b"
        sha256 = "{}"
        tenants = "any"
        "#,
        token_digest("a"),
        token_digest("b"),
    ))
    .unwrap();
    assert_eq!((config.listen.len(), config.socket_mode), (2, 0o660));
    assert_eq!(config.shutdown_time, Duration::from_secs(5));
    assert_eq!(config.runtimes.unwrap()["python-3.15"], "python");
    let policy = &config.policy;
    let limits = &policy.limits;
    assert_eq!((limits.timeout, limits.fuel), (Some(Duration::from_secs(10)), Some(7)));
    assert_eq!((limits.memory_bytes, limits.stdout_bytes, limits.stderr_bytes), (256 << 20, 1000, 1000));
    assert_eq!((limits.scratch_bytes, limits.source_bytes, limits.stdin_bytes), (1 << 20, 1024, 2048));
    assert_eq!((policy.slots, policy.slots_per_tenant, policy.queue, policy.queue_per_tenant), (3, 2, 5, 4));
    assert_eq!(policy.queue_time, Duration::from_millis(1500));
    assert_eq!((policy.files_out.bytes, policy.files_out.count), (2 << 20, 9));
    let requests = &config.requests;
    assert_eq!((requests.body_bytes, requests.bodies_bytes, requests.connections), (1 << 20, 8 << 20, 100));
    assert_eq!((requests.head_time, requests.body_time), (Duration::from_secs(10), Duration::from_secs(5)));
    assert_eq!((requests.write_time, requests.answers_bytes), (Duration::from_secs(7), 64 << 20));
    assert_eq!((requests.sessions, requests.sessions_per_token), (20, 10));
    assert_eq!(requests.session_time, Duration::from_secs(60));
    let (own, others) = (policy.limits_of("acme"), policy.limits_of("other"));
    assert_eq!((own.timeout, own.memory_bytes, own.stdout_bytes), (Some(Duration::from_secs(2)), 128 << 20, 10));
    assert_eq!(&others, limits);
    assert_eq!(policy.tenants["acme"].body_bytes, Some(10 << 10));
    let tenants = |token| config.tokens.caller(Some(token)).unwrap().tenants;
    assert!(tenants("a").include("acme") && !tenants("a").include("other") && tenants("b").include("other"));
    assert_eq!(config.tokens.caller(Some("c")), None);
}

#[test]
fn what_is_wrong_is_named_with_its_value_and_the_way_out() {
    refused("listen = 'x'", &["listen", "line 1"]);
    refused("listen = ['x']", &["`x`", "127.0.0.1:8085"]);
    refused("listen = []", &["listen"]);
    refused("lisen = ['127.0.0.1:0']", &["lisen", "listen"]);
    refused("socket-mode = '999'", &["socket-mode", "999", "660"]);
    refused("[limits]\ntimeout = 'soon'", &["`soon`", "30s", "line 2"]);
    refused("[limits]\ntimeout = -1.0", &["-1"]);
    refused("[limits]\ntimeout = nan", &["NaN"]);
    refused("[limits]\ntimeout = 0", &["timeout", "longer than zero"]);
    refused("[limits]\nmemory = 'lots'", &["`lots`", "256MiB"]);
    refused("[limits]\nmemory = '5GiB'", &["memory_bytes", "5368709120"]);
    refused("[concurrency]\nslots = 0", &["slots", "at least 1"]);
    refused("[tenants.a]\nslots = 0", &["`a`", "at least 1"]);
    refused("[requests]\nbodies = 10", &["requests.bodies", "requests.body"]);
    refused("[requests]\nconnections = 0", &["connections"]);
    refused("[requests]\nsessions = 0", &["requests.sessions", "at least 1"]);
    refused("[requests]\nwrite-time = 0", &["requests.write-time", "longer"]);
    refused("[requests]\nanswers = '17MiB'", &["requests.answers", "files-out", "max-output"]);
    refused("[runtimes]\n", &["runtimes", "leave it out"]);
    refused("[[tokens]]\nname = 'a'\nsha256 = 'x'\ntenants = []", &["`a`", "64 hexadecimal", "--new-token"]);
    refused(&format!("[[tokens]]\nname = 'a'\nsha256 = '{}'", token_digest("a")), &["tenants"]);
    refused(&format!("[[tokens]]\nname = 'a'\nsha256 = '{}'\ntenants = 'all'", token_digest("a")), &["\"any\""]);
    refused("token-file = 'missing'", &["missing"]);
}

#[test]
fn beyond_this_machine_a_token_is_needed() {
    refused("listen = ['127.0.0.1:0', '0.0.0.0:8085']", &["http://0.0.0.0:8085", "--new-token", "127.0.0.1"]);
    let token = format!("[[tokens]]\nname = 'a'\nsha256 = '{}'\ntenants = []", token_digest("a"));
    read(&format!("listen = ['0.0.0.0:8085']\n{token}")).unwrap();
}

#[cfg(unix)]
#[test]
fn a_token_file_that_others_may_use_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let configuration = folder.path().join("ampoule.toml");
    std::fs::write(&configuration, "token-file = 'token'").unwrap();
    let good = "a-long-enough-token-0123";
    for mode in [0o640, 0o604, 0o620, 0o644] {
        write("token", good, mode);
        let error = Config::read(&configuration).unwrap_err().to_string();
        assert!(error.contains(&format!("mode {mode:o}")) && error.contains("chmod 600"), "{error}");
    }
    for (text, problem) in [("short", "fewer than 20"), ("two words that are long enough", "one word")] {
        write("token", text, 0o600);
        let error = Config::read(&configuration).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    for mode in [0o600, 0o400] {
        write("token", &format!("{good}\n"), mode);
        let config = Config::read(&configuration).unwrap();
        assert!(config.tokens.caller(Some(good)).is_some() && config.tokens.caller(Some("other")).is_none());
        std::fs::set_permissions(folder.path().join("token"), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}
