//! The shell: one interpreter, prepared while the image is made, that runs one script in a call.

use std::sync::Arc;

use bashkit::{Bash, ExecOptions, Result};
use tokio::runtime::{Builder, Runtime};

use crate::failure::Failure;
use crate::files::Files;
use crate::input::{self, Stdin};
use crate::request::Request;
use crate::{commands, directory, limits, streams};

/// Who a script is told that it runs as.
const USER: &str = "user";
const HOST: &str = "localhost";

/// Each script begins with this, on its first line: the interpreter forgets what `set` did before.
const MODE: &str = "set -o posix; ";

/// The shell that calls start from.
pub struct Shell {
    bash: Bash,
    /// The working directory, which the host renames in the image to that of the call.
    directory: String,
    executor: Runtime,
}

impl Shell {
    pub fn new() -> Shell {
        let directory = directory::of_call().unwrap_or_else(|| "/tmp".to_owned());
        let _ = std::env::set_current_dir(&directory);
        let mut builder = Bash::builder()
            .fs(Arc::new(Files::default()))
            .username(USER)
            .hostname(HOST)
            .limits(limits::execution())
            .session_limits(limits::session())
            .memory_limits(limits::memory())
            .cwd(&directory);
        // What is the same in every call: the rest comes with the request.
        for (name, value) in std::env::vars() {
            builder = builder.env(name, value);
        }
        let bash = commands::add_to(builder).build();
        let executor = Builder::new_current_thread().enable_time().build().expect("no resource is needed");
        Shell { bash, directory, executor }
    }

    /// Runs a warm-up text. What it leaves is there in every call.
    pub fn prepare(&mut self, text: &str) -> i32 {
        self.execute("sh", text, ExecOptions::new().arg0("sh").stdin(""))
    }

    /// Runs a script to its end.
    pub fn run(&mut self, request: Request) -> i32 {
        let Request { name, source, args, env, cwd } = request;
        for (name, value) in &env {
            self.bash.set_env(name, value);
        }
        if let Err(error) = self.enter(&cwd) {
            return Failure::usage(format!("{cwd}: {error}")).report(&name);
        }
        let options = ExecOptions::new().arg0(name.clone()).positional(args);
        match input::look() {
            Stdin::Whole(bytes) => self.execute(&name, &format!("{MODE}{source}"), options.stdin(bytes)),
            Stdin::Streamed if !input::is_read_by(&source) => {
                self.execute(&name, &format!("{MODE}{source}"), options.stdin(""))
            }
            Stdin::Streamed => self.execute(&name, &format!("{MODE}{}", input::streaming(&source)), options),
        }
    }

    fn enter(&mut self, directory: &str) -> Result<()> {
        if directory == self.directory {
            return Ok(());
        }
        std::env::set_current_dir(directory)?;
        let mut state = self.bash.shell_state();
        state.cwd = directory.into();
        self.bash.restore_shell_state(&state);
        Ok(())
    }

    fn execute(&mut self, name: &str, source: &str, options: ExecOptions) -> i32 {
        let execution = self
            .bash
            .execute(source)
            .options(options)
            .stdout_fn(|bytes| {
                streams::write_stdout(&bytes);
                std::future::ready(Ok(()))
            })
            .stderr_fn(|bytes| {
                streams::write_stderr(&without_mode(bytes));
                std::future::ready(Ok(()))
            });
        match self.executor.block_on(execution.into_future()) {
            Ok(result) => result.exit_code & 0xff,
            Err(error) => Failure::of(&error, name, source.strip_prefix(MODE).unwrap_or(source)).report(name),
        }
    }
}

/// A message without the words that we put before the script's first line, where it quotes that.
fn without_mode(message: Vec<u8>) -> Vec<u8> {
    match message.windows(MODE.len()).position(|part| part == MODE.as_bytes()) {
        Some(at) if at > 0 && message[at - 1] == b'`' => [&message[..at], &message[at + MODE.len()..]].concat(),
        _ => message,
    }
}
