//! The runtime's own folders, which every call sees and none may change.

use std::fs;
use std::path::{Path, PathBuf};

use ampoule::{Home, Status};

use crate::outside::{Outside, attempt};
use crate::support::python;

/// The files of the installed runtime with their lengths and times.
fn files() -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    fn look(folder: &Path, found: &mut Vec<(PathBuf, u64, std::time::SystemTime)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            found.push((path.clone(), metadata.len(), metadata.modified().unwrap()));
            if metadata.is_dir() {
                look(&path, found);
            }
        }
    }
    let mut found = Vec::new();
    look(&Home::from_env().unwrap().root().join("runtimes/python"), &mut found);
    found.sort();
    found
}

#[tokio::test]
async fn a_mounted_folder_is_read_and_never_written() {
    let python = python();
    let outside = Outside::of(&python);
    let before = files();
    assert!(!before.is_empty());
    let script = "
import os, sys
lib = '/usr/local/lib'
archive = next(f'{lib}/{name}' for name in os.listdir(lib))
print(len(open(archive, 'rb').read(100)))
open('own', 'w').close()
os.mkdir('d')
tries = dict(
    write=lambda: open(archive, 'w'), append=lambda: open(archive, 'a'), update=lambda: open(archive, 'r+'),
    truncate=lambda: os.truncate(archive, 0), opentruncate=lambda: os.open(archive, os.O_RDONLY | os.O_TRUNC),
    opencreate=lambda: os.open(lib + '/new', os.O_RDONLY | os.O_CREAT), openwrite=lambda: os.open(archive, os.O_WRONLY),
    create=lambda: open(lib + '/new', 'x'), mkdir=lambda: os.mkdir(lib + '/new'), symlink=lambda: os.symlink('x', lib + '/new'),
    remove=lambda: os.remove(archive), rmdir=lambda: os.rmdir(lib), utime=lambda: os.utime(archive, (0, 0)),
    moveout=lambda: os.rename(archive, 'stolen'), movein=lambda: os.rename('own', lib + '/own'), over=lambda: os.replace('own', archive),
    movefolder=lambda: os.rename('d', lib + '/d'), rename=lambda: os.rename(archive, archive + '2'),
    linkin=lambda: os.link('own', lib + '/own'), linkout=lambda: os.link(archive, 'linked'), linkside=lambda: os.link(archive, lib + '/two'),
    dots=lambda: open(f'{lib}/../lib/new', 'w'), swap=lambda: os.rename(lib, 'lib'),
)
for name, attempt in tries.items():
    try:
        attempt()
    except (OSError, NotImplementedError):
        pass
    else:
        print(name)
os.symlink(archive, 'link') if not os.path.lexists('link') else None
";
    let script = script.replace("os.symlink(archive, 'link') if not os.path.lexists('link') else None", "
try:
    os.symlink(archive, 'link')
    open('link', 'r+')
except OSError:
    pass
else:
    print('through a link')
file = os.open(archive, os.O_RDONLY)
for name, attempt in dict(write=lambda: os.write(file, b'x'), pwrite=lambda: os.pwrite(file, b'x', 0), cut=lambda: os.ftruncate(file, 0),
                          grow=lambda: os.ftruncate(file, 1 << 40), times=lambda: os.utime(file, (0, 0))).items():
    try:
        attempt()
    except (OSError, NotImplementedError):
        pass
    else:
        print('descriptor', name)
print(sorted(set(os.listdir()) - {'link'}))
");
    let outcome = attempt(&python, &outside, &script).await;
    assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
    outside.holds(&outcome, "100\n['d', 'own']\n");
    assert_eq!(files(), before);
}
