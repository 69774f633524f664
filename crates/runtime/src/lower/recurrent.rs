//! Recurrent layers: the products with the sequence at once, those with the state step by step.

use roci_graph::DType;
use roci_graph::ops::Recurrent;
use roci_graph::ops::recurrent::{Activation, Direction, Kind};
use roci_kernels::params::ChainOp as Op;

use super::build::{A, B, C, Step, Step::Do, Step::Save, Step::With, float, integer, temporary};
use super::{Context, Operand};
use crate::error::Refusal;

/// The weights of one direction.
struct Weights {
    /// Of the state: for each gate `[hidden, hidden]`, turned for a product from the left.
    recurrent: Vec<Operand>,
    /// The state's own biases, by gate `[hidden]`.
    state_bias: Vec<Option<Operand>>,
    /// By gate `[hidden]`.
    peepholes: Vec<Option<Operand>>,
}

/// A layer in one direction.
struct Layer<'a> {
    op: &'a Recurrent,
    activations: &'a [Activation],
    weights: Weights,
    /// What the sequence contributes, biases included: by gate `[steps, batch, hidden]`.
    inputs: Vec<Operand>,
    batch: usize,
    hidden: usize,
}

/// Hidden state and cell state, `[batch, hidden]` each.
#[derive(Clone)]
struct State {
    h: Operand,
    c: Option<Operand>,
}

pub(super) fn lower(op: &Recurrent, context: &mut Context<'_, '_>) -> Result<Vec<Operand>, Refusal> {
    let mut x = context.operand(0)?;
    if op.batch_first {
        x = context.transposed(&x, &[1, 0, 2])?;
    }
    let lengths = context.optional(4)?;
    let (steps, batch, directions) = (x.shape[0], x.shape[1], op.direction.count());
    let functions = op.kind.activations().len();
    if op.activations.len() != functions * directions {
        return Err(Refusal::unsupported(format!("{} functions", op.activations.len())));
    }
    let (mut all, mut last_h, mut last_c) = (Vec::new(), Vec::new(), Vec::new());
    for direction in 0..directions {
        let activations = &op.activations[direction * functions..][..functions];
        let layer = Layer::new(context, op, activations, &x, direction)?;
        let mut state = layer.first(context, direction, lengths.as_ref())?;
        let backward = op.direction == Direction::Reverse || direction == 1;
        let mut outputs = vec![None; steps];
        for index in 0..steps {
            let step = if backward { steps - 1 - index } else { index };
            let next = layer.step(context, step, &state)?;
            outputs[step] = Some(match &lengths {
                None => next.h.clone(),
                // Steps behind the end of a sequence are 0, and change nothing.
                Some(lengths) => layer.within(context, &next.h, None, lengths, step)?,
            });
            state = match &lengths {
                None => next,
                Some(lengths) => State {
                    h: layer.within(context, &next.h, Some(&state.h), lengths, step)?,
                    c: match (next.c, &state.c) {
                        (Some(new), Some(old)) => Some(layer.within(context, &new, Some(old), lengths, step)?),
                        (new, _) => new,
                    },
                },
            };
        }
        let hidden = layer.hidden;
        let shaped: Vec<Operand> =
            outputs.into_iter().flatten().map(|one| one.reshaped([1, 1, batch, hidden])).collect();
        all.push(context.joined(&shaped.iter().collect::<Vec<_>>(), 0)?);
        last_h.push(state.h.reshaped([1, batch, hidden]));
        last_c.extend(state.c.map(|c| c.reshaped([1, batch, hidden])));
    }
    // `[steps, directions, batch, hidden]` and `[directions, batch, hidden]`.
    let mut made = vec![context.joined(&all.iter().collect::<Vec<_>>(), 1)?];
    for states in [last_h, last_c] {
        if !states.is_empty() {
            made.push(context.joined(&states.iter().collect::<Vec<_>>(), 0)?);
        }
    }
    if op.batch_first {
        made[0] = context.transposed(&made[0].clone(), &[2, 0, 1, 3])?;
        for state in &mut made[1..] {
            *state = context.transposed(&state.clone(), &[1, 0, 2])?;
        }
    }
    made.truncate(context.outputs().max(1));
    Ok(made)
}

