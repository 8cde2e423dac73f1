//! Modules that make many calls of WASI, each of which must fail.

use ampoule::{Outcome, Status};

use crate::support::module;

/// Calls to make, and the texts they name.
#[derive(Default)]
pub struct Attempts {
    texts: String,
    end: usize,
    calls: Vec<String>,
}

/// Where the texts lie.
const TEXTS: usize = 4096;

impl Attempts {
    /// Puts bytes into the module's memory: their place and length, as two instructions.
    pub fn text(&mut self, text: impl AsRef<[u8]>) -> String {
        let text = text.as_ref();
        let place = TEXTS + self.end;
        let bytes: String = text.iter().map(|byte| format!("\\{byte:02x}")).collect();
        self.texts += &format!("(data (i32.const {place}) \"{bytes}\")\n");
        self.end += text.len();
        format!("(i32.const {place}) (i32.const {})", text.len())
    }

    /// A call of `function` with these instructions as arguments. It must give an error.
    pub fn call(&mut self, function: &str, arguments: &str) {
        self.calls.push(format!("(call ${function} {arguments})"));
    }

    /// Everything that WASI can do with a path, below each of two directories.
    pub fn everything_with(&mut self, path: impl AsRef<[u8]>) {
        let path = self.text(path);
        let (own, new) = (self.text("own"), self.text("new"));
        for directory in [3, 4] {
            let dir = format!("(i32.const {directory})");
            for (follow, how) in [(0, 0), (1, 0), (1, 1), (1, 2), (1, 8), (1, 9), (0, 5)] {
                let rest = "(i64.const 0x1fffffff) (i64.const 0x1fffffff) (i32.const 0) (i32.const 1008)";
                self.call("path_open", &format!("{dir} (i32.const {follow}) {path} (i32.const {how}) {rest}"));
            }
            for follow in [0, 1] {
                self.call("stat", &format!("{dir} (i32.const {follow}) {path} (i32.const 1024)"));
                let times = "(i64.const 0) (i64.const 0) (i32.const 5)";
                self.call("set_times", &format!("{dir} (i32.const {follow}) {path} {times}"));
                self.call("link", &format!("{dir} (i32.const {follow}) {path} {dir} {new}"));
            }
            self.call("readlink", &format!("{dir} {path} (i32.const 2048) (i32.const 512) (i32.const 1008)"));
            self.call("mkdir", &format!("{dir} {path}"));
            self.call("rmdir", &format!("{dir} {path}"));
            self.call("unlink", &format!("{dir} {path}"));
            self.call("rename", &format!("{dir} {path} {dir} {new}"));
            self.call("rename", &format!("{dir} {own} {dir} {path}"));
            self.call("link", &format!("{dir} (i32.const 0) {own} {dir} {path}"));
            self.call("symlink", &format!("{own} {dir} {path}"));
        }
    }

    /// Makes a file `own`, then the calls. None may succeed.
    #[track_caller]
    pub fn all_fail(self) -> impl Future<Output = Outcome> {
        let mut body = format!("(memory (export \"memory\") 4)\n{}(data (i32.const 0) \"o\")\n", self.texts);
        let mut own = Attempts::default();
        let _ = own.text("own");
        body += "(data (i32.const 512) \"own\")\n(func (export \"_start\")\n";
        body += "(call $exit_if (call $path_open (i32.const 3) (i32.const 0) (i32.const 512) (i32.const 3) (i32.const 1) \
                 (i64.const 0x1fffffff) (i64.const 0x1fffffff) (i32.const 0) (i32.const 1008)))\n";
        // An exit code holds a byte: which call it was that succeeded is said on standard output.
        for (index, call) in self.calls.iter().enumerate() {
            body +=
                &format!("(if (i32.eqz {call}) (then (i32.store (i32.const 600) (i32.const {index})) (call $say) ))\n");
        }
        body += ")\n(func $say (i32.store (i32.const 608) (i32.const 600)) (i32.store (i32.const 612) (i32.const 4)) \
                 (drop (call $fd_write (i32.const 1) (i32.const 608) (i32.const 1) (i32.const 1008))))\n";
        let calls = self.calls;
        async move {
            let outcome = module(&body).run("", |_| {}).await;
            let said = outcome.stdout.chunks(4).map(|index| u32::from_le_bytes(index.try_into().unwrap()) as usize);
            let succeeded: Vec<&str> = said.map(|index| calls[index].as_str()).collect();
            assert!(succeeded.is_empty(), "{} succeeded: {:#?}", succeeded.len(), succeeded);
            assert_eq!(outcome.status, Status::Exited(0));
            outcome
        }
    }
}
