//! Values that did not fit their column: the next statement knows of them.
//!
//! The types of columns are found by looking at some entries. One that was not looked at may need
//! another type, such as a number of 41 digits; the statement that meets it fails, since its
//! columns have their types by then. What was met is noted, and counts as looked at from then on:
//! so a map is unreadable for one statement, and not for good. Threads: fragments note, planning
//! reads.

use super::kind::Seen;
use super::layout::Side;
use filbert_wire::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Columns that are known. There are few: each made a statement fail.
const MOST_COLUMNS: usize = 10_000;

/// A column of a map: the map, which half of its entries, and the field.
type Place = (Arc<str>, Side, Option<String>);

/// What was met in which column.
#[derive(Debug, Default)]
pub(crate) struct Surprises(Mutex<HashMap<Place, Seen>>);

impl Surprises {
    fn all(&self) -> MutexGuard<'_, HashMap<Place, Seen>> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Notes a value; the place counts as one where such values are.
    pub(crate) fn note(&self, map: &Arc<str>, side: Side, field: Option<&str>, value: &Value) {
        let place = (Arc::clone(map), side, field.map(str::to_owned));
        let mut all = self.all();
        if all.len() < MOST_COLUMNS || all.contains_key(&place) {
            all.entry(place).or_default().add(value);
        }
    }

    /// Adds what was met in a column to what was seen there.
    pub(crate) fn add_to(&self, seen: &mut Seen, map: &Arc<str>, side: Side, field: Option<&str>) {
        let all = self.all();
        if all.is_empty() {
            return;
        }
        if let Some(met) = all.get(&(Arc::clone(map), side, field.map(str::to_owned))) {
            seen.merge(met);
        }
    }

    /// Forgets a map whose entries are gone.
    pub(crate) fn forget(&self, map: &str) {
        self.all().retain(|(known, ..), _| known.as_ref() != map);
    }
}
