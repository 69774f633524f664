//! Sampling parameters and their validation.

/// Sampling parameters.
///
/// They apply in the order of the fields, which is llama.cpp's: biases and penalties change logits,
/// the next three filter candidates, and the temperature scales the remaining logits.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Added to the logits of these tokens. Minus infinity forbids a token.
    pub logit_bias: Vec<(u32, f32)>,
    /// Divides positive logits and multiplies negative ones of tokens in the penalty window; 1
    /// disables it.
    pub repeat_penalty: f32,
    /// Subtracted once per occurrence of a token in the penalty window.
    pub frequency_penalty: f32,
    /// Subtracted from the logit of every token in the penalty window.
    pub presence_penalty: f32,
    /// Penalty window: number of recent tokens that the penalties consider.
    pub penalty_window: usize,
    /// Keeps only this many most probable tokens; 0 disables it.
    pub top_k: usize,
    /// Keeps the most probable tokens with this total probability; 1 disables it.
    pub top_p: f32,
    /// Keeps tokens with at least this fraction of the largest probability; 0 disables it.
    pub min_p: f32,
    /// Temperature; 0 always takes the most probable token.
    pub temperature: f32,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            logit_bias: Vec::new(),
            repeat_penalty: 1.0,
            frequency_penalty: 0.0,
            presence_penalty: 0.0,
            penalty_window: 64,
            top_k: 40,
            top_p: 0.95,
            min_p: 0.05,
            temperature: 0.8,
            seed: 0,
        }
    }
}

/// A sampling parameter out of range.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{name}` is {value}, expected {expected}")]
pub struct SettingsError {
    name: &'static str,
    value: String,
    expected: &'static str,
}

impl SettingsError {
    /// Name of the parameter.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What the user can do, in one sentence.
    pub fn hint(&self) -> String {
        format!("set `{}` to {}, or leave it out", self.name, self.expected)
    }
}

/// Maximum penalty window in tokens: limits the memory of a request.
const MAX_WINDOW: usize = 1 << 20;

impl Settings {
    /// Greedy sampling: always the most probable token.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..Self::default() }
    }

    /// Whether any penalty is enabled.
    pub(super) fn penalizes(&self) -> bool {
        (self.repeat_penalty, self.frequency_penalty, self.presence_penalty) != (1.0, 0.0, 0.0)
    }

    /// Checks every parameter against its range and the vocabulary size.
    pub fn check(&self, vocabulary: usize) -> Result<(), SettingsError> {
        let within = |name, value: f32, expected, good: bool| match good {
            true => Ok(()),
            false => Err(SettingsError { name, value: value.to_string(), expected }),
        };
        let share = "a number from 0 to 1";
        let finite = "a finite number";
        within(
            "repeat_penalty",
            self.repeat_penalty,
            "a number above 0",
            self.repeat_penalty.is_normal() && self.repeat_penalty > 0.0,
        )?;
        within("frequency_penalty", self.frequency_penalty, finite, self.frequency_penalty.is_finite())?;
        within("presence_penalty", self.presence_penalty, finite, self.presence_penalty.is_finite())?;
        within("top_p", self.top_p, share, (0.0..=1.0).contains(&self.top_p))?;
        within("min_p", self.min_p, share, (0.0..=1.0).contains(&self.min_p))?;
        within(
            "temperature",
            self.temperature,
            "a number of at least 0",
            self.temperature.is_finite() && self.temperature >= 0.0,
        )?;
        if self.penalty_window > MAX_WINDOW {
            let value = self.penalty_window.to_string();
            return Err(SettingsError { name: "penalty_window", value, expected: "a number up to 1048576" });
        }
        for &(token, bias) in &self.logit_bias {
            // Plus infinity for two tokens would make their probabilities NaN.
            within("logit_bias", bias, "a number below infinity", !bias.is_nan() && bias < f32::INFINITY)?;
            if token as usize >= vocabulary {
                let value = format!("for token {token}");
                return Err(SettingsError { name: "logit_bias", value, expected: "a token of the vocabulary" });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_settings_are_named() {
        assert_eq!(Settings::default().check(10), Ok(()));
        assert_eq!(Settings::greedy().check(10), Ok(()));
        let bad = [
            ("top_p", Settings { top_p: 1.5, ..Settings::default() }),
            ("top_p", Settings { top_p: f32::NAN, ..Settings::default() }),
            ("min_p", Settings { min_p: -0.1, ..Settings::default() }),
            ("temperature", Settings { temperature: -1.0, ..Settings::default() }),
            ("temperature", Settings { temperature: f32::INFINITY, ..Settings::default() }),
            ("repeat_penalty", Settings { repeat_penalty: 0.0, ..Settings::default() }),
            ("frequency_penalty", Settings { frequency_penalty: f32::NAN, ..Settings::default() }),
            ("presence_penalty", Settings { presence_penalty: f32::INFINITY, ..Settings::default() }),
            ("penalty_window", Settings { penalty_window: usize::MAX, ..Settings::default() }),
            ("logit_bias", Settings { logit_bias: vec![(3, f32::INFINITY)], ..Settings::default() }),
            ("logit_bias", Settings { logit_bias: vec![(10, 1.0)], ..Settings::default() }),
        ];
        for (name, settings) in bad {
            let error = settings.check(10).expect_err(name);
            assert_eq!(error.name(), name);
            assert!(error.hint().contains(name));
        }
    }
}
