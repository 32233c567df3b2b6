//! What a row of a function can cost, from its arguments alone: bytes of its result, and steps where it takes longer than its arguments
//! are large.
//!
//! Costs are upper bounds. Where the bound is far above what a usual call takes (`replace` of a letter by a word), it is counted exactly once
//! the bound is no small number.

use super::values::{Numbers, Sizes, Texts, elements};
use super::{FREE_BYTES, PIECE_STEPS};
use crate::functions::{JOIN_TEXTS, LIKE_PATTERN, SIMILAR_PATTERN};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type, IntervalMonthDayNanoType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

/// Steps that one row may take: about a second.
pub(super) const STEPS_OF_A_ROW: u64 = 1 << 28;

/// Bytes that a compiled regular expression takes at most; a larger one is refused by the engine that compiles it.
const COMPILED_BYTES: u64 = 10 << 20;

/// Bytes of a compiled letter, about.
const COMPILED_LETTER_BYTES: u64 = 64;

/// Bytes of a pattern for dates that is not counted.
const USUAL_PATTERN_BYTES: u64 = 256;

/// Bytes that a letter of such a pattern can become: `%+` is a whole date.
const FORMATTED_BYTES: u64 = 20;

/// The shape of a function's cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Cost {
    /// A text, a number: the text that often.
    Repeat,
    /// A text, a number of letters, what to fill with.
    Pad,
    /// A text, what to look for, what to put there.
    Replace,
    /// A text, a pattern, what to put there.
    RegexpReplace,
    /// A text, a pattern.
    Regexp,
    /// The same, and what each group of the pattern matches.
    RegexpMatch,
    /// As much as all arguments together.
    Sum,
    /// Twice as much.
    Twice,
    /// A separator, and what it goes between.
    Joined,
    /// A list, a separator.
    ListToText,
    /// The first value, the last one, the step between two.
    Series,
    /// A value, a number: the value that often.
    RepeatValue,
    /// A list, a number of elements, what to fill with.
    Resize,
    /// A list, an element, what to put in its place: once.
    ReplaceElement,
    /// The same, as often as a number says, or everywhere.
    ReplaceElements,
    /// A moment, a pattern.
    Format,
    /// Two texts, each letter with each.
    Levenshtein,
    /// Two lists, each element with each.
    Pairs,
}

/// The functions that need a bound, by the names that they are registered under.
pub(super) const NAMED: &[(&str, Cost)] = &[
    ("repeat", Cost::Repeat),
    ("lpad", Cost::Pad),
    ("rpad", Cost::Pad),
    ("replace", Cost::Replace),
    ("regexp_replace", Cost::RegexpReplace),
    ("regexp_like", Cost::Regexp),
    ("regexp_match", Cost::RegexpMatch),
    ("regexp_count", Cost::Regexp),
    ("regexp_instr", Cost::Regexp),
    ("concat", Cost::Sum),
    (JOIN_TEXTS, Cost::Sum),
    ("concat_ws", Cost::Joined),
    ("overlay", Cost::Sum),
    ("encode", Cost::Twice),
    ("array_to_string", Cost::ListToText),
    ("range", Cost::Series),
    ("generate_series", Cost::Series),
    ("array_repeat", Cost::RepeatValue),
    ("array_resize", Cost::Resize),
    ("array_replace", Cost::ReplaceElement),
    ("array_replace_n", Cost::ReplaceElements),
    ("array_replace_all", Cost::ReplaceElements),
    ("array_append", Cost::Sum),
    ("array_prepend", Cost::Sum),
    ("array_concat", Cost::Sum),
    ("make_array", Cost::Sum),
    ("to_char", Cost::Format),
    (LIKE_PATTERN, Cost::Twice),
    (SIMILAR_PATTERN, Cost::Twice),
    ("levenshtein", Cost::Levenshtein),
    ("array_has_all", Cost::Pairs),
    ("array_has_any", Cost::Pairs),
];

/// Costs by row; one for all when no argument is a column.
#[derive(Debug, Default)]
pub(super) struct Costs {
    pub(super) bytes: Vec<u64>,
    pub(super) steps: Vec<u64>,
}

impl Costs {
    /// True when the call needs no care, with so many bytes that nobody is charged for.
    pub(super) fn is_small(&self, free: u64) -> bool {
        let sum = |of: &[u64]| of.iter().fold(0_u64, |sum, more| sum.saturating_add(*more));
        sum(&self.bytes) <= free && sum(&self.steps) <= PIECE_STEPS
    }
}

