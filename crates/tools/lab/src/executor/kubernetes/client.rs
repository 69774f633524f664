//! Cluster connection with the `kube` crate, which handles kubeconfig, certificates and tokens.

use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::AsyncReadExt;
use kube::config::{Config, KubeConfigOptions};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::{ApiResponse, Cluster, Verb};
use crate::executor::StartError;

/// Timeout of a request. Generous, because a loaded machine is slow.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Interval at which a waiting reader is asked whether to continue.
const PULSE: Duration = Duration::from_secs(1);

/// Remedy for an unreachable cluster.
const HINT: &str = "check that `kubectl get nodes` works here, and which context it uses";

/// A connection.
pub struct Client {
    /// A single thread that drives the connections; callers block on their own threads.
    runtime: Runtime,
    client: kube::Client,
}

impl Client {
    /// Connects as `kubectl` does: by the kubeconfig and its `context`, or from within a cluster.
    ///
    /// # Errors
    /// If no cluster is configured.
    pub fn connect(context: Option<&str>) -> Result<Self, StartError> {
        let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        Self::make(async move {
            match &options.context {
                Some(_) => Config::from_kubeconfig(&options).await.map_err(|error| error.to_string()),
                None => Config::infer().await.map_err(|error| error.to_string()),
            }
        })
    }

    /// Connects to a server without credentials, for `kubectl proxy` or a test.
    ///
    /// # Errors
    /// If the address is invalid.
    pub fn at(address: &str) -> Result<Self, StartError> {
        let address = address.parse::<http::Uri>().map_err(|error| error.to_string());
        Self::make(async move { address.map(Config::new) })
    }

    fn make(config: impl Future<Output = Result<Config, String>>) -> Result<Self, StartError> {
        let fail = |why: String| StartError::new(format!("no cluster can be reached: {why}"), HINT);
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| fail(error.to_string()))?;
        // Inside the runtime: the client spawns a task.
        let client = runtime.block_on(async {
            let config = config.await?;
            kube::Client::try_from(config).map_err(|error| error.to_string())
        });
        Ok(Self { client: client.map_err(fail)?, runtime })
    }
}

impl Cluster for Client {
    fn call(&self, verb: Verb, path: &str, body: Option<&Value>) -> Result<ApiResponse, StartError> {
        let request = request(verb, path, body)?;
        let answer = self.runtime.block_on(async { timeout(TIMEOUT, self.client.request::<Value>(request)).await });
        match answer {
            Ok(Ok(body)) => Ok(ApiResponse { status: 200, body }),
            Ok(Err(kube::Error::Api(status))) => Ok(ApiResponse {
                status: status.code,
                body: json!({ "message": status.message, "reason": status.reason }),
            }),
            Ok(Err(error)) => {
                Err(StartError::new(format!("the request to the cluster failed: {}", chain(&error)), HINT))
            }
            Err(_) => Err(StartError::new("the cluster does not answer", HINT)),
        }
    }

    fn follow(&self, path: &str, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StartError> {
        let request = request(Verb::Get, path, None)?;
        let lost = |why: String| StartError::new(format!("the log cannot be read: {why}"), HINT);
        self.runtime.block_on(async {
            let opened = timeout(TIMEOUT, self.client.request_stream(request)).await;
            let stream = opened.map_err(|_| lost("no answer".into()))?.map_err(|error| lost(chain(&error)))?;
            let mut stream = std::pin::pin!(stream);
            let mut buffer = vec![0; 64 << 10];
            loop {
                let bytes = match timeout(PULSE, stream.read(&mut buffer)).await {
                    Ok(Ok(0)) => return Ok(()),
                    Ok(Ok(count)) => &buffer[..count],
                    Ok(Err(error)) => return Err(lost(error.to_string())),
                    Err(_) => &[],
                };
                if take(bytes).is_break() {
                    return Ok(());
                }
            }
        })
    }
}

fn request(verb: Verb, path: &str, body: Option<&Value>) -> Result<http::Request<Vec<u8>>, StartError> {
    let method = match verb {
        Verb::Get => http::Method::GET,
        Verb::Post => http::Method::POST,
        Verb::Delete => http::Method::DELETE,
    };
    http::Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body.map_or_else(Vec::new, |body| body.to_string().into_bytes()))
        .map_err(|error| StartError::new(format!("cannot request `{}`: {error}", path.escape_debug()), HINT))
}

/// An error with its sources: the outermost message rarely has the cause.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
