//! Functions of PostgreSQL, as expressions that the engine understands.

use super::super::catalog::{DATABASE, OWNER};
use super::super::variables::SERVER_VERSION;
use super::types::{table_name, type_names, type_oids};
use super::{Dialect, catalog_name};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Value,
};

/// No text.
pub(super) const NO_TEXT: &str = "CAST(NULL AS VARCHAR)";

/// No number.
const NO_NUMBER: &str = "CAST(NULL AS BIGINT)";

/// A call as an expression without it; `None` when the engine knows the function, or nobody does.
pub(super) fn call(session: &Dialect<'_>, function: &Function) -> Option<String> {
    let name = catalog_name(&function.name)?;
    let qualified = function.name.0.len() > 1;
    let arguments = arguments(function);
    let argument = |at: usize| arguments.get(at).copied();
    Some(match name.as_str() {
        "version" => literal(&format!("PostgreSQL {SERVER_VERSION}")),
        "current_database" | "current_catalog" => literal(DATABASE),
        "current_schema" => literal("public"),
        "current_schemas" => make_array(&schemas(argument(0)?)),
        "current_user" | "session_user" | "current_role" | "user" => literal(session.user),
        "current_setting" => match string(argument(0)?) {
            Some(name) => session.variables.get(&name).map_or(NO_TEXT.to_owned(), literal),
            None => settings(session, argument(0)?),
        },
        // A function that the engine runs sets nothing; what has a meaning is for SET, and the call is refused as one that there is not.
        "set_config" => {
            let (name, value) = (string(argument(0)?)?, string(argument(1)?)?);
            session.variables.means_nothing(&name, &value).then(|| literal(&value))?
        }
        "current_query" => NO_TEXT.to_owned(),
        "pg_backend_pid" => session.process.to_string(),
        "pg_is_in_recovery" | "pg_is_other_temp_schema" | "pg_is_wal_replay_paused" => "false".to_owned(),
        "pg_table_is_visible"
        | "pg_type_is_visible"
        | "pg_function_is_visible"
        | "pg_operator_is_visible"
        | "pg_collation_is_visible"
        | "pg_statistics_obj_is_visible"
        | "pg_relation_is_publishable"
        | "pg_has_role" => "true".to_owned(),
        // What is shown, the user may read.
        name if name.starts_with("has_") && name.ends_with("_privilege") => "true".to_owned(),
        "pg_get_userbyid" => literal(OWNER),
        "pg_encoding_to_char" => literal("UTF8"),
        "pg_client_encoding" | "getdatabaseencoding" => literal("UTF8"),
        "pg_my_temp_schema" | "txid_current" | "pg_current_xact_id" => "0".to_owned(),
        "format_type" => type_names(argument(0)?),
        "to_regtype" => type_oids(argument(0)?),
        "to_regclass" => {
            let name = string(argument(0)?)?;
            format!(
                "(SELECT max(oid) FROM pg_catalog.pg_class WHERE relname = {})",
                literal(table_name(&name))
            )
        }
        "quote_ident" => {
            let name = argument(0)?;
            let plain = "'^[a-z_][a-z0-9_$]*$'";
            format!(
                "CASE WHEN {name} ~ {plain} THEN {name} ELSE concat('\"', replace({name}, '\"', '\"\"'), '\"') END"
            )
        }
        "parse_ident" => make_array(&identifier_parts(&string(argument(0)?)?)?),
        "array_lower" => "1".to_owned(),
        "array_upper" => match known_length(session, argument(0)?) {
            Some(length) => length.to_string(),
            None => format!("array_length({}, 1)", argument(0)?),
        },
        "array_to_string" if qualified => NO_TEXT.to_owned(),
        "array" if matches!(function.args, FunctionArguments::Subquery(_)) => NO_TEXT.to_owned(),
        "inet_server_addr" | "inet_client_addr" | "inet_server_port" | "inet_client_port" => {
            NO_TEXT.to_owned()
        }
        "obj_description" | "col_description" | "shobj_description" => NO_TEXT.to_owned(),
        "pg_size_pretty" | "pg_tablespace_location" | "pg_get_ruledef" => NO_TEXT.to_owned(),
        name if name.starts_with("pg_get_") => NO_TEXT.to_owned(),
        name if name.starts_with("pg_") && name.ends_with("_size") => NO_NUMBER.to_owned(),
        name if name.starts_with("pg_stat_get_") => NO_NUMBER.to_owned(),
        "pg_postmaster_start_time" | "pg_conf_load_time" | "oidvectortypes" => NO_TEXT.to_owned(),
        // One of the engine, with the catalog's name before it.
        _ if qualified => return unqualified(function),
        _ => return None,
    })
}

