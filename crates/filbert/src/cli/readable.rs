//! Sizes and times as people read them.

/// Formats bytes with the unit that leaves at most three digits before the point: `7.2 MB`.
pub(super) fn size(bytes: f64) -> String {
    if bytes < 999.5 {
        return format!("{bytes:.0} B");
    }
    let mut size = bytes / 1e3;
    for unit in ["kB", "MB", "GB"] {
        // What would be rounded to 1000.0 is written in the next unit.
        if size < 999.95 {
            return format!("{size:.1} {unit}");
        }
        size /= 1e3;
    }
    format!("{size:.1} TB")
}

/// Formats a time with its two largest units: `250 ms`, `1.5 s`, `12 min 5 s`, `3 d 4 h`.
pub(super) fn span(seconds: f64) -> String {
    if seconds < 0.9995 {
        return format!("{:.0} ms", seconds * 1e3);
    }
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    let (minutes, hours, days) = (whole / 60, whole / 3_600, whole / 86_400);
    match whole {
        ..60 => format!("{whole} s"),
        60..3_600 => format!("{minutes} min {} s", whole % 60),
        3_600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_at_most_three_digits_before_the_point() {
        let sizes = [0.0, 999.0, 1e3, 7.2e6, 999_949.0, 999_950.0, 3.2e9, 5e12, 7e15];
        let expected =
            ["0 B", "999 B", "1.0 kB", "7.2 MB", "999.9 kB", "1.0 MB", "3.2 GB", "5.0 TB", "7000.0 TB"];
        assert_eq!(sizes.map(size), expected);
    }

    #[test]
    fn times_have_two_units() {
        let times = [0.0, 0.25, 0.9996, 1.5, 9.96, 59.0, 61.0, 7_980.0, 273_600.0];
        let expected =
            ["0 ms", "250 ms", "1.0 s", "1.5 s", "10 s", "59 s", "1 min 1 s", "2 h 13 min", "3 d 4 h"];
        assert_eq!(times.map(span), expected);
    }
}
