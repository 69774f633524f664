//! The server: its socket, its threads, and shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::app::{App, ServedModel};
use crate::listener::{Listener, accept};
use crate::settings::{ServeError, ServeSettings};

/// A server bound to its address.
pub struct Server {
    runtime: Runtime,
    socket: Arc<TcpListener>,
    address: SocketAddr,
    app: Arc<App>,
    router: Router,
    stop: watch::Sender<bool>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Stops a server. Cheap to clone; can be used from any thread.
#[derive(Clone, Debug)]
pub struct Handle {
    stop: watch::Sender<bool>,
}

/// Result of [`Server::run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShutdownSummary {
    /// Connections that were closed because they exceeded the shutdown timeout.
    pub aborted_connections: usize,
}

impl Server {
    /// Binds the address. Clients may connect from here on, and are served once [`run`](Self::run)
    /// is called. [`Listener`] binds before the model is loaded.
    ///
    /// # Errors
    /// If the address cannot be bound or a setting is invalid.
    pub fn bind(settings: ServeSettings, served: ServedModel) -> Result<Self, ServeError> {
        Listener::bind(settings)?.into_server(served)
    }

    pub(crate) fn new(
        runtime: Runtime,
        socket: Arc<TcpListener>,
        address: SocketAddr,
        app: Arc<App>,
        router: Router,
    ) -> Self {
        Self { runtime, socket, address, app, router, stop: watch::Sender::new(false) }
    }

    /// The bound address, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle that stops the server.
    pub fn handle(&self) -> Handle {
        Handle { stop: self.stop.clone() }
    }

    /// Serves until it is stopped, lets requests in flight finish within
    /// [`ServeSettings::shutdown_timeout`], and shuts down the engine.
    pub fn run(self) -> ShutdownSummary {
        let Self { runtime, socket, app, router, stop, .. } = self;
        let aborted_connections = runtime.block_on(answer(socket, &app, &router, &stop.subscribe()));
        app.served.engine.shut_down(Duration::ZERO);
        // A body that is still being parsed belongs to a closed connection.
        runtime.shutdown_background();
        ShutdownSummary { aborted_connections }
    }
}

impl Handle {
    /// Stops the server: it accepts no new connections, and requests in flight get
    /// [`ServeSettings::shutdown_timeout`] to finish.
    pub fn shut_down(&self) {
        self.stop.send_replace(true);
    }
}

async fn answer(socket: Arc<TcpListener>, app: &Arc<App>, router: &Router, stop: &watch::Receiver<bool>) -> usize {
    let mut connections = accept(&socket, &app.settings, Some(app), router, stop).await;
    drop(socket);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(app.settings.shutdown_timeout, all).await;
    let aborted_connections = connections.len();
    connections.shutdown().await;
    aborted_connections
}