fn unqualified(function: &Function) -> Option<String> {
    let mut plain = function.clone();
    plain.name.0.drain(..plain.name.0.len() - 1);
    Some(plain.to_string())
}

/// The value of the variable that an expression names.
fn settings(session: &Dialect<'_>, name: &Expr) -> String {
    let each = session.variables.all();
    let each: String = each
        .map(|(name, value)| format!(" WHEN {} THEN {}", literal(&name.to_lowercase()), literal(value)))
        .collect();
    format!("CASE lower(CAST({name} AS VARCHAR)){each} END")
}

/// The schemas where names are looked up, with or without those that are looked at unasked.
fn schemas(implicit: &Expr) -> Vec<String> {
    let all = matches!(implicit, Expr::Value(value) if value.value == Value::Boolean(true));
    let names: &[&str] = if all { &["pg_catalog", "public"] } else { &["public"] };
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn make_array(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| literal(item)).collect();
    format!("make_array({})", items.join(", "))
}

/// How many items an array has, where that is known here.
fn known_length(session: &Dialect<'_>, array: &Expr) -> Option<usize> {
    let Expr::Function(function) = array else { return None };
    let arguments = arguments(function);
    match catalog_name(&function.name)?.as_str() {
        "current_schemas" => Some(schemas(arguments.first()?).len()),
        "string_to_array" => {
            let (Expr::Function(text), separator) = (arguments.first()?, string(arguments.get(1)?)?) else {
                return None;
            };
            let of = self::arguments(text);
            let is_setting = catalog_name(&text.name)? == "current_setting";
            let value = session.variables.get(&string(of.first()?)?).filter(|_| is_setting)?;
            Some(value.split(separator.as_str()).count())
        }
        _ => None,
    }
}

/// The parts of a name with points, unquoted.
fn identifier_parts(name: &str) -> Option<Vec<String>> {
    let (mut parts, mut rest) = (Vec::new(), name.trim());
    loop {
        let (part, tail) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (part, tail) = quoted.split_once('"')?;
                (part.to_owned(), tail)
            }
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].to_lowercase(), &rest[end..])
            }
        };
        parts.push(part);
        match tail.strip_prefix('.') {
            Some(tail) => rest = tail,
            None => return tail.is_empty().then_some(parts),
        }
    }
}

/// Whether something is among the schemas of `search_path`, which is asked by a query that takes the setting apart; as a list.
pub(super) fn in_search_path(
    session: &Dialect<'_>,
    name: &Expr,
    subquery: &Query,
    negated: bool,
) -> Option<String> {
    let text = subquery.to_string().to_lowercase();
    let takes_apart = text.contains("string_to_array(current_setting('search_path')");
    if !takes_apart || text.contains("pg_") {
        return None;
    }
    let path = session.variables.get("search_path")?.split(',').map(str::trim);
    let path: Vec<String> = path
        .map(|name| if name.trim_matches('"') == "$user" { session.user } else { name.trim_matches('"') })
        .map(literal)
        .collect();
    let not = if negated { "NOT " } else { "" };
    Some(format!("{name} {not}IN ({})", path.join(", ")))
}

pub(super) fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The text of a literal.
pub(super) fn string(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text.clone()),
            _ => None,
        },
        Expr::Cast { expr, .. } | Expr::Nested(expr) => string(expr),
        _ => None,
    }
}

fn arguments(function: &Function) -> Vec<&Expr> {
    let FunctionArguments::List(list) = &function.args else { return Vec::new() };
    let plain =
        |argument: &'_ FunctionArg| matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(_)));
    list.args
        .iter()
        .filter(|argument| plain(argument))
        .filter_map(|argument| match argument {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
            _ => None,
        })
        .collect()
}
