//! Everything that can be wrong with a forest. Walks with a stack of its own: chains of thousands of measures are usual.

use super::calculated::{CalculatedColumn, ColumnFormula};
use super::columnator::Columnator;
use super::measure::{
    Aggregation, Aggregator, Combination, Decomposition, Dispatchor, ExpressionText, Measure, Partitionor,
    Shift, Unfiltered,
};
use super::registry::Registry;
use super::routing::{Route, Routing};
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::nearest::nearest;
use arrow::datatypes::DataType;
use std::collections::{BTreeMap, BTreeSet};

type Measures = BTreeMap<String, Measure>;

pub(super) fn check(
    measures: &Measures,
    columns: &[CalculatedColumn],
    registry: &Registry,
) -> Result<(), CubeError> {
    for (name, measure) in measures {
        check_measure(name, measure, registry)?;
    }
    check_columns(columns, registry)?;
    check_references(measures)
}

/// That there is no measure of that name; the path leads to who refers to it. Nobody on the path can have been meant: that would be a cycle.
pub(super) fn unknown(measures: &Measures, name: &str, path: Vec<String>) -> CubeError {
    let others = measures.keys().filter(|other| !path.contains(other)).map(String::as_str);
    let nearest = nearest(name, others).map(str::to_owned);
    CubeError::UnknownMeasure { name: name.to_owned(), path, nearest }
}

/// Depth first, each measure once; what is being visited is the path that an error shows.
fn check_references(measures: &Measures) -> Result<(), CubeError> {
    let mut done = BTreeSet::new();
    for root in measures.keys() {
        if done.contains(root.as_str()) {
            continue;
        }
        let mut path: Vec<(&str, Vec<String>)> = vec![(root, measures[root].underlyings())];
        let mut on_path = BTreeSet::from([root.as_str()]);
        while let Some((name, left)) = path.last_mut() {
            let Some(next) = left.pop() else {
                done.insert(*name);
                on_path.remove(*name);
                path.pop();
                continue;
            };
            if done.contains(next.as_str()) {
                continue;
            }
            let names = || path.iter().map(|(name, _)| (*name).to_owned());
            let Some((known, measure)) = measures.get_key_value(&next) else {
                return Err(unknown(measures, &next, names().collect()));
            };
            if !on_path.insert(known) {
                let path = names().skip_while(|name| *name != next).chain([next.clone()]).collect();
                return Err(CubeError::Cycle { path });
            }
            let underlyings = measure.underlyings();
            path.push((known, underlyings));
        }
    }
    Ok(())
}

