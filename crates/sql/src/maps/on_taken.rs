//! `INSERT INTO map ... ON CONFLICT`: what is done with a row whose key is there already.
//!
//! `DO UPDATE SET n = m.n + excluded.n` computes from the entry that is there and from the row that
//! was to be inserted. Its expressions are planned as those of a query over both, then computed
//! where the row is written, of the entry as it is then: two statements that add to one entry add
//! twice.

use super::layout::{Column as MapColumn, Side};
use super::table::MapTable;
use crate::error::SqlError;
use crate::names::Names;
use crate::plan;
use arrow::datatypes::{DataType, FieldRef, Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{DmlStatement, Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    AssignmentTarget, ConflictTarget, DoUpdate, OnConflictAction, OnInsert, Statement as SqlStatement,
    TableObject,
};
use std::sync::Arc;

/// What a statement says of rows whose key is there.
#[derive(Debug)]
pub(crate) struct OnTaken {
    /// The columns that it names, those of the key.
    key: Option<Vec<String>>,
    action: Action,
}

#[derive(Debug)]
enum Action {
    Keep,
    Change {
        /// `SELECT` of the new values, and of the condition behind them, from the entry and the
        /// row.
        query: Box<Statement>,
        columns: Vec<String>,
        has_condition: bool,
    },
}

/// What is done with an entry whose key a new row has.
#[derive(Debug, Clone, Default)]
pub(crate) enum TakenKey {
    /// The statement fails.
    #[default]
    Refused,
    /// The entry stays.
    Kept,
    /// Some of its columns change.
    Changed(Arc<Change>),
}

/// How an entry changes.
#[derive(Debug)]
pub(crate) struct Change {
    /// New values by the place of their column.
    assigned: Vec<(usize, Expr)>,
    condition: Option<Expr>,
    /// The columns of the entry, then those of the row.
    schema: DFSchemaRef,
}

/// The same, ready to run.
#[derive(Debug)]
pub(super) struct PlannedChange {
    pub(super) assigned: Vec<(usize, Arc<dyn PhysicalExpr>)>,
    pub(super) condition: Option<Arc<dyn PhysicalExpr>>,
    pub(super) schema: SchemaRef,
}

fn refused(text: &str) -> SqlError {
    SqlError::Refused(format!("ON CONFLICT: {text}"))
}

impl OnTaken {
    /// Takes the clause out of a statement.
    pub(crate) fn take(statement: &mut Statement, names: Names) -> Result<Option<Self>, SqlError> {
        let Statement::Statement(inner) = statement else { return Ok(None) };
        let SqlStatement::Insert(insert) = inner.as_mut() else { return Ok(None) };
        let conflict = match insert.on.take() {
            None => return Ok(None),
            Some(OnInsert::OnConflict(conflict)) => conflict,
            Some(_) => {
                let text =
                    "ON DUPLICATE KEY UPDATE is not supported; write ON CONFLICT (...) DO UPDATE SET ...";
                return Err(SqlError::Refused(text.to_owned()));
            }
        };
        if insert.replace_into {
            return Err(refused("SINK INTO replaces entries already; write INSERT INTO"));
        }
        let TableObject::TableName(target) = &insert.table else { return Ok(None) };
        let key = match conflict.conflict_target {
            None => None,
            Some(ConflictTarget::Columns(columns)) => {
                Some(columns.iter().map(|column| names.read(column)).collect())
            }
            Some(ConflictTarget::OnConstraint(_)) => {
                return Err(refused(
                    "constraints have no names; write the columns of the key in parentheses",
                ));
            }
        };
        let action = match conflict.action {
            OnConflictAction::DoNothing => Action::Keep,
            OnConflictAction::DoUpdate(_) if key.is_none() => {
                return Err(refused("DO UPDATE needs the columns of the key: ON CONFLICT (__key) DO UPDATE"));
            }
            OnConflictAction::DoUpdate(update) => Action::change(update, &target.to_string(), names)?,
        };
        Ok(Some(Self { key, action }))
    }

    /// The insert, with what it says of taken keys.
    pub(crate) async fn of(self, insert: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
        let LogicalPlan::Dml(insert) = insert else { return Ok(insert) };
        let provider = source_as_provider(&insert.target)?;
        let Some(table) = provider.downcast_ref::<MapTable>() else {
            return Err(refused("only maps know it; a table refuses a row whose key is there").into_plan());
        };
        self.check_key(table)?;
        let taken_key = match self.action {
            Action::Keep => TakenKey::Kept,
            Action::Change { query, columns, has_condition } => {
                let mut query = *query;
                Box::pin(plan::make_plannable(&mut query, state, plan::ColumnNames::Equal))
                    .await
                    .map_err(SqlError::into_plan)?;
                let planned = state.statement_to_plan(query).await?;
                let change = Change::of(planned, &columns, has_condition, table)?;
                TakenKey::Changed(Arc::new(change))
            }
        };
        let target = provider_as_source(Arc::new(MapTable { taken_key, ..table.clone() }));
        Ok(LogicalPlan::Dml(DmlStatement::new(insert.table_name, target, insert.op, insert.input)))
    }

    fn check_key(&self, table: &MapTable) -> Result<()> {
        let Some(named) = &self.key else { return Ok(()) };
        let visible = &table.layout.columns[..table.layout.visible];
        let of_key = visible.iter().filter(|column| column.side == Side::Key);
        let of_key: Vec<&str> = of_key.map(|column| column.name.as_str()).collect();
        let is_whole = |column: &MapColumn| column.side == Side::Key && column.field.is_none();
        let names_whole = matches!(named.as_slice(), [one] if table.layout.column(one).is_some_and(is_whole));
        let names_all =
            named.len() == of_key.len() && named.iter().all(|name| of_key.contains(&name.as_str()));
        if names_whole || names_all {
            return Ok(());
        }
        let text = format!("the key of the map {:?} is ({})", table.layout.map, of_key.join(", "));
        Err(refused(&text).into_plan())
    }
}

impl Action {
    fn change(update: DoUpdate, target: &str, names: Names) -> Result<Self, SqlError> {
        let DoUpdate { assignments, selection } = update;
        let (mut columns, mut exprs) = (Vec::new(), Vec::new());
        for assignment in assignments {
            let column = match &assignment.target {
                AssignmentTarget::ColumnName(name) => name.0.last().and_then(|part| part.as_ident()).cloned(),
                AssignmentTarget::Tuple(_) => None,
            };
            let Some(column) = column else {
                return Err(refused("SET a = ..., b = ... sets several columns"));
            };
            let column = names.read(&column);
            if columns.contains(&column) {
                return Err(refused(&format!("the column {column:?} is set twice")));
            }
            exprs.push(format!("{} AS \"set {}\"", assignment.value, columns.len()));
            columns.push(column);
        }
        let has_condition = selection.is_some();
        exprs.extend(selection.map(|condition| format!("{condition} AS \"set if\"")));
        let text = format!("SELECT {} FROM {target} CROSS JOIN {target} AS excluded", exprs.join(", "));
        let query = DFParser::parse_sql(&text)?.pop_front();
        let query = query.ok_or(SqlError::NotOneStatement { found: 0 })?;
        Ok(Self::Change { query: Box::new(query), columns, has_condition })
    }
}

impl Change {
    fn of(planned: LogicalPlan, columns: &[String], has_condition: bool, table: &MapTable) -> Result<Self> {
        let not_plain = || {
            refused("DO UPDATE takes values of the entry and of excluded, without subqueries and aggregates")
        };
        let LogicalPlan::Projection(projection) = planned else { return Err(not_plain().into_plan()) };
        let schema = Arc::clone(projection.input.schema());
        let width = table.layout.columns.len();
        if !matches!(projection.input.as_ref(), LogicalPlan::Join(_)) || schema.fields().len() != 2 * width {
            return Err(not_plain().into_plan());
        }
        let mut exprs: Vec<Expr> = projection.expr.into_iter().map(Expr::unalias).collect();
        exprs.iter().try_for_each(check_plain)?;
        let condition = if has_condition { exprs.pop() } else { None };
        if let Some(condition) = &condition
            && let Ok(kind) = condition.get_type(schema.as_ref())
            && !matches!(kind, DataType::Boolean | DataType::Null)
        {
            return Err(refused("the WHERE of DO UPDATE is a value and no condition").into_plan());
        }
        let mut assigned = Vec::with_capacity(columns.len());
        for (name, expr) in columns.iter().zip(exprs) {
            let place = table.layout.columns.iter().position(|column| column.name == *name);
            let Some(place) = place else {
                let text = format!("the map {:?} has no column {name:?}", table.layout.map);
                return Err(refused(&text).into_plan());
            };
            let column = &table.layout.columns[place];
            if column.side == Side::Key {
                return Err(
                    refused(&format!("{name:?} is of the key, which DO UPDATE cannot change")).into_plan()
                );
            }
            assigned.push((place, expr));
        }
        Ok(Self { assigned, condition, schema })
    }

    /// Ready to run.
    pub(super) fn planned(&self, table: &MapTable, state: &dyn Session) -> Result<PlannedChange> {
        let context = SimplifyContext::builder()
            .with_schema(Arc::clone(&self.schema))
            .with_config_options(Arc::new(state.config_options().clone()))
            .with_query_execution_start_time(state.execution_props().query_execution_start_time)
            .build();
        let simplifier = ExprSimplifier::new(context);
        let physical = |expr: &Expr| {
            let simple = simplifier.simplify(simplifier.coerce(expr.clone(), &self.schema)?)?;
            state.create_physical_expr(simple, &self.schema)
        };
        let condition = self.condition.as_ref().map(physical).transpose()?;
        let assigned = self.assigned.iter().map(|(place, expr)| {
            let data_type = &table.layout.columns[*place].data_type;
            let coerced = simplifier.coerce(expr.clone(), &self.schema)?;
            Ok((*place, physical(&coerced.cast_to(data_type, &self.schema)?)?))
        });
        let fields: Vec<FieldRef> = self.schema.fields().iter().cloned().collect();
        let assigned = assigned.collect::<Result<_>>()?;
        Ok(PlannedChange { assigned, condition, schema: Arc::new(Schema::new(fields)) })
    }
}

fn check_plain(expr: &Expr) -> Result<()> {
    let mut problem = None;
    expr.apply(|part| {
        problem = match part {
            Expr::Placeholder(_) => Some("parameters of DO UPDATE are not supported; write excluded.column for the value that is inserted"),
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_) => {
                Some("DO UPDATE takes no subqueries")
            }
            _ => None,
        };
        Ok(if problem.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    problem.map_or(Ok(()), |problem| Err::<(), DataFusionError>(refused(problem).into_plan()))
}
