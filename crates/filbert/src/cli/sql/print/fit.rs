//! Which columns of a result have room on a line, and how wide they are.
//!
//! Texts are made narrower first, down to a few letters; numbers are never cut, since part of a number is another number. Where that is
//! not enough, columns in the middle are left out.

use super::super::super::text::clipped;
use super::view::Paint;
use unicode_width::UnicodeWidthStr;

/// Texts are not made narrower than that.
const NARROW: usize = 12;

/// A type needs no more, unless its column has it.
const TYPE_WIDTH: usize = 24;

/// Letters between two columns.
const BETWEEN: usize = 2;

/// Stands for what is left out.
const LEFT_OUT: &str = "…";

/// A value as text; none is NULL.
pub(super) type Cell = Option<String>;

/// The columns of a result.
pub(super) struct Head {
    pub(super) names: Vec<String>,
    pub(super) types: Vec<String>,
    /// Which of them are numbers, and go to the right.
    pub(super) numbers: Vec<bool>,
}

/// The columns that are shown.
#[derive(Debug)]
pub(super) struct Fit {
    slots: Vec<Slot>,
    /// Before which of them columns are left out.
    gap: Option<usize>,
}

#[derive(Debug)]
struct Slot {
    column: usize,
    width: usize,
    /// Letters from the point of its numbers on.
    fraction: usize,
    is_number: bool,
}

/// What a column asks for.
#[derive(Debug, Default, Clone, Copy)]
struct Wish {
    width: usize,
    least: usize,
    fraction: usize,
}

/// Splits a number at its point; what has none is before it.
fn at_point(number: &str) -> (&str, &str) {
    number.split_at(number.find('.').unwrap_or(number.len()))
}

/// A cell on one line.
fn flat(cell: &Cell) -> String {
    cell.as_deref().map_or("NULL".to_owned(), |text| text.replace('\n', "\\n"))
}

impl Head {
    /// Finds the width of a column in which nothing is cut.
    fn wish<'r>(&self, column: usize, rows: impl Iterator<Item = &'r [Cell]>) -> Wish {
        let (mut width, mut whole, mut fraction) = (0, 0, 0);
        for row in rows {
            let text = flat(&row[column]);
            if self.numbers[column] {
                let (before, behind) = at_point(&text);
                whole = whole.max(before.width());
                fraction = fraction.max(behind.width());
            } else {
                width = width.max(text.width());
            }
        }
        let cells = width.max(whole + fraction);
        let width = cells.max(self.names[column].width()).max(self.types[column].width().min(TYPE_WIDTH));
        let least = if self.numbers[column] { cells.max(width.min(NARROW)) } else { width.min(NARROW) };
        Wish { width, least, fraction }
    }
}

/// The widths of these columns in that room, if they have it.
fn widths(wishes: &[Wish], columns: &[usize], room: usize) -> Option<Vec<usize>> {
    let at = |cap: usize| {
        let width = |column: &usize| wishes[*column].width.min(cap.max(wishes[*column].least));
        columns.iter().map(width).collect::<Vec<_>>()
    };
    let fits = |widths: &[usize]| widths.iter().sum::<usize>() + BETWEEN * (widths.len() - 1) <= room;
    let widest = columns.iter().map(|column| wishes[*column].width).max()?;
    let natural = at(widest);
    if fits(&natural) {
        return Some(natural);
    }
    (1..=widest.min(room)).rev().map(at).find(|widths| fits(widths))
}

