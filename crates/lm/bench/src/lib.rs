//! Benchmarks of language models with the tests, fields and output formats of llama-bench.
//!
//! [`plan`] lists the tests, [`Runner`] measures one on a loaded model, and an [`Entry`] is a line
//! of results. [`TokenCost`] has the bytes and operations of a token; its bytes and the memory
//! bandwidth give the upper limit of decode. Sampling is not measured. [`perplexity`] measures how
//! well a model predicts a text.

#![deny(unsafe_code)]

pub mod compare;
pub mod formats;

mod entry;
mod measure;
mod model_info;
mod perplexity;
mod plan;
mod samples;
mod work;

pub use entry::{BUILD, Entry, Setting, threads};
pub use measure::{Outcome, Runner};
pub use model_info::ModelInfo;
pub use perplexity::{Perplexity, perplexity};
pub use plan::{Phase, Sequences, Test, plan};
pub use samples::{Mean, Samples};
pub use work::TokenCost;
