//! Settings and limits of a server.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use http::HeaderValue;
use roci_base::Hint;

use crate::access_control;

/// Address, access control, and limits on clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeSettings {
    /// Address to listen on; port 0 selects a free port. Default: 127.0.0.1:8080.
    pub address: SocketAddr,
    /// API key that clients must send (`Authorization: Bearer …`). Default: none.
    pub api_key: Option<String>,
    /// Allowed CORS origins, such as `https://example.org`; `*` allows all.
    pub cors: Vec<String>,
    /// Folder of the files that messages may reference as `file://` URLs of images. Default: none.
    pub media_path: Option<PathBuf>,
    /// Maximum size of a request body in bytes. Default: 16 MiB.
    pub body_limit: usize,
    /// Maximum number of open connections; further ones wait. Default: 256.
    pub connections: usize,
    /// Timeout for receiving a request head, which also limits idle connections. Default: 15 s.
    pub head_timeout: Duration,
    /// Timeout for receiving a request body. Default: 60 s.
    pub body_timeout: Duration,
    /// Timeout for a blocked write to a client. Default: 30 s.
    pub write_timeout: Duration,
    /// Time that requests in flight get to finish after the server is stopped. Default: 10 s.
    pub shutdown_timeout: Duration,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            address: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            api_key: None,
            cors: Vec::new(),
            media_path: None,
            body_limit: 16 << 20,
            connections: 256,
            head_timeout: Duration::from_secs(15),
            body_timeout: Duration::from_secs(60),
            write_timeout: Duration::from_secs(30),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}

impl ServeSettings {
    /// Checks that key and origins are valid and the address is free, without starting a server.
    /// Useful before slow steps such as loading a model.
    ///
    /// # Errors
    /// Those of [`Server::bind`](crate::Server::bind).
    pub fn check(&self) -> Result<(), ServeError> {
        let usable =
            |key: &String| !key.is_empty() && HeaderValue::from_str(key).is_ok() && !key.contains(char::is_whitespace);
        if !self.api_key.as_ref().is_none_or(usable) {
            return Err(ServeError::Key);
        }
        access_control::cors(self)?;
        let bind = |source| ServeError::Bind { address: self.address, source };
        TcpListener::bind(self.address).map(|_| ()).map_err(bind)
    }
}

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        source: std::io::Error,
    },
    /// An invalid origin.
    #[error("`{origin}` is not a valid origin")]
    Origin {
        /// The origin as given.
        origin: String,
    },
    /// A key that is empty or not representable in a header.
    #[error("the API key is empty or has characters that an HTTP header cannot carry")]
    Key,
    /// The server's threads could not be started.
    #[error("cannot start the server's threads: {0}")]
    Threads(std::io::Error),
}

impl Hint for ServeError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Bind { source, .. } => Some(match source.kind() {
                std::io::ErrorKind::AddrInUse => "another program listens there: choose another port (`--port`)".into(),
                std::io::ErrorKind::PermissionDenied => {
                    "ports below 1024 are reserved: choose another port (`--port`)".into()
                }
                _ => "choose an address of this machine (`--host`)".into(),
            }),
            Self::Origin { .. } => Some("write it as browsers do: `https://example.org`, or `*` for all".into()),
            Self::Key => Some("use letters, digits and punctuation, without spaces".into()),
            Self::Threads(_) => None,
        }
    }
}
