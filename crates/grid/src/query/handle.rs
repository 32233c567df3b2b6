//! What a program calls to query a map.

use super::aggregate::Aggregator;
use super::error::QueryError;
use super::extract::Entry;
use super::index::IndexSettings;
use super::operations::{
    AddIndex, AggregateWhere, FindPage, FindWhere, ListIndexes, ProjectWhere, RemoveWhere, Shared, Where,
};
use super::paging::{PageOrder, PageResult, PagingPredicate};
use super::predicate::Predicate;
use super::projection::Projection;
use crate::code::Code;
use crate::error::{GridError, GridResult};
use crate::invocation::Invocation;
use crate::map::operations::{Entries, Keys, Pick, Values};
use crate::map::{Interest, Map, MapEvent};
use filbert_pool::StageKind;
use filbert_wire::Data;
use std::sync::Arc;
use uuid::Uuid;

fn refused<T: Send + 'static>(error: QueryError) -> Invocation<T> {
    Invocation::ready(Err(error.into()))
}

/// A predicate to send to all partitions, unless it is nested too deeply.
fn shared(predicate: Option<&Predicate>) -> Result<Shared<Predicate>, QueryError> {
    let predicate = predicate.unwrap_or(&Predicate::True);
    predicate.check_depth()?;
    Ok(Shared::new(predicate.clone()))
}

