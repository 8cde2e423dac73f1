//! Reads and writes of the guest, in pieces: one that moves a hundred megabytes takes tenths of a second, and between
//! two pieces the call can be stopped and others get their turn.

use wasmtime_wasi::p1::types::{self, Errno, Fd};
use wasmtime_wasi::p1::wasi_snapshot_preview1::WasiSnapshotPreview1;
use wiggle::{GuestMemory, GuestPtr};

use super::wasi::{Guarded, Memory, Result};

/// The most that is read or written at once.
const PIECE: u32 = 1 << 20;

/// The size of an entry of a list of buffers.
const ENTRY: usize = 8;

/// Where a read or write starts.
#[derive(Clone, Copy)]
pub(super) enum Offset {
    /// Where the file's own offset is.
    Current,
    At(u64),
}

/// A write to a file: where it starts, and the file's length before it.
struct Write {
    start: u64,
    length: u64,
}

impl Write {
    fn length_after(&self, bytes: u64) -> u64 {
        if bytes == 0 { self.length } else { self.length.max(self.start.saturating_add(bytes)) }
    }
}

/// The first buffer that is not empty: one call moves no more than that. A list of buffers to read into and one to
/// write from look the same.
struct Buffer {
    /// Its entry in the list.
    entry: GuestPtr<types::Ciovec>,
    buffer: types::Ciovec,
}

impl Buffer {
    fn first(memory: &GuestMemory<'_>, buffers: types::CiovecArray) -> Result<Option<Buffer>> {
        for entry in buffers.iter() {
            let entry = entry?;
            let buffer = memory.read(entry)?;
            if buffer.buf_len > 0 {
                return Ok(Some(Buffer { entry, buffer }));
            }
        }
        Ok(None)
    }

    fn length(&self) -> u32 {
        self.buffer.buf_len
    }

    /// Makes the entry that of the piece behind `done` bytes. A guest whose buffer holds the list of its buffers reads
    /// and writes nonsense there, and that alone.
    fn show_piece(&self, memory: Memory<'_, '_>, done: u32) -> Result<u32> {
        let length = (self.length() - done).min(PIECE);
        memory.write(self.entry, types::Ciovec { buf: self.buffer.buf.add(done)?, buf_len: length })?;
        Ok(length)
    }

    /// Makes the entry what the guest made it.
    fn show_whole(&self, memory: Memory<'_, '_>) -> Result<()> {
        Ok(memory.write(self.entry, types::Ciovec { buf: self.buffer.buf, buf_len: self.length() })?)
    }

    fn as_write(&self) -> types::CiovecArray {
        self.entry.as_array(1)
    }

    fn as_read(&self) -> types::IovecArray {
        self.entry.cast::<types::Iovec>().as_array(1)
    }
}

impl Guarded {
    /// Refuses what is more than one host call may copy: the bytes and the list of the buffers. The engine counts, too,
    /// but each piece alone.
    fn may_move(&mut self, buffers: u32, length: u32) -> Result<()> {
        let bytes = (buffers as usize).saturating_mul(ENTRY).saturating_add(length as usize);
        if bytes > self.hostcall_bytes {
            return Err(Errno::Nomem.into());
        }
        self.used.hostcall_bytes = self.used.hostcall_bytes.max(bytes as u64);
        Ok(())
    }

    /// Asks the quota for a write of so many bytes. None for a standard stream, which has a cap of its own.
    async fn before_write(
        &mut self,
        memory: Memory<'_, '_>,
        fd: Fd,
        bytes: u64,
        offset: Offset,
    ) -> Result<Option<Write>> {
        if self.quota.file(fd.into()).is_none() {
            return Ok(None);
        }
        let length = self.inner.fd_filestat_get(memory, fd).await?.size;
        let appends = self.inner.fd_fdstat_get(memory, fd).await?.fs_flags.contains(types::Fdflags::APPEND);
        let start = match offset {
            _ if appends => length,
            Offset::At(offset) => offset,
            Offset::Current => self.inner.fd_tell(memory, fd)?,
        };
        let write = Write { start, length };
        self.quota.may_grow(length, write.length_after(bytes))?;
        Ok(Some(write))
    }

    fn after_write(&mut self, write: Option<Write>, written: u32) {
        if let Some(write) = write
            && written > 0
        {
            self.quota.wrote(written.into());
            self.quota.resized(write.length, write.length_after(written.into()));
        }
    }

    /// `fd_write` and `fd_pwrite`.
    pub(super) async fn write(
        &mut self,
        memory: Memory<'_, '_>,
        fd: Fd,
        buffers: types::CiovecArray,
        offset: Offset,
    ) -> Result<u32> {
        let Some(buffer) = Buffer::first(memory, buffers)? else {
            return match offset {
                Offset::Current => self.inner.fd_write(memory, fd, buffers).await,
                Offset::At(offset) => self.inner.fd_pwrite(memory, fd, buffers, offset).await,
            };
        };
        self.may_move(buffers.len(), buffer.length())?;
        let write = self.before_write(memory, fd, buffer.length().into(), offset).await?;
        let mut done = 0;
        let result = loop {
            let length = buffer.show_piece(memory, done)?;
            let moved = match offset {
                Offset::Current => self.inner.fd_write(memory, fd, buffer.as_write()).await,
                Offset::At(offset) => {
                    let offset = offset.saturating_add(done.into());
                    self.inner.fd_pwrite(memory, fd, buffer.as_write(), offset).await
                }
            };
            buffer.show_whole(memory)?;
            match moved {
                Ok(moved) => done += moved,
                Err(error) if done == 0 => break Err(error),
                // What was moved already is told; what stopped it will stop the next, too.
                Err(_) => break Ok(done),
            }
            if done == buffer.length() || moved.is_ok_and(|moved| moved < length) {
                break Ok(done);
            }
            tokio::task::yield_now().await;
        };
        self.after_write(write, done);
        result
    }

    /// `fd_read` and `fd_pread`.
    pub(super) async fn read(
        &mut self,
        memory: Memory<'_, '_>,
        fd: Fd,
        buffers: types::IovecArray,
        offset: Offset,
    ) -> Result<u32> {
        let is_file = self.quota.file(fd.into()).is_some();
        let entries = GuestPtr::<types::Ciovec>::new(buffers.offset_base()).as_array(buffers.len());
        let Some(buffer) = Buffer::first(memory, entries)? else {
            return match offset {
                Offset::Current => self.inner.fd_read(memory, fd, buffers).await,
                Offset::At(offset) => self.inner.fd_pread(memory, fd, buffers, offset).await,
            };
        };
        self.may_move(buffers.len(), buffer.length())?;
        let mut done = 0;
        loop {
            let length = buffer.show_piece(memory, done)?;
            let moved = match offset {
                Offset::Current => self.inner.fd_read(memory, fd, buffer.as_read()).await,
                Offset::At(offset) => {
                    let offset = offset.saturating_add(done.into());
                    self.inner.fd_pread(memory, fd, buffer.as_read(), offset).await
                }
            };
            buffer.show_whole(memory)?;
            let moved = match moved {
                Ok(moved) => moved,
                Err(error) if done == 0 => return Err(error),
                Err(_) => return Ok(done),
            };
            done += moved;
            // A stream gives what it has: asking it for more could mean to wait.
            if !is_file {
                self.used.stdin_bytes += u64::from(moved);
                return Ok(done);
            }
            if done == buffer.length() || moved < length {
                return Ok(done);
            }
            tokio::task::yield_now().await;
        }
    }
}