impl Cost {
    /// True when the bytes are what the result has, not only a bound.
    pub(super) fn is_exact(self) -> bool {
        matches!(self, Cost::Repeat | Cost::Series | Cost::RepeatValue | Cost::Sum)
    }

    /// True when a row can be as large as memory, however small the arguments.
    pub(super) fn is_huge(self) -> bool {
        matches!(self, Cost::Repeat | Cost::Pad | Cost::Series | Cost::RepeatValue | Cost::Resize)
    }

    /// What the rows of this call can cost; nothing where that is no more than `free` bytes. Arguments that the function will refuse cost
    /// nothing either.
    pub(super) fn of(self, call: &ScalarFunctionArgs, free: u64) -> Costs {
        let is_one = call.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_one { 1 } else { call.number_rows };
        self.of_rows(&call.args, rows, free).unwrap_or_default()
    }

    fn of_rows(self, args: &[ColumnarValue], rows: usize, free: u64) -> Option<Costs> {
        let bytes =
            |of: &dyn Fn(usize) -> u64| Costs { bytes: (0..rows).map(of).collect(), steps: Vec::new() };
        match self {
            Cost::Repeat => {
                let (text, times) = (Texts::of(args.first()?)?, Numbers::of(args.get(1)?)?);
                Some(bytes(&|row| text.bytes(row).saturating_mul(times.count(row))))
            }
            Cost::Pad => {
                let (text, letters) = (Texts::of(args.first()?)?, Numbers::of(args.get(1)?)?);
                let fill = match args.get(2) {
                    Some(fill) => Texts::of(fill)?,
                    None => Texts::One(" "),
                };
                Some(bytes(&|row| {
                    let letter = if fill.at(row).is_ascii() { 1 } else { 4 };
                    text.bytes(row).saturating_add(letters.count(row).saturating_mul(letter))
                }))
            }
            Cost::Replace => replaced(args, rows),
            Cost::RegexpReplace => {
                let mut costs = patterns(args, rows)?;
                let (text, by) = (Texts::of(args.first()?)?, Texts::of(args.get(2)?)?);
                let is_global = args.get(3).is_some();
                for (row, bytes) in costs.bytes.iter_mut().enumerate() {
                    let (length, by) = (text.bytes(row), by.at(row));
                    let groups = by.matches(['\\', '$']).count() as u64;
                    let places = if is_global { length.saturating_add(1) } else { 1 };
                    let more = places.saturating_mul(by.len() as u64);
                    let result = length.saturating_mul(1 + groups).saturating_add(more);
                    *bytes = bytes.saturating_add(result);
                }
                Some(costs)
            }
            Cost::Regexp => patterns(args, rows),
            Cost::RegexpMatch => {
                let mut costs = patterns(args, rows)?;
                let (text, pattern) = (Texts::of(args.first()?)?, Texts::of(args.get(1)?)?);
                for (row, bytes) in costs.bytes.iter_mut().enumerate() {
                    let groups = pattern.at(row).matches('(').count().max(1) as u64;
                    *bytes = bytes.saturating_add(text.bytes(row).saturating_mul(groups));
                }
                Some(costs)
            }
            Cost::Sum | Cost::Twice => {
                let factor = if self == Cost::Twice { 2 } else { 1 };
                let quick = args.iter().map(|arg| Sizes::sum(arg, rows)).fold(0, u64::saturating_add);
                if quick.saturating_mul(factor) <= free {
                    return Some(Costs::default());
                }
                let sizes: Vec<Sizes<'_>> = args.iter().map(Sizes::of).collect();
                Some(bytes(&|row| {
                    sizes
                        .iter()
                        .fold(0, |sum: u64, size| sum.saturating_add(size.at(row)))
                        .saturating_mul(factor)
                }))
            }
            Cost::Joined => {
                let between = Texts::of(args.first()?)?;
                let sizes: Vec<Sizes<'_>> = args.iter().skip(1).map(Sizes::of).collect();
                Some(bytes(&|row| {
                    let elements = args.iter().skip(1).map(|arg| elements(arg, row).max(1)).sum::<u64>();
                    let parts = sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(size.at(row)));
                    parts.saturating_add(between.bytes(row).saturating_mul(elements))
                }))
            }
            Cost::ListToText => {
                let (list, between) = (args.first()?, Texts::of(args.get(1)?)?);
                let null = args.get(2).and_then(Texts::of);
                let size = Sizes::of(list);
                Some(bytes(&|row| {
                    let null = null.as_ref().map_or(0, |null| null.bytes(row));
                    // A number of eight bytes has up to twenty letters or so.
                    let each = between.bytes(row).saturating_add(null);
                    size.at(row).saturating_mul(4).saturating_add(elements(list, row).saturating_mul(each))
                }))
            }
            Cost::Series => series(args, rows),
            Cost::RepeatValue => {
                let (value, times) = (Sizes::of(args.first()?), Numbers::of(args.get(1)?)?);
                Some(bytes(&|row| value.at(row).max(1).saturating_mul(times.count(row))))
            }
            Cost::Resize => {
                let (list, length) = (args.first()?, Numbers::of(args.get(1)?)?);
                let (size, fill) = (Sizes::of(list), args.get(2).map(Sizes::of));
                Some(bytes(&|row| {
                    let fill = fill.as_ref().map_or(8, |fill| fill.at(row).max(8));
                    size.at(row).saturating_add(length.count(row).saturating_mul(fill))
                }))
            }
            Cost::ReplaceElement | Cost::ReplaceElements => {
                let (list, to) = (args.first()?, Sizes::of(args.get(2)?));
                let most = match args.get(3) {
                    Some(most) => Some(Numbers::of(most)?),
                    None => None,
                };
                let size = Sizes::of(list);
                Some(bytes(&|row| {
                    let places = match (self, &most) {
                        (Cost::ReplaceElement, _) => 1,
                        (_, Some(most)) => elements(list, row).min(most.count(row)),
                        (_, None) => elements(list, row),
                    };
                    size.at(row).saturating_add(places.saturating_mul(to.at(row)))
                }))
            }
            Cost::Format => {
                let pattern = Texts::of(args.get(1)?)?;
                Some(bytes(&|row| match pattern.bytes(row) {
                    // As long as all that people write, which is no more than any other text.
                    0..=USUAL_PATTERN_BYTES => 0,
                    long => long.saturating_mul(FORMATTED_BYTES),
                }))
            }
            Cost::Levenshtein => {
                let (one, other) = (Texts::of(args.first()?)?, Texts::of(args.get(1)?)?);
                let steps = |row| one.bytes(row).saturating_mul(other.bytes(row));
                Some(Costs { bytes: Vec::new(), steps: (0..rows).map(steps).collect() })
            }
            Cost::Pairs => {
                let (one, other) = (args.first()?, args.get(1)?);
                let steps = |row| elements(one, row).saturating_mul(elements(other, row));
                Some(Costs { bytes: Vec::new(), steps: (0..rows).map(steps).collect() })
            }
        }
    }
}

