//! The listening socket, and the answers while the model loads.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn;
use http::StatusCode;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::app::{App, ServedModel};
use crate::connection;
use crate::error::ApiError;
use crate::routes;
use crate::server::Server;
use crate::settings::{ServeError, ServeSettings};

/// Threads of the async runtime. The engine's thread computes; these only transfer data.
const THREADS: usize = 2;
/// Maximum number of requests that are parsed, rendered and tokenized concurrently; others wait.
const PREPARING: usize = 16;
/// Time that answers sent while the model loaded get to reach their clients.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// A bound address whose model is still loading: every request gets status 503 with the code
/// `loading_model`.
#[derive(Debug)]
pub struct Listener {
    runtime: Runtime,
    socket: Arc<TcpListener>,
    address: SocketAddr,
    settings: Arc<ServeSettings>,
    loaded: watch::Sender<bool>,
    /// Answers requests until `loaded`.
    answers: JoinHandle<()>,
}

impl Listener {
    /// Binds the address and starts to answer.
    ///
    /// # Errors
    /// If the address cannot be bound or a setting is invalid.
    pub fn bind(settings: ServeSettings) -> Result<Self, ServeError> {
        settings.check()?;
        let settings = Arc::new(settings);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(PREPARING)
            .thread_name("roci-serve")
            .enable_all()
            .build()
            .map_err(ServeError::Threads)?;
        let address = settings.address;
        let bind = |source| ServeError::Bind { address, source };
        let socket = Arc::new(runtime.block_on(TcpListener::bind(address)).map_err(bind)?);
        let address = socket.local_addr().map_err(bind)?;
        let loaded = watch::Sender::new(false);
        let answers = runtime.spawn(answer(Arc::clone(&socket), Arc::clone(&settings), loaded.subscribe()));
        Ok(Self { runtime, socket, address, settings, loaded, answers })
    }

    /// The bound address, with the actual port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The server of the loaded model, at the same address.
    ///
    /// # Errors
    /// If a setting is invalid.
    pub fn into_server(self, served: ServedModel) -> Result<Server, ServeError> {
        let Self { runtime, socket, address, settings, loaded, answers } = self;
        loaded.send_replace(true);
        // Only a panic of the task is an error here, and the server does not need it any more.
        let _ = runtime.block_on(answers);
        let app = Arc::new(App::new(served, settings));
        let router = routes::router(Arc::clone(&app))?;
        Ok(Server::new(runtime, socket, address, app, router))
    }
}

async fn answer(socket: Arc<TcpListener>, settings: Arc<ServeSettings>, loaded: watch::Receiver<bool>) {
    let router = Router::new().fallback(loading).layer(from_fn(routes::plain));
    let mut connections = accept(&socket, &settings, None, &router, &loaded).await;
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(LAST_ANSWERS, all).await;
}

async fn loading() -> ApiError {
    let message = "the model is loading: try again later";
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, message).with_code(ApiError::LOADING)
}

/// Serves connections until `stop`, and returns those that are still open.
pub(crate) async fn accept(
    socket: &TcpListener,
    settings: &Arc<ServeSettings>,
    app: Option<&Arc<App>>,
    router: &Router,
    stop: &watch::Receiver<bool>,
) -> JoinSet<()> {
    let places = Arc::new(Semaphore::new(settings.connections.max(1)));
    let mut connections = JoinSet::new();
    let mut stopping = stop.clone();
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = async {
            // Beyond the limit, connections wait in the system's backlog.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, socket.accept().await)
        };
        let (place, accepted) = tokio::select! {
            accepted = accepted => accepted,
            _ = stopping.wait_for(|stop| *stop) => return connections,
        };
        match accepted {
            Ok((stream, _)) => {
                let (settings, app, router, stop) = (Arc::clone(settings), app.cloned(), router.clone(), stop.clone());
                connections.spawn(async move {
                    let _place = place;
                    let _open = app.as_ref().map(|app| app.counters.open());
                    connection::serve(stream, router, &settings, stop).await;
                });
            }
            // The client disconnected, or the process is out of file descriptors, which other
            // connections will free.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