fn check_measure(name: &str, measure: &Measure, registry: &Registry) -> Result<(), CubeError> {
    let invalid = |problem: String| Err(CubeError::InvalidMeasure { measure: name.to_owned(), problem });
    let registered = |is: bool, what: &str, function: &str| {
        if is {
            Ok(())
        } else {
            invalid(format!("no {what} is registered as {function:?}; register it when the forest is built"))
        }
    };
    if name.is_empty() {
        return invalid("it needs a name".to_owned());
    }
    let underlyings = measure.underlyings();
    match measure {
        Measure::Aggregator(Aggregator { column: None, aggregation })
            if *aggregation != Aggregation::Count =>
        {
            return invalid("only a count does without a column; name one".to_owned());
        }
        Measure::Aggregator(Aggregator { aggregation, .. }) => {
            check_aggregation(name, aggregation, registry)?
        }
        Measure::Combinator(combinator) => {
            check_combination(name, &underlyings, &combinator.combination, registry)?
        }
        Measure::Partitionor(Partitionor { combination, aggregation, by, .. }) => {
            check_combination(name, &underlyings, combination, registry)?;
            check_aggregation(name, aggregation, registry)?;
            if by.is_empty() {
                return invalid(
                    "it needs at least one column in `by`; without, it is a combinator".to_owned(),
                );
            }
        }
        Measure::Filtrator(filtrator) => filtrator.filter.0.check_size()?,
        Measure::Unfiltrator(unfiltrator) => {
            let (Unfiltered::Suppress(columns) | Unfiltered::Retain(columns)) = &unfiltrator.columns;
            if columns.is_empty() && matches!(unfiltrator.columns, Unfiltered::Suppress(_)) {
                return invalid("it suppresses no column; name one".to_owned());
            }
        }
        Measure::Shiftor(shiftor) => {
            if let Shift::Function(function) = &shiftor.shift {
                registered(registry.shifts.contains_key(function), "shift", function)?;
            }
        }
        Measure::Dispatchor(dispatchor) => {
            check_aggregation(name, &dispatchor.aggregation, registry)?;
            if let Decomposition::Function(function) = &dispatchor.decomposition {
                registered(registry.decompositions.contains_key(function), "decomposition", function)?;
            }
            if let Some(problem) = problem_of_dispatch(dispatchor) {
                return invalid(problem);
            }
        }
        Measure::Columnator(columnator) => {
            check_combination(name, &underlyings, &columnator.combination, registry)?;
            let Columnator { require, reject, .. } = columnator;
            if require.is_empty() && reject.is_empty() {
                return invalid(
                    "it needs a column in `require` or in `reject`; without, it is a combinator".to_owned(),
                );
            }
            if let Some(column) = require.iter().find(|column| reject.contains(column)) {
                return invalid(format!("it requires and rejects {column:?}, so it never has a value"));
            }
        }
        Measure::Routing(routing) => {
            if let Some(problem) = problem_of_routing(routing) {
                return invalid(problem);
            }
            for filter in routing.rules.iter().filter_map(|rule| rule.filter.as_ref()) {
                filter.0.check_size()?;
            }
            if let Some(function) = &routing.function {
                registered(registry.routes.contains_key(function), "route", function)?;
            }
        }
        Measure::Custom(custom) => {
            registered(registry.measures.contains_key(&custom.function), "measure", &custom.function)?;
        }
    }
    Ok(())
}

fn problem_of_dispatch(dispatchor: &Dispatchor) -> Option<String> {
    let Dispatchor { from, to, decomposition, .. } = dispatchor;
    let problem = match decomposition {
        _ if to.is_empty() => "it needs the name of a column in `to`",
        Decomposition::Duplicating(_) if !from.is_empty() => {
            "its cells go to the same places whatever their coordinate; leave `from` out"
        }
        Decomposition::Duplicating(all) => {
            // Beside a text a number is one too.
            let same = |one: &Coordinate| one.typed(&DataType::Utf8);
            let is_before =
                |index: usize, one: &Coordinate| all[..index].iter().any(|it| same(it) == same(one));
            let twice = all.iter().enumerate().find(|(index, one)| is_before(*index, one));
            return twice.map(|(_, one)| format!("{one} is twice in its list; name each coordinate once"));
        }
        _ if from.is_empty() => "it needs the name of a column in `from`",
        Decomposition::Cumulating if from != to => {
            "running totals stay in their column; give `to` the same name as `from`"
        }
        Decomposition::Cumulating => return None,
        _ if from == to => "it dispatches a column to itself; `to` needs a name of its own",
        Decomposition::Linear(numbers) => {
            let is_rising = numbers.windows(2).all(|pair| pair[0] < pair[1]);
            let is_finite = numbers.iter().all(|number| number.is_finite());
            if numbers.len() >= 2 && is_rising && is_finite {
                return None;
            }
            "it needs a list of two or more numbers in `linear`, each greater than the one before"
        }
        _ => return None,
    };
    Some(problem.to_owned())
}