impl Fit {
    /// Fits columns with such rows into that many letters, if there is a bound.
    pub(super) fn of(head: &Head, rows: &[&[Cell]], room: Option<usize>) -> Self {
        let count = head.names.len();
        let wishes: Vec<Wish> = (0..count).map(|column| head.wish(column, rows.iter().copied())).collect();
        let all: Vec<usize> = (0..count).collect();
        let room = room.unwrap_or(usize::MAX);
        if all.is_empty() {
            return Self { slots: Vec::new(), gap: None };
        }
        let slots = |columns: &[usize], widths: Vec<usize>| {
            let slot = |(column, width): (&usize, usize)| Slot {
                column: *column,
                width,
                fraction: wishes[*column].fraction,
                is_number: head.numbers[*column],
            };
            columns.iter().zip(widths).map(slot).collect()
        };
        if let Some(widths) = widths(&wishes, &all, room) {
            return Self { slots: slots(&all, widths), gap: None };
        }
        // One more from the left, one more from the right, for as long as there is room.
        let mark = LEFT_OUT.width() + BETWEEN;
        let has_mark = count > 1 && room > mark;
        let room = if has_mark { room - mark } else { room };
        let (mut left, mut right) = (1, 0);
        let chosen = |left: usize, right: usize| (0..left).chain(count - right..count).collect::<Vec<_>>();
        loop {
            let next = if left > right { (left, right + 1) } else { (left + 1, right) };
            if next.0 + next.1 >= count || widths(&wishes, &chosen(next.0, next.1), room).is_none() {
                break;
            }
            (left, right) = next;
        }
        let columns = chosen(left, right);
        // The first is shown in any case, as far as there is room.
        let widths = widths(&wishes, &columns, room).unwrap_or_else(|| vec![room]);
        Self { slots: slots(&columns, widths), gap: has_mark.then_some(left) }
    }

    /// How many columns are shown.
    pub(super) fn shown(&self) -> usize {
        self.slots.len()
    }

    /// True when every value of such rows is shown whole.
    pub(super) fn is_whole(&self, head: &Head, rows: &[&[Cell]]) -> bool {
        let whole = |slot: &Slot| head.wish(slot.column, rows.iter().copied()).width <= slot.width;
        self.slots.len() == head.names.len() && self.slots.iter().all(whole)
    }

    /// The lines above the rows: names, types and a rule.
    pub(super) fn head(&self, head: &Head, paint: Paint) -> String {
        let names = self.line(|slot| slot.text(&head.names[slot.column]), LEFT_OUT);
        let types = self.line(|slot| slot.text(&head.types[slot.column]), LEFT_OUT);
        let rule = self.line(|slot| "-".repeat(slot.width), "-");
        format!("{}\n{}\n{}\n", paint.bold(&names), paint.faint(&types), paint.faint(&rule))
    }

    /// The line of a row.
    pub(super) fn row(&self, cells: &[Cell], paint: Paint) -> String {
        self.line(
            |slot| {
                let cell = &cells[slot.column];
                let text = slot.cell(&flat(cell));
                if cell.is_none() { paint.faint(&text) } else { text }
            },
            LEFT_OUT,
        ) + "\n"
    }

    /// How long a line is.
    pub(super) fn width(&self) -> usize {
        let columns = self.slots.iter().map(|slot| slot.width).chain(self.gap.map(|_| LEFT_OUT.width()));
        let (width, count) = columns.fold((0, 0), |(width, count), column| (width + column, count + 1));
        width + BETWEEN * usize::saturating_sub(count, 1)
    }

    fn line(&self, text: impl Fn(&Slot) -> String, left_out: &str) -> String {
        let mut parts: Vec<String> = self.slots.iter().map(text).collect();
        if let Some(gap) = self.gap {
            parts.insert(gap, left_out.to_owned());
        }
        parts.join(&" ".repeat(BETWEEN)).trim_end().to_owned()
    }
}

impl Slot {
    /// A name, in its place.
    fn text(&self, text: &str) -> String {
        let text = clipped(text, self.width);
        let space = " ".repeat(self.width.saturating_sub(text.width()));
        if self.is_number { space + &text } else { text + &space }
    }

    /// A value, with its point below those of the others.
    fn cell(&self, text: &str) -> String {
        if !self.is_number {
            return self.text(text);
        }
        let (_, behind) = at_point(text);
        self.text(&format!("{text}{}", " ".repeat(self.fraction.saturating_sub(behind.width()))))
    }
}
