//! What a server may take from its clients.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use http::HeaderValue;
use roci_hal::Hint;

use crate::guard;

/// Where a server listens, and what it may take from its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeSettings {
    /// Where it listens; port 0 takes a free one.
    pub address: SocketAddr,
    /// What clients must show (`Authorization: Bearer …`), if anything.
    pub api_key: Option<String>,
    /// Origins whose pages may ask from a browser, such as `https://example.org`; `*` allows all.
    pub cors: Vec<String>,
    /// The longest body of a request, in bytes.
    pub body_limit: usize,
    /// How many connections are open at once; further ones wait.
    pub connections: usize,
    /// How long the head of a request may take, and how long a connection may be open with nothing asked.
    pub head_time: Duration,
    /// How long the body of a request may take.
    pub body_time: Duration,
    /// How long a client may take nothing of what is sent to it.
    pub write_time: Duration,
    /// How long requests may go on once the server is asked to stop.
    pub patience: Duration,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            api_key: None,
            cors: Vec::new(),
            body_limit: 16 << 20,
            connections: 256,
            head_time: Duration::from_secs(15),
            body_time: Duration::from_secs(60),
            write_time: Duration::from_secs(30),
            patience: Duration::from_secs(10),
        }
    }
}

impl ServeSettings {
    /// Whether a server can be made of them: keys and origins make sense, and the address can be had now. For those who have something to
    /// do before, such as loading a model.
    ///
    /// # Errors
    /// As [`Server::bind`](crate::Server::bind).
    pub fn check(&self) -> Result<(), ServeError> {
        let usable =
            |key: &String| !key.is_empty() && HeaderValue::from_str(key).is_ok() && !key.contains(char::is_whitespace);
        if !self.api_key.as_ref().is_none_or(usable) {
            return Err(ServeError::Key);
        }
        guard::cors(self)?;
        let bind = |source| ServeError::Bind { address: self.address, source };
        TcpListener::bind(self.address).map(|_| ()).map_err(bind)
    }
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// An origin that no browser would send.
    #[error("`{origin}` is no origin")]
    Origin {
        /// What was given.
        origin: String,
    },
    /// A key that no header can carry.
    #[error("the API key has characters that no header can carry, or none at all")]
    Key,
    /// The threads that serve could not be started.
    #[error("cannot start the server's threads: {0}")]
    Threads(std::io::Error),
}

impl Hint for ServeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Bind { source, .. } => Some(match source.kind() {
                std::io::ErrorKind::AddrInUse => "another program listens there: choose another port (`--port`)".into(),
                std::io::ErrorKind::PermissionDenied => {
                    "ports below 1024 are the system's: choose another (`--port`)".into()
                }
                _ => "choose an address of this machine (`--host`)".into(),
            }),
            Self::Origin { .. } => Some("write it as browsers do: `https://example.org`, or `*` for all".into()),
            Self::Key => Some("take letters, digits and signs, without spaces".into()),
            Self::Threads(_) => None,
        }
    }
}