/// A text in which something is replaced: the matches are counted where they could make it large.
fn replaced(args: &[ColumnarValue], rows: usize) -> Option<Costs> {
    let (text, from, by) = (Texts::of(args.first()?)?, Texts::of(args.get(1)?)?, Texts::of(args.get(2)?)?);
    let bound = |row| {
        let length = text.bytes(row);
        let places = length / (from.bytes(row).max(1)) + 1;
        length.saturating_add(places.saturating_mul(by.bytes(row)))
    };
    let costs = Costs { bytes: (0..rows).map(bound).collect(), steps: Vec::new() };
    if costs.is_small(FREE_BYTES) {
        return Some(costs);
    }
    let exact = |row| {
        let (text, from) = (text.at(row), from.at(row));
        let places = if from.is_empty() { text.len() + 1 } else { text.matches(from).count() };
        (text.len() as u64).saturating_add((places as u64).saturating_mul(by.bytes(row)))
    };
    Some(Costs { bytes: (0..rows).map(exact).collect(), steps: Vec::new() })
}

/// Regular expressions that a row brings: compiled, and kept until the call is over.
fn patterns(args: &[ColumnarValue], rows: usize) -> Option<Costs> {
    let pattern = Texts::of(args.get(1)?)?;
    if let Texts::One(pattern) = pattern {
        let mut bytes = vec![0; rows];
        if let Some(first) = bytes.first_mut() {
            *first = compiled(pattern);
        }
        return Some(Costs { bytes, steps: Vec::new() });
    }
    let bytes = |row: usize| match row > 0 && pattern.at(row) == pattern.at(row - 1) {
        true => 0,
        false => compiled(pattern.at(row)),
    };
    Some(Costs { bytes: (0..rows).map(bytes).collect(), steps: Vec::new() })
}

