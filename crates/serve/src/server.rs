//! The server: a socket, its threads, and their end.

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

/// Answers are computed by the engine's thread; these only carry them.
const THREADS: usize = 2;
/// Requests that are read, written as their template says, and cut into tokens at once; others wait.
const PREPARING: usize = 16;

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
    router: Router,
    stop: watch::Sender<bool>,
}

/// Asks a server to stop; can be cloned and sent anywhere.
#[derive(Clone, Debug)]
pub struct Handle {
    stop: watch::Sender<bool>,
}

/// How a server ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Connections that were cut since they took longer than the patience.
    pub cut: usize,
}

impl Server {
    /// Takes the address. Clients may connect from here on, and are answered once [`run`](Self::run) is called.
    ///
    /// # Errors
    /// If the address cannot be had, or a setting makes no sense.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What stops it.
    pub fn handle(&self) -> Handle {
        Handle { stop: self.stop.clone() }
    }

    /// Answers until it is asked to stop, gives the requests under way their time, and ends the engine.
    pub fn run(self) -> Ended {
        let Self { runtime, listener, app, router, stop, .. } = self;
        let cut = runtime.block_on(answer(listener, Arc::clone(&app), router, stop.subscribe()));
        app.served.engine.shut_down(Duration::ZERO);
        // A body that is still being read belongs to a connection that was cut.
        runtime.shutdown_background();
        Ended { cut }
    }
}

impl Handle {
    /// Stops the server: nothing new is taken, what is under way gets the patience of the settings.
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
            // Who finds no place waits in the system's queue.
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
            // The client went, or the process has no more files to give: others end, and free theirs.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(app.settings.patience, all).await;
    let cut = connections.len();
    connections.shutdown().await;
    cut
}
