//! An audit in a file of JSON lines.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::chain::{damaged, verify};
use super::head_file;
use super::noted::{Noted, may_end};
use super::{AuditEntry, AuditError, AuditEvent, AuditSink, Fault, Head, Line};

/// Writes entries to a file, one JSON object a line, each brought to the disk before anything else happens. Several
/// processes may write to one file: each locks it for one entry.
///
/// The end of the chain stands beside it, in a file of the same name with `.head` behind it, so that a last line that
/// was removed shows.
#[derive(Debug, Clone)]
pub struct JsonLinesAudit(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    head: Head,
    /// The file's length when `head` was its end.
    length: u64,
}

/// The most that is read to find the last line. Entries are much shorter: what goes into one is cut.
const LONGEST_LINE: u64 = 256 << 10;

/// How long another process's lock is waited for.
const LOCKED_FOR: Duration = Duration::from_secs(5);

/// How often it is looked at meanwhile.
const LOOKED_AT_EACH: Duration = Duration::from_millis(1);

impl JsonLinesAudit {
    /// Opens a file, or makes it, readable for this user alone.
    pub fn open(path: impl AsRef<Path>) -> Result<JsonLinesAudit, AuditError> {
        let path = path.as_ref().to_owned();
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let is_new = !path.exists();
        if is_new && noted(&path)?.is_some() {
            return Err(damaged(&path, "it is gone, and what notes its end is there"));
        }
        let file = options.open(&path).map_err(failed(&path, "opened"))?;
        if is_new {
            sync_folder(&path).map_err(failed(&path, "opened"))?;
        }
        let mut open = Open { file, head: Head::default(), length: 0 };
        open.lock(&path)?;
        let loaded = open.load(&path);
        open.file.unlock().map_err(failed(&path, "unlocked"))?;
        loaded?;
        Ok(JsonLinesAudit(Arc::new(Inner { path, open: Mutex::new(open) })))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Follows the chain of a file to its end, and compares that with the head beside it.
    pub fn verify(path: impl AsRef<Path>) -> Result<Result<Head, Fault>, AuditError> {
        let path = path.as_ref();
        let file = look(path).map_err(failed(path, "opened"))?;
        lock(&file, File::try_lock_shared).map_err(failed(path, "locked"))?;
        let noted = noted(path)?;
        Ok(verify(lines(BufReader::new(&file)), noted.as_ref()))
    }

    /// The last entries of a file, at most `count`.
    pub fn tail(path: impl AsRef<Path>, count: usize) -> Result<Vec<Line>, AuditError> {
        let path = path.as_ref();
        let file = look(path).map_err(failed(path, "opened"))?;
        lock(&file, File::try_lock_shared).map_err(failed(path, "locked"))?;
        let mut last = std::collections::VecDeque::new();
        for line in lines(BufReader::new(&file)) {
            let line = line.map_err(failed(path, "read"))?;
            if last.len() == count {
                last.pop_front();
            }
            last.push_back(line.into_owned());
        }
        let lines = last.into_iter().take(count);
        lines.map(|line| Head::of(&line).map(|(_, line)| line).map_err(|problem| damaged(path, problem))).collect()
    }
}

fn lines(reader: impl BufRead) -> impl Iterator<Item = io::Result<std::borrow::Cow<'static, str>>> {
    reader.split(b'\n').map(|line| {
        String::from_utf8(line?)
            .map(Into::into)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is no text"))
    })
}

fn failed<'a>(path: &'a Path, doing: &'static str) -> impl FnOnce(io::Error) -> AuditError + 'a {
    move |error| AuditError::Io { path: path.to_owned(), doing, error }
}

/// Opens an audit to read it. What is no file, such as a pipe, may never give anything.
fn look(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"))
    }
}

/// What is noted of the end of an audit.
fn noted(path: &Path) -> Result<Option<Noted>, AuditError> {
    head_file::read(path).map_err(|error| {
        let problem = format!("what notes its end, `{}`, cannot be read: {error}", head_file::path_of(path).display());
        damaged(path, problem)
    })
}

/// Locks a file, once other processes have let go of it: none holds it for longer than an entry takes.
fn lock(file: &File, take: impl Fn(&File) -> Result<(), TryLockError>) -> io::Result<()> {
    let deadline = Instant::now() + LOCKED_FOR;
    loop {
        match take(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(LOOKED_AT_EACH),
            Err(TryLockError::WouldBlock) => {
                let problem = format!("another process has held it for {} s", LOCKED_FOR.as_secs());
                return Err(io::Error::new(io::ErrorKind::TimedOut, problem));
            }
        }
    }
}

