//! Measures evaluated row by row, as their definitions say: what the cube is compared with.
//!
//! Slices are maps, values are floats, every measure is computed anew wherever it is needed. Nothing is shared with the engine but the
//! canonical form of filters, by which dropping and shifting conditions is defined.

pub(crate) mod code;

use filbert_cube::{
    Aggregation, Combination, Comparison, Coordinate, Decomposition, Dispatchor, Filter, FilterText, Forest,
    Matcher, Measure, Quantile, Route, Shift, Unfiltered,
};
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// Columns with their values.
pub(crate) type Row = BTreeMap<&'static str, Coordinate>;

/// Slices, as the coordinates of their columns in order, with their values.
pub(crate) type Cells = BTreeMap<Vec<Coordinate>, f64>;

/// That a measure cannot be computed there.
#[derive(Debug, PartialEq)]
pub(crate) struct Refused;

pub(crate) struct Naive<'a> {
    pub(crate) forest: &'a Forest,
    pub(crate) rows: &'a [Row],
    pub(crate) marker: Option<&'a str>,
    /// What the user may see of the rows, whatever filters measures drop.
    pub(crate) rights: Filter,
    /// The largest number that came up, whatever its sign: whole numbers end at 64 bits in the cube, and not here.
    pub(crate) largest: Cell<f64>,
}

impl<'a> Naive<'a> {
    pub(crate) fn new(forest: &'a Forest, rows: &'a [Row], marker: Option<&'a str>) -> Self {
        Self { forest, rows, marker, rights: Filter::All, largest: Cell::new(0.0) }
    }

    /// True when a number came up that may be more than 64 bits hold: of whole numbers the cube makes an error then.
    pub(crate) fn may_overflow(&self) -> bool {
        self.largest.get() >= 2_f64.powi(62)
    }

    pub(crate) fn cells(
        &self,
        measure: &str,
        level: &BTreeSet<String>,
        filter: &Filter,
    ) -> Result<Cells, Refused> {
        let cells = self.made(measure, level, filter)?;
        // What is no number is larger than all: it came of one that was.
        let sizes = cells.values().map(|value| if value.is_nan() { f64::INFINITY } else { value.abs() });
        self.largest.set(sizes.fold(self.largest.get(), f64::max));
        Ok(cells)
    }

