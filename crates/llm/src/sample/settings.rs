//! What a request may ask of sampling, and what of it makes sense.

/// How tokens are chosen.
///
/// The steps come in the order of the fields, which is llama.cpp's: bias and penalties change logits, the next three leave candidates out,
/// and the temperature shapes what is left.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Added to the logits of these tokens. Minus infinity forbids one.
    pub logit_bias: Vec<(u32, f32)>,
    /// Divides positive logits, and multiplies others, of tokens among the last [`penalty_window`](Self::penalty_window); 1 does nothing.
    pub repeat_penalty: f32,
    /// Subtracted once for each time that a token is among them.
    pub frequency_penalty: f32,
    /// Subtracted once if a token is among them at all.
    pub presence_penalty: f32,
    /// How many of the last tokens the penalties look at.
    pub penalty_window: usize,
    /// Only this many of the likeliest tokens; 0 for all.
    pub top_k: usize,
    /// Only the likeliest tokens that have this share of the probability together; 1 for all.
    pub top_p: f32,
    /// Only tokens with at least this share of the likeliest one's probability; 0 for all.
    pub min_p: f32,
    /// Logits are divided by it; 0 takes the likeliest token.
    pub temperature: f32,
    /// Which random numbers are drawn.
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

/// A setting that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{name}` is {value}, which is not {wanted}")]
pub struct SettingsError {
    name: &'static str,
    value: String,
    wanted: &'static str,
}

impl SettingsError {
    /// The setting's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What to do, as one sentence.
    pub fn hint(&self) -> String {
        format!("give `{}` {}, or leave it out", self.name, self.wanted)
    }
}

/// A penalty window beyond this serves nobody and would cost memory for each request.
const LONGEST_WINDOW: usize = 1 << 20;

impl Settings {
    /// The likeliest token each time.
    pub fn greedy() -> Self {
        Self { temperature: 0.0, top_k: 0, top_p: 1.0, min_p: 0.0, ..Self::default() }
    }

    /// Whether tokens that were there before lose anything.
    pub(super) fn penalises(&self) -> bool {
        (self.repeat_penalty, self.frequency_penalty, self.presence_penalty) != (1.0, 0.0, 0.0)
    }

    /// Whether every setting is one that can be followed for a vocabulary of this many tokens.
    pub fn check(&self, vocabulary: usize) -> Result<(), SettingsError> {
        let within = |name, value: f32, wanted, good: bool| match good {
            true => Ok(()),
            false => Err(SettingsError { name, value: value.to_string(), wanted }),
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
        if self.penalty_window > LONGEST_WINDOW {
            let value = self.penalty_window.to_string();
            return Err(SettingsError { name: "penalty_window", value, wanted: "a number up to 1048576" });
        }
        for &(token, bias) in &self.logit_bias {
            // Plus infinity for two tokens would leave nothing to choose by.
            within("logit_bias", bias, "a number below infinity", !bias.is_nan() && bias < f32::INFINITY)?;
            if token as usize >= vocabulary {
                let value = format!("for token {token}");
                return Err(SettingsError { name: "logit_bias", value, wanted: "for a token of the model" });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_without_sense_are_named() {
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
