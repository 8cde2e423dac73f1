//! What a command reads: its standard input, a file piece by piece, an endless device, or a text in memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use bashkit::{CommandContext, CommandInput, Error, Result, normalize_path, vfs_join};

use crate::devices::Device;

/// How much of a file is read at once.
const PIECE_BYTES: usize = 64 << 10;

/// Something to read.
pub enum Source {
    Input(CommandInput),
    File(File),
    Device(Device),
    /// What is left of a text.
    Text(Option<Vec<u8>>),
}

impl Source {
    /// Opens an operand; `-` is standard input.
    pub async fn open(ctx: &CommandContext<'_>, operand: &str) -> std::result::Result<Source, String> {
        if operand == "-" || operand == "/dev/stdin" || operand == "/dev/fd/0" {
            return Ok(Source::Input(ctx.stdin.clone()));
        }
        let path = normalize_path(&vfs_join(ctx.cwd, Path::new(operand)));
        if let Some(device @ (Device::Zero | Device::Random)) = Device::at(&path) {
            return Ok(Source::Device(device));
        }
        if operand.is_empty() {
            return Err(reason(&std::io::Error::from(std::io::ErrorKind::NotFound).into()));
        }
        // The interpreter's own files, such as those of `<(...)`, are no files of the host.
        let is_pipe = ctx.fs.stat(&path).await.is_ok_and(|found| found.file_type.is_fifo());
        match File::open(&path) {
            Ok(file) if !is_pipe && file.metadata().is_ok_and(|metadata| metadata.is_file()) => Ok(Source::File(file)),
            _ => match ctx.fs.read_file(&path).await {
                Ok(text) => Ok(Source::Text(Some(text))),
                Err(error) => Err(reason(&error)),
            },
        }
    }

    /// The next piece, none at the end.
    pub async fn read(&mut self) -> Result<Option<Vec<u8>>> {
        match self {
            Source::Input(input) => input.read_chunk().await,
            Source::File(file) => {
                let mut piece = vec![0; PIECE_BYTES];
                let length = file.read(&mut piece)?;
                piece.truncate(length);
                Ok((length > 0).then_some(piece))
            }
            Source::Device(device) => {
                let mut piece = vec![0; PIECE_BYTES];
                let length = device.fill(&mut piece);
                piece.truncate(length);
                Ok((length > 0).then_some(piece))
            }
            Source::Text(text) => Ok(text.take().filter(|text| !text.is_empty())),
        }
    }
}

/// Why a file could not be opened, in the words of the C library.
fn reason(error: &Error) -> String {
    use std::io::ErrorKind;
    let Error::Io(error) = error else { return error.to_string() };
    match error.kind() {
        ErrorKind::NotFound => "No such file or directory".to_owned(),
        ErrorKind::IsADirectory => "Is a directory".to_owned(),
        ErrorKind::NotADirectory => "Not a directory".to_owned(),
        _ if error.to_string() == "is a directory" => "Is a directory".to_owned(),
        _ => error.to_string(),
    }
}
