//! SQLite files: opened, checked, and made durable.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

/// Why an SQLite file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SqliteError {
    /// It is no SQLite file, or a damaged one.
    #[error("`{}` is no sound SQLite file ({problem}): move it away, or put a copy back", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        problem: String,
    },
    /// It is another program's.
    #[error("`{}` is the database of another program (application id {found:#x}): name another file", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it says it is.
        found: i64,
    },
    /// It cannot be read or written.
    #[error("`{}` cannot be {doing}: {error}; make room, or let this user write it", path.display())]
    Failed {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What SQLite said.
        error: rusqlite::Error,
    },
}

/// How long another process's transaction is waited for.
const BUSY: Duration = Duration::from_secs(5);

/// Opens a file and makes its tables if it is new. `application` says whose it is.
pub(super) fn open(path: &Path, application: i64, tables: &str) -> Result<Connection, SqliteError> {
    let failed = |error| failed(path, "opened", error);
    create_private(path).map_err(|error| failed(rusqlite::Error::ToSqlConversionFailure(error.into())))?;
    let connection = Connection::open(path).map_err(failed)?;
    check(path, application, &connection)?;
    // With FULL, what was committed is on the disk.
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF; \
             BEGIN IMMEDIATE; PRAGMA application_id = {application}; {tables} COMMIT;"
        ))
        .map_err(failed)?;
    Ok(connection)
}

/// The files of a database: SQLite keeps two more beside it, under its name and an ending.
pub(super) fn files(path: &Path) -> Vec<PathBuf> {
    let beside = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    vec![path.to_owned(), beside("-wal"), beside("-shm")]
}

/// Opens a file that is there, to look at it and change nothing.
pub(super) fn look(path: &Path, application: i64) -> Result<Connection, SqliteError> {
    let failed = |error| failed(path, "opened", error);
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    check(path, application, &connection)?;
    Ok(connection)
}

/// Whether a file is sound, and this application's or new.
fn check(path: &Path, application: i64, connection: &Connection) -> Result<(), SqliteError> {
    let failed = |error| failed(path, "read", error);
    connection.busy_timeout(BUSY).map_err(failed)?;
    let found: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    let entries: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    if found != application && (found != 0 || entries != 0) {
        return Err(SqliteError::Foreign { path: path.to_owned(), found });
    }
    let sound: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(failed)?;
    if sound != "ok" {
        return Err(SqliteError::Damaged { path: path.to_owned(), problem: sound });
    }
    Ok(())
}

/// What SQLite said, as ours.
pub(super) fn failed(path: &Path, doing: &'static str, error: rusqlite::Error) -> SqliteError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            SqliteError::Damaged { path, problem: error.to_string() }
        }
        _ => SqliteError::Failed { path, doing, error },
    }
}

/// Makes the file, readable for this user alone, if it is not there.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
