//! Casts to types of PostgreSQL, as expressions that the engine understands.

use super::super::catalog::{OWNER, OWNER_OID, SCHEMAS, table_oid};
use super::super::values::{Shown, TYPES, items_of_text, type_by_name};
use super::catalog_name;
use super::functions::{literal, string};
use datafusion::arrow::array::Array;
use datafusion::sql::sqlparser::ast::{ArrayElemTypeDef, BinaryOperator, CaseWhen, DataType, Expr, Value};

/// A cast as an expression without it; `None` when the engine knows the type.
pub(super) fn cast(data_type: &DataType, inner: &Expr) -> Option<String> {
    match data_type {
        DataType::Custom(name, _) => to(&catalog_name(name)?, inner),
        DataType::Regclass => to("regclass", inner),
        DataType::Bytea => bytes(&string(inner)?),
        DataType::Array(ArrayElemTypeDef::SquareBracket(..)) => array(&string(inner)?, data_type),
        _ => None,
    }
}

fn to(name: &str, inner: &Expr) -> Option<String> {
    Some(match name {
        "regclass" => match string(inner) {
            // An oid in quotes, or the name of a table, perhaps with its schema.
            Some(text) => match text.parse::<i32>() {
                Ok(oid) => oid.to_string(),
                Err(_) => table_oid(table_name(&text)).to_string(),
            },
            None if is_parameter(inner) => oid_of_table(inner),
            None => format!("CAST({inner} AS VARCHAR)"),
        },
        "regtype" => match (string(inner), is_parameter(inner)) {
            (Some(text), _) => match type_oid(&text) {
                Some(oid) => oid.to_string(),
                None => text.parse::<u32>().map_or("CAST(NULL AS BIGINT)".to_owned(), |oid| oid.to_string()),
            },
            (None, true) => type_oids(inner),
            (None, false) => type_names(inner),
        },
        "regnamespace" => match string(inner) {
            Some(text) => SCHEMAS
                .iter()
                .find(|(_, name)| *name == text)
                .map_or("CAST(NULL AS BIGINT)".to_owned(), |(oid, _)| oid.to_string()),
            None => {
                let each = SCHEMAS.map(|(oid, name)| format!(" WHEN {oid} THEN {}", literal(name)));
                format!("CASE CAST({inner} AS BIGINT){} END", each.concat())
            }
        },
        "regrole" if string(inner).is_some() => OWNER_OID.to_string(),
        "regrole" => literal(OWNER),
        // As the catalog writes them: without its own name.
        "regproc" | "regprocedure" | "regoper" => match string(inner) {
            Some(text) => literal(text.strip_prefix("pg_catalog.").unwrap_or(&text)),
            None => format!("CAST({inner} AS VARCHAR)"),
        },
        "oid" | "xid" | "cid" => format!("CAST({inner} AS BIGINT)"),
        "name" | "text" | "char" | "varchar" | "bpchar" | "cstring" => format!("CAST({inner} AS VARCHAR)"),
        "int2" | "int4" | "int8" | "bool" | "float4" | "float8" | "numeric" | "date" | "timestamp"
        | "timestamptz" => {
            format!("CAST({inner} AS {name})")
        }
        _ => return None,
    })
}

/// The name of a table without its schema and quotes.
pub(super) fn table_name(text: &str) -> &str {
    let name = text.strip_prefix("public.").or_else(|| text.strip_prefix("pg_catalog.")).unwrap_or(text);
    name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name)
}

/// The oid of the table whose name, or whose oid in quotes, a parameter has.
fn oid_of_table(parameter: &Expr) -> String {
    let text = format!("CAST({parameter} AS VARCHAR)");
    // Without the schema before it, and without quotes.
    let name = format!(
        "regexp_replace({text}, '^\\s*(\"?(public|pg_catalog)\"?\\s*[.]\\s*)?\"?([^\"]*?)\"?\\s*$', '${{3}}')"
    );
    format!(
        "coalesce(TRY_CAST({text} AS BIGINT), \
         (SELECT max(named.oid) FROM pg_catalog.pg_class AS named WHERE named.relname = {name}))"
    )
}

/// Bytes that are written as a text: two digits for each behind `\\x`, or themselves with escapes.
fn bytes(text: &str) -> Option<String> {
    if let Some(digits) = text.strip_prefix("\\x") {
        // What are no digits, the function refuses.
        let digits: String = digits.split_ascii_whitespace().collect();
        return Some(format!("decode({}, 'hex')", literal(&digits)));
    }
    if !text.contains('\\') {
        return None;
    }
    let mut digits = String::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'\\' => match rest.next()? {
                b'\\' => b'\\',
                first => {
                    let octal = [first, rest.next()?, rest.next()?];
                    u8::from_str_radix(std::str::from_utf8(&octal).ok()?, 8).ok()?
                }
            },
            byte => byte,
        };
        digits.push_str(&format!("{byte:02x}"));
    }
    Some(format!("decode('{digits}', 'hex')"))
}

