//! Paging: a query's entries in order, one page at a time.
//!
//! ```text
//! anchors (from the client):  last entry of page 0, of page 1, ...     page wanted: p
//! partition 0  --+  each keeps the first (p - nearest) x size entries
//! partition 1  --+- behind the nearest anchor: a Page                 --> merge --> page p, and its anchors
//! ...          --+
//! ```
//!
//! A client that goes page by page brings the last entry of the page before, so every partition keeps one page at most, whatever the
//! map's size. One that jumps to page 1,000 makes them keep a thousand, as in Hazelcast.
//!
//! Entries have a total order: by the comparator, or the natural order of keys (values, when values are asked for), then by key;
//! so no entry is on two pages or on none. What has no natural order is ordered by its bytes, where Hazelcast fails.

use super::error::QueryError;
use super::extract::{Entry, copied, read};
use super::identified;
use super::predicate::Predicate;
use crate::allowance::Weighs;
use filbert_wire::compact::SchemaSource;
use filbert_wire::{Data, Input, Value, type_id};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// What is asked for, page by page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IterationType {
    /// The keys.
    Key,
    /// The values.
    Value,
    /// Both.
    Entry,
}

impl IterationType {
    /// The type with this number in messages.
    pub fn of_number(number: u8) -> Result<Self, QueryError> {
        match number {
            0 => Ok(Self::Key),
            1 => Ok(Self::Value),
            2 => Ok(Self::Entry),
            _ => {
                Err(bad("iteration type", format!("{number} is none; 0 (key), 1 (value) and 2 (entry) are")))
            }
        }
    }

    /// Its word in serialized predicates.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Key => "KEY",
            Self::Value => "VALUE",
            Self::Entry => "ENTRY",
        }
    }
}

impl std::str::FromStr for IterationType {
    type Err = QueryError;

    fn from_str(word: &str) -> Result<Self, QueryError> {
        let all = [Self::Key, Self::Value, Self::Entry];
        all.into_iter()
            .find(|kind| kind.as_str() == word)
            .ok_or_else(|| bad("iteration type", format!("{word:?} is none")))
    }
}

fn bad(what: &'static str, problem: String) -> QueryError {
    QueryError::BadArgument { what, problem }
}

/// The last entry of a page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// The page, from 0 on.
    pub page: i32,
    /// The key of its last entry.
    pub key: Data,
    /// The value of its last entry.
    pub value: Data,
}

/// A page of a query's entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PagingPredicate {
    predicate: Option<Predicate>,
    comparator: Option<Data>,
    page_size: i32,
    page: i32,
    iteration: IterationType,
    anchors: Vec<Anchor>,
}

impl PagingPredicate {
    /// The page of that number, from 0 on, of the entries that `predicate` matches; all entries without one.
    pub fn new(
        predicate: Option<Predicate>,
        page_size: i32,
        page: i32,
        iteration: IterationType,
    ) -> Result<Self, QueryError> {
        if page_size <= 0 {
            return Err(bad("page size", format!("{page_size} is less than 1")));
        }
        if page < 0 {
            return Err(bad("page", format!("{page} is less than 0, the first")));
        }
        if matches!(predicate, Some(Predicate::Paging(_))) {
            return Err(bad("paging predicate", "a page of a page is not possible".to_owned()));
        }
        Ok(Self { predicate, comparator: None, page_size, page, iteration, anchors: Vec::new() })
    }

    /// The same, ordered by this comparator: the bytes of an object whose class is registered with the member.
    pub fn with_comparator(mut self, comparator: Option<Data>) -> Self {
        self.comparator = comparator;
        self
    }

    /// The same with the anchors that the last page came with.
    pub fn with_anchors(mut self, anchors: Vec<Anchor>) -> Self {
        self.anchors = anchors;
        self
    }

    pub(crate) fn push_anchor(&mut self, page: i32, key: Data, value: Data) {
        self.anchors.push(Anchor { page, key, value });
    }

    /// The bytes of a comparator without fields.
    pub(crate) fn comparator_data(factory: i32, class: i32) -> Data {
        let mut payload = vec![1];
        payload.extend_from_slice(&factory.to_be_bytes());
        payload.extend_from_slice(&class.to_be_bytes());
        Data::new(type_id::DATA_SERIALIZABLE, &payload)
    }

