//! Language models without a device.
//!
//! - [`architecture`]: the description of a model from its file, as data.
//! - [`adapter`]: LoRA adapters.
//! - [`reference`](mod@reference): evaluation in plain loops, which defines what devices must
//!   compute.
//! - [`sample`]: samples the next token from logits.
//! - [`grammar`]: constrains tokens by a GBNF grammar or a JSON schema.
//! - [`template`]: renders conversations by a model's chat template.
//! - [`synthetic`]: small synthetic models for tests.
//! - [`llama2c`]: converts checkpoints of llama2.c to GGUF.
//! - [`quantize`]: quantizes the matrices of model files.
//! - [`json`]: JSON values that keep the order of keys, for schemas and templates.
//!
//! All inputs come from a model file or a request and are untrusted: processing is bounded in time
//! and memory, and errors have a hint.
#![deny(unsafe_code)]

pub mod adapter;
pub mod architecture;
pub mod grammar;
pub mod json;
pub mod llama2c;
pub mod quantize;
pub mod reference;
pub mod sample;
pub mod synthetic;
pub mod template;
