//! An audit in an SQLite file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::chain::{damaged, verify};
use super::noted::{Noted, may_end};
use super::{AuditEntry, AuditError, AuditSink, Fault, Head, Line};
use crate::host::sqlite::{self, SqliteError};

/// Writes entries to a table of an SQLite file, each in a transaction that is on the disk when it ends. The lines are those
/// of [`JsonLinesAudit`](super::JsonLinesAudit), and the database itself refuses to change or remove one.
#[derive(Clone)]
pub struct SqliteAudit(Arc<Inner>);

struct Inner {
    path: PathBuf,
    connection: Mutex<Connection>,
}

/// "Ampa".
const APPLICATION: i64 = 0x416d_7061;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS audit (number INTEGER PRIMARY KEY, line TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS head (only INTEGER PRIMARY KEY CHECK (only = 1), number INTEGER NOT NULL, hash TEXT NOT NULL) STRICT;
CREATE TRIGGER IF NOT EXISTS audit_kept BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'an audit entry stays'); END;
CREATE TRIGGER IF NOT EXISTS audit_fixed BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'an audit entry stays as it is'); END;
";

impl From<SqliteError> for AuditError {
    fn from(error: SqliteError) -> AuditError {
        match error {
            SqliteError::Damaged { path, problem } => AuditError::Damaged { path, problem },
            error => AuditError::Other(error.into()),
        }
    }
}

impl SqliteAudit {
    /// Opens a file, or makes it, readable for this user alone.
    pub fn open(path: impl AsRef<Path>) -> Result<SqliteAudit, AuditError> {
        let path = path.as_ref().to_owned();
        let connection = sqlite::open(&path, APPLICATION, TABLES)?;
        last(&path, &connection)?;
        Ok(SqliteAudit(Arc::new(Inner { path, connection: Mutex::new(connection) })))
    }

    /// Follows the chain of a file to its end.
    pub fn verify(path: impl AsRef<Path>) -> Result<Result<Head, Fault>, AuditError> {
        let path = path.as_ref();
        let connection = existing(path)?;
        let failed = |error| AuditError::from(sqlite::failed(path, "read", error));
        let mut rows = connection.prepare("SELECT line FROM audit ORDER BY number").map_err(failed)?;
        let rows = rows.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
        let noted = noted(path, &connection)?;
        Ok(verify(rows.map(|row| row.map(Into::into).map_err(std::io::Error::other)), noted.as_ref()))
    }

    /// The last entries of a file, at most `count`.
    pub fn tail(path: impl AsRef<Path>, count: usize) -> Result<Vec<Line>, AuditError> {
        let path = path.as_ref();
        let connection = existing(path)?;
        let failed = |error| AuditError::from(sqlite::failed(path, "read", error));
        let mut rows = connection.prepare("SELECT line FROM audit ORDER BY number DESC LIMIT ?1").map_err(failed)?;
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let rows = rows.query_map([count], |row| row.get::<_, String>(0)).map_err(failed)?;
        let mut lines = Vec::new();
        for row in rows {
            lines.push(Head::of(&row.map_err(failed)?).map_err(|problem| damaged(path, problem))?.1);
        }
        lines.reverse();
        Ok(lines)
    }
}

/// A file that has to be there: looking at one must not make it.
fn existing(path: &Path) -> Result<Connection, AuditError> {
    let there = std::fs::metadata(path);
    there.map_err(|error| AuditError::Io { path: path.to_owned(), doing: "opened", error })?;
    Ok(sqlite::look(path, APPLICATION)?)
}

/// What is noted of the end of the chain, in the same transaction as its last entry.
fn noted(path: &Path, connection: &Connection) -> Result<Option<Noted>, AuditError> {
    let failed = |error| AuditError::from(sqlite::failed(path, "read", error));
    let mut query = connection.prepare_cached("SELECT number, hash FROM head").map_err(failed)?;
    let row = |row: &rusqlite::Row<'_>| Ok(Noted { number: row.get::<_, i64>(0)? as u64, hash: row.get(1)? });
    query.query_row([], row).optional().map_err(failed)
}

/// The end of the chain, held to what is noted of it.
fn last(path: &Path, connection: &Connection) -> Result<Head, AuditError> {
    let failed = |error| AuditError::from(sqlite::failed(path, "read", error));
    let mut query = connection.prepare_cached("SELECT line FROM audit ORDER BY number DESC LIMIT 1").map_err(failed)?;
    let line: Option<String> = query.query_row([], |row| row.get(0)).optional().map_err(failed)?;
    let head = match line {
        None => Head::default(),
        Some(line) => Head::of(&line).map_err(|problem| damaged(path, problem))?.0,
    };
    match noted(path, connection)? {
        Some(noted) if noted.number < head.number => {
            let problem = format!("it ends with entry {}, but entry {} was written last", head.number, noted.number);
            Err(damaged(path, problem))
        }
        noted => may_end(noted.as_ref(), &head).map(|()| head).map_err(|problem| damaged(path, problem)),
    }
}

impl Inner {
    fn append(&self, entry: &AuditEntry) -> Result<Head, AuditError> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error| AuditError::from(sqlite::failed(&self.path, "written", error));
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let (line, head) = last(&self.path, &transaction)?.next(entry)?;
        let number = i64::try_from(head.number).unwrap_or(i64::MAX);
        {
            let mut insert =
                transaction.prepare_cached("INSERT INTO audit (number, line) VALUES (?1, ?2)").map_err(failed)?;
            insert.execute(params![number, line]).map_err(failed)?;
            let mut note = transaction
                .prepare_cached("INSERT INTO head VALUES (1, ?1, ?2) ON CONFLICT DO UPDATE SET number = ?1, hash = ?2")
                .map_err(failed)?;
            note.execute(params![number, head.hash]).map_err(failed)?;
        }
        transaction.commit().map_err(failed)?;
        Ok(head)
    }
}

#[async_trait::async_trait]
impl AuditSink for SqliteAudit {
    fn private_places(&self) -> Vec<PathBuf> {
        sqlite::files(&self.0.path)
    }

    async fn append(&self, entry: &AuditEntry) -> Result<Head, AuditError> {
        let (inner, entry) = (self.0.clone(), entry.clone());
        let written = tokio::task::spawn_blocking(move || inner.append(&entry));
        written.await.map_err(|error| AuditError::Other(error.into()))?
    }
}
