//! Grants in an SQLite file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::{Grant, GrantStore, StoreError};
use crate::host::sqlite::{self, SqliteError};

/// Keeps grants in an SQLite file. What another process adds or revokes counts from the next call on.
#[derive(Clone)]
pub struct SqliteGrants(Arc<Inner>);

struct Inner {
    path: PathBuf,
    connection: Mutex<Connection>,
}

/// "Ampg".
const APPLICATION: i64 = 0x416d_7067;

const TABLES: &str = "
CREATE TABLE IF NOT EXISTS grants (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    skill TEXT NOT NULL,
    script TEXT,
    pin TEXT,
    expires INTEGER,
    created INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS grants_of ON grants (tenant, skill, script);
";

const COLUMNS: &str = "id, tenant, skill, script, pin, expires, created";

impl SqliteGrants {
    /// Opens a file, or makes it, readable for this user alone.
    pub fn open(path: impl AsRef<Path>) -> Result<SqliteGrants, SqliteError> {
        let path = path.as_ref().to_owned();
        let connection = Mutex::new(sqlite::open(&path, APPLICATION, TABLES)?);
        Ok(SqliteGrants(Arc::new(Inner { path, connection })))
    }

    async fn with<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let inner = self.0.clone();
        let done = tokio::task::spawn_blocking(move || {
            let connection = inner.connection.lock().unwrap_or_else(PoisonError::into_inner);
            work(&connection).map_err(|error| sqlite::failed(&inner.path, doing, error))
        });
        Ok(done.await??)
    }
}

/// A time as milliseconds since 1970. One that is no such number is as far away as can be.
fn number(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn time(number: i64) -> SystemTime {
    (SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(number).unwrap_or(0))).min(Grant::latest())
}

fn grant(row: &Row<'_>) -> rusqlite::Result<Grant> {
    let pin: Option<String> = row.get(4)?;
    let pin = pin.map(|pin| {
        let wrong = |error: super::PinError| {
            rusqlite::Error::FromSqlConversionFailure(4, rusqlite::types::Type::Text, error.into())
        };
        pin.parse().map_err(wrong)
    });
    Ok(Grant {
        id: row.get(0)?,
        tenant: row.get(1)?,
        skill: row.get(2)?,
        script: row.get(3)?,
        pin: pin.transpose()?,
        expires: row.get::<_, Option<i64>>(5)?.map(time),
        created: time(row.get(6)?),
    })
}

#[async_trait::async_trait]
impl GrantStore for SqliteGrants {
    fn private_places(&self) -> Vec<PathBuf> {
        sqlite::files(&self.0.path)
    }

    async fn find(&self, tenant: &str, skill: &str, script: &str) -> Result<Option<Grant>, StoreError> {
        let key = [tenant, skill, script].map(str::to_owned);
        self.with("read", move |connection| {
            let mut query = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM grants WHERE tenant = ?1 AND skill = ?2 AND (script = ?3 OR script IS NULL) \
                 ORDER BY script IS NULL, number DESC LIMIT 1"
            ))?;
            query.query_row(key, grant).optional()
        })
        .await
    }

    async fn add(&self, grant: Grant) -> Result<(), StoreError> {
        self.with("written", move |connection| {
            let Grant { id, tenant, skill, script, pin, expires, created } = grant;
            let pin = pin.map(|pin| pin.to_string());
            connection.execute(
                &format!("INSERT INTO grants ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"),
                params![id, tenant, skill, script, pin, expires.map(number), number(created)],
            )
        })
        .await
        .map(drop)
    }

    async fn list(&self) -> Result<Vec<Grant>, StoreError> {
        self.with("read", |connection| {
            let mut query = connection.prepare(&format!("SELECT {COLUMNS} FROM grants ORDER BY number"))?;
            query.query_map([], grant)?.collect()
        })
        .await
    }

    async fn revoke(&self, id: &str) -> Result<bool, StoreError> {
        let id = id.to_owned();
        let removed =
            self.with("written", move |connection| connection.execute("DELETE FROM grants WHERE id = ?1", [id]));
        Ok(removed.await? > 0)
    }
}
