//! The file beside an audit of lines that notes its end: `audit.jsonl.head`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use super::noted::Noted;

/// A number of 20 digits, a space, a hash of 64, and a line's end.
const BYTES: u64 = 86;

pub(super) fn path_of(audit: &Path) -> PathBuf {
    let mut name = audit.as_os_str().to_owned();
    name.push(".head");
    name.into()
}

/// What is noted beside an audit. None: there is no such file.
pub(super) fn read(audit: &Path) -> io::Result<Option<Noted>> {
    let file = match open(audit, OpenOptions::new().read(true)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut text = String::new();
    file.take(BYTES + 1).read_to_string(&mut text)?;
    let noted = text.trim().split_once(' ').and_then(|(number, hash)| {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Some(Noted { number: number.parse().ok()?, hash: hash.to_owned() }))?
    });
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it holds no number and hash of an entry");
    noted.ok_or_else(wrong).map(Some)
}

/// Notes the end of the chain: always as many bytes, over those that were there, since to empty a file first makes some
/// file systems wait for the disk.
pub(super) fn write(audit: &Path, noted: &Noted) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    open(audit, &mut options)?.write_all(format!("{:>20} {}\n", noted.number, noted.hash).as_bytes())
}

/// Opens the file itself, not what a link of its name leads to, and waits for nobody.
fn open(audit: &Path, options: &mut OpenOptions) -> io::Result<File> {
    #[cfg(unix)]
    {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits() as i32);
    }
    let file = options.open(path_of(audit))?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read_again_and_replaces_what_was_noted_before() {
        let folder = tempfile::tempdir().unwrap();
        let audit = folder.path().join("a.jsonl");
        assert_eq!(read(&audit).unwrap(), None);
        for number in [1, u64::MAX, 7] {
            let noted = Noted { number, hash: format!("{number:064x}") };
            write(&audit, &noted).unwrap();
            assert_eq!(std::fs::metadata(path_of(&audit)).unwrap().len(), BYTES);
            assert_eq!(read(&audit).unwrap(), Some(noted));
        }
    }

    #[test]
    fn what_is_no_note_is_not_taken_for_one() {
        let folder = tempfile::tempdir().unwrap();
        let audit = folder.path().join("a.jsonl");
        let long = "1 ".to_owned() + &"0".repeat(1 << 20);
        for text in
            ["", "7", "x 00", "1 00", "-1 0000000000000000000000000000000000000000000000000000000000000000", &long]
        {
            std::fs::write(path_of(&audit), text).unwrap();
            assert_eq!(read(&audit).unwrap_err().kind(), io::ErrorKind::InvalidData, "{text:.20}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_or_a_pipe_of_its_name_is_neither_followed_nor_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (audit, other) = (folder.path().join("a.jsonl"), folder.path().join("other"));
        std::fs::write(&other, "as it was").unwrap();
        std::os::unix::fs::symlink(&other, path_of(&audit)).unwrap();
        let noted = Noted { number: 1, hash: "0".repeat(64) };
        assert!(write(&audit, &noted).is_err() && read(&audit).is_err());
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "as it was");
        std::fs::remove_file(path_of(&audit)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path_of(&audit)).status().unwrap().success());
        assert!(write(&audit, &noted).is_err() && read(&audit).is_err());
    }
}
