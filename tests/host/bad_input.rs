//! Files that cannot be written, are damaged, or are something else.

use std::fs;
use std::sync::Arc;

use ampoule::host::{
    AuditError, AuditSink, Grant, GrantStore, HostConfig, HostError, JsonLinesAudit, SqliteAudit, SqliteError,
    SqliteGrants,
};

use crate::world::{World, call};

#[cfg(target_os = "linux")]
#[tokio::test]
async fn on_a_full_disk_nothing_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    std::os::unix::fs::symlink("/dev/full", &path).unwrap();
    let mut world = World::with("x");
    world.sink = Some(Arc::new(JsonLinesAudit::open(&path).unwrap()));
    let error = world.run(call()).await.unwrap_err();
    assert!(matches!(error, HostError::Unaudited(_)), "{error}");
    assert!(
        error.to_string().contains("No space left on device") && error.to_string().contains("make room"),
        "{error}"
    );
    assert_eq!(world.executor.calls(), 0);
}

/// A folder that root can write to as well is no test of a file that cannot be written: a folder in its place is.
#[tokio::test]
async fn an_audit_that_cannot_be_opened_is_said_by_its_path_and_why() {
    let folder = tempfile::tempdir().unwrap();
    for error in [JsonLinesAudit::open(folder.path()).err(), SqliteAudit::open(folder.path()).err()] {
        let error = error.expect("a folder was opened as an audit").to_string();
        assert!(error.contains(&folder.path().display().to_string()), "{error}");
    }
    let missing = folder.path().join("no/such/folder/audit");
    assert!(matches!(JsonLinesAudit::open(&missing), Err(AuditError::Io { .. })));
    assert!(SqliteAudit::open(&missing).is_err() && SqliteGrants::open(&missing).is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn an_audit_that_is_read_only_keeps_the_host_from_starting() {
    use std::os::unix::fs::PermissionsExt;
    if fs::read("/proc/1/mem").is_ok() || fs::File::open("/etc/shadow").is_ok() {
        // Whoever may read that may write anything.
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    assert!(matches!(JsonLinesAudit::open(&path), Err(AuditError::Io { .. })));
}

#[tokio::test]
async fn a_file_that_is_no_audit_is_not_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    for text in ["something else\n", "{}\n", "\n", "no end", "{\"number\":1,\"time\":\"now\",\"previous\":\"\"}\n"] {
        fs::write(&path, text).unwrap();
        let error = JsonLinesAudit::open(&path).unwrap_err();
        assert!(matches!(error, AuditError::Damaged { .. }), "{text:?}: {error}");
        assert!(error.to_string().contains("ampoule audit verify"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::write(&path, vec![b'x'; 1 << 20]).unwrap();
    assert!(matches!(JsonLinesAudit::open(&path), Err(AuditError::Damaged { .. })));
}

#[tokio::test]
async fn a_damaged_sqlite_file_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grants.db");
    let store = SqliteGrants::open(&path).unwrap();
    for n in 0..200 {
        store.add(Grant::script("t", "s", format!("{n}.py"))).await.unwrap();
    }
    drop(store);
    let whole = fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    for byte in &mut damaged[4096..] {
        *byte ^= 0x5a;
    }
    for (bytes, what) in
        [(damaged, "pages"), (b"no database, but long enough to be looked at as one".repeat(20), "text")]
    {
        fs::write(&path, &bytes).unwrap();
        for error in [
            SqliteGrants::open(&path).err().map(|error| error.to_string()),
            SqliteAudit::open(&path).err().map(|error| error.to_string()),
        ] {
            let error = error.unwrap_or_else(|| panic!("{what}: it was opened"));
            assert!(
                error.contains("grants.db") && (error.contains("move it away") || error.contains("another program")),
                "{what}: {error}"
            );
        }
        assert_eq!(fs::read(&path).unwrap(), bytes, "{what}");
    }
    fs::write(&path, whole).unwrap();
    assert_eq!(SqliteGrants::open(&path).unwrap().list().await.unwrap().len(), 200);
}

#[tokio::test]
async fn another_program_s_database_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert!(matches!(SqliteGrants::open(&path), Err(SqliteError::Foreign { .. })));
    let audit = folder.path().join("audit.db");
    SqliteAudit::open(&audit).unwrap();
    assert!(matches!(SqliteGrants::open(&audit), Err(SqliteError::Foreign { .. })));
}

#[tokio::test]
async fn a_line_that_was_changed_in_sqlite_stops_the_audit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let mut world = World::with("x");
    let audit = Arc::new(SqliteAudit::open(&path).unwrap());
    world.sink = Some(audit);
    world.run(call()).await.unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("DROP TRIGGER audit_fixed; UPDATE audit SET line = 'nothing' WHERE number = 2").unwrap();
    let error = world.run(call()).await.unwrap_err();
    assert!(matches!(error, HostError::Unaudited(AuditError::Damaged { .. })), "{error}");
    assert_eq!(world.executor.calls(), 1);
}

#[tokio::test]
async fn grants_in_sqlite_decide_as_those_in_memory_do_and_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grants.db");
    let store = SqliteGrants::open(&path).unwrap();
    let wide = Grant::skill("t", "s");
    let pin: ampoule::host::ContentPin = "ab".repeat(32).parse().unwrap();
    let mut narrow = Grant::script("t", "s", "a.py").pinned(pin).until(crate::world::in_an_hour());
    // To the millisecond, which is what is kept.
    let whole = |time: std::time::SystemTime| {
        let since = time.duration_since(std::time::SystemTime::UNIX_EPOCH).unwrap();
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_millis(since.as_millis() as u64)
    };
    (narrow.created, narrow.expires) = (whole(narrow.created), narrow.expires.map(whole));
    store.add(narrow.clone()).await.unwrap();
    store.add(wide.clone()).await.unwrap();
    let store = SqliteGrants::open(&path).unwrap();
    assert_eq!(store.find("t", "s", "a.py").await.unwrap(), Some(narrow.clone()));
    assert_eq!(store.find("t", "s", "b.py").await.unwrap().unwrap().id, wide.id);
    assert_eq!(store.find("u", "s", "a.py").await.unwrap(), None);
    let again = Grant::script("t", "s", "a.py");
    store.add(again.clone()).await.unwrap();
    assert_eq!(store.find("t", "s", "a.py").await.unwrap().unwrap().id, again.id);
    assert!(store.revoke(&again.id).await.unwrap() && !store.revoke(&again.id).await.unwrap());
    assert_eq!(store.list().await.unwrap().len(), 2);
    assert!(store.add(narrow).await.is_err(), "two grants of one name");
}

#[test]
fn a_configuration_is_checked_as_a_whole_and_named_by_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.toml");
    assert!(HostConfig::from_file(&path).unwrap_err().to_string().contains("host.toml"));
    fs::write(&path, "executor = 'wasm'\n[interpreters]\npy = 'python'\nunknown = ''\n").unwrap();
    assert!(HostConfig::from_file(&path).unwrap_err().to_string().contains("interpreters.unknown"));
    fs::write(&path, "executor = 'wasm'\naudit = { file = 'a.jsonl' }\n[max_permissions]\nread = ['data']").unwrap();
    let config = HostConfig::from_file(&path).unwrap();
    let read: Vec<_> = config.max_permissions.read.named().map(|folder| folder.path.clone()).collect();
    assert_eq!(read, [folder.path().join("data")]);
}

#[tokio::test]
async fn a_sink_that_fails_once_loses_nothing_of_what_comes_after() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let audit = JsonLinesAudit::open(&path).unwrap();
    let entry = || {
        ampoule::host::AuditEntry::new(
            std::time::SystemTime::now(),
            ampoule::host::AuditEvent::Allowed,
            "c",
            "t",
            "s",
            "x",
        )
    };
    audit.append(&entry()).await.unwrap();
    // What a write that failed in the middle leaves when it could not be taken back.
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"number\":2,");
    fs::write(&path, text).unwrap();
    audit.append(&entry()).await.unwrap();
    assert_eq!(JsonLinesAudit::verify(&path).unwrap().unwrap().number, 3);
}
