//! Decimal numbers in the binary form of PostgreSQL: digits to the base of 10,000, with the weight of the first one.

use bytes::{BufMut, BytesMut};

const NEGATIVE: u16 = 0x4000;
const NOT_A_NUMBER: u16 = 0xC000;

/// The digits of a whole number, with `scale` of them behind the point.
pub(super) fn decimal_text(digits: &str, scale: i8) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let Ok(scale) = usize::try_from(scale) else {
        let zeros = if digits == "0" { 0 } else { usize::from(scale.unsigned_abs()) };
        return format!("{sign}{digits}{}", "0".repeat(zeros));
    };
    if scale == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// Writes a number that is given as plain text.
pub(super) fn put_numeric(out: &mut BytesMut, text: &str) {
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole = whole.trim_start_matches('0');
    // Groups of four are counted from the point.
    let mut digits: Vec<u8> = vec![b'0'; (4 - whole.len() % 4) % 4];
    digits.extend_from_slice(whole.as_bytes());
    let mut weight = (digits.len() / 4) as i16 - 1;
    digits.extend_from_slice(fraction.as_bytes());
    digits.resize(digits.len().next_multiple_of(4), b'0');
    let groups: Vec<i16> = digits
        .chunks_exact(4)
        .map(|group| group.iter().fold(0, |sum, digit| sum * 10 + i16::from(digit - b'0')))
        .collect();
    let zeros = groups.iter().take_while(|group| **group == 0).count();
    let end = groups.iter().rposition(|group| *group != 0).map_or(zeros, |last| last + 1);
    let groups = &groups[zeros.min(end)..end];
    weight = if groups.is_empty() { 0 } else { weight - zeros as i16 };
    out.put_i16(groups.len() as i16);
    out.put_i16(weight);
    out.put_u16(if negative && !groups.is_empty() { NEGATIVE } else { 0 });
    out.put_i16(fraction.len() as i16);
    groups.iter().for_each(|group| out.put_i16(*group));
}

/// Reads one as plain text; nothing when the bytes are none, or not a number.
/// More than any decimal of the engine has: a few bytes must not become a text of many thousands.
const MOST_GROUPS: u16 = 256;

pub(super) fn numeric_text(bytes: &[u8]) -> Option<String> {
    let (head, digits) = bytes.split_at_checked(8)?;
    let field = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let (count, weight, sign, scale) = (field(0), field(2) as i16, field(4), usize::from(field(6)));
    if digits.len() != usize::from(count) * 2
        || sign == NOT_A_NUMBER
        || scale > 16_383
        || weight.unsigned_abs() > MOST_GROUPS
    {
        return None;
    }
    let groups: Vec<u16> =
        digits.chunks_exact(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    if groups.iter().any(|group| *group >= 10_000) {
        return None;
    }
    let weight = i32::from(weight);
    let group = |at: i32| usize::try_from(at).ok().and_then(|at| groups.get(at)).copied().unwrap_or(0);
    let mut text = if sign == NEGATIVE { "-".to_owned() } else { String::new() };
    let whole: String = (0..=weight.max(-1)).map(|at| format!("{:04}", group(at))).collect();
    let whole = whole.trim_start_matches('0');
    text.push_str(if whole.is_empty() { "0" } else { whole });
    if scale > 0 {
        let fraction: String =
            (0..scale.div_ceil(4) as i32).map(|at| format!("{:04}", group(weight + 1 + at))).collect();
        text.push('.');
        text.push_str(&fraction[..scale]);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        for text in [
            "0",
            "1",
            "-1",
            "9999",
            "10000",
            "123456789.5",
            "0.5",
            "0.00001",
            "-0.00012345",
            "100000000",
            "3.14",
            "1000.0001",
            "99999999999999999999999999999999999999",
            "0.10",
        ] {
            let mut out = BytesMut::new();
            put_numeric(&mut out, text);
            assert_eq!(numeric_text(&out).as_deref(), Some(text));
        }
    }

    #[test]
    fn the_bytes_are_those_of_postgres() {
        let mut out = BytesMut::new();
        put_numeric(&mut out, "-12345.678");
        assert_eq!(&out[..], &[0, 3, 0, 1, 0x40, 0, 0, 3, 0, 1, 9, 41, 26, 124]);
        out.clear();
        put_numeric(&mut out, "0.0");
        assert_eq!(&out[..], &[0, 0, 0, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn scales_place_the_point() {
        assert_eq!(decimal_text("12345", 2), "123.45");
        assert_eq!(decimal_text("-5", 3), "-0.005");
        assert_eq!(decimal_text("5", -2), "500");
        assert_eq!(decimal_text("0", -2), "0");
        assert_eq!(decimal_text("7", 0), "7");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert_eq!(numeric_text(&[]), None);
        assert_eq!(numeric_text(&[0, 1, 0, 0, 0, 0, 0, 0]), None);
        assert_eq!(numeric_text(&[0, 0, 0, 0, 0xC0, 0, 0, 0]), None);
        assert_eq!(numeric_text(&[0, 1, 0, 0, 0, 0, 0, 0, 0xff, 0xff]), None);
        assert_eq!(numeric_text(&[0, 0, 0x7f, 0xff, 0, 0, 0, 0]), None, "32,768 zeros");
    }
}
