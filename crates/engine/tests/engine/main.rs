//! The engine on the reference, with made-up models.

mod batching;
mod embeddings;
mod failing;
mod kit;
mod refusing;
mod sharing;
mod writing;
