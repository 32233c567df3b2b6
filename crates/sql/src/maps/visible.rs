//! Keeps `__key` and `this` of maps whose fields are columns out of `*`, and out of an `INSERT` without a list of columns.
//!
//! DataFusion has no hidden columns, so the statement is changed before it is planned: `SELECT *` becomes `SELECT * EXCLUDE (...)`. Where
//! that cannot be said (`*` over a join with USING), the columns stay visible.

use super::schema::MapsSchema;
use super::table::MapTable;
use crate::error::SqlError;
use crate::names::Names;
use crate::walk::{change_statement, read_statement};
use datafusion::catalog::TableProvider;
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Cte, ExcludeSelectItem, Ident, Insert, JoinConstraint, JoinOperator, ObjectName, Query, Select,
    SelectItem, SelectItemQualifiedWildcardKind, Statement as SqlStatement, TableFactor, TableObject,
    TableWithJoins, Visitor, VisitorMut, WildcardAdditionalOptions,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Changes a statement so that it sees visible columns only, unless it names others.
pub(crate) async fn show_visible(statement: &mut Statement, state: &SessionState) -> Result<(), SqlError> {
    let inner = match statement {
        Statement::Statement(inner) => inner.as_mut(),
        Statement::Explain(explain) => match explain.statement.as_mut() {
            Statement::Statement(inner) => inner.as_mut(),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let read = Names::of(state);
    let mut search = Search { names: BTreeSet::new(), ctes: BTreeSet::new(), is_concerned: false, read };
    let _ = read_statement(inner, &mut search);
    search.look_at_insert(inner);
    if !search.is_concerned {
        return Ok(());
    }
    let Ok(schema) = state.schema_for_ref("map") else { return Ok(()) };
    let Some(maps) = schema.downcast_ref::<MapsSchema>() else { return Ok(()) };
    let mut tables = BTreeMap::new();
    for name in search.names.difference(&search.ctes) {
        if maps.registered().table_exist(name) {
            continue;
        }
        if let Some(table) = maps.map_table(name).await?
            && table.layout.visible < table.layout.columns.len()
        {
            tables.insert(name.clone(), table);
        }
    }
    if tables.is_empty() {
        return Ok(());
    }
    let mut hide = Hide { tables, read };
    let _ = change_statement(inner, &mut hide);
    if let Some((name, insert)) = bare_insert(inner, read)
        && let Some(table) = hide.tables.get(&name)
    {
        let columns = &table.layout.columns[..table.layout.visible];
        insert.columns = columns.iter().map(|column| quoted(&column.name)).collect();
    }
    Ok(())
}

/// Counts the columns of a table that `SELECT *` gives; those of a map that stand behind them are hidden.
pub fn visible_columns(table: &dyn TableProvider) -> usize {
    let map = table.downcast_ref::<MapTable>();
    map.map_or_else(|| table.schema().fields().len(), |map| map.layout.visible)
}

/// An `INSERT` without a list of columns, and where it goes.
fn bare_insert(statement: &mut SqlStatement, read: Names) -> Option<(String, &mut Insert)> {
    let statement = match statement {
        SqlStatement::Explain { statement, .. } => statement.as_mut(),
        other => other,
    };
    match statement {
        SqlStatement::Insert(insert) if insert.columns.is_empty() => match &insert.table {
            TableObject::TableName(name) => Some((name_of(name, read)?, insert)),
            _ => None,
        },
        _ => None,
    }
}

fn quoted(name: &str) -> ObjectName {
    ObjectName::from(vec![Ident::with_quote('"', name)])
}

/// The name of a table in schema `public`.
fn name_of(name: &ObjectName, read: Names) -> Option<String> {
    let parts = name
        .0
        .iter()
        .map(|part| part.as_ident().map(|ident| read.read(ident)))
        .collect::<Option<Vec<_>>>()?;
    match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [name] | ["public", name] | ["filbert", "public", name] => Some((*name).to_owned()),
        _ => None,
    }
}

/// Which tables a statement names, and whether it names columns.
struct Search {
    names: BTreeSet<String>,
    ctes: BTreeSet<String>,
    is_concerned: bool,
    read: Names,
}

impl Search {
    fn look_at_insert(&mut self, statement: &mut SqlStatement) {
        self.is_concerned |= bare_insert(statement, self.read).is_some();
    }
}

impl Visitor for Search {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
        self.ctes.extend(ctes.map(|cte: &Cte| self.read.read(&cte.alias.name)));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let star =
            |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
        self.is_concerned |= select.projection.iter().any(star);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.names.extend(name_of(name, self.read));
        ControlFlow::Continue(())
    }
}

