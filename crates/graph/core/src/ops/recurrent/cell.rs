//! One step of one sequence.

use super::{Activation, Kind};

/// The weights of one direction.
pub(super) struct Weights<'a> {
    pub(super) input: &'a [f64],
    pub(super) recurrent: &'a [f64],
    pub(super) bias: &'a [f64],
    pub(super) peephole: &'a [f64],
}

/// A layer in one direction.
pub(super) struct Cell<'a> {
    pub(super) kind: Kind,
    pub(super) activations: &'a [Activation],
    pub(super) clip: f64,
    pub(super) weights: Weights<'a>,
    pub(super) width: usize,
    pub(super) hidden: usize,
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

impl Cell<'_> {
    /// The input's contribution to a gate, including its bias.
    fn input(&self, gate: usize, unit: usize, x: &[f64]) -> f64 {
        let row = gate * self.hidden + unit;
        dot(&self.weights.input[row * self.width..][..self.width], x) + self.weights.bias[row]
    }

    /// The state's contribution to a gate, including its bias.
    fn state(&self, gate: usize, unit: usize, h: &[f64]) -> f64 {
        let row = gate * self.hidden + unit;
        let bias = self.weights.bias[self.kind.gates() * self.hidden + row];
        dot(&self.weights.recurrent[row * self.hidden..][..self.hidden], h) + bias
    }

    fn function(&self, index: usize, x: f64) -> f64 {
        // Not `clamp`, which panics if the limit is NaN.
        let x = if x > self.clip {
            self.clip
        } else if x < -self.clip {
            -self.clip
        } else {
            x
        };
        self.activations[index].of(x)
    }

    /// Advances the states by one step.
    pub(super) fn step(&self, x: &[f64], h: &mut [f64], c: &mut [f64]) {
        let units = 0..self.hidden;
        let gate = |gate: usize, unit: usize, h: &[f64]| self.input(gate, unit, x) + self.state(gate, unit, h);
        let next: Vec<f64> = match self.kind {
            Kind::Rnn => units.map(|unit| self.function(0, gate(0, unit, h))).collect(),
            Kind::Gru { linear_before_reset } => {
                let reset: Vec<f64> = units.clone().map(|unit| self.function(0, gate(1, unit, h))).collect();
                let reset_state: Vec<f64> = h.iter().zip(&reset).map(|(h, reset)| h * reset).collect();
                units
                    .map(|unit| {
                        let update = self.function(0, gate(0, unit, h));
                        let state = if linear_before_reset {
                            reset[unit] * self.state(2, unit, h)
                        } else {
                            self.state(2, unit, &reset_state)
                        };
                        let new = self.function(1, self.input(2, unit, x) + state);
                        (1.0 - update) * new + update * h[unit]
                    })
                    .collect()
            }
            Kind::Lstm { coupled } => units
                .map(|unit| {
                    let peephole = |gate: usize| self.weights.peephole[gate * self.hidden + unit];
                    let input = self.function(0, gate(0, unit, h) + peephole(0) * c[unit]);
                    let forget =
                        if coupled { 1.0 - input } else { self.function(0, gate(2, unit, h) + peephole(2) * c[unit]) };
                    c[unit] = forget * c[unit] + input * self.function(1, gate(3, unit, h));
                    let output = self.function(0, gate(1, unit, h) + peephole(1) * c[unit]);
                    output * self.activations[2].of(c[unit])
                })
                .collect(),
        };
        h.copy_from_slice(&next);
    }
}