    /// Which entries there are pages of.
    pub fn predicate(&self) -> Option<&Predicate> {
        self.predicate.as_ref()
    }

    /// What orders them, if not their nature.
    pub fn comparator(&self) -> Option<&Data> {
        self.comparator.as_ref()
    }

    /// How many entries are on a page.
    pub fn page_size(&self) -> i32 {
        self.page_size
    }

    /// The page, from 0 on.
    pub fn page(&self) -> i32 {
        self.page
    }

    /// What is asked for.
    pub fn iteration(&self) -> IterationType {
        self.iteration
    }

    /// The anchors of the pages before.
    pub fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// The last page before this one whose end is known.
    fn nearest(&self) -> Option<&Anchor> {
        let before = self.anchors.iter().filter(|anchor| (0..self.page).contains(&anchor.page));
        before.max_by_key(|anchor| anchor.page)
    }

    /// How many entries behind the nearest anchor are needed.
    fn wanted(&self) -> usize {
        let first = self.nearest().map_or(0, |anchor| i64::from(anchor.page) + 1);
        let pages = i64::from(self.page) + 1 - first;
        usize::try_from(pages * i64::from(self.page_size)).unwrap_or(usize::MAX)
    }

    /// An empty page for this request, on one partition or for the merge of all.
    pub fn collect(&self, order: &PageOrder, schemas: &dyn SchemaSource) -> PageCollector {
        let anchor = self.nearest().map(|anchor| {
            let entry = Entry::new(&anchor.key, &anchor.value, schemas);
            order.place(self.iteration, &entry).with(&entry)
        });
        PageCollector {
            wanted: self.wanted(),
            iteration: self.iteration,
            anchor,
            kept: BinaryHeap::new(),
            kept_bytes: 0,
            order: order.clone(),
        }
    }

    /// The page, and the anchors to ask for the next with, from what was collected over all partitions.
    pub fn finish(&self, collected: PageCollector) -> PageResult {
        let first = self.nearest().map_or(0, |anchor| anchor.page + 1);
        let entries = collected.kept.into_sorted_vec();
        let size = self.page_size as usize;
        let mut anchors: Vec<_> =
            self.anchors.iter().filter(|anchor| (0..first).contains(&anchor.page)).cloned().collect();
        anchors.sort_by_key(|anchor| anchor.page);
        for (page, chunk) in (first..=self.page).zip(entries.chunks_exact(size)) {
            let last = &chunk[size - 1];
            anchors.push(Anchor { page, key: last.key.clone(), value: last.value.clone() });
        }
        let skip =
            usize::try_from(i64::from(self.page - first) * i64::from(self.page_size)).unwrap_or(usize::MAX);
        let entries = entries.into_iter().skip(skip).map(|item| (item.key, item.value)).collect();
        PageResult { entries, anchors }
    }
}

/// A page, and how to ask for the next.
#[derive(Debug, Clone, PartialEq)]
pub struct PageResult {
    /// Key and value of each entry, in order.
    pub entries: Vec<(Data, Data)>,
    /// The last entries of this page and those before.
    pub anchors: Vec<Anchor>,
}

/// Orders entries: a class that a member has registered code for, under its factory and class id.
pub trait EntryComparator: Send + Sync {
    /// The order of two entries, each key and value. Those that are equal are ordered by key.
    fn compare(&self, left: (&Data, &Data), right: (&Data, &Data)) -> Ordering;
}

/// Finds the code of comparators.
pub trait Comparators {
    /// The comparator of that class, made from the bytes of its object; `None` when there is none.
    fn comparator(&self, factory: i32, class: i32, object: &Data) -> Option<Arc<dyn EntryComparator>>;
}

/// Knows no comparator.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoComparators;

impl Comparators for NoComparators {
    fn comparator(&self, _factory: i32, _class: i32, _object: &Data) -> Option<Arc<dyn EntryComparator>> {
        None
    }
}

/// How the entries of a page are ordered.
#[derive(Clone)]
pub struct PageOrder {
    comparator: Option<Arc<dyn EntryComparator>>,
}

