//! Where cells of a coordinate go: by a list of pairs, to the numbers around it, or by code.
//!
//! A list may have millions of pairs. It is brought into columns by the first query that needs it, and kept with the columns of the cube for
//! all that follow: a query then only looks at the rows of its own coordinates.

use super::linear;
use crate::coordinate::{Coordinate, logical_type};
use crate::error::CubeError;
use crate::forest::TargetsFunction;
use arrow::array::{Array, ArrayRef, Float64Array};
use arrow::datatypes::DataType;
use foldhash::{HashMap, HashMapExt};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// From a coordinate to its targets.
pub(crate) enum Targets {
    List(Arc<TargetList>),
    /// The numbers around it, of these in order.
    Linear(Vec<f64>),
    Function(TargetsFunction),
}

/// Where the cells of one coordinate go.
pub(crate) struct Destination {
    /// The targets, of the logical type of the new column.
    pub(crate) targets: ArrayRef,
    /// The part of the value that goes to each; none when all of it does.
    pub(crate) parts: Option<Float64Array>,
}

impl Destination {
    fn new(of: &[(Coordinate, f64)], (to, output): Typed<'_>) -> Result<Self, CubeError> {
        let (mut targets, mut parts) = (Vec::with_capacity(of.len()), Vec::with_capacity(of.len()));
        for (target, part) in of {
            if let Some(target) = target.typed_in(to, output)? {
                targets.push(target);
                parts.push(*part);
            }
        }
        Ok(Self { targets: column(&targets, output)?, parts: Some(parts.into()) })
    }
}

impl Targets {
    /// Where the cells of a coordinate go, in this column.
    pub(crate) fn of(&self, coordinate: &Coordinate, to: Typed<'_>) -> Result<Destination, CubeError> {
        match self {
            Self::List(list) => Ok(list.of(coordinate)),
            Self::Linear(numbers) => Destination::new(&linear::around(numbers, coordinate), to),
            Self::Function(function) => Destination::new(&function(coordinate), to),
        }
    }

    /// About how many cells one becomes.
    pub(crate) fn mean(&self) -> usize {
        match self {
            Self::List(list) => list.targets.len().div_ceil(list.rows.len().max(1)),
            Self::Linear(_) | Self::Function(_) => 1,
        }
    }
}

/// A column with its type.
pub(crate) type Typed<'a> = (&'a str, &'a DataType);

/// The targets of all coordinates of a list.
pub(crate) struct TargetList {
    /// Which rows are those of a coordinate.
    rows: HashMap<Coordinate, Range<usize>>,
    targets: ArrayRef,
    parts: Option<Float64Array>,
}

impl TargetList {
    /// Of sources in one column, with targets in another and parts of the value. What neither can have goes nowhere.
    pub(crate) fn new<'a>(
        (from, to): (Typed<'_>, Typed<'_>),
        is_weighted: bool,
        all: impl Iterator<Item = (&'a Coordinate, &'a Coordinate, f64)>,
    ) -> Result<Self, CubeError> {
        let mut by_source: HashMap<Coordinate, Vec<(Coordinate, f64)>> = HashMap::new();
        for (source, target, part) in all {
            let source = source.typed_in(from.0, from.1)?;
            if let (Some(source), Some(target)) = (source, target.typed_in(to.0, to.1)?) {
                by_source.entry(source).or_default().push((target, part));
            }
        }
        let (mut rows, mut targets, mut parts) = (HashMap::new(), Vec::new(), Vec::new());
        for (source, of_source) in by_source {
            let start = targets.len();
            for (target, part) in of_source {
                targets.push(target);
                parts.push(part);
            }
            rows.insert(source, start..targets.len());
        }
        let parts = is_weighted.then(|| Float64Array::from(parts));
        Ok(Self { rows, targets: column(&targets, to.1)?, parts })
    }

    fn of(&self, coordinate: &Coordinate) -> Destination {
        self.at(self.rows.get(coordinate).cloned().unwrap_or(0..0))
    }

    fn at(&self, rows: Range<usize>) -> Destination {
        Destination {
            targets: self.targets.slice(rows.start, rows.len()),
            parts: self.parts.as_ref().map(|parts| parts.slice(rows.start, rows.len())),
        }
    }

    /// Every source with where its cells go.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (&Coordinate, Destination)> {
        self.rows.iter().map(|(source, rows)| (source, self.at(rows.clone())))
    }
}

fn column(targets: &[Coordinate], output: &DataType) -> Result<ArrayRef, CubeError> {
    Coordinate::column(targets, &logical_type(output)).map_err(|error| CubeError::arrow("dispatch", &error))
}

/// A measure, the type of its sources and that of its targets.
type ListKey = (String, DataType, DataType);

/// The lists that queries needed so far, by measure. No more than the forest has, and in less memory.
#[derive(Clone, Default)]
pub(crate) struct TargetLists {
    made: Arc<Mutex<HashMap<ListKey, Arc<TargetList>>>>,
}

impl TargetLists {
    /// The list of a measure, made by the first that asks. Two that ask at once may both make it.
    pub(super) fn get(
        &self,
        measure: &str,
        ((_, input), (_, output)): (Typed<'_>, Typed<'_>),
        make: impl FnOnce() -> Result<TargetList, CubeError>,
    ) -> Result<Arc<TargetList>, CubeError> {
        let made = || self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (measure.to_owned(), input.clone(), output.clone());
        if let Some(known) = made().get(&key) {
            return Ok(Arc::clone(known));
        }
        let list = Arc::new(make()?);
        Ok(Arc::clone(made().entry(key).or_insert(list)))
    }
}

impl std::fmt::Debug for TargetLists {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TargetLists")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::AsArray;
    use arrow::datatypes::Int64Type;

    #[test]
    fn a_list_is_made_once_and_keeps_the_order_of_its_pairs() {
        let pairs: [(Coordinate, Coordinate); 5] = [
            ("a".into(), 3.into()),
            ("b".into(), 9.into()),
            ("a".into(), 1.into()),
            ("a".into(), "x".into()),
            ("a".into(), 2.into()),
        ];
        let lists = TargetLists::default();
        let columns = (("letter", &DataType::Utf8), ("number", &DataType::Int64));
        let all = pairs.iter().map(|(source, target)| (source, target, 1.0));
        let list = lists.get("m", columns, || TargetList::new(columns, false, all)).unwrap();
        let again = lists.get("m", columns, || unreachable!("it is there")).unwrap();
        assert!(Arc::ptr_eq(&list, &again));
        let to = |source: &str| {
            let Destination { targets, parts } = list.of(&source.into());
            assert!(parts.is_none());
            targets.as_primitive::<Int64Type>().values().to_vec()
        };
        assert_eq!((to("a"), to("b"), to("c")), (vec![3, 1, 2], vec![9], vec![]));
        assert_eq!(Targets::List(list).mean(), 2);
    }
}
