//! Recurrent layers: products with the whole sequence at once, products with the state step by
//! step.

use roci_graph::DType;
use roci_graph::ops::Recurrent;
use roci_graph::ops::recurrent::{Activation, Direction, Kind};
use roci_kernels::params::ElementwiseOp as Op;

use super::Context;
use super::build::{A, B, C, Instr, Instr::Apply, Instr::ApplyWith, Instr::Save, float, integer, temporary};
use crate::error::LoweringError;
use crate::segment::DeviceTensor;

struct DirectionWeights {
    /// The recurrence weights of each gate, `[hidden, hidden]`, transposed for a product with the
    /// state on the left.
    recurrent: Vec<DeviceTensor>,
    /// The recurrence bias of each gate, `[hidden]`.
    state_bias: Vec<Option<DeviceTensor>>,
    /// The peephole weights of each gate, `[hidden]`.
    peepholes: Vec<Option<DeviceTensor>>,
}

struct Layer<'a> {
    op: &'a Recurrent,
    activations: &'a [Activation],
    weights: DirectionWeights,
    /// The sequence's contribution, including biases: by gate `[steps, batch, hidden]`.
    inputs: Vec<DeviceTensor>,
    batch: usize,
    hidden: usize,
}

/// Hidden state and cell state, `[batch, hidden]` each.
#[derive(Clone)]
struct State {
    h: DeviceTensor,
    c: Option<DeviceTensor>,
}

pub(super) fn lower(op: &Recurrent, context: &mut Context<'_, '_>) -> Result<Vec<DeviceTensor>, LoweringError> {
    let mut x = context.operand(0)?;
    if op.batch_first {
        x = context.transpose(&x, &[1, 0, 2])?;
    }
    let lengths = context.optional(4)?;
    let (steps, batch, directions) = (x.shape[0], x.shape[1], op.direction.count());
    let functions = op.kind.activations().len();
    if op.activations.len() != functions * directions {
        return Err(LoweringError::unsupported(format!("{} functions", op.activations.len())));
    }
    let (mut all, mut last_h, mut last_c) = (Vec::new(), Vec::new(), Vec::new());
    for direction in 0..directions {
        let activations = &op.activations[direction * functions..][..functions];
        let layer = Layer::new(context, op, activations, &x, direction)?;
        let mut state = layer.initial_state(context, direction, lengths.as_ref())?;
        let backward = op.direction == Direction::Reverse || direction == 1;
        let mut outputs = vec![None; steps];
        for index in 0..steps {
            let step = if backward { steps - 1 - index } else { index };
            let next = layer.step(context, step, &state)?;
            outputs[step] = Some(match &lengths {
                None => next.h.clone(),
                // Steps beyond the end of a sequence output 0 and keep the state.
                Some(lengths) => layer.select_active(context, &next.h, None, lengths, step)?,
            });
            state = match &lengths {
                None => next,
                Some(lengths) => State {
                    h: layer.select_active(context, &next.h, Some(&state.h), lengths, step)?,
                    c: match (next.c, &state.c) {
                        (Some(new), Some(old)) => Some(layer.select_active(context, &new, Some(old), lengths, step)?),
                        (new, _) => new,
                    },
                },
            };
        }
        let hidden = layer.hidden;
        let shaped: Vec<DeviceTensor> =
            outputs.into_iter().flatten().map(|one| one.reshaped([1, 1, batch, hidden])).collect();
        all.push(context.concat(&shaped.iter().collect::<Vec<_>>(), 0)?);
        last_h.push(state.h.reshaped([1, batch, hidden]));
        last_c.extend(state.c.map(|c| c.reshaped([1, batch, hidden])));
    }
    // `[steps, directions, batch, hidden]` and `[directions, batch, hidden]`.
    let mut result = vec![context.concat(&all.iter().collect::<Vec<_>>(), 1)?];
    for states in [last_h, last_c] {
        if !states.is_empty() {
            result.push(context.concat(&states.iter().collect::<Vec<_>>(), 0)?);
        }
    }
    if op.batch_first {
        result[0] = context.transpose(&result[0].clone(), &[2, 0, 1, 3])?;
        for state in &mut result[1..] {
            *state = context.transpose(&state.clone(), &[1, 0, 2])?;
        }
    }
    result.truncate(context.output_count().max(1));
    Ok(result)
}

