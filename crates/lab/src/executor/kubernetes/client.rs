//! A cluster by the `kube` crate: kubeconfig, certificates and tokens are its business.

use std::future::Future;
use std::ops::ControlFlow;
use std::time::Duration;

use futures_util::AsyncReadExt;
use kube::config::{Config, KubeConfigOptions};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::{Answer, Cluster, Verb};
use crate::executor::StartError;

/// How long an answer may take. Generous: a loaded machine is no broken one.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often somebody who waits for more is asked whether he still does.
const PULSE: Duration = Duration::from_secs(1);

/// What to do about a cluster that cannot be reached.
const HINT: &str = "look whether `kubectl get nodes` works here, and which context it uses";

/// A connection.
pub struct Client {
    /// One thread that drives the connections; callers wait on their own.
    runtime: Runtime,
    client: kube::Client,
}

impl Client {
    /// Connects as `kubectl` would: by the kubeconfig and its `context`, or from within a cluster.
    ///
    /// # Errors
    /// If there is no cluster to be found.
    pub fn connect(context: Option<&str>) -> Result<Self, StartError> {
        let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
        Self::make(async move {
            match &options.context {
                Some(_) => Config::from_kubeconfig(&options).await.map_err(|error| error.to_string()),
                None => Config::infer().await.map_err(|error| error.to_string()),
            }
        })
    }

    /// Connects to a server without any credentials, for a proxy (`kubectl proxy`) or a test.
    ///
    /// # Errors
    /// If that is no address.
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
        // Within the runtime: the client starts a task of its own.
        let client = runtime.block_on(async {
            let config = config.await?;
            kube::Client::try_from(config).map_err(|error| error.to_string())
        });
        Ok(Self { client: client.map_err(fail)?, runtime })
    }
}

impl Cluster for Client {
    fn call(&self, verb: Verb, path: &str, body: Option<&Value>) -> Result<Answer, StartError> {
        let request = request(verb, path, body)?;
        let answer = self.runtime.block_on(async { timeout(PATIENCE, self.client.request::<Value>(request)).await });
        match answer {
            Ok(Ok(body)) => Ok(Answer { status: 200, body }),
            Ok(Err(kube::Error::Api(status))) => {
                Ok(Answer { status: status.code, body: json!({ "message": status.message, "reason": status.reason }) })
            }
            Ok(Err(error)) => Err(StartError::new(format!("the cluster cannot be asked: {}", chain(&error)), HINT)),
            Err(_) => Err(StartError::new("the cluster does not answer", HINT)),
        }
    }

    fn follow(&self, path: &str, take: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> Result<(), StartError> {
        let request = request(Verb::Get, path, None)?;
        let lost = |why: String| StartError::new(format!("the log cannot be read: {why}"), HINT);
        self.runtime.block_on(async {
            let opened = timeout(PATIENCE, self.client.request_stream(request)).await;
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

/// A request as HTTP has it.
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
        .map_err(|error| StartError::new(format!("`{}` cannot be asked for: {error}", path.escape_debug()), HINT))
}

/// An error with what is behind it: the outermost seldom tells.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}
