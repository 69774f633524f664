//! The server: its socket, its threads, and shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use crate::app::{App, Served};
use crate::connection;
use crate::routes;
use crate::settings::{ServeError, ServeSettings};

/// Threads of the async runtime. The engine's thread computes; these only transfer data.
const THREADS: usize = 2;
/// Maximum number of requests that are parsed, rendered and tokenized concurrently; others wait.
const PREPARING: usize = 16;

/// A server bound to its address.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
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
pub struct Ended {
    /// Connections that were closed because they exceeded the shutdown timeout.
    pub cut: usize,
}

impl Server {
    /// Binds the address. Clients may connect from here on, and are served once [`run`](Self::run)
    /// is called.
    ///
    /// # Errors
    /// If the address cannot be bound or a setting is invalid.
    pub fn bind(settings: ServeSettings, served: Served) -> Result<Self, ServeError> {
        settings.check()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(PREPARING)
            .thread_name("roci-serve")
            .enable_all()
            .build()
            .map_err(ServeError::Threads)?;
        let address = settings.address;
        let bind = |source| ServeError::Bind { address, source };
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(bind)?;
        let address = listener.local_addr().map_err(bind)?;
        let app = Arc::new(App::new(served, settings));
        let router = routes::router(Arc::clone(&app))?;
        Ok(Self { runtime, listener, address, app, router, stop: watch::Sender::new(false) })
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
    pub fn run(self) -> Ended {
        let Self { runtime, listener, app, router, stop, .. } = self;
        let cut = runtime.block_on(answer(listener, Arc::clone(&app), router, stop.subscribe()));
        app.served.engine.shut_down(Duration::ZERO);
        // A body that is still being parsed belongs to a closed connection.
        runtime.shutdown_background();
        Ended { cut }
    }
}

impl Handle {
    /// Stops the server: it accepts no new connections, and requests in flight get
    /// [`ServeSettings::shutdown_timeout`] to finish.
    pub fn shut_down(&self) {
        self.stop.send_replace(true);
    }
}

async fn answer(listener: TcpListener, app: Arc<App>, router: Router, stop: watch::Receiver<bool>) -> usize {
    let places = Arc::new(Semaphore::new(app.settings.connections.max(1)));
    let mut connections = JoinSet::new();
    let mut stopping = stop.clone();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = async {
            // Beyond the limit, connections wait in the system's backlog.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            _ = stopping.wait_for(|stop| *stop) => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (app, router, stop) = (Arc::clone(&app), router.clone(), stop.clone());
                connections.spawn(async move {
                    let _place = place;
                    let _open = app.counters.open();
                    connection::serve(stream, router, &app.settings, stop).await;
                });
            }
            // The client disconnected, or the process is out of file descriptors, which other
            // connections will free.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(app.settings.shutdown_timeout, all).await;
    let cut = connections.len();
    connections.shutdown().await;
    cut
}
