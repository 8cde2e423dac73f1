//! Who may use the service: bearer tokens, kept as digests and compared in constant time.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// The tokens that are known. None: whoever reaches the service may use it, for any tenant.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Vec<Token>);

#[derive(Debug, Clone)]
struct Token {
    caller: Caller,
    digest: [u8; 32],
}

/// Who makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The token's name, for logs.
    pub name: String,
    pub tenants: Tenants,
}

/// For whom a caller may run scripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tenants {
    Any,
    These(BTreeSet<String>),
}

impl Tenants {
    pub fn include(&self, tenant: &str) -> bool {
        match self {
            Tenants::Any => true,
            Tenants::These(names) => names.contains(tenant),
        }
    }

    /// Whether there is nobody to run scripts for.
    pub fn is_none(&self) -> bool {
        matches!(self, Tenants::These(names) if names.is_empty())
    }

    /// The tenant of a request that names none: the caller's own when it has one alone.
    pub fn of_unnamed(&self) -> &str {
        match self {
            Tenants::These(names) if names.len() == 1 => names.first().map_or(UNNAMED, String::as_str),
            _ => UNNAMED,
        }
    }
}

/// The tenant of requests that name none.
pub(crate) const UNNAMED: &str = "default";

/// A token that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The digest is none.
    #[error(
        "the token `{name}` has the SHA-256 `{value}`, but 64 hexadecimal digits are needed: `ampoule serve --new-token` makes them"
    )]
    Digest {
        /// The token's name.
        name: String,
        /// What was given.
        value: String,
    },
    /// Two tokens cannot be told apart.
    #[error("two tokens have the {what} `{value}`: give each its own")]
    Twice {
        /// Name or digest.
        what: &'static str,
        /// Which.
        value: String,
    },
    /// The token's file cannot be read.
    #[error("the token file `{}` cannot be read: {error}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// Others than its owner may read or write the token's file.
    #[error("the token file `{}` has the mode {mode:o}, so others than its owner may use it: set it to 600 (chmod 600)", path.display())]
    Open {
        /// Where.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The token's file belongs to somebody else.
    #[error("the token file `{}` belongs to user {owner}, neither to this one nor to root: change its owner (chown)", path.display())]
    Owner {
        /// Where.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
    },
    /// The token could be guessed, or cannot stand in a header.
    #[error("the token in `{}` {problem}: `ampoule serve --new-token` makes a good one", path.display())]
    Weak {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// The shortest token that is taken from a file.
const SHORTEST: usize = 20;

/// The digest under which a configuration knows a token: its SHA-256, 64 lower-case hexadecimal digits.
pub fn token_digest(token: &str) -> String {
    crate::runtime::digest::of_bytes(token.as_bytes())
}

impl Tokens {
    /// A new token of 256 random bits: to be kept by its user, and known to the service by its [`token_digest`].
    pub fn generate() -> String {
        format!("ampoule_{}", URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>()))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, name: &str, sha256: &str, tenants: Tenants) -> Result<(), TokenError> {
        let wrong = || TokenError::Digest { name: name.to_owned(), value: sha256.to_owned() };
        let digest = digest_of_hex(sha256).ok_or_else(wrong)?;
        let twice = |what, value: &str| Err(TokenError::Twice { what, value: value.to_owned() });
        if self.0.iter().any(|token| token.caller.name == name) {
            return twice("name", name);
        }
        if self.0.iter().any(|token| token.digest == digest) {
            return twice("SHA-256", sha256);
        }
        self.0.push(Token { caller: Caller { name: name.to_owned(), tenants }, digest });
        Ok(())
    }

    /// Adds the token in a file, for any tenant. The file must belong to this user or root, and nobody else may read it;
    /// on systems without such modes nothing is looked at.
    pub fn add_file(&mut self, path: &Path) -> Result<(), TokenError> {
        let failed = |error| TokenError::File { path: path.to_owned(), error };
        let weak = |problem| Err(TokenError::Weak { path: path.to_owned(), problem });
        let file = fs::File::open(path).map_err(failed)?;
        check_private(path, &file.metadata().map_err(failed)?)?;
        let text = io::read_to_string(file).map_err(failed)?;
        let token = text.trim();
        if token.len() < SHORTEST {
            return weak("has fewer than 20 characters");
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return weak("is more than one word of plain ASCII");
        }
        self.add("token-file", &token_digest(token), Tenants::Any)
    }

    /// Who presents this token. `None`: nobody who is known.
    ///
    /// Every known digest is compared, each to its end, so that the time says nothing about any.
    pub(crate) fn caller(&self, presented: Option<&str>) -> Option<Caller> {
        if self.is_empty() {
            return Some(Caller { name: "anyone".to_owned(), tenants: Tenants::Any });
        }
        let digest: [u8; 32] = Sha256::digest(presented?.as_bytes()).into();
        let mut found = None;
        for token in &self.0 {
            if bool::from(token.digest.ct_eq(&digest)) {
                found = Some(&token.caller);
            }
        }
        found.cloned()
    }
}

fn digest_of_hex(text: &str) -> Option<[u8; 32]> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, digits) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(digest)
}

#[cfg(unix)]
fn check_private(path: &Path, metadata: &fs::Metadata) -> Result<(), TokenError> {
    use std::os::unix::fs::MetadataExt;
    let (mode, owner) = (metadata.mode() & 0o777, metadata.uid());
    if owner != 0 && owner != rustix::process::geteuid().as_raw() {
        return Err(TokenError::Owner { path: path.to_owned(), owner });
    }
    if mode & 0o077 != 0 {
        return Err(TokenError::Open { path: path.to_owned(), mode });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(_path: &Path, _metadata: &fs::Metadata) -> Result<(), TokenError> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_digest_in_either_case_and_no_other_is() {
        let mut tokens = Tokens::default();
        assert_eq!(tokens.caller(None).map(|caller| caller.tenants), Some(Tenants::Any));
        let token = Tokens::generate();
        let these = Tenants::These(["a".to_owned()].into());
        tokens.add("first", &token_digest(&token).to_uppercase(), these.clone()).unwrap();
        tokens.add("second", &token_digest("another"), Tenants::Any).unwrap();
        assert_eq!(tokens.caller(Some(&token)), Some(Caller { name: "first".into(), tenants: these }));
        assert_eq!(tokens.caller(Some("another")).map(|caller| caller.name), Some("second".into()));
        for wrong in [None, Some(""), Some("anothe"), Some(&token_digest(&token)[..])] {
            assert_eq!(tokens.caller(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn tokens_that_cannot_be_told_apart_or_are_no_digests_are_refused() {
        let mut tokens = Tokens::default();
        let digest = token_digest("x");
        tokens.add("a", &digest, Tenants::Any).unwrap();
        for (name, sha256, message) in [
            ("a", token_digest("y").as_str(), "the name `a`"),
            ("b", &digest, "the SHA-256"),
            ("c", "short", "64 hexadecimal digits"),
            ("d", &"g".repeat(64), "64 hexadecimal digits"),
        ] {
            let error = tokens.add(name, sha256, Tenants::Any).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
