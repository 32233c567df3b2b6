//! Errors of a scan that name the file.
//!
//! A scan of many files is one stream per partition, and which file it reads is decided as it goes. What goes wrong inside says at best a
//! line. So whatever comes out of a file's own stream as an error gets the file's name, and where the file is read in parts, the part,
//! since lines are counted from its begin.

use super::json_line::broken_line;
use super::progress::{FilePart, FileParts};
use crate::error::SqlError;
use crate::plainly::of_reader;
use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::error::DataFusionError;
use datafusion::object_store::ObjectStore;
use datafusion::object_store::path::Path;
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::StreamExt;
use futures::stream::BoxStream;
use std::sync::Arc;

/// Which file, and which part of it.
#[derive(Debug, Clone)]
struct Name {
    text: Arc<str>,
    /// The store in which broken lines of JSON are looked for.
    json: Option<(Arc<dyn ObjectStore>, Path)>,
    /// The types of its columns were found in its first rows.
    is_guessed: bool,
    /// The part is done when the last of its streams is.
    part: Option<Arc<FilePart>>,
}

impl Name {
    fn of(file: &PartitionedFile, morselizer: &NamedMorselizer) -> Self {
        let path = format!("/{}", file.object_meta.location);
        let json = morselizer.json.as_ref();
        let json = json.map(|store| (Arc::clone(store), file.object_meta.location.clone()));
        let text = match &file.range {
            Some(range) if range.start > 0 => {
                format!("{path}, in the part that begins at byte {}", range.start).into()
            }
            _ => path.into(),
        };
        let part = morselizer.parts.as_ref().map(|parts| parts.begin(file));
        Self { text, json, is_guessed: morselizer.is_guessed, part }
    }

    fn tell(&self, error: DataFusionError) -> DataFusionError {
        if let Some(own) = SqlError::within(&error) {
            return own.into_plan();
        }
        let mut problem = counted_from_one(of_reader(&error));
        if self.is_guessed && problem.contains("Error while parsing value") {
            problem += HINT;
        }
        SqlError::File { path: self.text.to_string(), problem }.into_plan()
    }

    /// The same with the line, where it can be found.
    async fn tell_line(self, error: DataFusionError) -> DataFusionError {
        let line = match (&self.json, SqlError::within(&error)) {
            (Some((store, place)), None) => broken_line(Arc::clone(store), place.clone()).await,
            _ => None,
        };
        match line {
            Some(line) => {
                let path = format!("/{}", self.json.map(|(_, place)| place.to_string()).unwrap_or_default());
                let problem = format!("line {line} is no JSON: {}", of_reader(&error));
                SqlError::File { path, problem }.into_plan()
            }
            None => self.tell(error),
        }
    }
}

/// The reader of CSV counts lines from zero where a value does not fit its column.
fn counted_from_one(problem: String) -> String {
    const BEFORE: &str = " at line ";
    for (found, _) in problem.match_indices(BEFORE) {
        let begin = found + BEFORE.len();
        let digits = problem[begin..].bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = problem[begin..].split_at(digits);
        if let Ok(number) = number.parse::<u64>()
            && (rest.starts_with(". Row data:") || rest.starts_with(": "))
        {
            return format!("{}{}{rest}", &problem[..begin], number + 1);
        }
    }
    problem
}

/// Said where a value is not what the first rows made believe.
const HINT: &str = "\nIts type was found in the first rows: read_csv('file', all_varchar => true) reads all columns as text, \
                    read_csv('file', sample_size => -1) looks at all rows first";

/// Reads files, with errors that name them, and counts what is read.
#[derive(Debug)]
pub(super) struct NamedMorselizer {
    pub(super) inner: Box<dyn Morselizer>,
    /// Where broken lines of JSON are looked for.
    pub(super) json: Option<Arc<dyn ObjectStore>>,
    pub(super) parts: Option<Arc<FileParts>>,
    pub(super) is_guessed: bool,
}

impl Morselizer for NamedMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let name = Name::of(&file, self);
        let planner = self.inner.plan_file(file).map_err(|error| name.tell(error))?;
        Ok(Box::new(NamedPlanner(planner, name)))
    }
}

#[derive(Debug)]
struct NamedPlanner(Box<dyn MorselPlanner>, Name);

impl MorselPlanner for NamedPlanner {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let Self(planner, name) = *self;
        let Some(mut plan) = planner.plan().map_err(|error| name.tell(error))? else { return Ok(None) };
        let morsels = plan.take_morsels().into_iter();
        let planners = plan.take_ready_planners().into_iter();
        let mut told = MorselPlan::new()
            .with_morsels(morsels.map(|morsel| Box::new(NamedMorsel(morsel, name.clone())) as _).collect())
            .with_planners(
                planners.map(|planner| Box::new(NamedPlanner(planner, name.clone())) as _).collect(),
            );
        if let Some(pending) = plan.take_pending_planner() {
            told.set_pending_planner(async move {
                let planner = pending.into_future().await.map_err(|error| name.tell(error))?;
                Ok(Box::new(NamedPlanner(planner, name)) as Box<dyn MorselPlanner>)
            });
        }
        Ok(Some(told))
    }
}

#[derive(Debug)]
struct NamedMorsel(Box<dyn Morsel>, Name);

impl Morsel for NamedMorsel {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let Self(morsel, name) = *self;
        let told = move |batch: Result<RecordBatch>| {
            let name = name.clone();
            async move {
                match batch {
                    Ok(batch) => {
                        if let Some(part) = &name.part {
                            part.decoded(batch.num_rows());
                        }
                        Ok(batch)
                    }
                    Err(error) => Err(name.tell_line(error).await),
                }
            }
        };
        morsel.into_stream().then(told).boxed()
    }
}
