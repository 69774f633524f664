//! A language model behind HTTP, as OpenAI's clients know it.
//!
//! [`Server::bind`] takes a [`Served`] model and [`ServeSettings`]; [`Server::run`] answers until somebody asks a [`Handle`] to stop. All that is
//! asynchronous stays in this crate: the engine has a thread of its own, and callers see plain functions.
//!
//! Nothing that comes over the network is trusted: bodies, heads and the time that they may take are bounded (`body`, `connection`),
//! fields are read with their names in every message (`fields`), and who goes away, or does not read, loses its place. No field is
//! ignored in silence (`schema`).
//!
//! | Where | What |
//! | --- | --- |
//! | `server`, `connection`, `guard` | sockets, limits, who may ask |
//! | `routes`, `body`, `fields`, `error` | from bytes to fields, and errors as OpenAI words them |
//! | `schema` | which fields there are, and what is done with each |
//! | `asking`, `format`, `generate` | what all ways of asking have in common |
//! | `chat`, `completions`, `embeddings` | the ways of asking |
//! | `models`, `metrics`, `page` | what can be looked at |
#![deny(unsafe_code)]

mod app;
mod asking;
mod body;
mod chat;
mod completions;
mod connection;
mod embeddings;
mod error;
mod fields;
mod format;
mod generate;
mod guard;
mod likely;
mod metrics;
mod models;
mod page;
mod routes;
mod schema;
mod server;
mod settings;

pub use app::Served;
pub use server::{Ended, Handle, Server};
pub use settings::{ServeError, ServeSettings};
