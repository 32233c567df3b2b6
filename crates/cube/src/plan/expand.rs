//! From measures to steps: each measure at each level under each filter once.
//!
//! Walks with a stack of its own: a chain of thousands of measures is as deep as it is long. Filtrator and Unfiltrator leave no step: they
//! are their underlying under another filter. Threads: `cpu`.

use super::MOST_COLUMNS;
use super::columns::CubeColumns;
use super::recipe::{Need, Recipe};
use super::step::{Cells, Leaf, Level, Operation, Step, StepId};
use crate::error::CubeError;
use crate::execute::CancelToken;
use crate::filter::Filter;
use crate::forest::Forest;
use crate::query::Position;
use arrow::datatypes::DataType;
use filbert_pool::caught;
use foldhash::{HashMap, HashMapExt};
use std::collections::BTreeSet;
use std::sync::Arc;

/// More steps than any sensible query has; shifts of shifts can multiply.
const MOST_STEPS: usize = 200_000;

/// More choices than this are not told.
const MOST_NOTES: usize = 100;

/// What a step is of, before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// A measure of the forest.
    Measure(Arc<str>),
    /// An aggregation of the table.
    Leaf(Leaf),
    /// The cells of a Partitionor in its finer slices.
    Cells(Arc<str>),
}

impl Node {
    pub(super) fn name(&self) -> Arc<str> {
        match self {
            Self::Measure(name) | Self::Cells(name) => Arc::clone(name),
            Self::Leaf(leaf) => leaf.to_string().into(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct LevelId(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct FilterId(usize);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) node: Node,
    pub(super) level: LevelId,
    pub(super) filter: FilterId,
}

/// A step whose needs are being made.
struct Frame {
    key: Key,
    recipe: Recipe,
    needs: Vec<Key>,
    made: Vec<StepId>,
}

impl Frame {
    /// What is to be made next.
    fn next(&self) -> Option<&Key> {
        self.needs.get(self.made.len())
    }
}

/// Makes steps, each once.
pub(super) struct Expansion<'a> {
    pub(super) forest: &'a Forest,
    pub(super) columns: &'a CubeColumns,
    /// What the user may see.
    pub(super) rights: &'a Filter,
    /// What custom measures are told.
    pub(super) marker: Option<&'a str>,
    /// Whether the query is still wanted.
    cancel: &'a CancelToken,
    levels: Vec<Level>,
    level_ids: HashMap<Level, LevelId>,
    filters: Vec<Arc<Filter>>,
    filter_ids: HashMap<Arc<Filter>, FilterId>,
    known: HashMap<Key, StepId>,
    pub(super) steps: Vec<Step>,
    /// What was chosen, for the explanation.
    pub(super) notes: Vec<String>,
}

impl<'a> Expansion<'a> {
    pub(super) fn new(
        forest: &'a Forest,
        columns: &'a CubeColumns,
        rights: &'a Filter,
        marker: Option<&'a str>,
        cancel: &'a CancelToken,
    ) -> Self {
        Self {
            forest,
            columns,
            rights,
            marker,
            cancel,
            levels: Vec::new(),
            level_ids: HashMap::new(),
            filters: Vec::new(),
            filter_ids: HashMap::new(),
            known: HashMap::new(),
            steps: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The type of a column of the table, a calculated or a dispatched one.
    pub(super) fn type_of(&self, column: &str) -> Option<DataType> {
        self.columns.find(column).or_else(|| self.columns.dispatched().get(column).cloned())
    }

    pub(super) fn level(&mut self, columns: impl IntoIterator<Item = Arc<str>>) -> LevelId {
        let columns: BTreeSet<Arc<str>> = columns.into_iter().collect();
        let level: Level = columns.into_iter().collect();
        if let Some(id) = self.level_ids.get(&level) {
            return *id;
        }
        let id = LevelId(self.levels.len());
        self.levels.push(Arc::clone(&level));
        self.level_ids.insert(level, id);
        id
    }

    pub(super) fn filter(&mut self, filter: &Filter) -> Result<FilterId, CubeError> {
        filter.check_size()?;
        let filter = Arc::new(filter.typed(&|column| self.type_of(column))?.canonical());
        if let Some(id) = self.filter_ids.get(&filter) {
            return Ok(*id);
        }
        let id = FilterId(self.filters.len());
        self.filters.push(Arc::clone(&filter));
        self.filter_ids.insert(filter, id);
        Ok(id)
    }

    pub(super) fn level_of(&self, id: LevelId) -> Level {
        Arc::clone(&self.levels[id.0])
    }

    pub(super) fn filter_of(&self, id: FilterId) -> Arc<Filter> {
        Arc::clone(&self.filters[id.0])
    }

    /// The step of a measure, made if there is none yet.
    pub(super) fn step(
        &mut self,
        measure: &str,
        level: LevelId,
        filter: FilterId,
    ) -> Result<StepId, CubeError> {
        let root = Key { node: Node::Measure(measure.into()), level, filter };
        if let Some(known) = self.known.get(&root) {
            return Ok(*known);
        }
        let first =
            self.frame(root.clone()).map_err(|error| self.with_measure(error, [&root].into_iter()))?;
        let mut frames = vec![first];
        while let Some(frame) = frames.last_mut() {
            self.cancel.check()?;
            if let Some(need) = frame.next() {
                match self.known.get(need) {
                    Some(made) => frame.made.push(*made),
                    None => {
                        let need = need.clone();
                        let frame = self.frame(need).map_err(|error| {
                            let above = frames.iter().map(|frame| &frame.key);
                            self.with_measure(error, above.chain(frames.last().and_then(Frame::next)))
                        })?;
                        frames.push(frame);
                    }
                }
                continue;
            }
            let Some(Frame { key, recipe, made, .. }) = frames.pop() else { break };
            let step = self.make(&key, recipe, made)?;
            self.known.insert(key, step);
        }
        self.known.get(&root).copied().ok_or_else(|| CubeError::InvalidQuery {
            problem: format!("measure {measure:?} could not be planned"),
        })
    }

    /// Where a measure is asked for, as code of the user's is told.
    pub(super) fn position(&self, level: LevelId, filter: FilterId) -> Position {
        let group_by = self.level_of(level).iter().map(ToString::to_string).collect();
        let filter = (*self.filter_of(filter)).clone();
        Position { group_by, filter, marker: self.marker.map(str::to_owned) }
    }

    /// Notes what was chosen at a position; so many as somebody may read.
    pub(super) fn note(&mut self, level: LevelId, filter: FilterId, what: String) {
        match self.notes.len() {
            ..MOST_NOTES => {
                let (level, filter) = (self.level_of(level), self.filter_of(filter));
                let by = if level.is_empty() { "nothing".to_owned() } else { level.join(", ") };
                self.notes.push(format!("{what} (by {by} where {filter})"));
            }
            MOST_NOTES => self.notes.push("and so on".to_owned()),
            _ => {}
        }
    }

    /// A step without any value, for a measure that is not known.
    pub(super) fn empty(&mut self, measure: &str, level: LevelId, filter: FilterId) -> StepId {
        let (level, filter) = (self.level_of(level), self.filter_of(filter));
        let operation = Operation::Empty;
        self.steps.push(Step { measure: measure.into(), whose: None, level, filter, operation });
        StepId(self.steps.len() - 1)
    }

    fn frame(&mut self, key: Key) -> Result<Frame, CubeError> {
        let columns = self.levels[key.level.0].len();
        if columns > MOST_COLUMNS {
            return Err(CubeError::InvalidMeasure {
                measure: key.node.name().to_string(),
                problem: format!(
                    "it is computed by {columns} columns, those of the query and its own; the most are {MOST_COLUMNS}, so group by fewer"
                ),
            });
        }
        // Measures of one's own, shifts and routings say here what they read.
        let panicked = |message| Err(CubeError::Panicked { measure: key.node.name().to_string(), message });
        let (recipe, needs) =
            caught(|| self.recipe(&key.node, key.level, key.filter)).unwrap_or_else(panicked)?;
        let needs =
            needs.into_iter().map(|Need { node, level, filter }| Key { node, level, filter }).collect();
        Ok(Frame { key, recipe, needs, made: Vec::new() })
    }

    fn make(&mut self, key: &Key, recipe: Recipe, mut made: Vec<StepId>) -> Result<StepId, CubeError> {
        if let Node::Measure(name) | Node::Cells(name) = &key.node {
            for step in &made {
                // What is rounded is the leaf's.
                let leaf = match &self.steps[step.0].operation {
                    Operation::Combine { cells: Cells::Round, inputs } => inputs.first().copied(),
                    _ => None,
                };
                for step in leaf.iter().chain([step]) {
                    let step = &mut self.steps[step.0];
                    if matches!(step.operation, Operation::Leaf(_)) {
                        step.whose.get_or_insert_with(|| Arc::clone(name));
                    }
                }
            }
        }
        let operation = match recipe {
            Recipe::Alias => return Ok(made.remove(0)),
            Recipe::Empty => Operation::Empty,
            Recipe::Leaf(leaf) => Operation::Leaf(leaf),
            Recipe::RollUp { keep, aggregation } => {
                Operation::RollUp { from: made.remove(0), keep, aggregation }
            }
            Recipe::Combine(cells) => Operation::Combine { cells, inputs: made },
            Recipe::Shift { column, shift } => {
                Operation::Shift { read: made.remove(0), write: made.remove(0), column, shift }
            }
            Recipe::Dispatch(spread) => Operation::Dispatch { from: made.remove(0), spread },
            Recipe::Cumulate(along) => Operation::Cumulate { from: made.remove(0), along },
            Recipe::Custom { code, position } => Operation::Custom { code, inputs: made, position },
        };
        if self.steps.len() == MOST_STEPS {
            let problem = format!("it needs more than {MOST_STEPS} steps; ask for fewer measures at a time");
            return Err(CubeError::InvalidQuery { problem });
        }
        let measure = key.node.name();
        let (level, filter) = (self.level_of(key.level), self.filter_of(key.filter));
        self.steps.push(Step { measure, whose: None, level, filter, operation });
        Ok(StepId(self.steps.len() - 1))
    }
}
