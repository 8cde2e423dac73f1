//! The directory's quota beside a model of it: random file operations, made by a guest, each of which the quota takes or
//! refuses just where the model does.
//!
//! Needs the runtime: `ampoule runtime install python`.

mod support;

use std::collections::HashMap;

use ampoule::{Call, Status, Stdin};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use support::{Runtime, python};

const BYTES: u64 = 1000;
const ENTRIES: u64 = 6;

/// A step that a script makes. Names and descriptors are numbers; those that there are not make an error, and count for
/// nothing.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "do", rename_all = "lowercase")]
enum Step {
    Open { name: u8, truncate: bool, append: bool },
    Close { file: usize },
    Write { file: usize, at: Option<u64>, bytes: u64 },
    Resize { file: usize, bytes: u64 },
    Remove { name: u8 },
    Rename { from: u8, to: u8 },
    Link { from: u8, to: u8 },
    Symlink { to: u8, bytes: usize },
    Mkdir { name: u8 },
    Rmdir { name: u8 },
}

/// What came of a step: nothing wrong, or the error's name.
type Came = Option<String>;

/// What a script says at its end, besides.
#[derive(Debug, Deserialize)]
struct Said {
    came: Vec<Came>,
    bytes: u64,
    entries: u64,
}

const SCRIPT: &str = "
import errno, json, os, stat, sys

files = []

def step(do, **a):
    n = {key: value if key in ('bytes', 'at', 'file', 'truncate', 'append') else f'n{value}' for key, value in a.items()}
    if do == 'open':
        flags = os.O_RDWR | os.O_CREAT | (os.O_TRUNC if a['truncate'] else 0) | (os.O_APPEND if a['append'] else 0)
        files.append(os.open(n['name'], flags | os.O_NOFOLLOW))
    elif do == 'close':
        os.close(files.pop(a['file'] % len(files)))
    elif do == 'write':
        file = files[a['file'] % len(files)]
        data = b'x' * a['bytes']
        done = os.write(file, data) if a['at'] is None else os.pwrite(file, data, a['at'])
        assert done == len(data)
    elif do == 'resize':
        os.ftruncate(files[a['file'] % len(files)], a['bytes'])
    elif do == 'remove':
        os.remove(n['name'])
    elif do == 'rename':
        os.rename(n['from'], n['to'])
    elif do == 'link':
        # A link to a link would have the model know links with two names.
        if os.path.islink(n['from']):
            raise OSError(errno.EPERM, 'a link')
        os.link(n['from'], n['to'])
    elif do == 'symlink':
        os.symlink('t' * a['bytes'], n['to'])
    elif do == 'mkdir':
        os.mkdir(n['name'])
    elif do == 'rmdir':
        os.rmdir(n['name'])

came = []
for request in json.load(sys.stdin):
    try:
        step(**request)
        came.append(None)
    except OSError as error:
        came.append(errno.errorcode[error.errno])
    except ZeroDivisionError:
        came.append('none open')

found = {}
entries = os.listdir()
for stats in [os.lstat(entry) for entry in entries] + [os.fstat(file) for file in files]:
    if not stat.S_ISDIR(stats.st_mode):
        found[stats.st_ino] = stats.st_size
print(json.dumps(dict(came=came, bytes=sum(found.values()), entries=len(entries))))
";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    /// The index of a file.
    File(usize),
    /// The length of the path that a link holds.
    Link(usize),
    Folder,
}

/// An open file: which, where its own offset is, and whether it only appends.
#[derive(Debug, Clone, Copy)]
struct Open {
    file: usize,
    offset: u64,
    appends: bool,
}

/// What the directory holds. Links to links are left out of it: a link has one name.
#[derive(Default)]
struct Model {
    names: HashMap<u8, Node>,
    lengths: Vec<u64>,
    open: Vec<Open>,
    most_bytes: u64,
    most_entries: u64,
}

impl Model {
    fn bytes(&self) -> u64 {
        let held = |file: &usize| {
            self.names.values().any(|node| *node == Node::File(*file))
                || self.open.iter().any(|open| open.file == *file)
        };
        let files: u64 = (0..self.lengths.len()).filter(held).map(|file| self.lengths[file]).sum();
        let links = self
            .names
            .values()
            .filter_map(|node| if let Node::Link(bytes) = node { Some(*bytes as u64) } else { None });
        files + links.sum::<u64>()
    }

    fn entries(&self) -> u64 {
        self.names.len() as u64
    }

    fn opened(&self, file: usize) -> Option<usize> {
        (!self.open.is_empty()).then(|| file % self.open.len())
    }

    /// The bytes and entries that a step adds, where it adds any.
    fn needs(&self, step: &Step) -> (u64, u64) {
        match step {
            Step::Open { name, .. } => (0, u64::from(!self.names.contains_key(name))),
            Step::Write { file, at, bytes } => match self.opened(*file) {
                Some(index) if *bytes > 0 => {
                    let open = self.open[index];
                    let length = self.lengths[open.file];
                    let start = if open.appends { length } else { at.unwrap_or(open.offset) };
                    ((start + bytes).saturating_sub(length), 0)
                }
                _ => (0, 0),
            },
            Step::Resize { file, bytes } => match self.opened(*file) {
                Some(index) => (bytes.saturating_sub(self.lengths[self.open[index].file]), 0),
                None => (0, 0),
            },
            Step::Symlink { bytes, .. } => (*bytes as u64, 1),
            Step::Link { .. } | Step::Mkdir { .. } => (0, 1),
            _ => (0, 0),
        }
    }