impl Map {
    /// The keys of the entries that match, in no order.
    ///
    /// ```
    /// use filbert_grid::{Grid, query::Predicate};
    /// use filbert_pool::Stages;
    /// use filbert_wire::ToData;
    ///
    /// let stages = Stages::start()?;
    /// let numbers = Grid::new(&stages).map("numbers");
    /// for number in 0..10 {
    ///     numbers.put(number.to_data()?, (number * number).to_data()?).wait()?;
    /// }
    /// let keys = numbers.key_set_where(&Predicate::sql("this > 50 AND __key <> 9")?).wait()?;
    /// assert_eq!(keys, [8.to_data()?]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key_set_where(&self, predicate: &Predicate) -> Invocation<Vec<Data>> {
        self.find::<Keys>(predicate)
    }

    /// The values of the entries that match, in no order.
    pub fn values_where(&self, predicate: &Predicate) -> Invocation<Vec<Data>> {
        self.find::<Values>(predicate)
    }

    /// The entries that match, in no order.
    pub fn entry_set_where(&self, predicate: &Predicate) -> Invocation<Vec<(Data, Data)>> {
        self.find::<Entries>(predicate)
    }

    fn find<P: Pick>(&self, predicate: &Predicate) -> Invocation<Vec<P::Item>> {
        match shared(Some(predicate)) {
            Ok(predicate) => self.everywhere(
                || FindWhere::<P>::new(predicate.clone()).within(self.allowance()),
                |parts| parts.into_iter().flatten().collect(),
            ),
            Err(error) => refused(error),
        }
    }

    /// One page of the entries that a paging predicate is about, in order, and the anchors to ask for the next page with.
    pub fn page(&self, request: &PagingPredicate) -> Invocation<PageResult> {
        if let Err(error) = request.predicate().map_or(Ok(()), Predicate::check_depth) {
            return refused(error);
        }
        let catalog = self.catalog().clone();
        let order = match PageOrder::of(request, &catalog) {
            Ok(order) => order,
            Err(error) => return refused(error),
        };
        let request = Shared::new(request.clone());
        let merged = request.clone();
        self.everywhere(
            || FindPage::new(request.clone()).within(self.allowance()),
            move |parts| {
                let mut all = merged.collect(&order, &catalog);
                parts.into_iter().for_each(|part| all.merge(part));
                merged.finish(all)
            },
        )
    }

    /// What the entries that match come to; all entries without a predicate.
    pub fn aggregate(&self, aggregator: &Aggregator, predicate: Option<&Predicate>) -> Invocation<Data> {
        let predicate = match shared(predicate) {
            Ok(predicate) => predicate,
            Err(error) => return refused(error),
        };
        let start = aggregator.start();
        let parts = self.everywhere(
            || AggregateWhere::new(aggregator.clone(), predicate.clone()),
            move |parts| {
                // In the order of the partitions, so that sums of floating-point numbers always come to the same.
                let mut all = start;
                parts.into_iter().for_each(|part| all.combine(part));
                all.finish().map_err(GridError::from)
            },
        );
        self.flat(parts)
    }

    /// The result itself in place of a result within a result.
    fn flat<T: Send + 'static>(&self, invocation: Invocation<GridResult<T>>) -> Invocation<T> {
        if invocation.is_done() {
            return Invocation::ready(invocation.wait().and_then(|result| result));
        }
        let (promise, later) = self.strands().stages().promise(StageKind::Partition, "map.result");
        invocation.on_complete(move |result| promise.keep(result.and_then(|result| result)));
        Invocation::later(later)
    }

    /// What a projection gives of the entries that match; of all entries without a predicate.
    pub fn project(&self, projection: &Projection, predicate: Option<&Predicate>) -> Invocation<Vec<Data>> {
        match shared(predicate) {
            Ok(predicate) => self.everywhere(
                || ProjectWhere::new(projection.clone(), predicate.clone()).within(self.allowance()),
                |parts| parts.into_iter().flatten().collect(),
            ),
            Err(error) => refused(error),
        }
    }

    /// Adds an index; done when every partition has it, and for a map on disk when that has it too. Other operations have their turn
    /// while it is built.
    pub fn add_index(&self, settings: IndexSettings) -> Invocation<()> {
        let settings = Shared::new(settings);
        let built = self.everywhere(|| AddIndex::new(settings.clone()), drop);
        if !self.is_on_disk() {
            return built;
        }
        let (promise, later) = self.strands().stages().promise(StageKind::Partition, "map.add_index");
        let map = self.clone();
        built.on_complete(move |result| match result {
            Ok(()) => {
                let defined = map.catalog().define_index(map.name(), &settings, || map.is_destroyed());
                defined.on_complete(move |result| promise.keep(result));
            }
            Err(error) => promise.keep(Err(error)),
        });
        Invocation::later(later)
    }

    /// The indexes that queries use. All partitions have the same ones but for those that are being added.
    ///
    /// ```
    /// use filbert_grid::{Grid, query::{IndexKind, IndexSettings}};
    ///
    /// let stages = filbert_pool::Stages::start()?;
    /// let people = Grid::new(&stages).map("people");
    /// people.add_index(IndexSettings::new("people", IndexKind::Sorted, None, ["age"])?).wait()?;
    /// assert_eq!(people.indexes().wait()?[0].name(), "people_sorted_age");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn indexes(&self) -> Invocation<Vec<IndexSettings>> {
        self.everywhere(
            || ListIndexes,
            |parts| {
                let mut parts = parts.into_iter();
                let mut all = parts.next().unwrap_or_default();
                for part in parts {
                    all.retain(|index| part.contains(index));
                }
                all
            },
        )
    }

    /// Removes the entries that match, locked or not; how many.
    pub fn remove_where(&self, predicate: &Predicate) -> Invocation<u64> {
        match shared(Some(predicate)) {
            Ok(predicate) => {
                self.everywhere(|| RemoveWhere::new(predicate.clone()), |removed| removed.into_iter().sum())
            }
            Err(error) => refused(error),
        }
    }

    /// Runs an entry processor on the entries that match, locked or not; what it gives, by key, where it gives something.
    pub fn execute_on_entries_where(
        &self,
        predicate: &Predicate,
        code: &Code,
    ) -> Invocation<Vec<(Data, Data)>> {
        match shared(Some(predicate)) {
            Ok(predicate) => self.execute_where(Where::new(predicate, self.catalog().clone()), code),
            Err(error) => refused(error),
        }
    }

    /// As [`Map::add_listener`], but only of entries that match: by their new value, or the old one when there is no new one. What
    /// cannot be read does not match.
    pub fn add_listener_where(
        &self,
        id: Uuid,
        mut interest: Interest,
        predicate: Predicate,
        listener: impl Fn(&MapEvent) + Send + Sync + 'static,
    ) -> Result<(), QueryError> {
        predicate.check_depth()?;
        let catalog = self.catalog().clone();
        interest.condition = Some(Arc::new(move |key: &Data, value: &Data| {
            predicate.matches(&Entry::new(key, value, &catalog)).unwrap_or(false)
        }));
        self.add_listener(id, interest, listener);
        Ok(())
    }
}
