//! Links that lead out, made by the script: opened, renamed, removed, followed in chains.

use ampoule::{Call, Status};

use crate::outside::{Outside, SECRET, attempt};
use crate::support::{python, shell};

#[tokio::test]
async fn no_link_leads_out_whatever_is_done_through_it() {
    let python = python();
    let outside = Outside::of(&python);
    let script = "
import os, shutil, sys
secret, folder = sys.argv[1:]
open('own', 'w').close()
os.mkdir('d')
targets = [secret, folder, '../secret', '../../secret', '../../folder', '..', '../..', '/', '/etc', '/etc/passwd', '/proc/self/root',
           '/proc/self/cwd', '/proc/self/fd/0', 'd/../../../secret', './../../secret', '/tmp/../../secret', '../alive']
names = []
for n, target in enumerate(targets):
    try:
        os.symlink(target, f'l{n}')
        names.append(f'l{n}')
    except OSError:
        pass
    # A link inside a folder, one to another link, and one whose way goes on behind it.
    for name, to in [(f'd/l{n}', '../' + target), (f'c{n}', f'l{n}'), (f'cc{n}', f'c{n}'), (f'm{n}', f'l{n}/secret')]:
        try:
            os.symlink(to, name)
            names.append(name)
        except OSError:
            pass
os.symlink('loop', 'loop')
os.symlink('ping', 'pong')
os.symlink('pong', 'ping')
names += ['loop', 'ping']
tries = dict(
    read=lambda p: open(p).read(), write=lambda p: open(p, 'w'), append=lambda p: open(p, 'a'), make=lambda p: open(p, 'x'),
    update=lambda p: open(p, 'r+'), list=os.listdir, stat=os.stat, truncate=lambda p: os.truncate(p, 0),
    inside=lambda p: open(p + '/secret').read(), passwd=lambda p: open(p + '/passwd').read(), new=lambda p: open(p + '/new', 'w'),
    mkdir=lambda p: os.mkdir(p + '/new'), rmdir=lambda p: os.rmdir(p + '/inner'), remove=lambda p: os.remove(p + '/secret'),
    move=lambda p: os.rename(p + '/secret', 'moved'), into=lambda p: os.rename('own', p + '/own'), utime=os.utime,
    link=lambda p: os.link(p, 'linked', follow_symlinks=True), linkinto=lambda p: os.link('own', p + '/own'),
    symlink=lambda p: os.symlink('x', p + '/s'), chdir=lambda p: (os.chdir(p), os.listdir()), copy=lambda p: shutil.copy(p, 'copied'),
)
here = os.getcwd()
for path in names:
    for name, attempt in tries.items():
        try:
            result = repr(attempt(path))
            # What a link of another link's name leads to may be a new file inside. It shows nothing of what is outside.
            if any(word in result for word in ['no script may read', 'secret', 'alive', 'inner', 'root:', 'bin']):
                print(name, path, result)
        except (OSError, NotImplementedError, UnicodeDecodeError):
            pass
        finally:
            os.chdir(here)
# The links themselves are the script's to move and to remove.
for path in names:
    if os.path.islink(path):
        os.rename(path, 'renamed')
        os.remove('renamed')
left = [path for path in os.listdir() if os.path.isfile(path)]
print([path for path in left if 'no script' in open(path).read()], len(names) > 40)
";
    let outcome = attempt(&python, &outside, script).await;
    assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
    outside.holds(&outcome, "[] True\n");
}

#[tokio::test]
async fn links_that_are_left_behind_are_removed_and_not_followed() {
    let python = python();
    let outside = Outside::of(&python);
    let script = "
import os, sys
secret, folder = sys.argv[1:]
for n, target in enumerate([secret, folder, '../../folder', '../../secret', '..', '/', '/tmp', '.']):
    try:
        os.symlink(target, str(n))
    except OSError:
        os.symlink('../' * 12 + target[1:], str(n))
os.mkdir('deep')
os.symlink('../../../folder', 'deep/up')
print('left')
";
    for _ in 0..3 {
        let outcome = attempt(&python, &outside, script).await;
        outside.holds(&outcome, "left\n");
    }
}

#[tokio::test]
async fn a_shell_script_follows_no_link_out() {
    let shell = shell();
    let outside = Outside::of(&shell);
    let script = r#"
ln -s "$1" a; ln -s ../../secret b; ln -s "$2" c; ln -s / d; ln -s a e
for f in a b c/secret d/etc/passwd e "$1" ../../secret /etc/passwd /proc/self/environ; do
    cat "$f" 2>/dev/null && echo "read $f"
    (echo x >"$f") 2>/dev/null && [ -e "$f" ] && cat "$1" 2>/dev/null && echo "wrote $f"
    cp "$f" copy 2>/dev/null && [ -s copy ] && grep -c 'no script' copy
done
rm -rf c/ d/ "$2" ../../folder 2>/dev/null
mv "$1" moved 2>/dev/null && echo moved
ls .. ../.. "$2" 2>/dev/null | grep -c secret
"#;
    let call = Call::new(script).arguments([outside.path("secret"), outside.path("folder")]);
    let outcome = shell.try_run(call).await.unwrap();
    assert!(!outcome.stdout_text().contains(SECRET) && !outcome.stderr_text().contains(SECRET));
    assert!(outcome.stdout_text().trim_end().ends_with('0'), "{}", outcome.stdout_text());
    outside.is_as_it_was();
}
