//! Language models, as far as no device is needed.
//!
//! - [`architecture`]: what a file says of its model, as data over shared parts.
//! - [`reference`](mod@reference): the same evaluated by plain loops, the definition of what devices must compute.
//! - [`sample`]: which token comes next, given the logits.
//! - [`grammar`]: which tokens may come next, by a grammar or a JSON schema.
//! - [`template`]: a conversation as the text that a model was trained on.
//! - [`synthetic`]: small made-up models, by which engines and the reference are tested.
//! - [`llama2c`]: checkpoints of llama2.c as GGUF files.
//! - [`json`]: values whose keys keep their order, which schemas and templates both need.
//!
//! Everything that these read comes from outside, as part of a model's file or of a request: each is bounded in time and memory, and what
//! is wrong with it is an error with a hint.
#![deny(unsafe_code)]

pub mod architecture;
pub mod grammar;
pub mod json;
pub mod llama2c;
pub mod reference;
pub mod sample;
pub mod synthetic;
pub mod template;