/// Bytes of a compiled pattern, at most or about: repetitions are written out, one inside the other.
fn compiled(pattern: &str) -> u64 {
    let mut letters = (pattern.len() as u64).saturating_mul(COMPILED_LETTER_BYTES);
    for counted in pattern.split('{').skip(1) {
        let Some((counts, _)) = counted.split_once('}') else { continue };
        let most = counts.split(',').filter_map(|count| count.trim().parse::<u64>().ok()).max();
        letters = letters.saturating_mul(most.unwrap_or(1).max(1));
    }
    letters.min(COMPILED_BYTES)
}

/// Values from the first to the last one, in steps.
fn series(args: &[ColumnarValue], rows: usize) -> Option<Costs> {
    let of = |count: &dyn Fn(usize) -> u64| Costs {
        bytes: (0..rows).map(|row| count(row).saturating_mul(8)).collect(),
        steps: Vec::new(),
    };
    match args.first()?.data_type() {
        DataType::Int64 => {
            let numbers: Vec<Numbers> = args.iter().map(Numbers::of).collect::<Option<_>>()?;
            Some(of(&|row| {
                let (from, to, step) = match &numbers[..] {
                    [to] => (0, to.at(row), 1),
                    [from, to] => (from.at(row), to.at(row), 1),
                    [from, to, step, ..] => (from.at(row), to.at(row), step.at(row)),
                    [] => return 0,
                };
                steps_between(i128::from(from), i128::from(to), i128::from(step))
            }))
        }
        DataType::Date32 | DataType::Date64 | DataType::Timestamp(_, _) => {
            let [from, to, step] = args else { return None };
            let (from, to) = (moments(from)?, moments(to)?);
            let step = intervals(step)?;
            Some(of(&|row| {
                let step = match &step[..] {
                    [one] => *one,
                    many => many.get(row).copied().unwrap_or(0),
                };
                steps_between(i128::from(from.at(row)), i128::from(to.at(row)), step)
            }))
        }
        _ => None,
    }
}

fn steps_between(from: i128, to: i128, step: i128) -> u64 {
    if step == 0 || (to > from) != (step > 0) {
        return 1;
    }
    u64::try_from((to - from).unsigned_abs() / step.unsigned_abs() + 1).unwrap_or(u64::MAX)
}

/// Microseconds since 1970: coarse enough for all dates, fine enough for a count.
fn moments(arg: &ColumnarValue) -> Option<Numbers> {
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let arg = match arg {
        ColumnarValue::Array(array) => ColumnarValue::Array(cast(array, &micros).ok()?),
        ColumnarValue::Scalar(scalar) => ColumnarValue::Scalar(scalar.cast_to(&micros).ok()?),
    };
    Numbers::of(&arg)
}

/// A day, in microseconds.
const DAY: i128 = 86_400_000_000;

/// Lengths of intervals, in microseconds; months are as short as they get.
fn intervals(arg: &ColumnarValue) -> Option<Vec<i128>> {
    let array = match arg {
        ColumnarValue::Array(array) => array.clone(),
        ColumnarValue::Scalar(ScalarValue::Null) => return Some(vec![0]),
        ColumnarValue::Scalar(scalar) => scalar.to_array().ok()?,
    };
    if !matches!(array.data_type(), DataType::Interval(_)) {
        let numbers = cast(&array, &DataType::Int64).ok()?;
        return Some(
            numbers.as_primitive::<Int64Type>().iter().map(|n| i128::from(n.unwrap_or(0))).collect(),
        );
    }
    let lengths = array.as_primitive_opt::<IntervalMonthDayNanoType>()?;
    let micros = |at: usize| {
        if lengths.is_null(at) {
            return 0;
        }
        let length = lengths.value(at);
        let nanos = i128::from(length.nanoseconds);
        let micros = i128::from(length.months) * 28 * DAY + i128::from(length.days) * DAY + nanos / 1_000;
        // Shorter than a microsecond is still a step.
        if micros == 0 { nanos.signum() } else { micros }
    };
    Some((0..lengths.len()).map(micros).collect())
}
