//! `COPY (query) TO 'file' [STORED AS format] [OPTIONS (...)]`.
//!
//! DataFusion would write through an object store, with tasks of its own that drive the query. So the statement is taken before it is
//! optimized and becomes an insert into a table that is a file; the rest is [`FileSink`].

use super::Files;
use super::access::problem;
use super::encoder::options_of;
use super::kind::FileKind;
use super::location::Location;
use super::sink::FileSink;
use crate::error::SqlError;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Result, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::datasource::sink::DataSinkExec;
use datafusion::logical_expr::dml::{CopyTo, InsertOp};
use datafusion::logical_expr::{DmlStatement, Expr, LogicalPlan, TableType, WriteOp};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_plan::ExecutionPlan;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Takes `COPY` out of a plan.
#[derive(Debug)]
pub(crate) struct CopyFiles(pub(crate) Files);

impl AnalyzerRule for CopyFiles {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let taken = plan.transform_down(|plan| match plan {
            LogicalPlan::Copy(copy) => Ok(Transformed::yes(self.taken(copy)?)),
            plan => Ok(Transformed::no(plan)),
        });
        Ok(taken?.data)
    }

    fn name(&self) -> &str {
        "copy_files"
    }
}

impl CopyFiles {
    fn taken(&self, copy: CopyTo) -> Result<LogicalPlan> {
        let location = Location::parse(&copy.output_url).map_err(SqlError::into_plan)?;
        let path = location.path().to_owned();
        let wrong = |text: &str| Err(problem(&path, text).into_plan());
        if !copy.partition_by.is_empty() {
            return wrong("PARTITIONED BY is not known; write one file at a time");
        }
        if copy.output_url.ends_with('/') {
            return wrong("this names a folder; name a file in it");
        }
        let name = copy.file_type.get_ext();
        let Some(kind) = FileKind::of_word(name.trim_start_matches('.')) else {
            return wrong(&format!(
                "the format {name} is not written; STORED AS says one of CSV, JSON, PARQUET, ARROW"
            ));
        };
        let schema = Arc::clone(copy.input.schema().inner());
        let name = TableReference::bare(copy.output_url);
        let target = FileTarget { files: self.0.clone(), path, kind, schema, options: copy.options };
        let op = WriteOp::Insert(InsertOp::Append);
        let insert = DmlStatement::new(name, provider_as_source(Arc::new(target)), op, copy.input);
        Ok(LogicalPlan::Dml(insert))
    }
}

/// A file that is to be written, as a table that takes rows.
#[derive(Debug)]
struct FileTarget {
    files: Files,
    path: PathBuf,
    kind: FileKind,
    schema: SchemaRef,
    options: HashMap<String, String>,
}

#[async_trait]
impl TableProvider for FileTarget {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(problem(Path::new(&self.path), "this is written, not read").into_plan())
    }

    async fn insert_into(
        &self,
        state: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Said before the query runs, and looked at again when the file is made.
        let (access, path) = (Arc::clone(&self.files.access), self.path.clone());
        let looked =
            self.files.reactor.submit("look at a folder", move || access.writable(&path).map(drop)).await;
        looked.map_err(SqlError::from).and_then(|looked| looked).map_err(SqlError::into_plan)?;
        let sink = FileSink {
            access: Arc::clone(&self.files.access),
            reactor: self.files.reactor.clone(),
            path: self.path.clone(),
            kind: self.kind,
            schema: input.schema(),
            options: options_of(self.kind, state.default_table_options(), &self.options)?,
        };
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}
