//! Optimizers.

use super::StateVariable;
use crate::builder::GraphBuilder;
use crate::interpreter::RunError;
use crate::ops::elementwise::Unary;
use crate::{DType, Tensor, ValueId};

/// An optimizer, with PyTorch's meaning of the parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Optimizer {
    /// Stochastic gradient descent.
    Sgd {
        /// The decay of the momentum.
        momentum: f64,
        /// Weight decay: the multiple of the parameter that is added to its gradient.
        weight_decay: f64,
    },
    /// Adam.
    Adam {
        /// The decay of the first moment.
        beta1: f64,
        /// The decay of the second moment.
        beta2: f64,
        /// Added to the square root.
        epsilon: f64,
        /// Weight decay: the multiple of the parameter that is added to its gradient.
        weight_decay: f64,
    },
}

impl Optimizer {
    /// SGD with momentum 0.9 and a weight decay of 1e-4.
    pub const SGD: Self = Self::Sgd { momentum: 0.9, weight_decay: 1e-4 };
    /// Adam with the usual constants.
    pub const ADAM: Self = Self::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weight_decay: 0.0 };

    /// The optimizer's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sgd { .. } => "sgd",
            Self::Adam { .. } => "adam",
        }
    }

    /// State that all parameters share: Adam's decay factors to the power of the step number,
    /// kept as running products because products differ less between devices than powers.
    pub(super) fn shared_state(
        &self,
        builder: &mut GraphBuilder,
        dtype: DType,
        state: &mut Vec<StateVariable>,
    ) -> Result<(), RunError> {
        let Self::Adam { beta1, beta2, .. } = self else { return Ok(()) };
        for (name, beta) in [("beta1^step", beta1), ("beta2^step", beta2)] {
            let before = add_state(builder, state, name.into(), dtype, &[], 1.0)?;
            let now = builder.scale(before, *beta)?;
            next(state, now);
        }
        Ok(())
    }

    /// The updated parameter.
    pub(super) fn change(
        &self,
        builder: &mut GraphBuilder,
        rate: ValueId,
        parameter: ValueId,
        gradient: ValueId,
        state: &mut Vec<StateVariable>,
    ) -> Result<ValueId, RunError> {
        let b = builder;
        let name = b.graph().name(parameter).to_owned();
        b.name_nodes(format!("{} of {name}", self.name()));
        let (Self::Sgd { weight_decay, .. } | Self::Adam { weight_decay, .. }) = self;
        let gradient = match weight_decay {
            0.0 => gradient,
            _ => {
                let part = b.scale(parameter, *weight_decay)?;
                b.add(gradient, part)?
            }
        };
        let (dtype, shape) = match b.fact(parameter) {
            Some(fact) => (fact.dtype, fact.shape.clone().unwrap_or_default()),
            None => (DType::F32, Vec::new()),
        };
        match self {
            Self::Sgd { momentum: 0.0, .. } => {
                let step = b.mul(gradient, rate)?;
                b.sub(parameter, step)
            }
            Self::Sgd { momentum, .. } => {
                let before = add_state(b, state, format!("momentum of {name}"), dtype, &shape, 0.0)?;
                let rest = b.scale(before, *momentum)?;
                let now = b.add(rest, gradient)?;
                next(state, now);
                let step = b.mul(now, rate)?;
                b.sub(parameter, step)
            }
            Self::Adam { beta1, beta2, epsilon, .. } => {
                let square = b.mul(gradient, gradient)?;
                let mut means = Vec::new();
                // `shared_state` added the powers first.
                let recent = [("mean", *beta1, gradient, 0), ("mean square", *beta2, square, 1)];
                for (what, beta, new, power) in recent {
                    let before = add_state(b, state, format!("{what} of {name}"), dtype, &shape, 0.0)?;
                    let rest = b.scale(before, beta)?;
                    let part = b.scale(new, 1.0 - beta)?;
                    let now = b.add(rest, part)?;
                    next(state, now);
                    // Bias correction: the moments start at zero.
                    let one = b.number_like(now, 1.0)?;
                    let counts = match state[power].next {
                        Some(power) => b.sub(one, power)?,
                        None => one,
                    };
                    means.push(b.div(now, counts)?);
                }
                let root = b.map(Unary::Sqrt, means[1])?;
                let epsilon = b.number_like(root, *epsilon)?;
                let root = b.add(root, epsilon)?;
                let change = b.div(means[0], root)?;
                let step = b.mul(change, rate)?;
                b.sub(parameter, step)
            }
        }
    }
}

/// Adds a tensor that is carried from step to step.
fn add_state(
    builder: &mut GraphBuilder,
    state: &mut Vec<StateVariable>,
    name: String,
    dtype: DType,
    shape: &[usize],
    first: f64,
) -> Result<ValueId, RunError> {
    let count = shape.iter().product();
    let initial = Tensor::from_floats(dtype, shape, &vec![first; count]);
    let initial = initial.map_err(|error| builder.wrong("input", error))?;
    let id = builder.input(name, dtype, shape);
    state.push(StateVariable { id, next: None, initial });
    Ok(id)
}

/// Sets the updated value of the tensor that was added last.
fn next(state: &mut [StateVariable], now: ValueId) {
    if let Some(variable) = state.last_mut() {
        variable.next = Some(now);
    }
}