    fn made(&self, measure: &str, level: &BTreeSet<String>, filter: &Filter) -> Result<Cells, Refused> {
        let filter = &filter.canonical();
        match self.forest.measure(measure).unwrap() {
            Measure::Aggregator(aggregator) => {
                let filter = &filter.clone().and(self.rights.clone()).canonical();
                let known = |column: &str| self.rows.iter().all(|row| row.contains_key(column));
                if !level.iter().all(|column| known(column))
                    || !filter.columns().iter().all(|column| known(column))
                {
                    return Err(Refused);
                }
                let mut groups: BTreeMap<Vec<Coordinate>, Vec<Coordinate>> = BTreeMap::new();
                for row in self.rows.iter().filter(|row| holds(filter, row)) {
                    let key = level.iter().map(|column| row[column.as_str()].clone()).collect();
                    let value = aggregator
                        .column
                        .as_ref()
                        .map_or(Coordinate::Int(1), |column| row[column.as_str()].clone());
                    if value != Coordinate::Null {
                        groups.entry(key).or_default().push(value);
                    }
                }
                let of = |values: Vec<Coordinate>| aggregated(&aggregator.aggregation, values);
                Ok(groups.into_iter().filter_map(|(key, values)| Some((key, of(values)?))).collect())
            }
            Measure::Combinator(combinator) => self.combined(
                &self.forest.measure(measure).unwrap().underlyings(),
                &combinator.combination,
                level,
                filter,
            ),
            Measure::Filtrator(filtrator) => {
                self.cells(&filtrator.underlying, level, &filter.clone().and(filtrator.filter.0.clone()))
            }
            Measure::Unfiltrator(unfiltrator) => {
                let is_dropped = |column: &str| match &unfiltrator.columns {
                    Unfiltered::Suppress(columns) => columns.iter().any(|name| name == column),
                    Unfiltered::Retain(columns) => columns.iter().all(|name| name != column),
                };
                self.cells(&unfiltrator.underlying, level, &without(filter, &is_dropped))
            }
            Measure::Shiftor(shiftor) => {
                let column = shiftor.column.as_str();
                let to = |from: &Coordinate| match &shiftor.shift {
                    Shift::To(to) => to.clone(),
                    Shift::Offset(offset) => match from {
                        Coordinate::Int(value) => Coordinate::Int(value + offset),
                        _ => Coordinate::Null,
                    },
                    Shift::Map(pairs) => {
                        pairs.iter().find(|(known, _)| known == from).map_or(from, |(_, to)| to).clone()
                    }
                    Shift::Function(_) => code::turn(from),
                    _ => unreachable!("not generated"),
                };
                let there = match &shiftor.shift {
                    Shift::To(to) => {
                        Ok(without(filter, &|name| name == column).and(Filter::equals(column, to.clone())))
                    }
                    Shift::Offset(_) => with_values(filter, column, &to, true),
                    _ => with_values(filter, column, &to, false),
                };
                let there = match there {
                    Err(_) if level.contains(column) => without(filter, &|name| name == column),
                    there => there?,
                };
                let read = self.cells(&shiftor.underlying, level, &there)?;
                let write = self.cells(&shiftor.underlying, level, filter)?;
                let position = level.iter().position(|name| name == column);
                let shifted = write.into_keys().filter_map(|key| {
                    let mut other = key.clone();
                    if let Some(position) = position {
                        other[position] = to(&other[position]);
                    }
                    Some((key, *read.get(&other)?))
                });
                Ok(shifted.collect())
            }
            Measure::Partitionor(partitionor) => {
                let finer: BTreeSet<String> = level.iter().chain(&partitionor.by).cloned().collect();
                let underlyings = self.forest.measure(measure).unwrap().underlyings();
                let cells = self.combined(&underlyings, &partitionor.combination, &finer, filter)?;
                Ok(rolled_up(
                    cells.into_iter().map(|(key, value)| (projected(&key, &finer, level), value)),
                    &partitionor.aggregation,
                ))
            }
            Measure::Dispatchor(dispatchor) => {
                let parts = if let Filter::And(all) = filter { all.clone() } else { vec![filter.clone()] };
                let is_on = |part: &Filter| part.columns().iter().any(|column| **column == *dispatchor.to);
                if parts.iter().any(|part| is_on(part) && part.columns().len() > 1) {
                    return Err(Refused);
                }
                let (on, others): (Vec<Filter>, Vec<Filter>) = parts.into_iter().partition(is_on);
                let is_grouped = level.contains(&dispatchor.to);
                if !is_grouped && on.is_empty() {
                    return self.cells(&dispatchor.underlying, level, filter);
                }
                if dispatchor.decomposition == Decomposition::Cumulating {
                    return self.cumulated(dispatchor, level, on, others);
                }
                let mut finer = level.clone();
                finer.remove(&dispatchor.to);
                finer.extend((!dispatchor.from.is_empty()).then(|| dispatchor.from.clone()));
                let cells = self.cells(&dispatchor.underlying, &finer, &Filter::And(others))?;
                let position = finer.iter().position(|column| *column == dispatchor.from);
                let mut spread = Vec::new();
                for (key, value) in cells {
                    let at = position.map_or(&Coordinate::Null, |position| &key[position]);
                    let targets = targets(&dispatchor.decomposition, at);
                    let wanted: Vec<(Coordinate, f64)> = targets
                        .into_iter()
                        .filter(|(target, _)| {
                            on.iter().all(|filter| holds(filter, &only(&dispatchor.to, target)))
                        })
                        .collect();
                    if is_grouped {
                        for (target, weight) in wanted {
                            let at = |column: &String| match finer.iter().position(|known| known == column) {
                                Some(position) => key[position].clone(),
                                None => target.clone(),
                            };
                            spread.push((level.iter().map(at).collect(), value * weight));
                        }
                    } else if !wanted.is_empty() {
                        let is_weighted = matches!(
                            dispatchor.decomposition,
                            Decomposition::Weights(_) | Decomposition::Linear(_) | Decomposition::Function(_)
                        );
                        let weight =
                            if is_weighted { wanted.iter().map(|(_, weight)| weight).sum() } else { 1.0 };
                        spread.push((projected(&key, &finer, level), value * weight));
                    }
                }
                Ok(rolled_up(spread.into_iter(), &dispatchor.aggregation))
            }
            Measure::Columnator(columnator) => {
                let is_expressed = |column: &String| level.contains(column) || is_pinned(filter, column);
                if !columnator.require.iter().all(is_expressed) || columnator.reject.iter().any(is_expressed)
                {
                    return Ok(Cells::new());
                }
                self.combined(&columnator.underlyings, &columnator.combination, level, filter)
            }
            Measure::Routing(routing) => {
                let holds = |rule: &&Route| {
                    let is_within = |condition: &FilterText| {
                        filter.clone().and(condition.0.clone()).canonical() == filter.canonical()
                    };
                    rule.by.iter().all(|column| level.contains(column))
                        && !rule.not_by.iter().any(|column| level.contains(column))
                        && rule.filter.as_ref().is_none_or(is_within)
                        && rule.marker.as_deref().is_none_or(|marker| Some(marker) == self.marker)
                };
                // The one function that is generated chooses by the number of columns, or leaves it.
                let by_function = || routing.underlyings.get(level.len());
                let rule = routing.rules.iter().find(holds).map(|rule| &rule.to);
                match rule.or_else(by_function).or(routing.default.as_ref()) {
                    Some(chosen) => self.cells(chosen, level, filter),
                    None => Ok(Cells::new()),
                }
            }
            // The one that is generated doubles.
            Measure::Custom(custom) => {
                let cells = self.cells(&custom.underlyings[0], level, filter)?;
                Ok(cells.into_iter().map(|(key, value)| (key, value * 2.0)).collect())
            }
            _ => unreachable!("not generated"),
        }
    }