fn is_parameter(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Placeholder(_)),
        Expr::Cast { expr, .. } | Expr::Nested(expr) => is_parameter(expr),
        _ => false,
    }
}

fn type_oid(name: &str) -> Option<u32> {
    type_by_name(name.trim().to_lowercase().as_str()).map(Shown::oid)
}

/// An array that is written as a text: `'{1,2}'::int[]`.
fn array(text: &str, data_type: &DataType) -> Option<String> {
    let items = items_of_text(text).ok()?;
    let mut plain = data_type.clone();
    plain_items(&mut plain);
    let DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) = &plain else { return None };
    if items.is_empty() {
        return Some(format!("CAST(make_array() AS {plain})"));
    }
    let each = items.iter().map(|value| {
        let value = value.map_or_else(|| "NULL".to_owned(), literal);
        format!("CAST({value} AS {item})")
    });
    Some(format!("make_array({})", each.collect::<Vec<_>>().join(", ")))
}

/// Lets the functions of a type be compared with their oids as they are compared with their names: none is 0. True when that was to do.
pub(super) fn numbers_as_names(function: &Expr, number: &mut Expr) -> bool {
    let is_function = is_named(function, &["typreceive", "typsend", "typinput", "typoutput"]);
    match number {
        Expr::Value(value) if is_function => match &value.value {
            Value::Number(digits, _) => {
                value.value = Value::SingleQuotedString(digits.to_string());
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// Makes arrays of PostgreSQL's own types arrays of what they are here. True when that changed something.
pub(super) fn plain_items(data_type: &mut DataType) -> bool {
    let DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) = data_type else { return false };
    let DataType::Custom(name, _) = item.as_ref() else { return false };
    let plain = match catalog_name(name).as_deref() {
        Some("name" | "text" | "char" | "regtype" | "regclass" | "regproc") => DataType::Varchar(None),
        Some("oid" | "int8") => DataType::BigInt(None),
        Some("int4") => DataType::Integer(None),
        Some("int2") => DataType::SmallInt(None),
        _ => return false,
    };
    **item = plain;
    true
}

/// A `CASE` without the branches for kinds of types that there are none of, domains and the like: these ask for what the engine cannot say. `None`
/// when it has no such branch, or others too.
pub(super) fn without_kinds(conditions: &[CaseWhen], otherwise: Option<&Expr>) -> Option<String> {
    let is_of_no_kind = |condition: &Expr| match condition {
        Expr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
            is_named(left, &["typtype"])
                && string(right).is_some_and(|kind| !matches!(kind.as_str(), "b" | "p"))
        }
        _ => false,
    };
    let [CaseWhen { condition, result }] = conditions else { return None };
    if !is_of_no_kind(condition) {
        return None;
    }
    let otherwise =
        otherwise.filter(|value| !matches!(value, Expr::Value(value) if value.value == Value::Null));
    Some(match otherwise {
        Some(value) => value.to_string(),
        // An array of texts, or a number: asyncpg reads no others before it knows what arrays are.
        None => {
            let is_array = result.to_string().to_lowercase().contains("array_agg");
            let of = if is_array { "VARCHAR[]" } else { "BIGINT" };
            format!("CAST(NULL AS {of})")
        }
    })
}

/// True for a column of one of these names, whatever stands before it.
fn is_named(expr: &Expr, names: &[&str]) -> bool {
    let name = match expr {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    name.is_some_and(|name| names.iter().any(|known| name.value.eq_ignore_ascii_case(known)))
}

/// The name of the type that an expression is the oid of.
pub(super) fn type_names(oid: &Expr) -> String {
    let mut text = format!("CASE CAST({oid} AS BIGINT)");
    for of in TYPES {
        text.push_str(&format!(" WHEN {} THEN {}", of.oid, literal(of.sql_name)));
        if of.array != 0 {
            text.push_str(&format!(" WHEN {} THEN {}", of.array, literal(&format!("{}[]", of.sql_name))));
        }
    }
    text.push_str(" WHEN 0 THEN '-' ELSE '???' END");
    // No oid has no name.
    format!("CASE WHEN {oid} IS NULL THEN CAST(NULL AS VARCHAR) ELSE {text} END")
}

/// The oid of the type that an expression is the name of; null when there is none.
pub(super) fn type_oids(name: &Expr) -> String {
    let mut text = format!("CASE lower(CAST({name} AS VARCHAR))");
    for of in TYPES {
        let mut names = vec![of.name];
        if of.sql_name != of.name {
            names.push(of.sql_name);
        }
        for name in names {
            text.push_str(&format!(" WHEN {} THEN {}", literal(name), of.oid));
            if of.array != 0 {
                text.push_str(&format!(" WHEN {} THEN {}", literal(&format!("{name}[]")), of.array));
            }
        }
    }
    text.push_str(" WHEN 'int' THEN 23 WHEN 'float' THEN 701 WHEN 'decimal' THEN 1700 END");
    text
}
