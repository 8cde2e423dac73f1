//! The files in `/dev` that are no files.

use std::path::Path;

use bashkit::{FileType, Metadata};

/// How much of an endless device one read returns. Readers that want another amount are in `commands`.
const ENDLESS_BYTES: usize = 1 << 20;

/// A device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Device {
    Null,
    Zero,
    Random,
}

/// The folder of the devices.
pub const FOLDER: &str = "/dev";

/// The devices that a listing shows.
pub const NAMES: [&str; 4] = ["null", "random", "urandom", "zero"];

impl Device {
    pub fn at(path: &Path) -> Option<Device> {
        Some(match path.to_str()? {
            "/dev/null" => Device::Null,
            "/dev/zero" => Device::Zero,
            "/dev/random" | "/dev/urandom" => Device::Random,
            _ => return None,
        })
    }

    pub fn read(self) -> Vec<u8> {
        match self {
            Device::Null => Vec::new(),
            Device::Zero => vec![0; ENDLESS_BYTES],
            Device::Random => {
                let mut bytes = vec![0; 8192];
                self.fill(&mut bytes);
                bytes
            }
        }
    }

    /// Fills a buffer and returns how much of it.
    pub fn fill(self, buffer: &mut [u8]) -> usize {
        match self {
            Device::Zero => buffer.fill(0),
            Device::Random => {
                if getrandom::fill(buffer).is_err() {
                    return 0;
                }
            }
            Device::Null => return 0,
        }
        buffer.len()
    }

    pub fn metadata() -> Metadata {
        // There is no type for devices: what is neither file nor directory comes nearest.
        Metadata { file_type: FileType::Fifo, size: 0, mode: 0o666, ..Metadata::default() }
    }
}
