//! What each kind of measure needs, and what is made of it.

use super::expand::{Expansion, FilterId, LevelId, Node};
use super::step::{Along, Cells, CustomCode, Leaf, ShiftBy, Spread};
use super::targets::{TargetList, Targets, Typed};
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::filter::{Filter, split_by_column};
use crate::forest::{
    Aggregation, Aggregator, Combination, Custom, Decomposition, Dispatchor, ExpressionText, Measure,
    Partitionor, Shift, ShiftFunction, Shiftor, Unfiltered,
};
use crate::quantile;
use crate::query::Position;
use arrow::datatypes::DataType;
use foldhash::{HashMap, HashMapExt};
use std::fmt;
use std::sync::Arc;

/// A step that another one needs.
pub(super) struct Need {
    pub(super) node: Node,
    pub(super) level: LevelId,
    pub(super) filter: FilterId,
}

/// What is made of the needs, in their order.
pub(super) enum Recipe {
    /// The need itself.
    Alias,
    Empty,
    Leaf(Leaf),
    /// Of the slices that `keep` wants.
    RollUp {
        keep: Filter,
        aggregation: Aggregation,
    },
    Combine(Cells),
    /// Needs what is read, then where it is written.
    Shift {
        column: Arc<str>,
        shift: ShiftBy,
    },
    Dispatch(Arc<Spread>),
    Cumulate(Arc<Along>),
    Custom {
        code: CustomCode,
        position: Position,
    },
}

pub(super) type Made = Result<(Recipe, Vec<Need>), CubeError>;

pub(super) fn measure(name: &str, level: LevelId, filter: FilterId) -> Need {
    Need { node: Node::Measure(name.into()), level, filter }
}

