//! Tests the server through a real socket, with a fake model that gives predictable answers.

mod chat;
mod clients;
mod completions;
mod documented;
mod embeddings;
mod errors;
mod fields;
mod fuzz;
mod http;
mod kit;
mod parrot;
mod read_only;
mod soak;
mod tools;