    /// Every slice at every coordinate of `d` that any slice has, with the cells that are not later.
    fn cumulated(
        &self,
        dispatchor: &Dispatchor,
        level: &BTreeSet<String>,
        on: Vec<Filter>,
        others: Vec<Filter>,
    ) -> Result<Cells, Refused> {
        let wants = |at: &Coordinate| on.iter().all(|filter| holds(filter, &only("d", at)));
        let up_to = up_to(&on, &wants);
        let filter = Filter::And(others).and(up_to.clone());
        let mut finer = level.clone();
        finer.insert("d".to_owned());
        let cells = self.cells(&dispatchor.underlying, &finer, &filter)?;
        if !level.contains("d") {
            // The underlying may have dropped the filter.
            let at = finer.iter().position(|column| column == "d").unwrap();
            let cells = cells.into_iter().filter(|(key, _)| holds(&up_to, &only("d", &key[at])));
            let cells = cells.map(|(key, value)| (projected(&key, &finer, level), value));
            return Ok(rolled_up(cells, &dispatchor.aggregation));
        }
        let position = level.iter().position(|column| column == "d").unwrap();
        let coordinates: BTreeSet<Coordinate> = cells.keys().map(|key| key[position].clone()).collect();
        let mut spread = Vec::new();
        for (key, value) in &cells {
            for to in coordinates.iter().filter(|to| wants(to)) {
                let is_null = [to, &key[position]].map(|at| *at == Coordinate::Null);
                if *to >= key[position] && is_null[0] == is_null[1] {
                    let mut there = key.clone();
                    there[position] = to.clone();
                    spread.push((there, *value));
                }
            }
        }
        Ok(rolled_up(spread.into_iter(), &dispatchor.aggregation))
    }

    fn combined(
        &self,
        underlyings: &[String],
        combination: &Combination,
        level: &BTreeSet<String>,
        filter: &Filter,
    ) -> Result<Cells, Refused> {
        let inputs: Result<Vec<Cells>, Refused> =
            underlyings.iter().map(|underlying| self.cells(underlying, level, filter)).collect();
        let inputs = inputs?;
        let keys: BTreeSet<Vec<Coordinate>> = inputs.iter().flat_map(|cells| cells.keys().cloned()).collect();
        let cell = |key: &Vec<Coordinate>| {
            let values: Vec<Option<f64>> = inputs.iter().map(|cells| cells.get(key).copied()).collect();
            match combination {
                Combination::Sum => Some(values.iter().flatten().sum()),
                Combination::Subtraction => Some(values[0].unwrap_or(0.0) - values[1].unwrap_or(0.0)),
                Combination::Product => values.iter().copied().product(),
                Combination::Divide => Some(values[0]? / values[1]?),
                Combination::Coalesce => values.iter().flatten().next().copied(),
                // The one formula that is generated: `coalesce(a, 0) * 2 + 1`.
                Combination::Expression(_) => Some(values[0].unwrap_or(0.0) * 2.0 + 1.0),
                Combination::Function(_) => code::blend(&values),
                _ => unreachable!("not generated"),
            }
        };
        Ok(keys.into_iter().filter_map(|key| cell(&key).map(|value| (key, value))).collect())
    }
}

/// A row of one column.
fn only(column: &str, value: &Coordinate) -> Row {
    let column = ["g", "n", "d"].into_iter().find(|known| *known == column).unwrap();
    Row::from([(column, value.clone())])
}