impl<'a> Layer<'a> {
    fn new(
        context: &mut Context<'_, '_>,
        op: &'a Recurrent,
        activations: &'a [Activation],
        x: &Operand,
        direction: usize,
    ) -> Result<Self, Refusal> {
        let (input, recurrent) = (context.operand(1)?, context.operand(2)?);
        let (steps, batch, width) = (x.shape[0], x.shape[1], x.shape[2]);
        let (gates, hidden) = (op.kind.gates(), recurrent.shape[2]);
        let expected = [op.direction.count(), gates * hidden, width];
        if input.shape != expected || recurrent.shape[..2] != expected[..2] || steps == 0 {
            return Err(Refusal::unsupported(format!("weights of shape {:?}", input.shape)));
        }
        let bias = context.optional(3)?;
        let peephole = match op.kind {
            Kind::Lstm { .. } => context.optional(7)?,
            _ => None,
        };
        // A gate's part of something that lies by direction.
        let gate = |context: &mut Context<'_, '_>, all: &Operand, index: usize| -> Result<Operand, Refusal> {
            let own = context.part(all, 0, direction, 1)?;
            let part = context.part(&own, 1, index * hidden, hidden)?;
            Ok(part.reshaped(all.shape.iter().skip(2).fold(vec![hidden], |mut shape, &size| {
                shape.push(size);
                shape
            })))
        };
        let (mut inputs, mut turned, mut state_bias, mut peepholes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for index in 0..gates {
            let weights = gate(context, &input, index)?;
            let weights = context.transposed(&weights, &[1, 0])?;
            let product =
                context.product(&x.reshaped([steps * batch, width]), &weights, [steps * batch, hidden, width])?;
            let product = product.reshaped([steps, batch, hidden]);
            inputs.push(match &bias {
                None => product,
                Some(bias) => {
                    let bias = gate(context, bias, index)?;
                    let shape = product.shape.clone();
                    context.map(&[With(Op::Load, A), With(Op::Add, B)], &[&product, &bias], DType::F32, &shape)?
                }
            });
            let weights = gate(context, &recurrent, index)?;
            turned.push(context.transposed(&weights, &[1, 0])?);
            state_bias.push(bias.as_ref().map(|bias| gate(context, bias, gates + index)).transpose()?);
            peepholes.push(match &peephole {
                Some(peephole) if index < 3 => Some(gate(context, peephole, index)?),
                _ => None,
            });
        }
        let weights = Weights { recurrent: turned, state_bias, peepholes };
        Ok(Self { op, activations, weights, inputs, batch, hidden })
    }

    fn shape(&self) -> [usize; 2] {
        [self.batch, self.hidden]
    }

    /// The states before the first step. Sequences without steps have none that lasts.
    fn first(
        &self,
        context: &mut Context<'_, '_>,
        direction: usize,
        lengths: Option<&Operand>,
    ) -> Result<State, Refusal> {
        let shape = self.shape();
        let mut state = |index: usize| -> Result<Operand, Refusal> {
            let Some(given) = context.optional(index)? else { return context.filled(DType::F32, &shape, 0) };
            let axis = usize::from(self.op.batch_first);
            let own = context.part(&given, axis, direction, 1)?.reshaped(shape);
            match lengths {
                None => Ok(own),
                Some(lengths) => self.within(context, &own, None, lengths, 0),
            }
        };
        let h = state(5)?;
        let c = if matches!(self.op.kind, Kind::Lstm { .. }) { Some(state(6)?) } else { None };
        Ok(State { h, c })
    }

    /// New elements for sequences that are longer than a step, else the old ones or zeros.
    fn within(
        &self,
        context: &mut Context<'_, '_>,
        new: &Operand,
        old: Option<&Operand>,
        lengths: &Operand,
        step: usize,
    ) -> Result<Operand, Refusal> {
        let code = [
            With(Op::Load, if old.is_some() { C } else { float(0.0) }),
            Save(3),
            With(Op::Load, B),
            With(Op::GreaterI32, integer(step as i32)),
            With(Op::Select, A),
        ];
        let lengths = lengths.reshaped([self.batch, 1]);
        let mut operands = vec![new, &lengths];
        operands.extend(old);
        context.map(&code, &operands, DType::F32, &self.shape())
    }

    /// The state's part of a gate, its bias included.
    fn state_part(&self, context: &mut Context<'_, '_>, gate: usize, h: &Operand) -> Result<Operand, Refusal> {
        let [batch, hidden] = self.shape();
        let product = context.product(h, &self.weights.recurrent[gate], [batch, hidden, hidden])?;
        let Some(bias) = &self.weights.state_bias[gate] else { return Ok(product) };
        context.map(&[With(Op::Load, A), With(Op::Add, B)], &[&product, bias], DType::F32, &[batch, hidden])
    }

    /// The input's part of a gate at a step.
    fn input_part(&self, context: &mut Context<'_, '_>, gate: usize, step: usize) -> Result<Operand, Refusal> {
        Ok(context.part(&self.inputs[gate], 0, step, 1)?.reshaped(self.shape()))
    }

    /// The function of a gate, clipped before.
    fn function(&self, index: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Some(clip) = self.op.clip {
            steps.extend([With(Op::Min, float(clip)), With(Op::Max, float(-clip))]);
        }
        steps.extend(activation(self.activations[index]));
        steps
    }

    /// A gate: the function of the sum of both parts, and of the cell state through a peephole.
    fn gate(
        &self,
        context: &mut Context<'_, '_>,
        gate: usize,
        function: usize,
        step: usize,
        state: &State,
    ) -> Result<Operand, Refusal> {
        let (input, own) = (self.input_part(context, gate, step)?, self.state_part(context, gate, &state.h)?);
        let sum = [With(Op::Load, A), With(Op::Add, B)];
        let function = self.function(function);
        match (&self.weights.peepholes[gate], &state.c) {
            (Some(peephole), Some(c)) => {
                let sum = context.map(&sum, &[&input, &own], DType::F32, &self.shape())?;
                let code = [&[With(Op::Load, B), With(Op::Mul, C), With(Op::Add, A)], &function[..]].concat();
                context.map(&code, &[&sum, c, peephole], DType::F32, &self.shape())
            }
            _ => context.map(&[&sum, &function[..]].concat(), &[&input, &own], DType::F32, &self.shape()),
        }
    }

    /// Takes the states one step further.
    fn step(&self, context: &mut Context<'_, '_>, step: usize, state: &State) -> Result<State, Refusal> {
        let shape = self.shape();
        match self.op.kind {
            Kind::Rnn => Ok(State { h: self.gate(context, 0, 0, step, state)?, c: None }),
            Kind::Gru { linear_before_reset } => {
                let (update, reset) = (self.gate(context, 0, 0, step, state)?, self.gate(context, 1, 0, step, state)?);
                let times = [With(Op::Load, A), With(Op::Mul, B)];
                let own = if linear_before_reset {
                    let own = self.state_part(context, 2, &state.h)?;
                    context.map(&times, &[&own, &reset], DType::F32, &shape)?
                } else {
                    let kept = context.map(&times, &[&state.h, &reset], DType::F32, &shape)?;
                    self.state_part(context, 2, &kept)?
                };
                let input = self.input_part(context, 2, step)?;
                let code = [&[With(Op::Load, A), With(Op::Add, B)], &self.function(1)[..]].concat();
                let new = context.map(&code, &[&input, &own], DType::F32, &shape)?;
                // (1 - update) * new + update * h
                let mixed = [
                    With(Op::Load, A),
                    With(Op::Mul, C),
                    Save(0),
                    With(Op::Load, float(1.0)),
                    With(Op::Sub, A),
                    With(Op::Mul, B),
                    With(Op::Add, temporary(0)),
                ];
                Ok(State { h: context.map(&mixed, &[&update, &new, &state.h], DType::F32, &shape)?, c: None })
            }
            Kind::Lstm { coupled } => {
                let Some(c) = &state.c else { return Err(Refusal::unsupported("no cell state")) };
                let input = self.gate(context, 0, 0, step, state)?;
                let forget = if coupled {
                    let code = [With(Op::Load, float(1.0)), With(Op::Sub, A)];
                    context.map(&code, &[&input], DType::F32, &shape)?
                } else {
                    self.gate(context, 2, 0, step, state)?
                };
                let new = self.gate(context, 3, 1, step, state)?;
                let times = [With(Op::Load, A), With(Op::Mul, B)];
                let kept = context.map(&times, &[&forget, c], DType::F32, &shape)?;
                let code = [With(Op::Load, A), With(Op::Mul, B), With(Op::Add, C)];
                let c = context.map(&code, &[&input, &new, &kept], DType::F32, &shape)?;
                let moved = State { h: state.h.clone(), c: Some(c.clone()) };
                let output = self.gate(context, 1, 0, step, &moved)?;
                let code = [&[With(Op::Load, A)], &activation(self.activations[2])[..], &[With(Op::Mul, B)]].concat();
                let h = context.map(&code, &[&c, &output], DType::F32, &shape)?;
                Ok(State { h, c: Some(c) })
            }
        }
    }
}

fn activation(activation: Activation) -> Vec<Step> {
    match activation {
        Activation::Relu => vec![Do(Op::Relu)],
        Activation::Tanh => vec![Do(Op::Tanh)],
        Activation::Sigmoid => vec![Do(Op::Sigmoid)],
        Activation::Affine { alpha, beta } => vec![With(Op::Mul, float(alpha)), With(Op::Add, float(beta))],
        Activation::LeakyRelu { alpha } => vec![With(Op::Leaky, float(alpha))],
        Activation::ThresholdedRelu { alpha } => vec![
            Save(0),
            With(Op::Load, float(0.0)),
            Save(3),
            With(Op::Load, temporary(0)),
            With(Op::GreaterEqual, float(alpha)),
            With(Op::Select, temporary(0)),
        ],
        Activation::ScaledTanh { alpha, beta } => {
            vec![With(Op::Mul, float(beta)), Do(Op::Tanh), With(Op::Mul, float(alpha))]
        }
        Activation::HardSigmoid { alpha, beta } => vec![
            With(Op::Mul, float(alpha)),
            With(Op::Add, float(beta)),
            With(Op::Max, float(0.0)),
            With(Op::Min, float(1.0)),
        ],
        Activation::Elu { alpha } => vec![With(Op::Elu, float(alpha))],
        Activation::Softsign => {
            vec![Save(0), Do(Op::Abs), With(Op::Add, float(1.0)), With(Op::RDiv, temporary(0))]
        }
        Activation::Softplus => vec![Do(Op::Softplus)],
    }
}
