//! Comparison of the logits of models with experts. Rounding may select another expert, but only
//! where two scores are nearly equal.

use roci_lm::reference::{ExpertChoice, Reference, SequenceState};
use roci_testkit::tolerance::NormTolerance;

use crate::compare;

/// Maximum error of a score relative to the root mean square of all scores, in units of the allowed
/// distance of logits. That is a number of standard deviations.
const DEVIATIONS: f64 = 4.0;

/// Compares rows of logits with the reference. A row may match another selection of experts where
/// scores nearly tie; later rows must then match that selection. `tolerance` is that of a row.
pub(crate) fn compare_rows(
    reference: &Reference,
    tokens: &[u32],
    rows: &[Vec<f32>],
    tolerance: impl Fn(usize) -> NormTolerance,
    what: &str,
) -> Result<(), String> {
    let mut state = SequenceState::default();
    for (at, (row, token)) in rows.iter().zip(tokens).enumerate() {
        let (before, allowed) = (state.clone(), tolerance(at));
        let logits = |state: &mut SequenceState, swapped: &[usize]| {
            reference.logits_with_choices(state, *token, swapped).map_err(|error| error.to_string())
        };
        let (expected, choices) = logits(&mut state, &[])?;
        let Err(error) = compare(row, &expected, allowed, &format!("{what}, row {at}")) else { continue };
        let mut ties: Vec<usize> = (0..choices.len()).filter(|index| is_near_tie(&choices[*index], allowed)).collect();
        ties.sort_by(|&a, &b| choices[a].gap.total_cmp(&choices[b].gap));
        let pairs = ties.iter().enumerate().flat_map(|(index, &a)| ties[index + 1..].iter().map(move |&b| vec![a, b]));
        let other = ties.iter().map(|&tie| vec![tie]).chain(pairs).find_map(|swapped| {
            let mut state = before.clone();
            let (expected, _) = logits(&mut state, &swapped).ok()?;
            compare(row, &expected, allowed, "").is_ok().then_some(state)
        });
        let gaps: Vec<String> = choices.iter().map(|choice| format!("{:.3}", choice.gap / choice.scale)).collect();
        let gaps = gaps.join(", ");
        state = other.ok_or_else(|| format!("{error}, and no near tie explains it: relative gaps are {gaps}"))?;
    }
    Ok(())
}

/// Whether the error of two scores can exceed their difference.
fn is_near_tie(choice: &ExpertChoice, allowed: NormTolerance) -> bool {
    f64::from(choice.gap) <= 2.0 * DEVIATIONS * allowed.bound() * f64::from(choice.scale)
}

/// A wrong row fails, and a row with another expert passes only at a near tie.
pub(crate) fn near_tie_choices_are_accepted() -> Result<(), String> {
    let case = crate::in_place::with_experts(roci_gguf::Type::Q8_0);
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = case.open().map_err(|error| text(&error))?;
    let model = roci_lm::architecture::Model::new(&file, Some(case.context)).map_err(|error| text(&error))?;
    let reference = Reference::new(&file, model).map_err(|error| text(&error))?;
    let tokens = case.tokens(60);
    let (mut state, mut close, mut far) = (SequenceState::default(), 0, 0);
    let mut rows: Vec<Vec<f32>> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = state.clone();
        let (own, choices) = reference.logits_with_choices(&mut state, *token, &[]).map_err(|error| text(&error))?;
        for (index, choice) in choices.iter().enumerate() {
            let mut other = before.clone();
            let (row, _) = reference.logits_with_choices(&mut other, *token, &[index]).map_err(|error| text(&error))?;
            // Skip choices that hardly change the logits.
            let allowed = NormTolerance::Bfloat;
            if compare(&row, &own, allowed, "").is_ok() {
                continue;
            }
            let all: Vec<Vec<f32>> = rows.iter().cloned().chain([row]).collect();
            let found = compare_rows(&reference, &tokens, &all, |_| allowed, "a row");
            match (is_near_tie(choice, allowed), found) {
                (true, Ok(())) => close += 1,
                (false, Err(_)) => far += 1,
                (is_tie, found) => return Err(format!("token {at}, choice {index}, near tie {is_tie}: {found:?}")),
            }
        }
        rows.push(own);
    }
    if close > 0 && far > 0 { Ok(()) } else { Err(format!("{close} close choices and {far} others")) }
}
