//! Continuous batching of many sequences on one language model.
//!
//! [`Forward`] is the interface of a model on its device: tokens in, logits out, with a paged KV
//! cache. [`Engine`] owns one, on a thread of its own, and shares it between requests. Prompts are
//! evaluated in chunks, all decoding sequences advance in the same batch, and sequences with a
//! common prefix share its pages. A caller holds a [`Generation`] for each request and reads
//! [`Event`]s from it; dropping it cancels the request.
//!
//! A request goes through these modules in order:
//!
//! 1. `engine`: validates it and sends it to the thread.
//! 2. `scheduler`: the loop of the thread. `pages` has the KV cache's pages, `slots` the recurrent
//!    states of models that have them, `batch` chooses the tokens of a call.
//! 3. `forward`: the call of the device. `speculation` adds drafted tokens to it.
//! 4. `sequence`: takes the output. `generator` samples a token and sends it to the `Generation`.
//!
//! Prompts may contain images: rows of embeddings in place of tokens (`images`).
#![deny(unsafe_code)]

mod adapters;
mod advance;
mod batch;
mod call;
mod engine;
mod error;
mod event;
mod forward;
mod generator;
mod image_prompt;
mod images;
mod pages;
mod prompt;
mod reference;
mod request;
mod scheduler;
mod sequence;
mod slots;
mod speculation;
mod state;
mod stop;
mod text;

pub use adapters::AdapterSetting;
pub use engine::{Engine, Settings};
pub use error::EngineError;
pub use event::{Event, FinishReason, Generation, Logprob, Summary, Timings, Token};
pub use forward::{Chunk, Forward, ForwardError, Limits, Output, OutputKind, StateSlots, States};
pub use image_prompt::{ImageCount, encode_with_images, image_marker};
pub use images::{FIRST_IMAGE_TOKEN, Image, ImagePositions, ImageRows, Images, OutOfImageTokens};
pub use prompt::{PromptEncoder, encode_pair};
pub use reference::{KvCapacity, ReferenceForward};
pub use request::Request;
pub use speculation::{DraftModel, DraftModelError, Drafter, PredictionHead, Speculation};
pub use state::Statistics;