/// A file that was made is there after a crash only when its folder was written, too.
fn sync_folder(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    if let Some(folder) = std::path::absolute(path)?.parent() {
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

impl Open {
    fn lock(&self, path: &Path) -> Result<(), AuditError> {
        lock(&self.file, File::try_lock).map_err(failed(path, "locked"))
    }

    /// Whether the path still leads to the file that is open: what is written to another one nobody finds.
    fn is_in_place(&self, path: &Path) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let ids = |found: std::fs::Metadata| (found.dev(), found.ino());
            let (here, there) = (self.file.metadata().map(ids), std::fs::metadata(path).map(ids));
            matches!((here, there), (Ok(here), Ok(there)) if here == there)
        }
        // There an open file can be neither removed nor exchanged.
        #[cfg(not(unix))]
        path.exists()
    }

    /// Finds the end of the chain, after taking away what a crash left of a line.
    fn load(&mut self, path: &Path) -> Result<(), AuditError> {
        let length = self.file.metadata().map_err(failed(path, "read"))?.len();
        let from = length.saturating_sub(LONGEST_LINE);
        self.file.seek(SeekFrom::Start(from)).map_err(failed(path, "read"))?;
        let mut end = Vec::new();
        (&self.file).take(length - from).read_to_end(&mut end).map_err(failed(path, "read"))?;
        let whole = memchr::memrchr(b'\n', &end).map_or(0, |at| at + 1);
        let torn = end[whole..].to_vec();
        if whole == 0 && from > 0 {
            return Err(damaged(path, format!("its last line has more than {LONGEST_LINE} bytes")));
        }
        let start = memchr::memrchr(b'\n', &end[..whole.saturating_sub(1)]).map_or(0, |at| at + 1);
        self.head = match &end[start..whole] {
            [] => Head::default(),
            [line @ .., _] => {
                let text = std::str::from_utf8(line).map_err(|_| damaged(path, "its last line is no text"))?;
                Head::of(text).map_err(|problem| damaged(path, format!("its last line: {problem}")))?.0
            }
        };
        self.length = length - torn.len() as u64;
        self.hold_to(noted(path)?.as_ref(), &end[..whole]).map_err(|problem| damaged(path, problem))?;
        if !torn.is_empty() {
            if !torn.starts_with(b"{") {
                return Err(damaged(path, "it ends with something that is no entry"));
            }
            self.file.set_len(self.length).map_err(failed(path, "mended"))?;
            let mut entry =
                AuditEntry::new(self.head.time.max(SystemTime::now()), AuditEvent::Recovered, "", "", "", "");
            entry.detail.insert("bytes".into(), torn.len().to_string());
            entry.detail.insert("sha256".into(), crate::script::content_sha256(&String::from_utf8_lossy(&torn)));
            self.write(path, &entry)?;
        }
        Ok(())
    }

    /// Whether the end is what was noted, or comes after that. Of an entry further up than these last lines `verify` tells.
    fn hold_to(&self, noted: Option<&Noted>, last: &[u8]) -> Result<(), String> {
        may_end(noted, &self.head)?;
        let Some(noted) = noted.filter(|noted| noted.number < self.head.number) else { return Ok(()) };
        // The first of them may lack its beginning.
        let entries = last.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
        let mut heads = entries.filter_map(|text| Head::of(text).ok());
        heads.try_for_each(|(head, _)| noted.allows(head.number, &head.hash))
    }

    fn append(&mut self, path: &Path, entry: &AuditEntry) -> Result<Head, AuditError> {
        self.lock(path)?;
        let written = self.append_locked(path, entry);
        let unlocked = self.file.unlock().map_err(failed(path, "unlocked"));
        written.and_then(|head| unlocked.map(|()| head))
    }

    fn append_locked(&mut self, path: &Path, entry: &AuditEntry) -> Result<Head, AuditError> {
        if !self.is_in_place(path) {
            return Err(AuditError::Exchanged { path: path.to_owned() });
        }
        // Another process may have written since.
        let length = self.file.metadata().map_err(failed(path, "read"))?.len();
        if length < self.length {
            return Err(damaged(
                path,
                format!("it has {length} bytes, and had {} before: something was cut off", self.length),
            ));
        }
        if length != self.length {
            self.load(path)?;
        }
        self.write(path, entry)
    }

    fn write(&mut self, path: &Path, entry: &AuditEntry) -> Result<Head, AuditError> {
        let (mut line, head) = self.head.next(entry)?;
        line.push('\n');
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            // What is there of the line would be in the way of the next. If it stays, the next one takes it away.
            let _ = self.file.set_len(self.length);
            return Err(AuditError::Io { path: path.to_owned(), doing: "written", error });
        }
        self.length += line.len() as u64;
        self.head = head.clone();
        // The entry is written, so the call may begin; the next note holds for both.
        if let Err(error) = head_file::write(path, &Noted::from(&head)) {
            tracing::warn!(%error, path = %head_file::path_of(path).display(), "the audit's head was not noted");
        }
        Ok(head)
    }
}

#[async_trait::async_trait]
impl AuditSink for JsonLinesAudit {
    fn private_places(&self) -> Vec<PathBuf> {
        vec![self.0.path.clone(), head_file::path_of(&self.0.path)]
    }

    async fn append(&self, entry: &AuditEntry) -> Result<Head, AuditError> {
        let (inner, entry) = (self.0.clone(), entry.clone());
        let written = tokio::task::spawn_blocking(move || {
            let mut open = inner.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.append(&inner.path, &entry)
        });
        written.await.map_err(|error| AuditError::Other(error.into()))?
    }
}
