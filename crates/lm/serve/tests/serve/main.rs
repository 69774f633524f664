//! Tests the server through a real socket, with a fake model that gives predictable answers.

mod adapters;
mod chat;
mod clients;
mod completions;
mod documented;
mod embeddings;
mod errors;
mod fake_model;
mod fields;
mod fuzz;
mod http;
mod read_only;
mod rerank;
mod soak;
mod test_server;
mod tools;
