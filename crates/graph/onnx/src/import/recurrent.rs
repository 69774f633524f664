//! Recurrent layers.

use roci_graph::ops::recurrent::{Activation, Direction, Kind, Recurrent};

use super::NodeContext;
use crate::Error;

pub(super) fn import(node: &mut NodeContext<'_, '_>) -> Result<bool, Error> {
    let kind = match node.op().as_str() {
        "RNN" => Kind::Rnn,
        "GRU" => Kind::Gru { linear_before_reset: node.flag("linear_before_reset", false)? },
        "LSTM" => Kind::Lstm { coupled: node.flag("input_forget", false)? },
        _ => return Ok(false),
    };
    let direction = match node.string_or("direction", "forward")?.as_str() {
        "forward" => Direction::Forward,
        "reverse" => Direction::Reverse,
        "bidirectional" => Direction::Both,
        other => return Err(Error::invalid(format!("unknown value `{other}` of attribute `direction`"))),
    };
    // Redundant: the weights determine the hidden size, and the node's outputs determine whether
    // the sequence is one of them (before opset 7).
    node.int("hidden_size")?;
    node.int("output_sequence")?;
    let activations = activations(node, kind, direction)?;
    let clip = node.float("clip")?.filter(|clip| *clip > 0.0);
    let batch_first = node.flag("layout", false)?;
    node.emit(Recurrent { kind, direction, activations, clip, batch_first })
}

/// The activations of the gates. Their parameters are lists from which each activation takes those
/// that it has.
fn activations(node: &NodeContext<'_, '_>, kind: Kind, direction: Direction) -> Result<Vec<Activation>, Error> {
    let names = node.strings("activations")?;
    let mut alphas = node.floats("activation_alpha")?.unwrap_or_default().into_iter();
    let mut betas = node.floats("activation_beta")?.unwrap_or_default().into_iter();
    let default = kind.activations().repeat(direction.count());
    let Some(names) = names.filter(|names| !names.is_empty()) else { return Ok(default) };
    if names.len() != default.len() {
        let text = format!("{} activations, expected {}", names.len(), default.len());
        return Err(Error::invalid(text));
    }
    let mut alpha = |default: f32| alphas.next().unwrap_or(default);
    let mut beta = |default: f32| betas.next().unwrap_or(default);
    let one = |name: String| {
        Ok(match name.to_lowercase().as_str() {
            "relu" => Activation::Relu,
            "tanh" => Activation::Tanh,
            "sigmoid" => Activation::Sigmoid,
            "softsign" => Activation::Softsign,
            "softplus" => Activation::Softplus,
            "affine" => Activation::Affine { alpha: alpha(1.0), beta: beta(0.0) },
            "leakyrelu" => Activation::LeakyRelu { alpha: alpha(0.01) },
            "thresholdedrelu" => Activation::ThresholdedRelu { alpha: alpha(1.0) },
            "scaledtanh" => Activation::ScaledTanh { alpha: alpha(1.0), beta: beta(1.0) },
            "hardsigmoid" => Activation::HardSigmoid { alpha: alpha(0.2), beta: beta(0.5) },
            "elu" => Activation::Elu { alpha: alpha(1.0) },
            _ => return Err(Error::invalid(format!("unknown activation `{name}`"))),
        })
    };
    names.into_iter().map(one).collect()
}