impl<'a> Layer<'a> {
    fn new(
        context: &mut Context<'_, '_>,
        op: &'a Recurrent,
        activations: &'a [Activation],
        x: &DeviceTensor,
        direction: usize,
    ) -> Result<Self, LoweringError> {
        let (input, recurrent) = (context.operand(1)?, context.operand(2)?);
        let (steps, batch, width) = (x.shape[0], x.shape[1], x.shape[2]);
        let (gates, hidden) = (op.kind.gates(), recurrent.shape[2]);
        let expected = [op.direction.count(), gates * hidden, width];
        if input.shape != expected || recurrent.shape[..2] != expected[..2] || steps == 0 {
            return Err(LoweringError::unsupported(format!("weights of shape {:?}", input.shape)));
        }
        let bias = context.optional(3)?;
        let peephole = match op.kind {
            Kind::Lstm { .. } => context.optional(7)?,
            _ => None,
        };
        // One gate of a tensor that is stacked by direction and gate.
        let gate =
            |context: &mut Context<'_, '_>, all: &DeviceTensor, index: usize| -> Result<DeviceTensor, LoweringError> {
                let own = context.slice(all, 0, direction, 1)?;
                let part = context.slice(&own, 1, index * hidden, hidden)?;
                Ok(part.reshaped(all.shape.iter().skip(2).fold(vec![hidden], |mut shape, &size| {
                    shape.push(size);
                    shape
                })))
            };
        let (mut inputs, mut transposed, mut state_bias, mut peepholes) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for index in 0..gates {
            let weights = gate(context, &input, index)?;
            let weights = context.transpose(&weights, &[1, 0])?;
            let product =
                context.product(&x.reshaped([steps * batch, width]), &weights, [steps * batch, hidden, width])?;
            let product = product.reshaped([steps, batch, hidden]);
            inputs.push(match &bias {
                None => product,
                Some(bias) => {
                    let bias = gate(context, bias, index)?;
                    let shape = product.shape.clone();
                    context.map(
                        &[ApplyWith(Op::Load, A), ApplyWith(Op::Add, B)],
                        &[&product, &bias],
                        DType::F32,
                        &shape,
                    )?
                }
            });
            let weights = gate(context, &recurrent, index)?;
            transposed.push(context.transpose(&weights, &[1, 0])?);
            state_bias.push(bias.as_ref().map(|bias| gate(context, bias, gates + index)).transpose()?);
            peepholes.push(match &peephole {
                Some(peephole) if index < 3 => Some(gate(context, peephole, index)?),
                _ => None,
            });
        }
        let weights = DirectionWeights { recurrent: transposed, state_bias, peepholes };
        Ok(Self { op, activations, weights, inputs, batch, hidden })
    }

    fn shape(&self) -> [usize; 2] {
        [self.batch, self.hidden]
    }

    /// The initial states; zeros for sequences of length 0.
    fn initial_state(
        &self,
        context: &mut Context<'_, '_>,
        direction: usize,
        lengths: Option<&DeviceTensor>,
    ) -> Result<State, LoweringError> {
        let shape = self.shape();
        let mut state = |index: usize| -> Result<DeviceTensor, LoweringError> {
            let Some(given) = context.optional(index)? else { return context.fill(DType::F32, &shape, 0) };
            let axis = usize::from(self.op.batch_first);
            let own = context.slice(&given, axis, direction, 1)?.reshaped(shape);
            match lengths {
                None => Ok(own),
                Some(lengths) => self.select_active(context, &own, None, lengths, 0),
            }
        };
        let h = state(5)?;
        let c = if matches!(self.op.kind, Kind::Lstm { .. }) { Some(state(6)?) } else { None };
        Ok(State { h, c })
    }

