//! What the host copies out of a call's directory.

use std::fs;

use ampoule::Call;

use crate::outside::{Outside, SECRET};
use crate::support::python;

#[tokio::test]
async fn what_is_kept_holds_no_link_and_nothing_from_outside() {
    let python = python();
    let outside = Outside::of(&python);
    let script = "
import os, sys
secret, folder = sys.argv[1:]
os.mkdir('d')
open('d/file', 'w').write('own')
for n, target in enumerate([secret, folder, '../../secret', '../../folder', '..', 'd', 'd/file', 'nowhere', '.']):
    for name in [f'l{n}', f'd/l{n}']:
        try:
            os.symlink(target, name)
        except OSError:
            pass
os.link('d/file', 'hard')
print('left')
";
    let target = tempfile::tempdir().unwrap();
    let mut call = Call::new(script).arguments([outside.path("secret"), outside.path("folder")]);
    call.keep = Some(target.path().join("kept"));
    let outcome = python.try_run(call).await.unwrap();
    outside.holds(&outcome, "left\n");
    let mut found = Vec::new();
    let mut folders = vec![target.path().join("kept")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            assert!(!metadata.is_symlink(), "{path:?}");
            if metadata.is_dir() {
                folders.push(path.clone());
            } else {
                assert_ne!(fs::read_to_string(&path).unwrap(), SECRET);
            }
            found.push(path.strip_prefix(target.path()).unwrap().display().to_string().replace('\\', "/"));
        }
    }
    found.sort();
    assert_eq!(found, ["kept/d", "kept/d/file", "kept/hard"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_that_waits_where_a_file_would_be_kept_is_not_followed() {
    use ampoule::{ExecuteError, Status};
    let python = python();
    let outside = Outside::of(&python);
    let target = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(outside.path("secret"), target.path().join("file")).unwrap();
    std::os::unix::fs::symlink(outside.path("folder"), target.path().join("d")).unwrap();
    for script in ["open('file', 'w').write('x')", "import os; os.mkdir('d'); open('d/new', 'w').write('x')"] {
        let mut call = Call::new(script);
        call.keep = Some(target.path().to_owned());
        let error = python.try_run(call).await.unwrap_err();
        assert!(matches!(error, ExecuteError::Keep { .. }), "{error}");
        outside.is_as_it_was();
    }
    assert_eq!(python.run("print(1)", |_| {}).await.status, Status::Exited(0));
}
