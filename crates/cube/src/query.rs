//! What is asked: measures by columns under a filter, and how it is to be answered.

use crate::error::CubeError;
use crate::filter::Filter;
use crate::table::TableGroups;
use std::collections::BTreeSet;
use std::time::Duration;

/// Where a measure is read: the columns of its slices, and which rows count.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Position {
    /// The columns, each once, in order.
    pub group_by: Vec<String>,
    /// The filter, in canonical form.
    pub filter: Filter,
    /// The marker of the query, the same wherever it reads.
    pub marker: Option<String>,
}

/// A question to a cube.
///
/// ```
/// use filbert_cube::{Filter, Query};
/// use std::time::Duration;
///
/// let query = Query::new(["pnl", "var95"])
///     .by(["desk", "ccy"])
///     .filter(Filter::equals("region", "EMEA"))
///     .timeout(Duration::from_secs(10));
/// assert_eq!(query.group_by(), ["desk", "ccy"]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub(crate) measures: Vec<String>,
    pub(crate) group_by: Vec<String>,
    pub(crate) totals: Vec<String>,
    pub(crate) filter: Filter,
    pub(crate) marker: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) options: QueryOptions,
}

/// How a question is to be answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct QueryOptions {
    pub(crate) explain: bool,
    pub(crate) debug: bool,
    pub(crate) unknown_measures_are_empty: bool,
    pub(crate) errors_are_values: bool,
    pub(crate) no_cache: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) parallelism: Option<usize>,
    pub(crate) partitions: Option<usize>,
    pub(crate) shard_by: Vec<String>,
    pub(crate) memory_limit: Option<usize>,
    pub(crate) table_groups: TableGroups,
}

impl Query {
    /// Asks for measures: one row of totals, unless [`Query::by`] says otherwise.
    pub fn new<S: Into<String>>(measures: impl IntoIterator<Item = S>) -> Self {
        Self {
            measures: measures.into_iter().map(Into::into).collect(),
            group_by: Vec::new(),
            totals: Vec::new(),
            filter: Filter::All,
            marker: None,
            user: None,
            options: QueryOptions {
                explain: false,
                debug: false,
                unknown_measures_are_empty: false,
                errors_are_values: false,
                no_cache: false,
                timeout: None,
                parallelism: None,
                partitions: None,
                shard_by: Vec::new(),
                memory_limit: None,
                table_groups: TableGroups::default(),
            },
        }
    }

    /// A row for every combination of values of these columns that has a value.
    #[must_use]
    pub fn by<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.group_by = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Adds rows of totals over each of these columns, in which the column is `*`. All columns are texts then. A real value that is a star
    /// stands in single quotes, `'*'`, and one that is this already in another pair;
    /// [`CubeResult::is_total`](crate::CubeResult::is_total) tells as well.
    #[must_use]
    pub fn totals<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.totals = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Only these rows of the table count.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = self.filter.and(filter);
        self
    }

    /// Something that is handed to custom measures as it is: a scenario, a currency to show values in.
    #[must_use]
    pub fn marker(mut self, marker: &str) -> Self {
        self.marker = Some(marker.to_owned());
        self
    }

    /// Who asks: the cube's rights may add a filter.
    #[must_use]
    pub fn user(mut self, user: &str) -> Self {
        self.user = Some(user.to_owned());
        self
    }

    /// The result tells how it was computed.
    #[must_use]
    pub fn explain(mut self) -> Self {
        self.options.explain = true;
        self
    }

    /// The same, with the first slices of every step that was made and their values.
    #[must_use]
    pub fn debug(mut self) -> Self {
        (self.options.explain, self.options.debug) = (true, true);
        self
    }

    /// A measure that the forest does not have is a column without values, instead of an error.
    #[must_use]
    pub fn unknown_measures_are_empty(mut self) -> Self {
        self.options.unknown_measures_are_empty = true;
        self
    }

    /// A measure that fails is told in its column, and the others are there; instead of an error for all. Its column is one of texts: what it
    /// said where it failed, its values where it did not.
    #[must_use]
    pub fn errors_are_values(mut self) -> Self {
        self.options.errors_are_values = true;
        self
    }

    /// Neither reads nor fills the cache.
    #[must_use]
    pub fn no_cache(mut self) -> Self {
        self.options.no_cache = true;
        self
    }

    /// Ends with an error when it takes longer.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// At most so many threads compute at a time. The answer is the same for any number; 0 is refused.
    #[must_use]
    pub fn parallelism(mut self, threads: usize) -> Self {
        self.options.parallelism = Some(threads);
        self
    }

    /// Into how many partitions slices are spread.
    #[must_use]
    pub fn partitions(mut self, partitions: usize) -> Self {
        self.options.partitions = Some(partitions);
        self
    }

    /// By which columns slices are spread over partitions, where a level has them all; instead of those that the measures, the table or the
    /// planner would choose, which no column at all leaves it to. A column with one value in most rows is split all the same, and what the
    /// cache has already split is taken as it is. The answer is the same for any columns.
    #[must_use]
    pub fn shard_by<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.options.shard_by = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Holds at most so many bytes, and ends with an error when it would need more and may not go to disk
    /// ([`CubeBuilder::spill`](crate::CubeBuilder::spill)).
    #[must_use]
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.options.memory_limit = Some(bytes);
        self
    }

    /// Whether the table makes groups itself, if it can.
    #[must_use]
    pub fn table_groups(mut self, groups: TableGroups) -> Self {
        self.options.table_groups = groups;
        self
    }

    /// Every column of the answer has a name of its own: objects in JSON have each once, and so have files.
    ///
    /// Of what people ask. The queries that a composite makes of it are read by position, and their columns and measures are named by others.
    pub(crate) fn check_names(&self) -> Result<(), CubeError> {
        let invalid = |problem: String| Err(CubeError::InvalidQuery { problem });
        let (mut columns, mut measures) = (BTreeSet::new(), BTreeSet::new());
        if let Some(column) = self.group_by.iter().find(|column| !columns.insert(column.as_str())) {
            return invalid(format!("it groups by {column:?} twice; name each column once"));
        }
        if let Some(measure) = self.measures.iter().find(|measure| !measures.insert(measure.as_str())) {
            return invalid(format!("it asks for measure {measure:?} twice; name each once"));
        }
        if let Some(name) = columns.intersection(&measures).next() {
            return invalid(format!(
                "{name:?} is a measure and a column that it groups by, and the answer would have two columns of that name; \
                 give the measure another name, or group by a calculated column"
            ));
        }
        Ok(())
    }

    /// The measures that are asked for.
    pub fn measures(&self) -> &[String] {
        &self.measures
    }

    /// The columns that they are grouped by.
    pub fn group_by(&self) -> &[String] {
        &self.group_by
    }
}
