//! Finds the field that a misspelled name probably means.

/// Maximum length in bytes of a compared name: the cost grows with the length.
const MAX_LENGTH: usize = 64;

/// The most similar known name, if at most a third of its letters differ. Ignores case and
/// punctuation.
pub(super) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > MAX_LENGTH {
        return None;
    }
    let name = letters(name);
    let candidates = known.filter_map(|known| {
        let letters = letters(known);
        let distance = distance(&name, &letters);
        (distance * 3 <= letters.len().min(name.len())).then_some((distance, known))
    });
    candidates.min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

fn letters(name: &str) -> Vec<char> {
    name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Levenshtein distance.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = place + 1;
        for (column, other_letter) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != other_letter);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_are_found_and_other_words_are_not() {
        let known = ["temperature", "top_p", "max_tokens", "n", "stop"];
        let near = |name: &str| nearest(name, known.into_iter());
        assert_eq!(near("temprature"), Some("temperature"));
        assert_eq!(near("maxTokens"), Some("max_tokens"));
        assert_eq!(near("max_new_tokens"), Some("max_tokens"));
        assert_eq!(near("top-p"), Some("top_p"));
        assert_eq!(near("stops"), Some("stop"));
        for other in ["", "m", "zebra", "temperature_of_the_water", &"stop".repeat(100)] {
            assert_eq!(near(other), None, "{other}");
        }
    }

    #[test]
    fn the_distance_is_levenshtein() {
        let count = |one: &str, other: &str| distance(&letters(one), &letters(other));
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", ""), 3);
        assert_eq!(count("kitten", "sitting"), 3);
        assert_eq!(count("abc", "abc"), 0);
    }
}