    /// The new elements of sequences that are longer than `step`, and the old ones or zeros of the
    /// others.
    fn select_active(
        &self,
        context: &mut Context<'_, '_>,
        new: &DeviceTensor,
        old: Option<&DeviceTensor>,
        lengths: &DeviceTensor,
        step: usize,
    ) -> Result<DeviceTensor, LoweringError> {
        let code = [
            ApplyWith(Op::Load, if old.is_some() { C } else { float(0.0) }),
            Save(3),
            ApplyWith(Op::Load, B),
            ApplyWith(Op::GreaterI32, integer(step as i32)),
            ApplyWith(Op::Select, A),
        ];
        let lengths = lengths.reshaped([self.batch, 1]);
        let mut operands = vec![new, &lengths];
        operands.extend(old);
        context.map(&code, &operands, DType::F32, &self.shape())
    }

    /// The state's contribution to a gate, including its bias.
    fn state_contribution(
        &self,
        context: &mut Context<'_, '_>,
        gate: usize,
        h: &DeviceTensor,
    ) -> Result<DeviceTensor, LoweringError> {
        let [batch, hidden] = self.shape();
        let product = context.product(h, &self.weights.recurrent[gate], [batch, hidden, hidden])?;
        let Some(bias) = &self.weights.state_bias[gate] else { return Ok(product) };
        context.map(&[ApplyWith(Op::Load, A), ApplyWith(Op::Add, B)], &[&product, bias], DType::F32, &[batch, hidden])
    }

    /// The input's contribution to a gate at a step.
    fn input_contribution(
        &self,
        context: &mut Context<'_, '_>,
        gate: usize,
        step: usize,
    ) -> Result<DeviceTensor, LoweringError> {
        Ok(context.slice(&self.inputs[gate], 0, step, 1)?.reshaped(self.shape()))
    }

    /// The clip and the activation of a gate.
    fn activation_program(&self, index: usize) -> Vec<Instr> {
        let mut steps = Vec::new();
        if let Some(clip) = self.op.clip {
            steps.extend([ApplyWith(Op::Min, float(clip)), ApplyWith(Op::Max, float(-clip))]);
        }
        steps.extend(activation(self.activations[index]));
        steps
    }

    /// A gate: the activation of the sum of both contributions and of the peephole.
    fn gate(
        &self,
        context: &mut Context<'_, '_>,
        gate: usize,
        function: usize,
        step: usize,
        state: &State,
    ) -> Result<DeviceTensor, LoweringError> {
        let (input, own) =
            (self.input_contribution(context, gate, step)?, self.state_contribution(context, gate, &state.h)?);
        let sum = [ApplyWith(Op::Load, A), ApplyWith(Op::Add, B)];
        let function = self.activation_program(function);
        match (&self.weights.peepholes[gate], &state.c) {
            (Some(peephole), Some(c)) => {
                let sum = context.map(&sum, &[&input, &own], DType::F32, &self.shape())?;
                let code =
                    [&[ApplyWith(Op::Load, B), ApplyWith(Op::Mul, C), ApplyWith(Op::Add, A)], &function[..]].concat();
                context.map(&code, &[&sum, c, peephole], DType::F32, &self.shape())
            }
            _ => context.map(&[&sum, &function[..]].concat(), &[&input, &own], DType::F32, &self.shape()),
        }
    }

