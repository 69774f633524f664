//! Tensors, operations and graphs.
//!
//! A [`Graph`] is an imported model: values, and nodes that compute values from others. A node's
//! operation is an [`Op`], grouped into families. Each family infers its outputs
//! ([`Operation::infer`]) and evaluates them on the host for every supported type
//! ([`Operation::eval`]). The evaluation is the reference for all devices, folds constants and
//! computes shapes. It favors correctness over speed.
//!
//! # Reading order
//! [`tensor`] and [`value`] (the data), [`graph`] (the program), [`ops`] (what nodes do),
//! [`interpreter`] (runs a graph node by node on the host).

#![deny(unsafe_code)]

pub mod builder;
pub mod cost;
pub mod dtype;
pub mod error;
pub mod fact;
pub mod gradient;
pub mod graph;
pub mod inference;
pub mod interpreter;
pub mod ops;
pub mod shape;
pub mod simplify;
pub mod symbols;
pub mod tensor;
pub mod train;
pub mod value;

pub use builder::GraphBuilder;
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
