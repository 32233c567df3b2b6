//! The future that leads a drill-through: plan, pass over the table, batches to whoever takes them.

use super::Through;
use crate::composite::drill_cubes;
use crate::error::CubeError;
use crate::execute::{RowReader, pieces};
use crate::filter::Filter;
use crate::lead::{Question, on_cpu, table_failed, unless_cancelled, unless_unwanted};
use crate::memory::{Reservation, bytes_of};
use crate::plan::{Behind, Leaf, behind};
use crate::table::TableQuery;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use futures::SinkExt;
use futures::channel::mpsc::Sender;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows on their way to whoever asked, counted until they are taken.
pub(crate) struct Drilled {
    pub(crate) batch: RecordBatch,
    pub(crate) held: Reservation,
}

/// What is read, and what is made of it.
struct RowPlan {
    reader: RowReader,
    /// Rows that at least one leaf wants.
    filter: Filter,
    /// What is shown.
    columns: Vec<String>,
    /// The filters of leaves, when there are several.
    feeds: Vec<Filter>,
    schema: SchemaRef,
}

/// Reads rows and sends them. Says in `has_more` when there are more than may be sent.
pub(crate) async fn drill(
    question: Question,
    through: Through,
    sender: Sender<Drilled>,
    has_more: Arc<AtomicBool>,
) -> Result<(), CubeError> {
    let question = Arc::new(question);
    question.cancel.check()?;
    let planned = Arc::clone(&question);
    let planning = question.cpu.submit("plan drill-through", move || {
        let behind = planned.behind(&through)?;
        let plan = planned.table.cubes().is_none().then(|| RowPlan::new(&planned, &behind, &through));
        Ok::<_, CubeError>((through, behind, plan.transpose()?))
    })?;
    let (through, behind, plan) = unless_unwanted(&question, "plan", planning).await??;
    let left = through.limit.unwrap_or(usize::MAX);
    let mut outlet = Outlet { question: &question, sender, left, is_first: true, has_more };
    let Some(plan) = plan.map(Arc::new) else {
        return drill_cubes(&question, &through, &behind, outlet).await;
    };
    if plan.filter == Filter::None {
        return outlet.end(&plan.schema).await;
    }
    let opening = match question.stages.upgrade() {
        Some(stages) => {
            let request = TableQuery::new(plan.reader.read.iter(), plan.filter.clone());
            question.table.open(&stages, request)
        }
        None => return Err(CubeError::Closed { what: "the set of stages".to_owned() }),
    };
    let failed = |error| table_failed(&question, error);
    let mut stream = unless_cancelled(&question, opening).await?.map_err(failed)?;
    while let Some(batch) = unless_cancelled(&question, stream.next()).await? {
        let batch = batch.map_err(failed)?;
        question.progress.add_rows(batch.num_rows());
        for piece in pieces(&batch) {
            let planned = Arc::clone(&plan);
            let rows = on_cpu(&question, "choose rows", move || planned.rows(&piece)).await??;
            question.cancel.check()?;
            if outlet.give(&rows).await? {
                stream.close();
                return Ok(());
            }
        }
    }
    stream.close();
    outlet.end(&plan.schema).await
}

/// Where rows go. It waits while the last ones were not taken.
pub(crate) struct Outlet<'a> {
    question: &'a Question,
    sender: Sender<Drilled>,
    /// How many rows may still go.
    left: usize,
    is_first: bool,
    /// Said when there are others.
    has_more: Arc<AtomicBool>,
}

impl Outlet<'_> {
    /// Gives rows on, as many as may; true when there were more, and nobody wants others.
    pub(crate) async fn give(&mut self, rows: &RecordBatch) -> Result<bool, CubeError> {
        let count = rows.num_rows().min(self.left);
        let is_cut = count < rows.num_rows();
        if count > 0 || is_cut && self.is_first {
            self.send(rows.slice(0, count)).await?;
            self.left -= count;
        }
        if is_cut {
            self.has_more.store(true, Ordering::Release);
        }
        Ok(is_cut)
    }

    /// No more rows come. One batch says which columns there are, also where no row is.
    pub(crate) async fn end(&mut self, schema: &SchemaRef) -> Result<(), CubeError> {
        if self.is_first { self.send(RecordBatch::new_empty(Arc::clone(schema))).await } else { Ok(()) }
    }

    async fn send(&mut self, batch: RecordBatch) -> Result<(), CubeError> {
        self.is_first = false;
        let held = self.question.memory.try_reserve(batch.columns().iter().map(bytes_of).sum())?;
        let sending = self.sender.send(Drilled { batch, held });
        unless_cancelled(self.question, sending).await?.map_err(|_| CubeError::Cancelled)
    }
}