impl PageOrder {
    /// The order that the request asks for; an error when nobody registered its comparator.
    pub fn of(paging: &PagingPredicate, comparators: &dyn Comparators) -> Result<Self, QueryError> {
        let Some(object) = paging.comparator() else { return Ok(Self { comparator: None }) };
        let mut input = Input::new(object.payload());
        let (factory, class) = identified::read_header("comparator", object.type_id(), &mut input)?;
        match comparators.comparator(factory, class, object) {
            Some(comparator) => Ok(Self { comparator: Some(comparator) }),
            None => Err(QueryError::UnknownClass { what: "comparator", factory, class }),
        }
    }

    fn place(&self, iteration: IterationType, entry: &Entry<'_>) -> Place {
        let value_of =
            |bytes: &[u8]| read(bytes, entry.schemas()).unwrap_or_else(|_| Value::Opaque(copied(bytes)));
        let by = match (&self.comparator, iteration) {
            (None, IterationType::Value) => value_of(entry.value_bytes()),
            _ => Value::Null,
        };
        Place { by, by_key: value_of(entry.key_bytes()), comparator: self.comparator.clone() }
    }
}

impl std::fmt::Debug for PageOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.comparator.is_some() { "PageOrder(by comparator)" } else { "PageOrder(natural)" })
    }
}

/// Where an entry belongs, as far as its key and value say on their own.
struct Place {
    /// What comes before the key in the order, if it is not a comparator.
    by: Value,
    by_key: Value,
    comparator: Option<Arc<dyn EntryComparator>>,
}

impl Place {
    fn with(self, entry: &Entry<'_>) -> Item {
        Item { place: self, key: entry.key(), value: entry.value() }
    }

    fn natural(&self, other: &Self) -> Ordering {
        self.by.total_cmp(&other.by).then_with(|| self.by_key.total_cmp(&other.by_key))
    }
}

/// An entry in its place.
struct Item {
    place: Place,
    key: Data,
    value: Data,
}

impl Weighs for Item {
    fn weight(&self) -> usize {
        self.key.weight() + self.value.weight()
    }
}

impl Ord for Item {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_comparator = self.place.comparator.as_ref().map_or(Ordering::Equal, |comparator| {
            comparator.compare((&self.key, &self.value), (&other.key, &other.value))
        });
        by_comparator
            .then_with(|| self.place.natural(&other.place))
            // 1 and 1.0 are two keys.
            .then_with(|| self.key.identity().cmp(other.key.identity()))
    }
}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Item {}

/// Keeps the first entries behind the anchor, as many as the page needs, in any order of arrival.
pub struct PageCollector {
    wanted: usize,
    iteration: IterationType,
    anchor: Option<Item>,
    /// The last of those that are kept is on top.
    kept: BinaryHeap<Item>,
    kept_bytes: usize,
    order: PageOrder,
}

impl PageCollector {
    /// Takes an entry that the query matches.
    pub fn add(&mut self, entry: &Entry<'_>) {
        let place = self.order.place(self.iteration, entry);
        // Most entries of a large map are behind the page: they are not even copied.
        if place.comparator.is_none()
            && self.kept.len() >= self.wanted
            && self.kept.peek().is_some_and(|last| place.natural(&last.place).is_gt())
        {
            return;
        }
        let item = place.with(entry);
        if self.anchor.as_ref().is_none_or(|anchor| *anchor < item) {
            self.keep(item);
        }
    }

    fn keep(&mut self, item: Item) {
        if self.kept.len() < self.wanted {
            self.kept_bytes += item.weight();
            self.kept.push(item);
        } else if let Some(mut last) = self.kept.peek_mut()
            && item < *last
        {
            self.kept_bytes = self.kept_bytes + item.weight() - last.weight();
            *last = item;
        }
    }

    /// Takes what was collected on another partition.
    pub fn merge(&mut self, other: PageCollector) {
        for item in other.kept {
            self.keep(item);
        }
    }

    /// What the entries that are kept take, in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.kept_bytes
    }

    /// How many entries are kept.
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }
}

impl std::fmt::Debug for PageCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PageCollector({} of {})", self.len(), self.wanted)
    }
}

#[cfg(test)]
mod tests;
