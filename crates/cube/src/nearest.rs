//! Which name somebody may have meant who wrote one that there is not.

use filbert_pool::settings_fields;

/// Finds the name out of `known` that is nearest to this one, if any is near: a slip of the finger, or else a few letters.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let slip = known.clone().filter(|known| is_slip(known, name));
    let slip = slip.min_by_key(|known| known.len().abs_diff(name.len()));
    slip.or_else(|| settings_fields::nearest(name, known))
}

/// True when one name is the other with another case, a letter more, less or different, or two of them exchanged.
fn is_slip(known: &str, name: &str) -> bool {
    let fold = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let (a, b) = (fold(known), fold(name));
    let same_before = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same_before..], &b[same_before..]);
    let same_after = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same_after], &b[..b.len() - same_after]);
    a.len().max(b.len()) <= 1 || (a.len() == 2 && b.len() == 2 && a[0] == b[1] && a[1] == b[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_come_before_names_that_are_further_away() {
        let known = ["pnl", "PV", "notional", "value at risk"];
        let of = |name| nearest(name, known.into_iter());
        assert_eq!(of("pln"), Some("pnl"));
        assert_eq!(of("pv"), Some("PV"));
        assert_eq!(of("notinoal"), Some("notional"));
        assert_eq!(of("value of risk"), Some("value at risk"));
        assert_eq!(of("sensitivity"), None);
    }
}