impl Question {
    /// What stands behind all that is asked for.
    fn behind(&self, through: &Through) -> Result<Behind, CubeError> {
        let mut found = Behind::default();
        for (query, area) in &through.asked {
            behind(query, &self.forest, &self.columns, (&self.rights, &self.cancel), area, &mut found)?;
        }
        Ok(found)
    }
}

impl RowPlan {
    fn new(question: &Question, behind: &Behind, through: &Through) -> Result<Self, CubeError> {
        let Question { forest, columns, .. } = question;
        let shown = match &through.columns {
            Some(named) => named.clone(),
            None => {
                let schema = question.table.schema();
                let of_table = schema.fields().iter().map(|field| field.name().clone());
                of_table.chain(forest.columns().iter().map(|column| column.name.clone())).collect()
            }
        };
        let (mut fields, mut known) = (Vec::new(), BTreeSet::new());
        for name in &shown {
            if !known.insert(name.as_str()) {
                let problem = format!("it wants the column {name:?} twice; name each once");
                return Err(CubeError::InvalidQuery { problem });
            }
            fields.push(Field::new(name, columns.value_type(name)?, true));
        }
        let filters: Vec<Filter> = behind.rows.keys().cloned().collect();
        let feeds = if filters.len() > 1 { filters.clone() } else { Vec::new() };
        let feeding = names(behind).into_iter().take(feeds.len());
        fields.extend(feeding.map(|name| Field::new(name, DataType::Boolean, true)));
        let filter = Filter::Or(filters).canonical();
        let mut named: BTreeSet<Arc<str>> = filter.columns();
        named.extend(feeds.iter().flat_map(Filter::columns));
        named.extend(shown.iter().map(|name| Arc::from(name.as_str())));
        let reader = RowReader::new(columns, named.iter().map(AsRef::as_ref));
        Ok(Self { reader, filter, columns: shown, feeds, schema: Arc::new(Schema::new(fields)) })
    }

    /// The rows of a piece that are wanted.
    fn rows(&self, piece: &RecordBatch) -> Result<RecordBatch, CubeError> {
        let piece = self.reader.piece(piece, &self.filter)?;
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(self.schema.fields().len());
        columns.extend(self.columns.iter().map(|name| Arc::clone(&piece.columns[name])));
        for filter in &self.feeds {
            columns.push(Arc::new(filter.mask(&piece)?));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(piece.rows));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)
            .map_err(|error| CubeError::arrow("drill-through", &error))
    }
}

/// What the columns are called that say which aggregations a row feeds: by the conditions in which their filters differ.
fn names(behind: &Behind) -> Vec<String> {
    let parts = |filter: &Filter| match filter {
        Filter::All => BTreeSet::new(),
        Filter::And(all) => all.iter().cloned().collect(),
        other => BTreeSet::from([other.clone()]),
    };
    let all: Vec<BTreeSet<Filter>> = behind.rows.keys().map(parts).collect();
    let is_shared = |part: &Filter| all.iter().all(|parts| parts.contains(part));
    let name = |(leaves, parts): (&BTreeSet<Leaf>, &BTreeSet<Filter>)| {
        let leaves: BTreeSet<String> = leaves.iter().map(ToString::to_string).collect();
        let leaves: Vec<String> = leaves.into_iter().collect();
        let own: Vec<Filter> = parts.iter().filter(|part| !is_shared(part)).cloned().collect();
        match own.as_slice() {
            [] => format!("feeds {}", leaves.join(", ")),
            [only] => format!("feeds {} where {only}", leaves.join(", ")),
            _ => format!("feeds {} where {}", leaves.join(", "), Filter::And(own)),
        }
    };
    behind.rows.values().zip(&all).map(name).collect()
}
