//! The audit on the disk: durable, chained, and seen to be whole.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ampoule::host::{AuditEntry, AuditError, AuditEvent, AuditSink, HostError, JsonLinesAudit, SqliteAudit};

use crate::world::{World, call};

fn entry(n: u64) -> AuditEntry {
    AuditEntry::new(SystemTime::now(), AuditEvent::Allowed, &format!("call-{n}"), "t", "s", "a.py")
}

async fn filled(path: &Path, count: u64) -> JsonLinesAudit {
    let audit = JsonLinesAudit::open(path).unwrap();
    for n in 0..count {
        audit.append(&entry(n)).await.unwrap();
    }
    audit
}

#[tokio::test]
async fn a_run_is_two_lines_that_verify() {
    let folder = tempfile::tempdir().unwrap();
    for sqlite in [false, true] {
        let path = folder.path().join(format!("audit-{sqlite}"));
        let mut world = World::with("x");
        world.sink = Some(if sqlite {
            Arc::new(SqliteAudit::open(&path).unwrap())
        } else {
            Arc::new(JsonLinesAudit::open(&path).unwrap())
        });
        world.run(call()).await.unwrap();
        world.config.scripts_enabled = false;
        world.run(call()).await.unwrap_err();
        let (lines, head) = if sqlite {
            (SqliteAudit::tail(&path, 10).unwrap(), SqliteAudit::verify(&path).unwrap().unwrap())
        } else {
            (JsonLinesAudit::tail(&path, 10).unwrap(), JsonLinesAudit::verify(&path).unwrap().unwrap())
        };
        let events: Vec<AuditEvent> = lines.iter().map(|line| line.entry.event).collect();
        assert_eq!(events, [AuditEvent::Allowed, AuditEvent::Finished, AuditEvent::Denied]);
        assert_eq!(head.number, 3);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}

#[tokio::test]
async fn a_line_that_was_changed_removed_or_cut_off_shows_the_last_included() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    filled(&path, 4).await;
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let faulty = |text: String| {
        fs::write(&path, text).unwrap();
        let fault = JsonLinesAudit::verify(&path).unwrap().expect_err("nothing shows");
        fs::write(&path, &whole).unwrap();
        fault.line
    };
    for index in 0..4 {
        let mut changed = lines.clone();
        let other = changed[index].replace("a.py", "b.py");
        changed[index] = &other;
        faulty(changed.join("\n") + "\n");
        let mut removed = lines.clone();
        removed.remove(index);
        faulty(removed.join("\n") + "\n");
    }
    faulty(whole[..whole.len() - 10].to_owned());
    faulty(format!("{whole}\n"));
    assert_eq!(JsonLinesAudit::verify(&path).unwrap().unwrap().number, 4);
}

#[tokio::test]
async fn sqlite_refuses_to_change_a_line_and_shows_one_that_was_changed_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let audit = SqliteAudit::open(&path).unwrap();
    for n in 0..3 {
        audit.append(&entry(n)).await.unwrap();
    }
    let connection = rusqlite::Connection::open(&path).unwrap();
    for statement in ["DELETE FROM audit WHERE number = 3", "UPDATE audit SET line = '{}' WHERE number = 1"] {
        let refused = connection.execute(statement, []).unwrap_err();
        assert!(refused.to_string().contains("an audit entry stays"), "{refused}");
    }
    assert_eq!(SqliteAudit::verify(&path).unwrap().unwrap().number, 3);
    connection.execute_batch("DROP TRIGGER audit_kept; DELETE FROM audit WHERE number = 3").unwrap();
    assert!(SqliteAudit::verify(&path).unwrap().unwrap_err().to_string().contains("missing"));
    connection.execute_batch("DELETE FROM audit WHERE number = 1").unwrap();
    assert_eq!(SqliteAudit::verify(&path).unwrap().unwrap_err().line, 1);
}

#[tokio::test]
async fn a_chain_goes_on_after_a_restart_and_between_two_writers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let one = filled(&path, 2).await;
    let two = filled(&path, 2).await;
    one.append(&entry(9)).await.unwrap();
    two.append(&entry(9)).await.unwrap();
    assert_eq!(JsonLinesAudit::verify(&path).unwrap().unwrap().number, 6);
    let path = folder.path().join("audit.db");
    let (one, two) = (SqliteAudit::open(&path).unwrap(), SqliteAudit::open(&path).unwrap());
    for n in 0..3 {
        one.append(&entry(n)).await.unwrap();
        two.append(&entry(n)).await.unwrap();
    }
    assert_eq!(SqliteAudit::verify(&path).unwrap().unwrap().number, 6);
}

#[tokio::test]
async fn what_a_crash_left_of_a_line_is_taken_away_and_that_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    drop(filled(&path, 2).await);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"number\":3,\"ti");
    fs::write(&path, text).unwrap();
    filled(&path, 1).await;
    let lines = JsonLinesAudit::tail(&path, 10).unwrap();
    assert_eq!(lines[2].entry.event, AuditEvent::Recovered);
    assert_eq!(lines[2].entry.detail["bytes"], "15");
    assert_eq!(JsonLinesAudit::verify(&path).unwrap().unwrap().number, 4);
}