/// Excludes the hidden columns of these tables.
struct Hide {
    tables: BTreeMap<String, Arc<MapTable>>,
    read: Names,
}

impl Hide {
    /// What a relation is called, and its hidden columns if it is a map that has some. `None` when it has no name.
    fn relation(&self, factor: &TableFactor) -> Option<(ObjectName, Vec<ObjectName>)> {
        match factor {
            TableFactor::Table { name, alias, args: None, .. } => {
                let called =
                    alias.as_ref().map_or_else(|| name.clone(), |alias| vec![alias.name.clone()].into());
                let table = name_of(name, self.read).and_then(|name| self.tables.get(&name));
                let hidden = table.map_or(&[][..], |table| &table.layout.columns[table.layout.visible..]);
                Some((called, hidden.iter().map(|column| quoted(&column.name)).collect()))
            }
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. }
            | TableFactor::TableFunction { alias: Some(alias), .. } => {
                Some((vec![alias.name.clone()].into(), Vec::new()))
            }
            _ => None,
        }
    }

    fn relations(&self, from: &[TableWithJoins]) -> Option<Vec<(ObjectName, Vec<ObjectName>)>> {
        let mut relations = Vec::new();
        for part in from {
            relations.push(self.relation(&part.relation)?);
            for join in &part.joins {
                let constraint = match &join.join_operator {
                    JoinOperator::Join(constraint)
                    | JoinOperator::Inner(constraint)
                    | JoinOperator::Left(constraint)
                    | JoinOperator::LeftOuter(constraint)
                    | JoinOperator::Right(constraint)
                    | JoinOperator::RightOuter(constraint)
                    | JoinOperator::FullOuter(constraint)
                    | JoinOperator::CrossJoin(constraint) => constraint,
                    _ => return None,
                };
                if !matches!(constraint, JoinConstraint::On(_) | JoinConstraint::None) {
                    return None;
                }
                relations.push(self.relation(&join.relation)?);
            }
        }
        Some(relations)
    }
}

fn exclude(options: &mut WildcardAdditionalOptions, hidden: Vec<ObjectName>) {
    let is_plain = options.opt_exclude.is_none() && options.opt_except.is_none();
    if !hidden.is_empty() && is_plain {
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(hidden));
    }
}

impl VisitorMut for Hide {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let Some(relations) = self.relations(&select.from) else { return ControlFlow::Continue(()) };
        if relations.iter().all(|(_, hidden)| hidden.is_empty()) {
            return ControlFlow::Continue(());
        }
        let mut items = Vec::with_capacity(select.projection.len());
        for mut item in std::mem::take(&mut select.projection) {
            match &mut item {
                SelectItem::Wildcard(options) if relations.len() == 1 => {
                    exclude(options, relations[0].1.clone());
                    items.push(item);
                }
                SelectItem::Wildcard(options) if *options == WildcardAdditionalOptions::default() => {
                    for (name, hidden) in &relations {
                        let mut options = WildcardAdditionalOptions::default();
                        exclude(&mut options, hidden.clone());
                        let kind = SelectItemQualifiedWildcardKind::ObjectName(name.clone());
                        items.push(SelectItem::QualifiedWildcard(kind, options));
                    }
                }
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                    let same = |other: &&(ObjectName, Vec<ObjectName>)| {
                        name_of(&other.0, self.read) == name_of(name, self.read)
                    };
                    let hidden =
                        relations.iter().find(same).map_or_else(Vec::new, |(_, hidden)| hidden.clone());
                    exclude(options, hidden);
                    items.push(item);
                }
                _ => items.push(item),
            }
        }
        select.projection = items;
        ControlFlow::Continue(())
    }
}