/// True when a filter leaves a column one value.
fn is_pinned(filter: &Filter, column: &str) -> bool {
    match filter {
        Filter::Column(name, Matcher::In(values)) => **name == *column && values.len() == 1,
        Filter::Column(name, Matcher::Null) => **name == *column,
        Filter::And(all) => all.iter().any(|filter| is_pinned(filter, column)),
        _ => false,
    }
}

/// What is not above the last whole number that is wanted, out of more than tables and filters have.
fn up_to(on: &[Filter], wants: &dyn Fn(&Coordinate) -> bool) -> Filter {
    const MOST: i64 = 40;
    let last = (-MOST..=MOST).rev().find(|number| wants(&Coordinate::Int(*number)));
    let filter = match last {
        _ if on.is_empty() => Filter::All,
        None => Filter::None,
        Some(MOST) => Filter::is_null("d").negated(),
        // As the engine writes it: by the value that the filter names.
        Some(last) if on.iter().any(|filter| names(filter, last)) => {
            Filter::compare("d", Comparison::AtMost, last)
        }
        Some(last) => Filter::compare("d", Comparison::Less, last + 1),
    };
    if !on.is_empty() && wants(&Coordinate::Null) { filter.or(Filter::is_null("d")) } else { filter }
}

fn names(filter: &Filter, number: i64) -> bool {
    match filter {
        Filter::Column(_, Matcher::In(values)) => values.contains(&Coordinate::Int(number)),
        Filter::Column(_, Matcher::Compare(_, bound)) => *bound == Coordinate::Int(number),
        Filter::Not(inner) => names(inner, number),
        Filter::And(all) | Filter::Or(all) => all.iter().any(|filter| names(filter, number)),
        _ => false,
    }
}

fn targets(decomposition: &Decomposition, from: &Coordinate) -> Vec<(Coordinate, f64)> {
    match decomposition {
        Decomposition::Pairs(pairs) => {
            pairs.iter().filter(|(known, _)| known == from).map(|(_, to)| (to.clone(), 1.0)).collect()
        }
        Decomposition::Weights(weights) => weights
            .iter()
            .filter(|(known, ..)| known == from)
            .map(|(_, to, weight)| (to.clone(), *weight))
            .collect(),
        Decomposition::Duplicating(all) => all.iter().map(|to| (to.clone(), 1.0)).collect(),
        // The one list that is generated: 0, 2, 3.
        Decomposition::Linear(_) => match from {
            Coordinate::Int(..=0) => vec![(Coordinate::Int(0), 1.0)],
            Coordinate::Int(1) => vec![(Coordinate::Int(0), 0.5), (Coordinate::Int(2), 0.5)],
            Coordinate::Int(2) => vec![(Coordinate::Int(2), 1.0)],
            Coordinate::Int(_) => vec![(Coordinate::Int(3), 1.0)],
            _ => Vec::new(),
        },
        Decomposition::Function(_) => code::letters(from),
        _ => unreachable!("not generated"),
    }
}

fn projected(key: &[Coordinate], from: &BTreeSet<String>, to: &BTreeSet<String>) -> Vec<Coordinate> {
    from.iter().zip(key).filter(|(column, _)| to.contains(*column)).map(|(_, value)| value.clone()).collect()
}

fn rolled_up(cells: impl Iterator<Item = (Vec<Coordinate>, f64)>, aggregation: &Aggregation) -> Cells {
    let mut groups: BTreeMap<Vec<Coordinate>, Vec<Coordinate>> = BTreeMap::new();
    cells.for_each(|(key, value)| groups.entry(key).or_default().push(Coordinate::Float(value)));
    let of = |values| aggregated(aggregation, values);
    groups.into_iter().filter_map(|(key, values)| Some((key, of(values)?))).collect()
}