impl Expansion<'_> {
    pub(super) fn recipe(&mut self, node: &Node, level: LevelId, filter: FilterId) -> Made {
        match node {
            Node::Leaf(leaf) => self.leaf(leaf, level, filter),
            Node::Cells(name) => match self.forest.expect(name)?.clone() {
                Measure::Partitionor(partitionor) => {
                    let underlyings = Measure::Partitionor(partitionor.clone()).underlyings();
                    self.combine(name, &underlyings, &partitionor.combination, level, filter)
                }
                _ => Err(invalid(name, "it is no partitionor")),
            },
            Node::Measure(name) => {
                let forest = self.forest;
                match forest.expect(name)? {
                    Measure::Aggregator(aggregator) => self.aggregate(aggregator, level, filter),
                    Measure::Combinator(combinator) => {
                        let underlyings = Measure::Combinator(combinator.clone()).underlyings();
                        self.combine(name, &underlyings, &combinator.combination, level, filter)
                    }
                    Measure::Filtrator(filtrator) => {
                        let both = (*self.filter_of(filter)).clone().and(filtrator.filter.0.clone());
                        let filter = self.filter(&both)?;
                        Ok((Recipe::Alias, vec![measure(&filtrator.underlying, level, filter)]))
                    }
                    Measure::Unfiltrator(unfiltrator) => {
                        // A name that is none would drop nothing, or all.
                        let (Unfiltered::Suppress(named) | Unfiltered::Retain(named)) = &unfiltrator.columns;
                        named.iter().try_for_each(|column| self.columns.check_named(column))?;
                        let without = match &unfiltrator.columns {
                            Unfiltered::Suppress(columns) => self
                                .filter_of(filter)
                                .without(&|column| columns.iter().any(|name| name == column)),
                            Unfiltered::Retain(columns) => self
                                .filter_of(filter)
                                .without(&|column| columns.iter().all(|name| name != column)),
                        };
                        let filter = self.filter(&without)?;
                        Ok((Recipe::Alias, vec![measure(&unfiltrator.underlying, level, filter)]))
                    }
                    Measure::Shiftor(shiftor) => self.shift(name, shiftor, level, filter),
                    Measure::Partitionor(partitionor) => Ok(self.partition(name, partitionor, level, filter)),
                    Measure::Dispatchor(dispatchor) => match dispatchor.decomposition {
                        Decomposition::Cumulating => self.cumulate(name, dispatchor, level, filter),
                        _ => self.dispatch(name, dispatchor, level, filter),
                    },
                    Measure::Columnator(columnator) => self.columnate(name, columnator, level, filter),
                    Measure::Routing(routing) => self.route(name, routing, level, filter),
                    Measure::Custom(custom) => self.custom(name, custom, level, filter),
                }
            }
        }
    }

    /// A mean is a sum divided by a count, a quantile is a value of a sketch: these can be rolled up, and shared. The sum of whole numbers
    /// may be too large for 64 bits where their mean is not, so it is a wide one. What the user may see is added here, below all measures,
    /// so that none of them can drop it.
    fn aggregate(&mut self, aggregator: &Aggregator, level: LevelId, filter: FilterId) -> Made {
        // What a user may see goes on to the cubes of a composite as what it is: below their measures, which could drop a filter.
        let filter = if aggregator.aggregation.is_of_cube() {
            filter
        } else {
            let allowed = (*self.filter_of(filter)).clone().and(self.rights.clone());
            self.filter(&allowed)?
        };
        let column: Option<Arc<str>> = aggregator.column.as_deref().map(Arc::from);
        let leaf = |aggregation| Need {
            node: Node::Leaf(Leaf { aggregation, column: column.clone() }),
            level,
            filter,
        };
        Ok(match aggregator.aggregation {
            Aggregation::Avg => {
                let is_whole = match column.as_deref().map(|column| self.columns.value_type(column)) {
                    Some(Ok(data_type)) => data_type.is_integer() || data_type.is_temporal(),
                    _ => false,
                };
                let sum = if is_whole { Aggregation::WideSum } else { Aggregation::Sum };
                (Recipe::Combine(Cells::Divide), vec![leaf(sum), leaf(Aggregation::Count)])
            }
            ref other => match other.part() {
                Some(part) => (Recipe::Combine(Cells::Quantile(part)), vec![leaf(Aggregation::Sketch)]),
                None => (Recipe::Alias, vec![leaf(other.clone())]),
            },
        })
    }

    /// Every column of the level and the filter must be one of the table, and the aggregated one too. Sums of floats are rounded above what is
    /// rolled up and kept, so that they are rounded once.
    fn leaf(&self, leaf: &Leaf, level: LevelId, filter: FilterId) -> Made {
        let aggregated = leaf.column.as_ref().filter(|_| !leaf.is_of_cube());
        for column in self.level_of(level).iter().chain(&self.filter_of(filter).columns()).chain(aggregated) {
            self.columns.type_of(column)?;
        }
        if let (Aggregation::Sketch, Some(column)) = (&leaf.aggregation, &leaf.column) {
            quantile::check_type(&self.columns.value_type(column)?)?;
        }
        if *self.filter_of(filter) == Filter::None {
            return Ok((Recipe::Empty, Vec::new()));
        }
        if let (Aggregation::Sum, Some(column)) = (&leaf.aggregation, &leaf.column)
            && self.columns.value_type(column)?.is_floating()
        {
            let exact = Leaf { aggregation: Aggregation::ExactSum, column: Some(Arc::clone(column)) };
            return Ok((
                Recipe::Combine(Cells::Round),
                vec![Need { node: Node::Leaf(exact), level, filter }],
            ));
        }
        Ok((Recipe::Leaf(leaf.clone()), Vec::new()))
    }

    pub(super) fn combine(
        &self,
        name: &str,
        underlyings: &[String],
        combination: &Combination,
        level: LevelId,
        filter: FilterId,
    ) -> Made {
        let cells = match combination {
            Combination::Sum => Cells::Sum,
            Combination::Subtraction => Cells::Subtraction,
            Combination::Product => Cells::Product,
            Combination::Divide => Cells::Divide,
            Combination::Coalesce => Cells::Coalesce,
            Combination::Expression(ExpressionText(expression)) => {
                Cells::Expression(expression.clone(), underlyings.into())
            }
            Combination::Function(function) => {
                let code = self.forest.registry().cells.get(function);
                Cells::Function(Arc::clone(
                    code.ok_or_else(|| invalid(name, "its function is not registered"))?,
                ))
            }
        };
        let needs = underlyings.iter().map(|underlying| measure(underlying, level, filter)).collect();
        Ok((Recipe::Combine(cells), needs))
    }

    fn partition(
        &mut self,
        name: &Arc<str>,
        partitionor: &Partitionor,
        level: LevelId,
        filter: FilterId,
    ) -> (Recipe, Vec<Need>) {
        let by = partitionor.by.iter().map(|column| Arc::from(column.as_str()));
        let columns: Vec<Arc<str>> = self.level_of(level).iter().cloned().chain(by).collect();
        let finer = self.level(columns);
        let needs = vec![Need { node: Node::Cells(Arc::clone(name)), level: finer, filter }];
        (Recipe::RollUp { keep: Filter::All, aggregation: partitionor.aggregation.clone() }, needs)
    }

    fn shift(&mut self, name: &str, shiftor: &Shiftor, level: LevelId, filter: FilterId) -> Made {
        let column: Arc<str> = shiftor.column.as_str().into();
        let data_type = match self.type_of(&column) {
            Some(data_type) => data_type,
            None => self.columns.type_of(&column)?,
        };
        let is_grouped = self.level_of(level).contains(&column);
        let typed = |coordinate: &Coordinate| coordinate.typed_in(&column, &data_type);
        let here = self.filter_of(filter);
        let (shift, there): (ShiftFunction, _) = match &shiftor.shift {
            Shift::To(to) => {
                let Some(to) = typed(to)? else { return Ok((Recipe::Empty, Vec::new())) };
                let there = here.without(&|name| *name == *column).and(Filter::equals(&column, to.clone()));
                (Arc::new(move |_| to.clone()), Ok(there))
            }
            Shift::Offset(offset) => {
                if !matches!(data_type, DataType::Int64 | DataType::Date32) {
                    let problem = format!(
                        "column {column:?} is of type {data_type}; only whole numbers and dates have an offset"
                    );
                    return Err(invalid(name, &problem));
                }
                let by = ShiftBy::Offset(*offset);
                let shift: ShiftFunction = Arc::new(move |from| by.of(from));
                let there = here.with_values(&column, &*shift, true);
                (shift, there)
            }
            Shift::Map(pairs) => {
                let mut map: HashMap<Coordinate, Coordinate> = HashMap::new();
                for (from, to) in pairs {
                    if let (Some(from), Some(to)) = (typed(from)?, typed(to)?) {
                        map.insert(from, to);
                    }
                }
                let shift = Arc::new(move |from: &Coordinate| map.get(from).unwrap_or(from).clone());
                let there = here.with_values(&column, &*shift, false);
                (shift, there)
            }
            Shift::Function(function) => {
                let code = self.forest.registry().shifts.get(function);
                let code = Arc::clone(code.ok_or_else(|| invalid(name, "its shift is not registered"))?);
                let of_type = data_type.clone();
                let shift =
                    Arc::new(move |from: &Coordinate| code(from).typed(&of_type).unwrap_or(Coordinate::Null));
                let there = here.with_values(&column, &*shift, false);
                (shift, there)
            }
        };
        // Slices are read one by one where the column is grouped by, so that more may be there than is read.
        let there = match there {
            Err(_) if is_grouped => here.without(&|name| *name == *column),
            there => there?,
        };
        let read = self.filter(&there)?;
        let needs =
            vec![measure(&shiftor.underlying, level, read), measure(&shiftor.underlying, level, filter)];
        let shift = match shiftor.shift {
            Shift::Offset(offset) => ShiftBy::Offset(offset),
            _ => ShiftBy::Function(shift),
        };
        Ok((Recipe::Shift { column, shift }, needs))
    }

    fn dispatch(&mut self, name: &str, dispatchor: &Dispatchor, level: LevelId, filter: FilterId) -> Made {
        let to: Arc<str> = dispatchor.to.as_str().into();
        let from: Option<Arc<str>> =
            Some(dispatchor.from.as_str()).filter(|from| !from.is_empty()).map(Arc::from);
        let here = self.filter_of(filter);
        let Some((wanted, others)) = split_by_column(&here, &to) else {
            let problem = format!(
                "`{here}` mixes {to:?}, which measure {name:?} dispatches to, with other columns; join both by and"
            );
            return Err(CubeError::InvalidQuery { problem });
        };
        let columns = self.level_of(level);
        let is_grouped = columns.contains(&to);
        if !is_grouped && wanted == Filter::All {
            return Ok((Recipe::Alias, vec![measure(&dispatchor.underlying, level, filter)]));
        }
        let output = self.columns.dispatched().get(&dispatchor.to).cloned().unwrap_or(DataType::Utf8);
        let input = match from.as_deref().map(|from| (from, self.type_of(from))) {
            None => DataType::Null,
            Some((_, Some(input))) => input,
            Some((from, None)) => self.columns.type_of(from)?,
        };
        let columns_of = ((dispatchor.from.as_str(), &input), (&*to, &output));
        let (is_weighted, targets) = match &dispatchor.decomposition {
            Decomposition::Pairs(pairs) => (
                false,
                self.list(
                    name,
                    columns_of,
                    false,
                    pairs.iter().map(|(source, target)| (source, target, 1.0)),
                )?,
            ),
            Decomposition::Weights(weights) => {
                let weights = weights.iter().map(|(source, target, weight)| (source, target, *weight));
                (true, self.list(name, columns_of, true, weights)?)
            }
            Decomposition::Duplicating(all) => (
                false,
                self.list(
                    name,
                    columns_of,
                    false,
                    all.iter().map(|target| (&Coordinate::Null, target, 1.0)),
                )?,
            ),
            Decomposition::Linear(numbers) => {
                if !matches!(input, DataType::Int64 | DataType::Float64) {
                    let problem =
                        format!("{:?} is of type {input}; only numbers lie between others", dispatchor.from);
                    return Err(invalid(name, &problem));
                }
                (true, Targets::Linear(numbers.clone()))
            }
            Decomposition::Cumulating => return Err(invalid(name, "it has no column to go to")),
            Decomposition::Function(function) => {
                let code = self.forest.registry().decompositions.get(function);
                let code = code.ok_or_else(|| invalid(name, "its decomposition is not registered"))?;
                (true, Targets::Function(Arc::clone(&code.targets)))
            }
        };
        let finer = columns.iter().filter(|column| **column != to).chain(&from).cloned().collect::<Vec<_>>();
        let (finer, others) = (self.level(finer), self.filter(&others)?);
        let aggregation = dispatchor.aggregation.clone();
        let spread = Spread { from, to, output, is_grouped, wanted, is_weighted, targets, aggregation };
        Ok((Recipe::Dispatch(Arc::new(spread)), vec![measure(&dispatchor.underlying, finer, others)]))
    }

    /// The targets of a list, which are made by the first query that needs them.
    fn list<'c>(
        &self,
        measure: &str,
        columns: (Typed<'_>, Typed<'_>),
        is_weighted: bool,
        all: impl Iterator<Item = (&'c Coordinate, &'c Coordinate, f64)>,
    ) -> Result<Targets, CubeError> {
        let make = || TargetList::new(columns, is_weighted, all);
        let list = self.columns.lists().get(measure, columns, make)?;
        Ok(Targets::List(list))
    }

    fn custom(&mut self, name: &str, custom: &Custom, level: LevelId, filter: FilterId) -> Made {
        let code = self.forest.registry().measures.get(&custom.function);
        let code = Arc::clone(code.ok_or_else(|| invalid(name, "its code is not registered"))?);
        let position = self.position(level, filter);
        let mut needs = Vec::new();
        for underlying in &custom.underlyings {
            let read = code.reads(underlying, &position);
            let level = self.level(read.group_by.iter().map(|column| Arc::from(column.as_str())));
            needs.push(measure(underlying, level, self.filter(&read.filter)?));
        }
        Ok((Recipe::Custom { code: CustomCode(code), position }, needs))
    }
}

pub(super) fn invalid(measure: &str, problem: &str) -> CubeError {
    CubeError::InvalidMeasure { measure: measure.to_owned(), problem: problem.to_owned() }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let aggregation = match &self.aggregation {
            // The same to all who ask.
            Aggregation::WideSum | Aggregation::ExactSum => &Aggregation::Sum,
            other => other,
        };
        write!(f, "{aggregation:?}({})", self.column.as_deref().unwrap_or("*"))
    }
}
