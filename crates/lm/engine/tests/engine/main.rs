//! The engine on the reference implementation, with synthetic models.

mod adapters;
mod batching;
mod common;
mod embeddings;
mod failures;
mod generation;
mod hybrid;
mod prefix_cache;
mod rejection;
mod speculation;
mod whole_texts;
