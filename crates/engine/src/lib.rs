//! Many texts at once through one language model.
//!
//! [`Forward`] is what a device does: tokens in, logits out, with keys and values kept in pages. [`Engine`] owns one, in a thread
//! of its own, and shares it between requests: prompts go through in chunks, all texts that are being written take one step together, and texts
//! that begin alike share their pages. People hold a [`Generation`] for each request and read [`Event`]s from it; who drops it ends the request.
#![deny(unsafe_code)]

mod engine;
mod error;
mod event;
mod forward;
mod pages;
mod plan;
mod reference;
mod request;
mod scheduler;
mod sequence;
mod text;

pub use engine::{Engine, Settings, Statistics};
pub use error::EngineError;
pub use event::{End, Event, Generation, Likely, Reason, Timings, Token};
pub use forward::{Chunk, Forward, ForwardError, Limits, Output, Wanted};
pub use reference::{ReferenceForward, Room};
pub use request::Request;
