//! Functions and casts of PostgreSQL, as expressions that the engine understands.

use super::super::catalog::{DATABASE, OWNER, table_oid};
use super::super::values::TYPES;
use super::super::variables::SERVER_VERSION;
use super::{Dialect, catalog_name};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value,
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
        "current_schemas" => "make_array('pg_catalog', 'public')".to_owned(),
        "current_user" | "session_user" | "current_role" => literal(session.user),
        "current_setting" => match session.variables.get(&string(argument(0)?)?) {
            Some(value) => literal(value),
            None => NO_TEXT.to_owned(),
        },
        "set_config" => literal(&string(argument(1)?)?),
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
        | "has_table_privilege"
        | "has_any_column_privilege"
        | "has_column_privilege"
        | "has_schema_privilege"
        | "has_database_privilege"
        | "has_function_privilege"
        | "pg_has_role" => "true".to_owned(),
        "pg_get_userbyid" => literal(OWNER),
        "pg_encoding_to_char" => literal("UTF8"),
        "pg_client_encoding" => literal("UTF8"),
        "pg_my_temp_schema" | "txid_current" | "pg_current_xact_id" => "0".to_owned(),
        "format_type" => type_names(argument(0)?),
        "quote_ident" => argument(0)?.to_string(),
        "array_to_string" | "array_upper" | "array_lower" if qualified => NO_TEXT.to_owned(),
        "array" if matches!(function.args, FunctionArguments::Subquery(_)) => NO_TEXT.to_owned(),
        "inet_server_addr" | "inet_client_addr" | "inet_server_port" | "inet_client_port" => {
            NO_TEXT.to_owned()
        }
        "obj_description" | "col_description" | "shobj_description" => NO_TEXT.to_owned(),
        "pg_size_pretty" | "pg_tablespace_location" | "pg_get_ruledef" => NO_TEXT.to_owned(),
        name if name.starts_with("pg_get_") => NO_TEXT.to_owned(),
        name if name.starts_with("pg_") && name.ends_with("_size") => NO_NUMBER.to_owned(),
        "pg_stat_get_numscans" | "pg_postmaster_start_time" | "pg_conf_load_time" => NO_TEXT.to_owned(),
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

/// A cast to a type of PostgreSQL, as an expression that the engine understands; `None` when it knows the type.
pub(super) fn cast(name: &str, inner: &Expr) -> Option<String> {
    Some(match name {
        "regclass" => match string(inner) {
            // An oid in quotes, or the name of a table, perhaps with its schema.
            Some(text) => match text.parse::<i32>() {
                Ok(oid) => oid.to_string(),
                Err(_) => {
                    let table = text.rsplit('.').next().unwrap_or(&text).trim_matches('"');
                    table_oid(table).to_string()
                }
            },
            None => format!("CAST({inner} AS VARCHAR)"),
        },
        "regtype" => type_names(inner),
        "regnamespace" | "regrole" | "regproc" | "regprocedure" | "regoper" => {
            format!("CAST({inner} AS VARCHAR)")
        }
        "oid" | "xid" | "cid" => format!("CAST({inner} AS BIGINT)"),
        "name" | "text" | "char" | "varchar" | "bpchar" | "cstring" => format!("CAST({inner} AS VARCHAR)"),
        "int2" | "int4" | "int8" | "bool" | "float4" | "float8" | "numeric" | "date" | "timestamp"
        | "timestamptz" => {
            format!("CAST({inner} AS {name})")
        }
        _ => return None,
    })
}

/// The name of the type that an expression is the oid of.
fn type_names(oid: &Expr) -> String {
    let mut text = format!("CASE CAST({oid} AS BIGINT)");
    for of in TYPES {
        text.push_str(&format!(" WHEN {} THEN {}", of.oid, literal(of.sql_name)));
        if of.array != 0 {
            text.push_str(&format!(" WHEN {} THEN {}", of.array, literal(&format!("{}[]", of.sql_name))));
        }
    }
    text.push_str(" WHEN 0 THEN '-' ELSE '???' END");
    text
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The text of a literal.
fn string(expr: &Expr) -> Option<String> {
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
