//! What a statement is, known when it is planned: its parameters, its columns, and what a door tells its client when it is done.

use crate::returning;
use crate::tables::has_query;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNode;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    DdlStatement, DmlStatement, LogicalPlan, LogicalPlanBuilder, Statement, WriteOp, col, lit,
};
use std::sync::Arc;

/// What a planned statement says of itself.
#[derive(Debug, Clone)]
pub struct Description {
    /// The types of `$1`, `$2`, ...; `None` where any type would do.
    pub parameters: Vec<Option<DataType>>,
    /// The columns of its rows; none for a statement without rows.
    pub columns: SchemaRef,
    /// What it does.
    pub kind: StatementKind,
    /// Its rows have no end, since it reads a stream; known when it runs.
    pub endless: bool,
    /// The change whose rows it gives, by `RETURNING`.
    pub change: Option<StatementKind>,
}

/// What a statement does, as far as its reader must know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatementKind {
    /// Gives rows.
    Rows,
    /// Inserts; its one row has the `count`.
    Insert,
    /// Updates; its one row has the `count`.
    Update,
    /// Deletes; its one row has the `count`.
    Delete,
    /// Writes rows to a file; its one row has the `count`.
    Copy,
    /// Makes a table of a query's rows; its one row has the `count`.
    CreateTableAs,
    /// Changes something else; the name of the statement, such as `CREATE VIEW`.
    Other(String),
}

impl StatementKind {
    /// Tells whether its one row says how many rows it changed.
    pub fn is_count(&self) -> bool {
        matches!(self, Self::Insert | Self::Update | Self::Delete | Self::Copy | Self::CreateTableAs)
    }

    pub(crate) fn of(plan: &LogicalPlan) -> Self {
        match plan {
            LogicalPlan::Dml(DmlStatement { op, .. }) => match op {
                WriteOp::Insert(_) => Self::Insert,
                WriteOp::Update => Self::Update,
                WriteOp::Delete => Self::Delete,
                other => Self::Other(other.name().to_uppercase()),
            },
            LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create)) if has_query(create) => {
                Self::CreateTableAs
            }
            LogicalPlan::Ddl(ddl) => Self::Other(spaced(ddl.name())),
            LogicalPlan::Statement(statement) => Self::Other(spaced(statement.name())),
            LogicalPlan::Copy(_) => Self::Copy,
            _ => Self::Rows,
        }
    }
}

impl Description {
    /// Of a statement that is planned and not run.
    pub(crate) fn of(plan: &LogicalPlan) -> Result<Self, DataFusionError> {
        let kind = StatementKind::of(plan);
        let columns = match &kind {
            StatementKind::Other(_) => Arc::new(Schema::empty()),
            StatementKind::CreateTableAs => Arc::clone(count(0)?.schema().inner()),
            _ => Arc::clone(plan.schema().inner()),
        };
        let change = returning::change_of(plan);
        Ok(Self { parameters: parameters(plan)?, columns, kind, endless: false, change })
    }
}

/// Tells if a plan has a part that changes something: rows, a file, a definition, a setting.
pub(crate) fn changes_something(plan: &LogicalPlan) -> Result<bool, DataFusionError> {
    plan.exists(|node| Ok(StatementKind::of(node) != StatementKind::Rows))
}

/// Plans the one row of a statement that counts, and has done its work.
pub(crate) fn count(rows: u64) -> Result<LogicalPlan, DataFusionError> {
    LogicalPlanBuilder::values(vec![vec![lit(rows)]])?.project([col("column1").alias("count")])?.build()
}

/// `CreateView` as a user writes it.
fn spaced(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 2);
    for letter in name.chars() {
        if letter.is_uppercase() && !spaced.is_empty() {
            spaced.push(' ');
        }
        spaced.extend(letter.to_uppercase());
    }
    // Not what a user calls it.
    spaced.replace("SET VARIABLE", "SET").replace("CREATE MEMORY TABLE", "CREATE TABLE")
}

/// Types by position; a gap (`$2` without `$1`) is a parameter of any type.
pub(crate) fn parameters(plan: &LogicalPlan) -> Result<Vec<Option<DataType>>, DataFusionError> {
    // Those of a statement that is only prepared get their values when it is executed.
    if let LogicalPlan::Statement(Statement::Prepare(_)) = plan {
        return Ok(Vec::new());
    }
    let mut types = Vec::new();
    for (id, data_type) in plan.get_parameter_types()? {
        let number = id.strip_prefix('$').and_then(|number| number.parse::<usize>().ok());
        let Some(at) = number.filter(|number| (1..=MOST_PARAMETERS).contains(number)) else {
            return Err(DataFusionError::Plan(format!(
                "{id} is not a parameter; write $1, $2, ... up to ${MOST_PARAMETERS}"
            )));
        };
        if types.len() < at {
            types.resize(at, None);
        }
        types[at - 1] = data_type;
    }
    Ok(types)
}

/// As many as the PostgreSQL protocol can count.
const MOST_PARAMETERS: usize = 65_535;
