//! Activations of recurrent layers.

/// An activation function.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is ONNX's operation of the name, its attributes in their order")]
pub enum Activation {
    Relu,
    Tanh,
    Sigmoid,
    Affine { alpha: f32, beta: f32 },
    LeakyRelu { alpha: f32 },
    ThresholdedRelu { alpha: f32 },
    ScaledTanh { alpha: f32, beta: f32 },
    HardSigmoid { alpha: f32, beta: f32 },
    Elu { alpha: f32 },
    Softsign,
    Softplus,
}

impl Activation {
    /// Evaluates the function.
    pub fn of(self, x: f64) -> f64 {
        match self {
            // `max` would turn NaN into a number.
            Self::Relu => {
                if x < 0.0 {
                    0.0
                } else {
                    x
                }
            }
            Self::Tanh => x.tanh(),
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
            Self::Affine { alpha, beta } => f64::from(alpha) * x + f64::from(beta),
            Self::LeakyRelu { alpha } => {
                if x >= 0.0 {
                    x
                } else {
                    f64::from(alpha) * x
                }
            }
            Self::ThresholdedRelu { alpha } => {
                if x < f64::from(alpha) {
                    0.0
                } else {
                    x
                }
            }
            Self::ScaledTanh { alpha, beta } => f64::from(alpha) * (f64::from(beta) * x).tanh(),
            Self::HardSigmoid { alpha, beta } => (f64::from(alpha) * x + f64::from(beta)).clamp(0.0, 1.0),
            Self::Elu { alpha } => {
                if x >= 0.0 {
                    x
                } else {
                    f64::from(alpha) * x.exp_m1()
                }
            }
            Self::Softsign => x / (1.0 + x.abs()),
            // Does not overflow for large numbers.
            Self::Softplus => x.max(0.0) + (-x.abs()).exp().ln_1p(),
        }
    }
}
