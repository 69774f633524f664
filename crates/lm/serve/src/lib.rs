//! An HTTP server for a language model with OpenAI's API.
//!
//! [`Server::bind`] takes a [`ServedModel`] and [`ServeSettings`]; [`Server::run`] serves requests
//! until a [`Handle`] stops it. A [`Listener`] binds the address before the model is loaded. Async
//! code stays inside this crate: the engine has its own thread, and the public functions are
//! synchronous.
//!
//! Network input is untrusted. The size of bodies and heads and the time to receive them are
//! limited (`body`, `connection`). Errors name the invalid field (`fields`). A client that
//! disconnects or does not read is dropped and frees its slot. No field is silently ignored
//! (`schema`).
//!
//! | Where | What |
//! | --- | --- |
//! | `listener`, `server`, `connection`, `access_control` | sockets, limits, access control |
//! | `routes`, `body`, `fields`, `error` | parsing of requests, and errors in OpenAI's format |
//! | `schema` | the known fields, and how each is handled |
//! | `params`, `format`, `generate` | common to all generation endpoints |
//! | `chat`, `completions`, `embeddings`, `rerank` | the endpoints |
//! | `models`, `metrics`, `page` | read-only endpoints |
#![deny(unsafe_code)]

mod access_control;
mod adapters;
mod app;
mod body;
mod chat;
mod completions;
mod connection;
mod embeddings;
mod error;
mod fields;
mod format;
mod generate;
mod listener;
mod logprobs;
mod metrics;
mod models;
mod page;
mod params;
mod rerank;
mod routes;
mod schema;
mod server;
mod settings;

pub use app::{ImageEncoder, ServedModel};
pub use listener::Listener;
pub use server::{Handle, Server, ShutdownSummary};
pub use settings::{ServeError, ServeSettings};
