//! Paths that lead out: `..`, absolute ones, and the system's own folders.

use ampoule::Status;

use crate::attempts::Attempts;
use crate::outside::{Outside, attempt};
use crate::support::python;

const OUT: &[&str] = &[
    "..",
    "../",
    "../.",
    "../..",
    "../secret",
    "../../secret",
    "../../folder",
    "../alive",
    "./../secret",
    "own/../../secret",
    "./.././../secret",
    "x/../../secret",
    "..//secret",
    ".//..//..//secret",
    "../../../../../../../../etc/passwd",
    "/",
    "//",
    "/etc/passwd",
    "/etc",
    "//etc/passwd",
    "/./etc/passwd",
    "/../etc/passwd",
    "/proc/self/environ",
    "/proc/self/cwd",
    "/proc/self/root/etc/passwd",
    "/proc/1/root",
    "/proc/self/fd/0",
    "/proc/self/mem",
    "/dev/null",
    "/dev/mem",
    "/dev/tty",
    "/dev/fd/0",
    "/sys/kernel",
    "/root",
    "/home",
    "/var/run",
    "/tmp",
    "/tmp/..",
    "",
    "C:\\Windows\\..\\..",
    "\\\\?\\C:\\",
    "\\\\.\\pipe\\x",
    "..\\..\\secret\0",
];

#[tokio::test]
async fn no_call_of_wasi_takes_a_path_that_leads_out() {
    let mut attempts = Attempts::default();
    // On Unix a backslash is a letter like any other.
    for path in OUT.iter().filter(|path| cfg!(windows) || !path.contains('\\') || path.contains('\0')) {
        attempts.everything_with(path);
    }
    attempts.all_fail().await;
}

#[tokio::test]
async fn the_host_s_own_name_of_a_file_leads_nowhere() {
    let python = python();
    let outside = Outside::of(&python);
    let mut attempts = Attempts::default();
    for name in ["secret", "folder", "folder/secret", "folder/inner", "new"] {
        attempts.everything_with(outside.path(name));
        attempts.everything_with(format!("/../../../../../..{}", outside.path(name)));
        attempts.everything_with(format!("../../../../../../../..{}", outside.path(name)));
    }
    attempts.all_fail().await;
    outside.is_as_it_was();
}

#[tokio::test]
async fn python_reads_and_changes_nothing_outside() {
    let python = python();
    let outside = Outside::of(&python);
    let script = "
import os, shutil, sys
secret, folder = sys.argv[1:]
up = '../' * 12
out = [secret, folder, up + secret, up + folder, '/tmp/' + up + secret, os.getcwd() + '/' + up + secret, '..', '../..',
       '../alive', '../../secret', '/tmp/..', '/tmp/../alive', '/scratch', '/scratch/..', '/etc/passwd', '/etc', '/proc/self/environ',
       '/proc/self/maps', '/proc/self/cwd/secret', '/dev/null', '/dev/mem', '/root', '/usr/local/lib/../../../etc/passwd',
       '/usr/local/lib/..', '/home', '//etc//passwd', '/./etc/passwd', '/tmp/./../secret', '/', '/usr', '/usr/local']
open('own', 'w').close()
tries = dict(
    read=lambda p: open(p).read(), write=lambda p: open(p, 'w'), append=lambda p: open(p, 'a'), make=lambda p: open(p, 'x'),
    update=lambda p: open(p, 'r+'), directory=lambda p: os.open(p, os.O_RDONLY | os.O_DIRECTORY), list=os.listdir,
    truncate=lambda p: os.truncate(p, 0), remove=os.remove, rmdir=os.rmdir, mkdir=lambda p: os.mkdir(p + '/new'),
    move=lambda p: os.rename(p, 'moved'), replace=lambda p: os.replace('own', p), moveinto=lambda p: os.rename('own', p + '/own'),
    link=lambda p: os.link(p, 'linked'), linkto=lambda p: os.link('own', p + '/own'), symlinkin=lambda p: os.symlink('x', p + '/s'),
    readlink=os.readlink, utime=os.utime, chdir=lambda p: (os.chdir(p), os.listdir()), copy=lambda p: shutil.copy(p, 'copied'),
    tree=lambda p: shutil.copytree(p, 'tree'), delete=lambda p: shutil.rmtree(p), scan=lambda p: list(os.scandir(p)),
)
here = os.getcwd()
for path in out:
    for name, attempt in tries.items():
        try:
            attempt(path)
        except OSError:
            pass
        except shutil.Error:
            pass
        else:
            if name == 'chdir' and not os.listdir():
                continue
            print(name, path)
        finally:
            os.chdir(here)
print(sorted(os.listdir()))
";
    let outcome = attempt(&python, &outside, script).await;
    assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
    outside.holds(&outcome, "['own']\n");
}
