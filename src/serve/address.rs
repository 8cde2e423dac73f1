//! Where the service listens: a TCP address, or a socket in the file system.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use tokio::net::{TcpListener, TcpStream};

use super::ServeError;

/// An address to listen on.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// `127.0.0.1:8085`, `[::1]:8085`, or `localhost:8085`, which is the first. Port 0: one that the system chooses.
    Tcp(SocketAddr),
    /// `unix:/run/ampoule.sock`, on Unix alone.
    Unix(PathBuf),
}

/// A text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address to listen on: write 127.0.0.1:8085, [::1]:8085, or, on Unix, unix:/run/ampoule.sock")]
pub struct AddressError(String);

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let wrong = || AddressError(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return if path.is_empty() || cfg!(not(unix)) { Err(wrong()) } else { Ok(Address::Unix(path.into())) };
        }
        if let Some(port) = text.strip_prefix("localhost:") {
            let port = port.parse().map_err(|_| wrong())?;
            return Ok(Address::Tcp((Ipv4Addr::LOCALHOST, port).into()));
        }
        text.parse().map(Address::Tcp).map_err(|_| wrong())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(f, "http://{address}"),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Address {
    /// Whether only programs of this machine can reach it. A socket's file has a mode that says which of them.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Address::Unix(_) => true,
        }
    }
}

/// Something that connections come from.
pub(super) enum Listener {
    Tcp(TcpListener, SocketAddr),
    #[cfg(unix)]
    Unix(unix::Socket),
}

/// A connection that came.
pub(super) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Listener {
    pub async fn bind(address: &Address, _socket_mode: u32) -> Result<Listener, ServeError> {
        let failed = |problem: String| ServeError::Listen { address: address.clone(), problem };
        match address {
            Address::Tcp(tcp) => {
                let listener = TcpListener::bind(tcp).await.map_err(|error| {
                    failed(match error.kind() {
                        std::io::ErrorKind::AddrInUse => {
                            "the port is in use; end what listens there, or choose another (--listen)".to_owned()
                        }
                        _ => error.to_string(),
                    })
                })?;
                let bound = listener.local_addr().map_err(|error| failed(error.to_string()))?;
                Ok(Listener::Tcp(listener, bound))
            }
            #[cfg(unix)]
            Address::Unix(path) => unix::Socket::bind(path, _socket_mode).map(Listener::Unix),
            #[cfg(not(unix))]
            Address::Unix(_) => Err(failed("this system has no such sockets; use 127.0.0.1".to_owned())),
        }
    }

    pub fn address(&self) -> Address {
        match self {
            Listener::Tcp(_, bound) => Address::Tcp(*bound),
            #[cfg(unix)]
            Listener::Unix(socket) => Address::Unix(socket.path().to_owned()),
        }
    }

    pub async fn accept(&self) -> std::io::Result<Stream> {
        match self {
            Listener::Tcp(listener, _) => {
                let (stream, _) = listener.accept().await?;
                // An answer is one piece and goes at once.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            #[cfg(unix)]
            Listener::Unix(socket) => Ok(Stream::Unix(socket.accept().await?)),
        }
    }
}

#[cfg(unix)]
mod unix {
    //! A socket in the file system, which has its mode before anybody can connect to it.

    use std::fs;
    use std::io;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    use std::os::unix::net::UnixStream as BlockingStream;
    use std::path::{Path, PathBuf};

    use tokio::net::{UnixListener, UnixStream};

    use super::{Address, ServeError};

    pub struct Socket {
        listener: UnixListener,
        path: PathBuf,
    }

    impl Socket {
        /// Makes the socket in a folder of its own, which nobody else can enter, sets its mode, and moves it to its
        /// place. A socket there that nobody listens on any more is replaced.
        pub fn bind(path: &Path, mode: u32) -> Result<Socket, ServeError> {
            let failed = |error| ServeError::Socket { path: path.to_owned(), error };
            let taken = |problem: &str| ServeError::Listen {
                address: Address::Unix(path.to_owned()),
                problem: problem.to_owned(),
            };
            match fs::symlink_metadata(path) {
                Ok(there) if !there.file_type().is_socket() => {
                    return Err(taken("a file that is no socket is there; remove it or choose another path"));
                }
                Ok(_) if BlockingStream::connect(path).is_ok() => {
                    return Err(taken("another program listens there; end it or choose another path"));
                }
                _ => {}
            }
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            // Its mode is 0700.
            let private = tempfile::Builder::new().prefix(".s").rand_bytes(4).tempdir_in(folder).map_err(failed)?;
            let made = private.path().join("s");
            let listener = UnixListener::bind(&made).map_err(failed)?;
            fs::set_permissions(&made, fs::Permissions::from_mode(mode)).map_err(failed)?;
            fs::rename(&made, path).map_err(failed)?;
            Ok(Socket { listener, path: path.to_owned() })
        }

        pub fn path(&self) -> &Path {
            &self.path
        }

        pub async fn accept(&self) -> io::Result<UnixStream> {
            Ok(self.listener.accept().await?.0)
        }
    }

    impl Drop for Socket {
        fn drop(&mut self) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_those_beyond_the_machine_are_known() {
        let local = |text: &str| text.parse::<Address>().map(|address| address.is_local());
        for text in ["127.0.0.1:0", "127.9.9.9:80", "[::1]:8085", "localhost:8085", "[::ffff:127.0.0.1]:80"] {
            assert_eq!(local(text), Ok(true), "{text}");
        }
        for text in ["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "[::ffff:10.0.0.1]:80"] {
            assert_eq!(local(text), Ok(false), "{text}");
        }
        for text in ["", "8085", "127.0.0.1", "localhost:x", "example.com:80", "unix:", "127.0.0.1:70000"] {
            assert!(local(text).is_err(), "{text}");
        }
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_socket_has_its_mode_replaces_a_dead_one_and_never_a_living_one_or_a_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let address = Address::Unix(path.clone());
        let first = Listener::bind(&address, 0o640).await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        let refused = Listener::bind(&address, 0o600).await.err().unwrap().to_string();
        assert!(refused.contains("another program listens there"), "{refused}");
        drop(first);
        assert!(!path.exists());

        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        Listener::bind(&address, 0o600).await.unwrap();
        std::fs::write(&path, "a file").unwrap();
        let refused = Listener::bind(&address, 0o600).await.err().unwrap().to_string();
        assert!(refused.contains("no socket"), "{refused}");
        assert_eq!(std::fs::read(&path).unwrap(), b"a file");
    }
}