fn aggregated(aggregation: &Aggregation, values: Vec<Coordinate>) -> Option<f64> {
    if *aggregation == Aggregation::CountDistinct {
        return Some(values.into_iter().collect::<BTreeSet<_>>().len() as f64);
    }
    if *aggregation == Aggregation::Count {
        return Some(values.len() as f64);
    }
    let mut numbers: Vec<f64> = values
        .iter()
        .map(|value| match value {
            Coordinate::Int(value) => *value as f64,
            Coordinate::Float(value) => *value,
            other => panic!("{other} is no number"),
        })
        .collect();
    let count = numbers.len() as f64;
    match aggregation {
        Aggregation::Sum => Some(numbers.iter().sum()),
        Aggregation::Avg => Some(numbers.iter().sum::<f64>() / count),
        Aggregation::Min => numbers.into_iter().min_by(no_number_last),
        Aggregation::Max => numbers.into_iter().max_by(no_number_last),
        Aggregation::Product => Some(numbers.iter().product()),
        Aggregation::Median => Some(quantile(numbers, 0.5)),
        Aggregation::Quantile(Quantile(part)) => Some(quantile(numbers, *part)),
        Aggregation::Largest(nth) => {
            numbers.sort_by(|a, b| no_number_last(b, a));
            numbers.get(nth - 1).copied()
        }
        Aggregation::Smallest(nth) => {
            numbers.sort_by(no_number_last);
            numbers.get(nth - 1).copied()
        }
        // From the least to the greatest.
        Aggregation::Custom(_) => {
            let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            Some(numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least)
        }
        _ => unreachable!("not generated"),
    }
}

/// Between the two numbers next to the place.
fn quantile(mut numbers: Vec<f64>, part: f64) -> f64 {
    numbers.sort_by(no_number_last);
    let place = part * (numbers.len() - 1) as f64;
    let (below, above) = (numbers[place.floor() as usize], numbers[place.ceil() as usize]);
    if below == above { below } else { below + (above - below) * place.fract() }
}

/// NaN is above all numbers, whatever its sign.
fn no_number_last(a: &f64, b: &f64) -> std::cmp::Ordering {
    a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(b))
}

/// Two-valued: a condition on a missing value does not hold, and its negation does.
fn holds(filter: &Filter, row: &Row) -> bool {
    match filter {
        Filter::All => true,
        Filter::None => false,
        Filter::Not(inner) => !holds(inner, row),
        Filter::And(all) => all.iter().all(|filter| holds(filter, row)),
        Filter::Or(any) => any.iter().any(|filter| holds(filter, row)),
        Filter::Column(column, matcher) => {
            let value = &row[&**column];
            match matcher {
                Matcher::Null => *value == Coordinate::Null,
                _ if *value == Coordinate::Null => false,
                Matcher::In(values) => values.contains(value),
                Matcher::Compare(Comparison::Less, bound) => value < bound,
                Matcher::Compare(Comparison::AtMost, bound) => value <= bound,
                Matcher::Compare(Comparison::Greater, bound) => value > bound,
                Matcher::Compare(Comparison::AtLeast, bound) => value >= bound,
                // The patterns that are generated.
                Matcher::Like(pattern) | Matcher::Regex(pattern) => {
                    let Coordinate::Text(text) = value else { return false };
                    match pattern.as_str() {
                        "p%" | "^p" => text.starts_with('p'),
                        "_" => text.chars().count() == 1,
                        "[qr]" => text.contains(['q', 'r']),
                        other => unreachable!("{other} is not generated"),
                    }
                }
                _ => unreachable!("not generated"),
            }
        }
        _ => unreachable!("not generated"),
    }
}

fn without(filter: &Filter, is_dropped: &dyn Fn(&str) -> bool) -> Filter {
    let each = |filters: &[Filter]| filters.iter().map(|filter| without(filter, is_dropped)).collect();
    match filter {
        Filter::Column(column, _) if is_dropped(column) => Filter::All,
        Filter::Not(inner) => match &**inner {
            Filter::Column(column, _) if is_dropped(column) => Filter::All,
            _ => filter.clone(),
        },
        Filter::And(all) => Filter::And(each(all)),
        Filter::Or(any) => Filter::Or(each(any)),
        other => other.clone(),
    }
}

fn with_values(
    filter: &Filter,
    column: &str,
    to: &dyn Fn(&Coordinate) -> Coordinate,
    keeps_order: bool,
) -> Result<Filter, Refused> {
    let each = |filters: &[Filter]| -> Result<Vec<Filter>, Refused> {
        filters.iter().map(|filter| with_values(filter, column, to, keeps_order)).collect()
    };
    Ok(match filter {
        Filter::And(all) => Filter::And(each(all)?),
        Filter::Or(any) => Filter::Or(each(any)?),
        Filter::Not(inner) => with_values(inner, column, to, keeps_order)?.negated(),
        Filter::Column(name, matcher) if **name == *column => match matcher {
            Matcher::Null => Filter::equals(column, to(&Coordinate::Null)),
            Matcher::In(values) => Filter::is_in(column, values.iter().map(to)),
            Matcher::Compare(comparison, bound) if keeps_order => {
                Filter::compare(column, *comparison, to(bound))
            }
            _ => return Err(Refused),
        },
        other => other.clone(),
    })
}