#[tokio::test]
async fn a_clock_that_goes_back_stops_the_host_and_the_chain_remembers_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    for sqlite in [false, true] {
        let path = folder.path().join(format!("audit-{sqlite}"));
        let mut world = World::with("x");
        let open = || -> Arc<dyn AuditSink> {
            if sqlite {
                Arc::new(SqliteAudit::open(&path).unwrap())
            } else {
                Arc::new(JsonLinesAudit::open(&path).unwrap())
            }
        };
        world.sink = Some(open());
        world.run(call()).await.unwrap();
        world.sink = Some(open());
        world.clock = ampoule::host::Clock::new(|| SystemTime::now() - Duration::from_secs(60));
        let error = world.run(call()).await.unwrap_err();
        assert!(matches!(error, HostError::Unaudited(AuditError::ClockWentBack { .. })), "{error}");
        assert!(error.to_string().contains("set the clock right"), "{error}");
        assert_eq!(world.executor.calls(), 1);
        world.clock = ampoule::host::Clock::default();
        world.run(call()).await.unwrap();
    }
}

#[tokio::test]
async fn nothing_is_added_to_an_audit_whose_end_is_missing_or_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    drop(filled(&path, 4).await);
    let whole = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    let changed = lines[3].replace("a.py", "b.py");
    for end in [
        String::new(),
        lines[..1].join("\n") + "\n",
        lines[..3].join("\n") + "\n",
        // As if a crash had torn the last line.
        whole[..whole.len() - 10].to_owned(),
        format!("{}\n{changed}\n", lines[..3].join("\n")),
    ] {
        fs::write(&path, &end).unwrap();
        let refused = JsonLinesAudit::open(&path).unwrap_err();
        assert!(matches!(refused, AuditError::Damaged { .. }), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), end, "it is left as it was found");
    }
    fs::remove_file(&path).unwrap();
    let refused = JsonLinesAudit::open(&path).unwrap_err();
    assert!(refused.to_string().contains("it is gone"), "{refused}");
    assert!(!path.exists());
    fs::write(&path, &whole).unwrap();
    filled(&path, 1).await;
    assert_eq!(JsonLinesAudit::verify(&path).unwrap().unwrap().number, 5);
}

#[tokio::test]
async fn an_audit_without_the_note_of_its_end_is_neither_whole_nor_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    drop(filled(&path, 2).await);
    let note = folder.path().join("audit.jsonl.head");
    let noted = fs::read(&note).unwrap();
    fs::remove_file(&note).unwrap();
    let fault = JsonLinesAudit::verify(&path).unwrap().unwrap_err();
    assert!(fault.to_string().contains("cannot be told"), "{fault}");
    assert!(matches!(JsonLinesAudit::open(&path), Err(AuditError::Damaged { .. })));
    fs::write(&note, noted).unwrap();
    filled(&path, 1).await;
}

#[cfg(unix)]
#[test]
fn an_audit_that_is_a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(JsonLinesAudit::verify(&path).unwrap_err().to_string().contains("no file"));
    assert!(JsonLinesAudit::tail(&path, 1).unwrap_err().to_string().contains("no file"));
}

#[tokio::test]
async fn a_table_whose_last_entry_was_removed_is_not_added_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.db");
    let audit = SqliteAudit::open(&path).unwrap();
    for n in 0..3 {
        audit.append(&entry(n)).await.unwrap();
    }
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("DROP TRIGGER audit_kept; DELETE FROM audit WHERE number = 3").unwrap();
    assert!(matches!(audit.append(&entry(3)).await, Err(AuditError::Damaged { .. })));
    assert!(matches!(SqliteAudit::open(&path), Err(AuditError::Damaged { .. })));
}

#[tokio::test]
async fn an_audit_that_another_process_holds_is_waited_for_some_seconds_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let audit = filled(&path, 1).await;
    let other = fs::File::open(&path).unwrap();
    other.lock().unwrap();
    let refused = audit.append(&entry(1)).await.unwrap_err();
    assert!(refused.to_string().contains("another process has held it for 5 s"), "{refused}");
    other.unlock().unwrap();
    audit.append(&entry(1)).await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn an_audit_that_was_moved_away_while_in_use_stops_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let audit = filled(&path, 1).await;
    fs::rename(&path, folder.path().join("moved")).unwrap();
    assert!(matches!(audit.append(&entry(1)).await, Err(AuditError::Exchanged { .. })));
    fs::write(&path, "").unwrap();
    assert!(matches!(audit.append(&entry(1)).await, Err(AuditError::Exchanged { .. })));
}

#[tokio::test]
async fn an_audit_that_was_cut_while_in_use_stops_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let audit = filled(&path, 2).await;
    let first = fs::read_to_string(&path).unwrap().lines().next().unwrap().to_owned() + "\n";
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(first.len() as u64).unwrap();
    assert!(matches!(audit.append(&entry(2)).await, Err(AuditError::Damaged { .. })));
}

#[tokio::test]
async fn names_without_end_do_not_fill_the_disk() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let mut world = World::with("x");
    world.sink = Some(Arc::new(JsonLinesAudit::open(&path).unwrap()));
    let mut asked = call();
    for name in [&mut asked.tenant, &mut asked.skill, &mut asked.script] {
        *name = "é".repeat(1 << 20);
    }
    asked.run = Some("r".repeat(1 << 20));
    asked.detail.insert("d".repeat(1 << 20), "d".repeat(1 << 20));
    world.run(asked).await.unwrap_err();
    assert!(fs::metadata(&path).unwrap().len() < 16 << 10);
    JsonLinesAudit::verify(&path).unwrap().unwrap();
}
