//! Which queries the leaves of a plan are for the cubes of a composite. Threads: `cpu`.

use super::{Composite, Constant, SubCube};
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::filter::Filter;
use crate::plan::{Level, Operation, Plan, StepId};
use crate::query::{Query, QueryOptions};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{Field, Schema};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What one cube is asked for: measures at one level under one filter.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) cube: usize,
    pub(crate) level: Level,
    /// As the cube has it.
    filter: Filter,
    /// What the composite lets its user see of the cube.
    pub(crate) rights: Filter,
    /// The columns of the level that the cube has.
    by: Vec<String>,
    /// The cube is asked for others as well, by queries of their own.
    is_one_of_several: bool,
    /// The leaves, and what they are called there.
    pub(crate) leaves: Vec<(StepId, String)>,
}

/// The queries for the leaves of a plan, in the order of cubes, levels and filters. Leaves whose filter wants nothing there have none.
pub(crate) fn asks(composite: &Composite, plan: &Plan, rights: &Filter) -> Result<Vec<Ask>, CubeError> {
    let mut asks: BTreeMap<(usize, Level, Filter), Ask> = BTreeMap::new();
    for id in &plan.leaves {
        let step = &plan.steps[id.0];
        let Operation::Leaf(leaf) = &step.operation else { continue };
        let named = leaf.column.as_ref().and_then(|name| composite.inner.measures.get(&**name));
        let Some((cube, measure)) = named else { continue };
        let sub = composite.cube(*cube);
        let filter = sub.filter(&step.filter)?.canonical();
        let rights = sub.filter(rights)?.canonical();
        let key = (*cube, Arc::clone(&step.level), filter.clone());
        let ask = asks.entry(key).or_insert_with(|| {
            let is_own = |column: &&Arc<str>| !sub.constants.contains_key(&***column);
            let by = step.level.iter().filter(is_own).map(ToString::to_string).collect();
            let (level, leaves) = (Arc::clone(&step.level), Vec::new());
            Ask { cube: *cube, level, filter, rights, by, is_one_of_several: false, leaves }
        });
        ask.leaves.push((*id, measure.clone()));
    }
    let mut asks: Vec<Ask> = asks.into_values().collect();
    for neighbours in asks.chunk_by_mut(|one, other| one.cube == other.cube) {
        let is_one_of_several = neighbours.len() > 1;
        neighbours.iter_mut().for_each(|ask| ask.is_one_of_several = is_one_of_several);
    }
    Ok(asks)
}

impl Ask {
    /// True when there is nothing to ask for.
    pub(crate) fn is_empty(&self) -> bool {
        self.filter == Filter::None || self.rights == Filter::None
    }

    /// The question, from one to the composite.
    pub(crate) fn query(&self, sub: &SubCube, asked: &Query) -> Query {
        let own = sub.cube.column_types();
        let is_own = |column: &&String| own.contains_key(column.as_str());
        let options = QueryOptions {
            // The time of the composite's query is that of all; and a cube has all of its measures.
            timeout: None,
            unknown_measures_are_empty: false,
            // What was kept for different questions may have been read at times far apart.
            no_cache: asked.options.no_cache || (self.is_one_of_several && sub.cube.keeps_by_age()),
            shard_by: asked.options.shard_by.iter().filter(is_own).cloned().collect(),
            ..asked.options.clone()
        };
        Query {
            measures: self.leaves.iter().map(|(_, measure)| measure.clone()).collect(),
            group_by: self.by.clone(),
            totals: Vec::new(),
            filter: self.filter.clone(),
            marker: asked.marker.clone(),
            user: asked.user.clone(),
            options,
        }
    }

    /// The cells of one leaf: the columns of its level, and its values.
    pub(crate) fn cells(
        &self,
        sub: &SubCube,
        answer: &RecordBatch,
        leaf: usize,
    ) -> Result<RecordBatch, CubeError> {
        let arrow = |error| CubeError::arrow("composite", &error);
        let rows = answer.num_rows();
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.level.len() + 1);
        for column in self.level.iter() {
            columns.push(match sub.constants.get(&**column) {
                Some(constant) => constant.array(rows)?,
                None => {
                    let position = self.by.iter().position(|own| **own == **column).unwrap_or(0);
                    Arc::clone(answer.column(position))
                }
            });
        }
        let values = Arc::clone(answer.column(self.by.len() + leaf));
        let present = arrow::compute::is_not_null(&values).map_err(arrow)?;
        columns.push(values);
        let names = self.level.iter().map(AsRef::as_ref).chain(["value"]);
        let fields: Vec<Field> =
            names.zip(&columns).map(|(name, of)| Field::new(name, of.data_type().clone(), true)).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let all = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
            .map_err(arrow)?;
        arrow::compute::filter_record_batch(&all, &present).map_err(arrow)
    }
}

impl SubCube {
    /// A filter of the composite as this cube has it: a condition on a column that it does not have holds everywhere or nowhere.
    pub(super) fn filter(&self, filter: &Filter) -> Result<Filter, CubeError> {
        let each = |filters: &[Filter]| -> Result<Vec<Filter>, CubeError> {
            filters.iter().map(|filter| self.filter(filter)).collect()
        };
        Ok(match filter {
            Filter::Column(column, matcher) => match self.constants.get(&**column) {
                Some(constant) if matcher.mask(&constant.array(1)?)?.value(0) => Filter::All,
                Some(_) => Filter::None,
                None => filter.clone(),
            },
            Filter::Not(inner) => self.filter(inner)?.negated(),
            Filter::And(all) => Filter::And(each(all)?),
            Filter::Or(any) => Filter::Or(each(any)?),
            Filter::All | Filter::None => filter.clone(),
        })
    }
}

impl Constant {
    pub(super) fn array(&self, rows: usize) -> Result<ArrayRef, CubeError> {
        match &self.coordinate {
            Coordinate::Null => Ok(new_null_array(&self.data_type, rows)),
            coordinate => cast(&coordinate.array(rows), &self.data_type)
                .map_err(|error| CubeError::arrow("composite", &error)),
        }
    }
}
