//! A line that says how much of something is done, and how long the rest may take.

use super::readable::size;
use std::time::Duration;

/// The width of the bar, without its ends.
const BAR: usize = 16;

/// The part that has to be done, in hundredths, before the rest is estimated.
const FIRST_PERCENTS: u64 = 2;

/// Draws a line of at most `width` letters: a bar and the percentage, then what there is room for.
pub(super) fn bar(done: u64, total: u64, elapsed: Duration, width: usize) -> String {
    let total = total.max(1);
    let percent = percent(done, total);
    let full = BAR * percent as usize / 100;
    let mut line = format!("[{}{}] {percent:>3} %", "#".repeat(full), " ".repeat(BAR - full));
    let mut more = vec![format!(" of {}", size(total as f64)), format!(", {:.1} s", elapsed.as_secs_f64())];
    if (FIRST_PERCENTS..100).contains(&percent) {
        let rest = elapsed.as_secs_f64() * (total - done.min(total)) as f64 / done.max(1) as f64;
        more.push(format!(", about {} left", spoken(rest)));
    }
    more.push("; Ctrl-C cancels".to_owned());
    for part in more {
        if line.len() + part.len() > width {
            break;
        }
        line += &part;
    }
    line.chars().take(width).collect()
}

/// The part in hundredths; 100 only when all is done.
fn percent(done: u64, total: u64) -> u64 {
    (u128::from(done.min(total)) * 100 / u128::from(total)) as u64
}

/// A time as it is estimated: nobody counts the milliseconds.
fn spoken(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 90.0 => format!("{:.0} s", seconds.max(1.0)),
        seconds if seconds < 5_400.0 => format!("{:.0} min", seconds / 60.0),
        seconds => format!("{:.1} h", seconds / 3_600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_tells_the_part_and_estimates_the_rest() {
        let seconds = Duration::from_secs;
        assert_eq!(
            bar(450_000_000, 1_000_000_000, seconds(9), 80),
            "[#######         ]  45 % of 1.0 GB, 9.0 s, about 11 s left; Ctrl-C cancels"
        );
        assert_eq!(
            bar(0, 1_000_000, seconds(1), 80),
            "[                ]   0 % of 1.0 MB, 1.0 s; Ctrl-C cancels"
        );
        assert!(bar(1_000, 1_000, seconds(1), 80).starts_with("[################] 100 % of"));
        assert!(bar(999_999, 1_000_000, seconds(1), 80).contains(" 99 %"), "all is not done");
        assert!(bar(2_000, 1_000, seconds(1), 80).contains("100 %"), "more than was there at first");
        assert!(
            bar(10, 1_000, seconds(60), 80).contains("1 %")
                && !bar(10, 1_000, seconds(60), 80).contains("left")
        );
        assert!(bar(500, 10_000, seconds(60), 80).contains("about 19 min left"));
        for width in [10, 24, 40, 79] {
            assert!(bar(450, 1_000, seconds(9), width).chars().count() <= width, "{width}");
        }
    }
}
