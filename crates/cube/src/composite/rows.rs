//! Rows behind the cells of a composite: those of its cubes, one cube after the other, under the columns of all.
//!
//! All cubes begin at the same time. Each waits with its first batch until it is its turn, which says which columns it has.

use super::{Composite, SubCube};
use crate::drill::{DrillRows, Outlet, Through};
use crate::error::CubeError;
use crate::filter::Filter;
use crate::lead::{Question, unless_cancelled};
use crate::plan::{Area, Behind};
use crate::query::{Query, QueryOptions};
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rows of one cube.
struct Source<'a> {
    sub: &'a SubCube,
    rows: DrillRows,
    first: RecordBatch,
}

/// Sends the rows of all cubes that stand behind these cells.
pub(crate) async fn drill_cubes(
    question: &Question,
    through: &Through,
    behind: &Behind,
    mut outlet: Outlet<'_>,
) -> Result<(), CubeError> {
    let Some(composite) = question.table.cubes() else { return Ok(()) };
    let mut begun = Vec::new();
    for (number, asked) in questions(question, composite, behind)? {
        let sub = composite.cube(number);
        let columns = through.columns.as_ref().map(|named| {
            let own = sub.cube.columns();
            named.iter().filter(|name| own.contains(name)).cloned().collect()
        });
        let Some((first, _)) = asked.first() else { continue };
        let first = first.clone();
        let through = Through { asked, columns, limit: None };
        let rights = sub.filter(&question.rights)?.canonical();
        if rights != Filter::None {
            begun.push((sub, sub.cube.drill_within(first, through, &question.within(rights))?));
        }
    }
    let mut sources = Vec::with_capacity(begun.len());
    for (sub, mut rows) in begun {
        if let Some(first) = unless_cancelled(question, rows.next()).await? {
            sources.push(Source { sub, rows, first: first? });
        }
    }
    let schema = schema(question, through, &sources)?;
    for Source { sub, mut rows, first } in sources {
        let mut next = Some(Ok(first));
        while let Some(batch) = next {
            let batch = batch?;
            if batch.num_rows() > 0 && outlet.give(&sub.rows(&batch, &schema)?).await? {
                return Ok(());
            }
            next = unless_cancelled(question, rows.next()).await?;
        }
    }
    outlet.end(&schema).await
}

/// What each cube is asked for.
fn questions(
    question: &Question,
    composite: &Composite,
    behind: &Behind,
) -> Result<BTreeMap<usize, Vec<(Query, Area)>>, CubeError> {
    let mut questions: BTreeMap<usize, Vec<(Query, Area)>> = BTreeMap::new();
    for cells in &behind.cells {
        let Some((number, measure)) = composite.inner.measures.get(&*cells.measure) else { continue };
        let sub = composite.cube(*number);
        let filter = sub.filter(&cells.filter)?.canonical();
        let is_there = |(column, coordinates): (&Arc<str>, &std::collections::BTreeSet<_>)| {
            sub.constants.get(&**column).is_none_or(|constant| coordinates.contains(&constant.coordinate))
        };
        if filter == Filter::None || !cells.area.slices.iter().all(is_there) {
            continue;
        }
        // A bound is a part of the slices, and no filter, which measures may drop or choose by.
        let mut area = Area::default();
        for (column, bound) in &cells.area.bounds {
            match sub.filter(bound)?.canonical() {
                Filter::All => {}
                bound => drop(area.bounds.insert(Arc::clone(column), bound)),
            }
        }
        if area.bounds.values().any(|bound| *bound == Filter::None) {
            continue;
        }
        let is_own = |column: &&Arc<str>| !sub.constants.contains_key(&***column);
        let query = Query {
            measures: vec![measure.clone()],
            group_by: cells.level.iter().filter(is_own).map(ToString::to_string).collect(),
            totals: Vec::new(),
            filter,
            marker: question.query.marker.clone(),
            user: question.query.user.clone(),
            options: QueryOptions { timeout: None, ..question.query.options.clone() },
        };
        let slices = cells.area.slices.iter().filter(|(column, _)| is_own(column));
        area.slices = slices.map(|(column, of)| (Arc::clone(column), of.clone())).collect();
        questions.entry(*number).or_default().push((query, area));
    }
    Ok(questions)
}

/// The columns of all: those that were asked for, or the cube and all that cubes have; then those that say what a row feeds.
fn schema(question: &Question, through: &Through, sources: &[Source<'_>]) -> Result<SchemaRef, CubeError> {
    let mut fields: Vec<Field> = Vec::new();
    let of_all = |name: &str| -> Result<Field, CubeError> {
        let mut types = sources.iter().filter_map(|source| {
            source.first.schema_ref().field_with_name(name).ok().map(|field| field.data_type().clone())
        });
        let data_type = match types.next() {
            Some(first) if types.all(|other| other == first) => first,
            Some(_) | None => question.columns.type_of(name)?,
        };
        Ok(Field::new(name, data_type, true))
    };
    match &through.columns {
        Some(named) => {
            for name in named {
                fields.push(of_all(name)?);
            }
        }
        None => fields.push(Field::new(Composite::CUBE, DataType::Utf8, true)),
    }
    let is_feeding = |field: &Field| question.columns.find(field.name()).is_none();
    for feeding in [false, true] {
        for field in sources.iter().flat_map(|source| source.first.schema_ref().fields()) {
            let is_known = fields.iter().any(|known| known.name() == field.name());
            if is_feeding(field) != feeding || is_known || !feeding && through.columns.is_some() {
                continue;
            }
            fields.push(if feeding { field.as_ref().clone() } else { of_all(field.name())? });
        }
    }
    Ok(Arc::new(Schema::new(fields)))
}

impl SubCube {
    /// Rows of this cube under the columns of all.
    fn rows(&self, batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, CubeError> {
        let arrow = |error| CubeError::arrow("drill-through", &error);
        let rows = batch.num_rows();
        let column = |field: &Arc<Field>| -> Result<ArrayRef, CubeError> {
            let values = match (self.constants.get(field.name()), batch.column_by_name(field.name())) {
                (Some(constant), _) => constant.array(rows)?,
                (None, Some(values)) => Arc::clone(values),
                (None, None) => return Ok(new_null_array(field.data_type(), rows)),
            };
            cast(&values, field.data_type()).map_err(arrow)
        };
        let columns: Result<Vec<ArrayRef>, CubeError> = schema.fields().iter().map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(schema), columns?, &options).map_err(arrow)
    }
}
