//! Tensors, operations and graphs of them.
//!
//! A [`Graph`] is what a model file becomes: values, and nodes that make values of others. What a node does is an
//! [`Op`], one of a family; each family says what comes out ([`Operation::infer`]) and computes it on the host for every
//! type that the operation has ([`Operation::eval`]). That evaluation is the reference for all devices, folds constants,
//! and computes shapes; it is written to be right before it is fast.
//!
//! # Reading order
//! [`tensor`] and [`value`] (the data), [`graph`] (the program), [`ops`] (what nodes do), [`interpreter`] (runs a graph
//! node by node on the host).

#![deny(unsafe_code)]

pub mod build;
pub mod dtype;
pub mod error;
pub mod fact;
pub mod gradient;
pub mod graph;
pub mod interpreter;
pub mod known;
pub mod ops;
pub mod shape;
pub mod simplify;
pub mod symbols;
pub mod tensor;
pub mod train;
pub mod value;
pub mod work;

pub use build::Builder;
pub use dtype::DType;
pub use error::OpError;
pub use fact::Fact;
pub use gradient::gradients;
pub use graph::{Graph, Node, ValueId};
pub use interpreter::{Scope, run, run_within};
pub use ops::{Inputs, Op, Operation};
pub use simplify::simplify;
pub use tensor::{Data, Element, Tensor};
pub use value::Value;