fn problem_of_routing(routing: &Routing) -> Option<String> {
    let Routing { function, underlyings, rules, .. } = routing;
    if rules.is_empty() && function.is_none() {
        return Some("it has neither rules nor a function, so there is nothing to choose by".to_owned());
    }
    if let Some(number) = rules.iter().position(Route::is_unconditional) {
        let (number, to) = (number + 1, &rules[number].to);
        return Some(format!("its rule {number} has no condition; make {to:?} the default instead"));
    }
    for (number, Route { by, not_by, .. }) in (1..).zip(rules) {
        if let Some(column) = by.iter().find(|column| not_by.contains(column)) {
            return Some(format!(
                "its rule {number} has {column:?} in `by` and in `not_by`, so it never holds; leave one out"
            ));
        }
    }
    match (function, underlyings.is_empty()) {
        (Some(function), true) => {
            Some(format!("name the measures that {function:?} may choose in `underlyings`"))
        }
        (None, false) => {
            Some("only a function needs `underlyings`; rules and the default name theirs".to_owned())
        }
        _ => None,
    }
}

fn check_aggregation(measure: &str, aggregation: &Aggregation, registry: &Registry) -> Result<(), CubeError> {
    let invalid = |problem: String| Err(CubeError::InvalidMeasure { measure: measure.to_owned(), problem });
    match aggregation {
        Aggregation::Custom(name) if !registry.aggregates.contains_key(name) => {
            invalid(format!("no aggregation is registered as {name:?}; register it when the forest is built"))
        }
        Aggregation::Largest(0) | Aggregation::Smallest(0) => {
            invalid("ranks are counted from 1; use largest = 1 for the largest value".to_owned())
        }
        Aggregation::Quantile(part) if !part.is_part() => {
            invalid(format!("a quantile lies between 0 and 1, and not at {part:?}; 0.95 stands for 95 %"))
        }
        Aggregation::WideSum => invalid("wide sums are made by plans; ask for a mean".to_owned()),
        Aggregation::ExactSum => invalid("exact sums are made by plans; ask for a sum".to_owned()),
        Aggregation::Sketch => invalid("sketches are made by plans; ask for a quantile".to_owned()),
        _ => Ok(()),
    }
}

fn check_combination(
    measure: &str,
    underlyings: &[String],
    combination: &Combination,
    registry: &Registry,
) -> Result<(), CubeError> {
    let invalid = |problem: String| Err(CubeError::InvalidMeasure { measure: measure.to_owned(), problem });
    if underlyings.is_empty() {
        return invalid("it combines no measure; name at least one underlying".to_owned());
    }
    match combination {
        Combination::Divide | Combination::Subtraction if underlyings.len() != 2 => {
            invalid(format!("it takes two underlyings, not {}", underlyings.len()))
        }
        Combination::Function(name) if !registry.cells.contains_key(name) => {
            invalid(format!("no function is registered as {name:?}; register it when the forest is built"))
        }
        Combination::Expression(ExpressionText(expression)) => {
            match expression.names().into_iter().find(|name| !underlyings.contains(name)) {
                Some(name) => {
                    invalid(format!("its formula names {name:?}, which is not among its underlyings; add it"))
                }
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn check_columns(columns: &[CalculatedColumn], registry: &Registry) -> Result<(), CubeError> {
    for (index, column) in columns.iter().enumerate() {
        let invalid =
            |problem: String| Err(CubeError::InvalidMeasure { measure: column.name.clone(), problem });
        if columns[..index].iter().any(|other| other.name == column.name) {
            return invalid("there are two calculated columns of that name; rename one".to_owned());
        }
        let later = column
            .inputs()
            .into_iter()
            .find(|input| columns[index..].iter().any(|other| other.name == *input));
        if let Some(later) = later {
            return invalid(format!("it is computed from {later:?}, which must stand before it"));
        }
        if let ColumnFormula::Function { name, .. } = &column.formula
            && !registry.cells.contains_key(name)
        {
            return invalid(format!(
                "no function is registered as {name:?}; register it when the forest is built"
            ));
        }
    }
    Ok(())
}
