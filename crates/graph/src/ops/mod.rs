//! What nodes do: families of operations, one module each.
//!
//! An operation here means what the newest version of ONNX's of the same name means; who reads a model turns older versions
//! and compositions into these. Everything that a model states is in the operation's fields, read and checked once.
//!
//! To add an operation: add it to the family's enum, say in `infer` what comes out, and compute it in `eval`. To add a
//! family: add a module with a type that implements [`Operation`], and a line to `families!` below.
//! (Modules are named outside of the macro, so that `cargo fmt` finds them.)

pub mod attend;
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
mod wide;
pub mod window;

use crate::{Fact, OpError, Tensor, Value};

/// What every family answers.
pub trait Operation {
    /// The operation's name as people know it.
    fn name(&self) -> &'static str;

    /// What comes out, as far as it can be told from what is known of the operands. An error is about operands that cannot
    /// go together; what is merely unknown is a [`Fact`] that says so.
    ///
    /// Values need not be told: whoever asks evaluates an operation whose operands are all known.
    fn infer(&self, inputs: &Facts<'_>) -> Result<Vec<Fact>, OpError>;

    /// Computes it on the host.
    fn eval(&self, inputs: &Inputs<'_>) -> Result<Vec<Value>, OpError>;

    /// Whether it may come out differently from the same operands, so that it must not be computed ahead.
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
    /// Operands, and how many outputs the node has.
    pub fn new(values: &'a [Option<&'a Value>], outputs: usize) -> Self {
        Self { values, outputs }
    }

    /// How many operands there are, missing ones in between counted.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many outputs the node has.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// An operand.
    pub fn value(&self, index: usize) -> Result<&'a Value, OpError> {
        self.values.get(index).copied().flatten().ok_or(OpError::MissingInput(index))
    }

    /// An operand that is a tensor.
    pub fn tensor(&self, index: usize) -> Result<&'a Tensor, OpError> {
        self.value(index)?.tensor()
    }

    /// An operand that may be missing.
    pub fn optional(&self, index: usize) -> Result<Option<&'a Tensor>, OpError> {
        self.values.get(index).copied().flatten().map(Value::tensor).transpose()
    }

    /// What is known of the operands, which must be tensors: all of it.
    pub fn facts(&self) -> Result<Vec<Option<Fact>>, OpError> {
        (0..self.len()).map(|index| Ok(self.optional(index)?.map(Fact::from))).collect()
    }

    /// All operands, which must be there and be tensors.
    pub fn tensors(&self) -> Result<Vec<&'a Tensor>, OpError> {
        (0..self.len()).map(|index| self.tensor(index)).collect()
    }
}

/// What is known of the operands. `None` is an operand that is missing.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    facts: &'a [Option<Fact>],
    outputs: usize,
}

impl<'a> Facts<'a> {
    /// What is known of operands, and how many outputs the node has.
    pub fn new(facts: &'a [Option<Fact>], outputs: usize) -> Self {
        Self { facts, outputs }
    }

    /// How many operands there are, missing ones in between counted.
    pub fn len(&self) -> usize {
        self.facts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.facts.is_empty()
    }

    /// How many outputs the node has.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// An operand.
    pub fn get(&self, index: usize) -> Result<&'a Fact, OpError> {
        self.optional(index).ok_or(OpError::MissingInput(index))
    }

    /// An operand that may be missing.
    pub fn optional(&self, index: usize) -> Option<&'a Fact> {
        self.facts.get(index).and_then(Option::as_ref)
    }
}

/// Declares [`Op`] and hands every question to the family.
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
    /// Each element by itself: arithmetic, comparisons, activations, conversions.
    Elementwise in elementwise;
    /// Another view of the same elements, or a selection by fixed rules: reshape, transpose, slice, concat, pad, resize.
    Movement in movement;
    /// Elements chosen by indices that are data: gather, scatter, one-hot, top-k, non-zero.
    Indexing in indexing;
    /// Tensors made of little: constants, ranges, shapes, identity matrices, windows.
    Source in source;
    /// Products: matrices, convolutions, einsum, and their integer forms.
    Product in product;
    /// Windows that slide: pooling and its kin.
    Pool in pool;
    /// Folds along axes: sums, extremes, arg-max, softmax, running sums, losses.
    Reduction in reduction;
    /// Normalisations.
    Norm in norm;
    /// Recurrent layers.
    Recurrent in recurrent;
    /// Attention and rotary embeddings.
    Attend in attend;
    /// Fourier transforms and what surrounds them.
    Signal in signal;
    /// Between floats and small integers.
    Quantize in quantize;
    /// Random numbers and what needs them.
    Random in random;
    /// Graphs inside of nodes.
    Control in control;
    /// Sequences and optional values.
    Sequence in sequence;
    /// Text.
    Text in text;
    /// Trees, encoders and the like of the machine-learning domain.
    Classic in classic;
}
