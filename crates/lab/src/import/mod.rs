//! Results of others, taken into the store.

pub mod llama_bench;