    /// Advances the states by one step.
    fn step(&self, context: &mut Context<'_, '_>, step: usize, state: &State) -> Result<State, LoweringError> {
        let shape = self.shape();
        match self.op.kind {
            Kind::Rnn => Ok(State { h: self.gate(context, 0, 0, step, state)?, c: None }),
            Kind::Gru { linear_before_reset } => {
                let (update, reset) = (self.gate(context, 0, 0, step, state)?, self.gate(context, 1, 0, step, state)?);
                let times = [ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B)];
                let own = if linear_before_reset {
                    let own = self.state_contribution(context, 2, &state.h)?;
                    context.map(&times, &[&own, &reset], DType::F32, &shape)?
                } else {
                    let reset_state = context.map(&times, &[&state.h, &reset], DType::F32, &shape)?;
                    self.state_contribution(context, 2, &reset_state)?
                };
                let input = self.input_contribution(context, 2, step)?;
                let code = [&[ApplyWith(Op::Load, A), ApplyWith(Op::Add, B)], &self.activation_program(1)[..]].concat();
                let new = context.map(&code, &[&input, &own], DType::F32, &shape)?;
                // (1 - update) * new + update * h
                let mixed = [
                    ApplyWith(Op::Load, A),
                    ApplyWith(Op::Mul, C),
                    Save(0),
                    ApplyWith(Op::Load, float(1.0)),
                    ApplyWith(Op::Sub, A),
                    ApplyWith(Op::Mul, B),
                    ApplyWith(Op::Add, temporary(0)),
                ];
                Ok(State { h: context.map(&mixed, &[&update, &new, &state.h], DType::F32, &shape)?, c: None })
            }
            Kind::Lstm { coupled } => {
                let Some(c) = &state.c else { return Err(LoweringError::unsupported("no cell state")) };
                let input = self.gate(context, 0, 0, step, state)?;
                let forget = if coupled {
                    let code = [ApplyWith(Op::Load, float(1.0)), ApplyWith(Op::Sub, A)];
                    context.map(&code, &[&input], DType::F32, &shape)?
                } else {
                    self.gate(context, 2, 0, step, state)?
                };
                let new = self.gate(context, 3, 1, step, state)?;
                let times = [ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B)];
                let remaining_cell = context.map(&times, &[&forget, c], DType::F32, &shape)?;
                let code = [ApplyWith(Op::Load, A), ApplyWith(Op::Mul, B), ApplyWith(Op::Add, C)];
                let c = context.map(&code, &[&input, &new, &remaining_cell], DType::F32, &shape)?;
                let moved = State { h: state.h.clone(), c: Some(c.clone()) };
                let output = self.gate(context, 1, 0, step, &moved)?;
                let code = [&[ApplyWith(Op::Load, A)], &activation(self.activations[2])[..], &[ApplyWith(Op::Mul, B)]]
                    .concat();
                let h = context.map(&code, &[&c, &output], DType::F32, &shape)?;
                Ok(State { h, c: Some(c) })
            }
        }
    }
}

fn activation(activation: Activation) -> Vec<Instr> {
    match activation {
        Activation::Relu => vec![Apply(Op::Relu)],
        Activation::Tanh => vec![Apply(Op::Tanh)],
        Activation::Sigmoid => vec![Apply(Op::Sigmoid)],
        Activation::Affine { alpha, beta } => vec![ApplyWith(Op::Mul, float(alpha)), ApplyWith(Op::Add, float(beta))],
        Activation::LeakyRelu { alpha } => vec![ApplyWith(Op::Leaky, float(alpha))],
        Activation::ThresholdedRelu { alpha } => vec![
            Save(0),
            ApplyWith(Op::Load, float(0.0)),
            Save(3),
            ApplyWith(Op::Load, temporary(0)),
            ApplyWith(Op::GreaterEqual, float(alpha)),
            ApplyWith(Op::Select, temporary(0)),
        ],
        Activation::ScaledTanh { alpha, beta } => {
            vec![ApplyWith(Op::Mul, float(beta)), Apply(Op::Tanh), ApplyWith(Op::Mul, float(alpha))]
        }
        Activation::HardSigmoid { alpha, beta } => vec![
            ApplyWith(Op::Mul, float(alpha)),
            ApplyWith(Op::Add, float(beta)),
            ApplyWith(Op::Max, float(0.0)),
            ApplyWith(Op::Min, float(1.0)),
        ],
        Activation::Elu { alpha } => vec![ApplyWith(Op::Elu, float(alpha))],
        Activation::Softsign => {
            vec![Save(0), Apply(Op::Abs), ApplyWith(Op::Add, float(1.0)), ApplyWith(Op::RDiv, temporary(0))]
        }
        Activation::Softplus => vec![Apply(Op::Softplus)],
    }
}
