//! `t.*` over tables of the catalog, whose columns are known here.

use super::super::catalog::Definition;
use super::catalog_table;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, ObjectName, Select, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, WildcardAdditionalOptions,
};

/// Keeps columns that are named out of a `*` of the same table, as in `t.oid, t.*`: the engine wants each name once.
pub(super) fn without_named(select: &mut Select) -> bool {
    let tables = tables(select);
    let mut named: Vec<(Option<String>, Ident)> = Vec::new();
    let mut changed = false;
    for item in &mut select.projection {
        match item {
            SelectItem::UnnamedExpr(Expr::Identifier(column)) => named.push((None, column.clone())),
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                if let [table, column] = parts.as_slice() {
                    named.push((Some(table.value.to_lowercase()), column.clone()));
                }
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options) => {
                let alias = last(name);
                let table = tables.iter().find(|(known, _)| Some(known) == alias.as_ref());
                if let Some((alias, table)) = table {
                    let same = |of: &Option<String>| of.as_ref().is_none_or(|of| of == alias);
                    changed |= exclude(options, table, named.iter().filter(|(of, _)| same(of)));
                }
            }
            SelectItem::Wildcard(options) => {
                if let [(_, table)] = tables.as_slice() {
                    changed |= exclude(options, table, named.iter());
                }
            }
            _ => {}
        }
    }
    changed
}

fn exclude<'a>(
    options: &mut WildcardAdditionalOptions,
    table: &Definition,
    named: impl Iterator<Item = &'a (Option<String>, Ident)>,
) -> bool {
    let is_column = |name: &Ident| table.columns().any(|column| column.eq_ignore_ascii_case(&name.value));
    let columns: Vec<ObjectName> =
        named.filter(|(_, name)| is_column(name)).map(|(_, name)| vec![name.clone()].into()).collect();
    if columns.is_empty() || options.opt_exclude.is_some() {
        return false;
    }
    options.opt_exclude = Some(ExcludeSelectItem::Multiple(columns));
    true
}

/// The columns that an item of a projection stands for; `None` when only the engine knows.
pub(super) fn columns(item: &SelectItem, select: &Select) -> Option<Vec<&'static str>> {
    let tables = tables(select);
    match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            let alias = last(name)?;
            tables.iter().find(|(known, _)| *known == alias).map(|(_, table)| table.columns().collect())
        }
        // Of one table: of several, some may not be of the catalog.
        SelectItem::Wildcard(_) => match tables.as_slice() {
            [(_, table)] if select.from.len() == 1 && select.from[0].joins.is_empty() => {
                Some(table.columns().collect())
            }
            _ => None,
        },
        _ => None,
    }
}

fn last(name: &ObjectName) -> Option<String> {
    name.0.last().and_then(|part| part.as_ident()).map(|ident| ident.value.to_lowercase())
}

/// The tables of the catalog that a query reads, by what it calls them.
fn tables(select: &Select) -> Vec<(String, &'static Definition)> {
    let factors = select
        .from
        .iter()
        .flat_map(|from| std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation)));
    let table = |factor: &TableFactor| match factor {
        TableFactor::Table { name, alias, args: None, .. } => {
            let (_, table) = catalog_table(name)?;
            let called =
                alias.as_ref().map_or_else(|| last(name), |alias| Some(alias.name.value.to_lowercase()))?;
            Some((called, table))
        }
        _ => None,
    };
    factors.filter_map(table).collect()
}
