//! The server from outside: a real socket, and a model that says what it is told to.

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
mod looking;
mod parrot;
mod soak;
mod tools;
