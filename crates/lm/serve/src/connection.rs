//! One HTTP/1.1 connection, with timeouts that keep a client from holding it indefinitely.

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, Sleep};

use crate::settings::ServeSettings;

/// Maximum size of a request head in bytes.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Serves the requests of one client until it disconnects, times out, or the server stops.
pub(crate) async fn serve(
    stream: TcpStream,
    router: Router,
    settings: &ServeSettings,
    mut stop: watch::Receiver<bool>,
) {
    // Tokens are small and must be sent immediately.
    let _ = stream.set_nodelay(true);
    let io = TokioIo::new(TimeoutStream::new(stream, settings.write_timeout));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(settings.head_timeout).max_buf_size(MAX_HEAD_BYTES);
    let mut connection = pin!(builder.serve_connection(io, TowerToHyperService::new(router)));
    let mut asked = false;
    loop {
        tokio::select! {
            // Connection errors concern only the client, which cannot receive a report any more.
            _ = connection.as_mut() => return,
            _ = stop.wait_for(|stop| *stop), if !asked => {
                asked = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

/// A socket whose writes fail if the peer does not read for a given time.
struct TimeoutStream {
    stream: TcpStream,
    timeout: Duration,
    /// Armed while a write is blocked.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl TimeoutStream {
    fn new(stream: TcpStream, timeout: Duration) -> Self {
        Self { stream, timeout, waiting: None }
    }

    /// Returns the result of a write, or a timeout error if it has been blocked for too long.
    fn check_timeout<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waiting = None;
            return written;
        }
        let until = Instant::now() + self.timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        match waiting.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read"))),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for TimeoutStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for TimeoutStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.check_timeout(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.check_timeout(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
