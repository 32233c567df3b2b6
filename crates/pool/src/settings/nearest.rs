//! What someone who made a typing error may have meant.

/// The word out of `known` that someone who wrote `written` may have meant.
pub fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let rank = |word: &'a str| {
        // Half of a word counts as near: `ttl` is meant to be `ttl_seconds`.
        let is_part = written.len() >= 3 && (word.starts_with(written) || written.starts_with(word));
        (if is_part { 1 } else { distance(written, word) }, word)
    };
    let (near, word) = known.map(rank).min()?;
    // Of a short word two letters are most of it.
    let most = if written.len() < 6 { 1 } else { 2.max(written.len() / 4) };
    (near <= most).then_some(word)
}

/// How many letters to insert, delete or replace to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["ttl_seconds", "max_idle_seconds", "eviction"];
        let of = |written| nearest(written, known.into_iter());
        assert_eq!(of("ttl_second"), Some("ttl_seconds"));
        assert_eq!(of("ttl"), Some("ttl_seconds"));
        assert_eq!(of("evicton"), Some("eviction"));
        assert_eq!(of("backups"), None);
        assert_eq!(nearest("foo", ["flow"].into_iter()), None);
        assert_eq!(nearest("lrv", ["lru", "none"].into_iter()), Some("lru"));
        assert_eq!(of(""), None);
    }
}
