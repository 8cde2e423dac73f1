//! Redirections of output, done before the command as far as can be seen: the file is there and empty, and one that
//! cannot be opened keeps the command from running. The command's output is written when it has ended.

use std::future::Future;
use std::pin::Pin;

use super::{ExecResult, Interpreter, Redirect, RedirectKind, WordPart, is_dev_null};
use crate::error::{Result, io_error_reason};

type Opening<'a> = Pin<Box<dyn Future<Output = Result<Option<ExecResult>>> + Send + 'a>>;

/// What the file of a redirection needs before the command.
enum Need {
    Nothing,
    Creation {
        append: bool,
    },
    /// Under `set -C`: that there is none.
    Absence,
}

/// Utilities that do nothing but write: whether the file is opened before or after cannot be told apart.
fn only_writes(name: &str) -> bool {
    matches!(name, ":" | "echo" | "exec" | "false" | "printf" | "true")
}

impl Interpreter {
    /// Opens the files that the output of the command `name` goes to. The command's result, if one cannot be opened.
    pub(super) fn open_outputs<'a>(&'a mut self, name: &'a str, redirects: &'a [Redirect]) -> Opening<'a> {
        Box::pin(async move {
            if only_writes(name) || !self.is_posix_mode() {
                return Ok(None);
            }
            for redirect in redirects {
                // What an expansion changes, it would change twice.
                let plain = |part: &WordPart| matches!(part, WordPart::Literal(_) | WordPart::Variable(_));
                if !redirect.target.parts.iter().all(plain) {
                    continue;
                }
                let need = match redirect.kind {
                    RedirectKind::Output if self.scoped.variables.get("SHOPT_C").is_some_and(|on| on == "1") => {
                        Need::Absence
                    }
                    RedirectKind::Output | RedirectKind::Clobber => Need::Creation { append: false },
                    RedirectKind::Append => Need::Creation { append: true },
                    _ => Need::Nothing,
                };
                if let Some(reason) = self.open_output(redirect, need).await? {
                    return Ok(Some(self.shell_error(ExecResult::err(reason, 1))));
                }
            }
            Ok(None)
        })
    }

    /// What is wrong, if anything.
    async fn open_output(&mut self, redirect: &Redirect, need: Need) -> Result<Option<String>> {
        if matches!(need, Need::Nothing) {
            return Ok(None);
        }
        let target = self.expand_word(&redirect.target).await?;
        let path = self.resolve_path(&target);
        // What is no file, and what names a folder, is looked at when the output is written.
        if is_dev_null(&path) || self.fd_alias(&path).is_some() || target.ends_with('/') {
            return Ok(None);
        }
        let opened = match need {
            Need::Nothing => Ok(()),
            Need::Creation { append: true } => self.fs.append_file(&path, b"").await,
            Need::Creation { append: false } => self.fs.write_file(&path, b"").await,
            Need::Absence if self.fs.stat(&path).await.is_ok_and(|found| found.file_type.is_file()) => {
                return Ok(Some(self.diag(format!("{target}: cannot overwrite existing file\n"))));
            }
            Need::Absence => Ok(()),
        };
        Ok(opened.err().map(|error| self.diag(format!("{target}: {}\n", io_error_reason(&error)))))
    }
}
