//! Operations of nodes: families, one module each.
//!
//! An operation has the semantics of the newest version of ONNX's operation of the same name. The
//! importer converts older versions and composed operations. All attributes are fields of the
//! operation, read and checked once.
//!
//! To add an operation: add it to the family's enum, infer its outputs in `infer`, and compute it
//! in `eval`. To add a family: add a module with a type that implements [`Operation`], and a line
//! to `families!` below. (Modules are declared outside of the macro, so that `cargo fmt` finds
//! them.)

mod accumulator;
pub mod attention;
pub mod classic;
pub mod control;
pub mod elementwise;
pub mod indexing;
pub mod movement;
pub mod norm;
pub mod pool;
pub mod product;
pub mod quantize;
pub mod random;
pub mod recurrent;
pub mod reduction;
pub mod sequence;
pub mod signal;
pub mod source;
pub mod text;
pub mod window;

use crate::{Fact, OpError, Tensor, Value};

/// The interface of every family.
pub trait Operation {
    /// The operation's usual name.
    fn name(&self) -> &'static str;

    /// Infers the outputs from what is known about the operands. Operands that do not match are an
    /// error; an output that merely cannot be inferred is a [`Fact`] with unknown parts.
    ///
    /// Elements need not be inferred: the caller evaluates operations whose operands are all known.
    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError>;

    /// Evaluates the operation on the host.
    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError>;

    /// Whether the result may differ for the same operands, so that it must not be folded.
    fn is_random(&self) -> bool {
        false
    }
}

/// The operands of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    values: &'a [Option<&'a Value>],
    outputs: usize,
}

impl<'a> Inputs<'a> {
    /// Creates it from operands and the number of the node's outputs.
    pub fn new(values: &'a [Option<&'a Value>], outputs: usize) -> Self {
        Self { values, outputs }
    }

    /// The number of operands, including omitted ones before the last.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no operands.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The number of the node's outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// An operand.
    pub fn value(&self, index: usize) -> Result<&'a Value, OpError> {
        self.values.get(index).copied().flatten().ok_or(OpError::MissingInput(index))
    }

    /// A tensor operand.
    pub fn tensor(&self, index: usize) -> Result<&'a Tensor, OpError> {
        self.value(index)?.tensor()
    }

    /// A tensor operand that may be omitted.
    pub fn optional(&self, index: usize) -> Result<Option<&'a Tensor>, OpError> {
        self.values.get(index).copied().flatten().map(Value::tensor).transpose()
    }

    /// The facts of the operands, with elements; all must be tensors.
    pub fn facts(&self) -> Result<Vec<Option<Fact>>, OpError> {
        (0..self.len()).map(|index| Ok(self.optional(index)?.map(Fact::from))).collect()
    }

    /// All operands, which must be tensors and not omitted.
    pub fn tensors(&self) -> Result<Vec<&'a Tensor>, OpError> {
        (0..self.len()).map(|index| self.tensor(index)).collect()
    }
}

/// What is known about the operands. `None` is an omitted operand.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    facts: &'a [Option<Fact>],
    outputs: usize,
}

impl<'a> Facts<'a> {
    /// Creates it from facts and the number of the node's outputs.
    pub fn new(facts: &'a [Option<Fact>], outputs: usize) -> Self {
        Self { facts, outputs }
    }

    /// The number of operands, including omitted ones before the last.
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Whether there are no operands.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// The number of the node's outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// An operand.
    pub fn get(&self, index: usize) -> Result<&'a Fact, OpError> {
        self.optional(index).ok_or(OpError::MissingInput(index))
    }

    /// An operand that may be omitted.
    pub fn optional(&self, index: usize) -> Option<&'a Fact> {
        self.facts.get(index).and_then(Option::as_ref)
    }
}

/// Declares [`Op`], whose methods call the family's.
macro_rules! families {
    ($($(#[$doc:meta])* $variant:ident in $module:ident;)*) => {
        $(pub use $module::$variant;)*

        /// An operation.
        #[derive(Clone, Debug)]
        pub enum Op {
            $($(#[$doc])* $variant($module::$variant),)*
        }

        $(impl From<$module::$variant> for Op {
            fn from(op: $module::$variant) -> Self {
                Self::$variant(op)
            }
        })*

        impl Operation for Op {
            fn name(&self) -> &'static str {
                match self { $(Self::$variant(op) => op.name()),* }
            }

            fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError> {
                match self { $(Self::$variant(op) => op.infer(inputs)),* }
            }

            fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError> {
                match self { $(Self::$variant(op) => op.eval(inputs)),* }
            }

            fn is_random(&self) -> bool {
                match self { $(Self::$variant(op) => op.is_random()),* }
            }
        }
    };
}

families! {
    /// Elementwise: arithmetic, comparisons, activations, conversions.
    Elementwise in elementwise;
    /// Data movement by fixed rules: reshape, transpose, slice, concat, pad, resize.
    Movement in movement;
    /// Operations on indices that are data: gather, scatter, one-hot, top-k, non-zero.
    Indexing in indexing;
    /// Generators: constants, ranges, shapes, identity matrices, windows.
    Source in source;
    /// Products: matrices, convolutions, einsum, and their integer forms.
    Product in product;
    /// Pooling.
    Pool in pool;
    /// Reductions along axes: sums, extrema, arg-max, softmax, cumulative sums, losses.
    Reduction in reduction;
    /// Normalization.
    Norm in norm;
    /// Recurrent layers.
    Recurrent in recurrent;
    /// Attention and rotary embeddings.
    AttentionOp in attention;
    /// Fourier transforms.
    Signal in signal;
    /// Quantization and dequantization.
    Quantize in quantize;
    /// Random values, dropout and sampling.
    Random in random;
    /// Control flow.
    Control in control;
    /// Sequences and optional values.
    Sequence in sequence;
    /// Strings.
    Text in text;
    /// Classic machine learning: tree ensembles, encoders and others of the `ai.onnx.ml` domain.
    Classic in classic;
}