    /// Does what a step did that came to no error.
    fn make(&mut self, step: &Step) {
        match step {
            Step::Open { name, truncate, append } => {
                let file = match self.names.get(name) {
                    Some(Node::File(file)) => *file,
                    Some(node) => panic!("{node:?} was opened as a file"),
                    None => {
                        self.lengths.push(0);
                        self.names.insert(*name, Node::File(self.lengths.len() - 1));
                        self.lengths.len() - 1
                    }
                };
                if *truncate {
                    self.lengths[file] = 0;
                }
                self.open.push(Open { file, offset: 0, appends: *append });
            }
            Step::Close { file } => {
                let index = self.opened(*file).unwrap();
                self.open.remove(index);
            }
            Step::Write { file, at, bytes } => {
                let index = self.opened(*file).unwrap();
                let open = self.open[index];
                let length = self.lengths[open.file];
                let start = if open.appends { length } else { at.unwrap_or(open.offset) };
                if *bytes > 0 {
                    self.lengths[open.file] = length.max(start + bytes);
                }
                if at.is_none() {
                    self.open[index].offset = start + bytes;
                }
            }
            Step::Resize { file, bytes } => {
                let file = self.open[self.opened(*file).unwrap()].file;
                self.lengths[file] = *bytes;
            }
            Step::Remove { name } | Step::Rmdir { name } => {
                self.names.remove(name).unwrap();
            }
            Step::Rename { from, to } => {
                let moved = self.names[from];
                // Two names of one file stay two.
                if from != to && !(matches!(moved, Node::File(_)) && self.names.get(to) == Some(&moved)) {
                    self.names.remove(from);
                    self.names.insert(*to, moved);
                }
            }
            Step::Link { from, to } => {
                let node = self.names[from];
                assert!(matches!(node, Node::File(_)), "{node:?} got a second name");
                self.names.insert(*to, node);
            }
            Step::Symlink { to, bytes } => {
                self.names.insert(*to, Node::Link(*bytes));
            }
            Step::Mkdir { name } => {
                self.names.insert(*name, Node::Folder);
            }
        }
        self.most_bytes = self.most_bytes.max(self.bytes());
        self.most_entries = self.most_entries.max(self.entries());
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = 0..8_u8;
    let size = prop_oneof![0..400_u64, Just(BYTES), Just(BYTES + 1), 0..2000_u64];
    let step = prop_oneof![
        4 => (name.clone(), any::<bool>(), any::<bool>())
            .prop_map(|(name, truncate, append)| Step::Open { name, truncate, append }),
        2 => any::<usize>().prop_map(|file| Step::Close { file: file % 1000 }),
        6 => (0..1000_usize, prop::option::of(0..1500_u64), size.clone())
            .prop_map(|(file, at, bytes)| Step::Write { file, at, bytes }),
        2 => (0..1000_usize, size).prop_map(|(file, bytes)| Step::Resize { file, bytes }),
        2 => name.clone().prop_map(|name| Step::Remove { name }),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Step::Rename { from, to }),
        2 => (name.clone(), name.clone()).prop_map(|(from, to)| Step::Link { from, to }),
        1 => (name.clone(), 1..600_usize).prop_map(|(to, bytes)| Step::Symlink { to, bytes }),
        1 => name.clone().prop_map(|name| Step::Mkdir { name }),
        1 => name.prop_map(|name| Step::Rmdir { name }),
    ];
    prop::collection::vec(step, 1..60)
}

/// Makes the steps in a guest and then in the model, and compares.
async fn agree(python: &Runtime, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut call = Call::new(SCRIPT).stdin(Stdin::Bytes(serde_json::to_vec(steps).unwrap().into()));
    call.limits.scratch_bytes = BYTES;
    call.limits.scratch_entries = ENTRIES;
    let outcome = python.try_run(call).await.unwrap();
    prop_assert_eq!(&outcome.status, &Status::Exited(0), "{}", outcome.stderr_text());
    let said: Said = serde_json::from_slice(&outcome.stdout).unwrap();
    let mut model = Model::default();
    for (step, came) in steps.iter().zip(&said.came) {
        let (bytes, entries) = model.needs(step);
        let fits = model.bytes() + bytes <= BYTES && model.entries() + entries <= ENTRIES;
        match came.as_deref() {
            None => {
                prop_assert!(fits, "taken, though {step:?} needs {bytes} bytes and {entries} entries more");
                model.make(step);
            }
            Some("ENOSPC") => prop_assert!(!fits, "refused, though {step:?} fits"),
            // Something else is wrong with it, and nothing happened.
            Some(_) => {}
        }
    }
    prop_assert_eq!((said.bytes, said.entries), (model.bytes(), model.entries()));
    let usage = outcome.usage;
    prop_assert_eq!((usage.scratch_bytes, usage.scratch_entries), (model.most_bytes, model.most_entries));
    Ok(())
}

#[test]
fn the_quota_takes_and_refuses_what_a_model_of_it_does() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let python = python();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    runner.run(&steps(), |steps| runtime.block_on(agree(&python, &steps))).unwrap();
}
