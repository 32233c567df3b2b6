//! The SQL that is read: the parser's general dialect, with PostgreSQL's precedence of operators.
//!
//! The general dialect reads `2 ^ 3` as an exclusive or, binds `->` and `||` otherwise than every database that has them, and takes an `AND`
//! behind `IS DISTINCT FROM b` for a part of its right side. All else is that dialect's.

use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, ObjectName, Statement as SqlStatement, UnaryOperator, Value,
};
use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use std::any::TypeId;
use std::collections::VecDeque;

/// Reads the statements of a text.
pub(crate) fn parse(text: &str) -> datafusion::common::Result<VecDeque<Statement>> {
    check_numbers(text)?;
    let read = |dialect: &'static FilbertDialect| {
        DFParserBuilder::new(text).with_dialect(dialect).build()?.parse_statements()
    };
    // The general dialect takes a column that is called `key` or `index` for an index of MySQL.
    if makes_table_with_keys(text)
        && let Ok(statements) = read(&FilbertDialect { keys_are_columns: true })
        && statements.iter().all(is_plain_table)
    {
        return Ok(statements);
    }
    read(&FilbertDialect { keys_are_columns: false })
}

/// Refuses `1_000` and `0b11`: the parser takes the number `1` and the name `_000`.
fn check_numbers(text: &str) -> datafusion::common::Result<()> {
    if !may_have_letters_behind_digits(text) {
        return Ok(());
    }
    // What cannot be taken apart is told by the parser.
    let dialect = FilbertDialect { keys_are_columns: false };
    let Ok(tokens) = Tokenizer::new(&dialect, text).tokenize_with_location() else { return Ok(()) };
    for pair in tokens.windows(2) {
        let [number, behind] = pair else { continue };
        if let (Token::Number(digits, _), Token::Word(word)) = (&number.token, &behind.token)
            && word.quote_style.is_none()
            && number.span.end == behind.span.start
        {
            let place = number.span.start;
            let said = format!("\"{digits}{word}\" is no number; digits stand together{place}",);
            return Err(ParserError::TokenizerError(said).into());
        }
    }
    Ok(())
}

/// Tells if a letter or an underscore follows the digits of a word that begins with one, also inside of texts.
fn may_have_letters_behind_digits(text: &str) -> bool {
    let mut before = b' ';
    let mut in_number = false;
    for byte in text.bytes() {
        let is_part = byte.is_ascii_alphanumeric() || byte == b'_';
        let begins = is_part && !(before.is_ascii_alphanumeric() || before == b'_');
        in_number = if begins { byte.is_ascii_digit() } else { in_number && is_part };
        if in_number && !byte.is_ascii_digit() {
            return true;
        }
        before = byte;
    }
    false
}

/// True when a text begins as a table is made, and has a word that may be the name of a column or begin an index.
fn makes_table_with_keys(text: &str) -> bool {
    let mut words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("create"))
        && words.any(|word| word.eq_ignore_ascii_case("key") || word.eq_ignore_ascii_case("index"))
}

fn is_plain_table(statement: &Statement) -> bool {
    match statement {
        Statement::Statement(statement) => {
            matches!(statement.as_ref(), SqlStatement::CreateTable(table) if table.query.is_none())
        }
        _ => false,
    }
}

/// The general dialect, with PostgreSQL's precedence of operators.
#[derive(Debug)]
pub(crate) struct FilbertDialect {
    /// True when the parser decides by the dialect's type as for PostgreSQL, which has no indexes among columns.
    keys_are_columns: bool,
}

/// `a ^ b`: above `*` and below the sign of a number.
const POWER: u8 = 42;

/// `-a`: below `::` alone.
const SIGN: u8 = 45;

/// `||`, `->` and their like: below `+`, above comparisons.
const OTHER: u8 = 25;

macro_rules! as_in_the_general_dialect {
    ($($name:ident;)*) => {
        $(
            fn $name(&self) -> bool {
                GenericDialect.$name()
            }
        )*
    };
}

impl Dialect for FilbertDialect {
    /// What the parser decides by the dialect's type is decided as for the general one.
    fn dialect(&self) -> TypeId {
        match self.keys_are_columns {
            true => TypeId::of::<PostgreSqlDialect>(),
            false => TypeId::of::<GenericDialect>(),
        }
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        GenericDialect.is_delimited_identifier_start(letter)
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        GenericDialect.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        GenericDialect.is_identifier_part(letter)
    }

    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        match &parser.peek_token_ref().token {
            Token::Caret => Some(Ok(POWER)),
            Token::StringConcat
            | Token::Arrow
            | Token::LongArrow
            | Token::HashArrow
            | Token::HashLongArrow => Some(Ok(OTHER)),
            _ => None,
        }
    }

    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        if is_json_call(parser) {
            return Some(json_call(parser));
        }
        if parser.peek_token_ref().token != Token::Minus {
            return None;
        }
        parser.next_token();
        let negated = |expr| Expr::UnaryOp { op: UnaryOperator::Minus, expr: Box::new(expr) };
        Some(parser.parse_subexpr(SIGN).map(negated))
    }

    fn parse_infix(
        &self,
        parser: &mut Parser<'_>,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if parser.peek_token_ref().token == Token::Caret {
            parser.next_token();
            let right = parser.parse_subexpr(precedence);
            let (left, op) = (Box::new(left.clone()), BinaryOperator::PGExp);
            return Some(right.map(|right| Expr::BinaryOp { left, op, right: Box::new(right) }));
        }
        let is_negated =
            parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]);
        if !is_negated && !parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
            return None;
        }
        let right = parser.parse_subexpr(self.prec_value(Precedence::Is));
        let left = Box::new(left.clone());
        Some(right.map(|right| match is_negated {
            true => Expr::IsNotDistinctFrom(left, Box::new(right)),
            false => Expr::IsDistinctFrom(left, Box::new(right)),
        }))
    }

    as_in_the_general_dialect! {
        supports_unicode_string_literal;
        supports_partition_by_after_order_by;
        supports_array_join_syntax;
        supports_group_by_expr;
        supports_group_by_with_modifier;
        supports_left_associative_joins_without_parens;
        supports_connect_by;
        supports_match_recognize;
        supports_pipe_operator;
        supports_start_transaction_modifier;
        supports_window_function_null_treatment_arg;
        supports_dictionary_syntax;
        supports_window_clause_named_window_reference;
        supports_parenthesized_set_variables;
        supports_select_wildcard_except;
        support_map_literal_syntax;
        allow_extract_custom;
        allow_extract_single_quotes;
        supports_extract_comma_syntax;
        supports_create_view_comment_syntax;
        supports_parens_around_table_factor;
        supports_values_as_table_factor;
        supports_create_index_with_clause;
        supports_explain_with_utility_options;
        supports_limit_comma;
        supports_update_order_by;
        supports_from_first_select;
        supports_projection_trailing_commas;
        supports_asc_desc_in_column_definition;
        supports_try_convert;
        supports_bitwise_shift_operators;
        supports_comment_on;
        supports_load_extension;
        supports_named_fn_args_with_assignment_operator;
        supports_struct_literal;
        supports_empty_projections;
        supports_nested_comments;
        supports_multiline_comment_hints;
        supports_user_host_grantee;
        supports_string_escape_constant;
        supports_array_typedef_with_brackets;
        supports_match_against;
        supports_set_names;
        supports_comma_separated_set_assignments;
        supports_filter_during_aggregation;
        supports_select_wildcard_exclude;
        supports_data_type_signed_suffix;
        supports_interval_options;
        supports_quote_delimited_string;
        supports_select_wildcard_replace;
        supports_select_wildcard_ilike;
        supports_select_wildcard_rename;
        supports_optimize_table;
        supports_install;
        supports_detach;
        supports_prewhere;
        supports_with_fill;
        supports_limit_by;
        supports_interpolate;
        supports_settings;
        supports_select_format;
        supports_comment_optimizer_hint;
        supports_constraint_keyword_without_name;
        supports_key_column_option;
        supports_comma_separated_trim;
        supports_cte_without_as;
        supports_select_item_multi_column_alias;
        supports_xml_expressions;
    }
}

/// Reads these words, if all of them are next.
fn words(parser: &mut Parser<'_>, words: &[&str]) -> bool {
    let are_next = words.iter().enumerate().all(|(number, word)| is_word(parser, number, word));
    if are_next {
        for _ in words {
            parser.next_token();
        }
    }
    are_next
}

fn is_word(parser: &Parser<'_>, number: usize, word: &str) -> bool {
    matches!(&parser.peek_nth_token_ref(number).token,
        Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
}

fn is_json_call(parser: &Parser<'_>) -> bool {
    let is_named = is_word(parser, 0, "json_value") || is_word(parser, 0, "json_query");
    is_named && parser.peek_nth_token_ref(1).token == Token::LParen
}

/// `json_value(doc, path [RETURNING type] [NULL | ERROR ON EMPTY | ERROR])`, and `json_query` with `WITH WRAPPER` as well: the clauses become
/// arguments, and the type a cast.
fn json_call(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let name = parser.parse_identifier()?;
    let is_query = name.value.eq_ignore_ascii_case("json_query");
    parser.expect_token(&Token::LParen)?;
    let mut args = parser.parse_comma_separated(Parser::parse_expr)?;
    let mut said = Vec::new();
    let returning = match words(parser, &["RETURNING"]) {
        true => Some(parser.parse_data_type()?),
        false => None,
    };
    if is_query && words(parser, &["WITH"]) {
        let is_conditional = words(parser, &["CONDITIONAL"]);
        let _ = !is_conditional && words(parser, &["UNCONDITIONAL"]);
        let _ = words(parser, &["ARRAY"]);
        if !words(parser, &["WRAPPER"]) {
            return parser.expected("WRAPPER", parser.peek_token());
        }
        said.push(if is_conditional { "conditional wrapper" } else { "wrapper" });
    } else if is_query && words(parser, &["WITHOUT"]) {
        let _ = words(parser, &["ARRAY"]);
        if !words(parser, &["WRAPPER"]) {
            return parser.expected("WRAPPER", parser.peek_token());
        }
    }
    let mut fails = false;
    loop {
        if words(parser, &["ERROR", "ON", "EMPTY"]) {
            said.push("error on empty");
        } else if words(parser, &["ERROR", "ON", "ERROR"]) {
            said.push("error on error");
            fails = true;
        } else if !words(parser, &["NULL", "ON", "EMPTY"]) && !words(parser, &["NULL", "ON", "ERROR"]) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    let word = |word: &str| Expr::value(Value::SingleQuotedString(word.to_owned()));
    args.extend(said.into_iter().map(word));
    let args = args.into_iter().map(|one| FunctionArg::Unnamed(FunctionArgExpr::Expr(one))).collect();
    let call = Expr::Function(Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    });
    Ok(match returning {
        None => call,
        Some(data_type) => Expr::Cast {
            kind: if fails { CastKind::Cast } else { CastKind::TryCast },
            expr: Box::new(call),
            data_type,
            array: false,
            format: None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With parentheses where the parser sees them.
    fn read(text: &str) -> String {
        fn shown(expr: &Expr) -> String {
            match expr {
                Expr::BinaryOp { left, op, right } => format!("({} {op} {})", shown(left), shown(right)),
                Expr::UnaryOp { op, expr } => format!("({op}{})", shown(expr)),
                Expr::IsDistinctFrom(left, right) => format!("({} distinct {})", shown(left), shown(right)),
                Expr::IsNotDistinctFrom(left, right) => format!("({} same {})", shown(left), shown(right)),
                other => other.to_string(),
            }
        }
        let mut parser = Parser::new(&FilbertDialect { keys_are_columns: false }).try_with_sql(text).unwrap();
        shown(&parser.parse_expr().unwrap())
    }

    #[test]
    fn operators_bind_as_in_postgresql() {
        for (text, meant) in [
            ("2 ^ 3", "(2 ^ 3)"),
            ("2 * 3 ^ 2", "(2 * (3 ^ 2))"),
            ("2 ^ 3 ^ 2", "((2 ^ 3) ^ 2)"),
            ("-2 ^ 2", "((-2) ^ 2)"),
            ("2 ^ -1", "(2 ^ (-1))"),
            ("1 - -1", "(1 - (-1))"),
            ("-a * b + c", "(((-a) * b) + c)"),
            ("doc ->> 'a' = 'b'", "((doc ->> 'a') = 'b')"),
            ("doc -> 'a' ->> 'b' || 'c'", "(((doc -> 'a') ->> 'b') || 'c')"),
            ("'n' || 1 + 2", "('n' || (1 + 2))"),
            ("a || b = c AND d", "(((a || b) = c) AND d)"),
            ("a IS NOT DISTINCT FROM b AND c", "((a same b) AND c)"),
            ("a IS DISTINCT FROM b + 1 OR c", "((a distinct (b + 1)) OR c)"),
        ] {
            assert_eq!(read(text), meant, "{text}");
        }
        assert_eq!(read("-1::TEXT"), "(-1::TEXT)");
    }

    #[test]
    fn columns_may_be_called_as_indexes_begin() {
        for (text, columns, constraints) in [
            ("CREATE TABLE t (key BIGINT)", 1, 0),
            ("create table t (key varchar(20), \"index\" int, index int, PRIMARY KEY (key))", 3, 1),
            ("CREATE TABLE t (id INT PRIMARY KEY, v INT)", 2, 0),
        ] {
            let statements = parse(text).unwrap();
            let Some(Statement::Statement(statement)) = statements.front() else { panic!("{text}") };
            let SqlStatement::CreateTable(table) = statement.as_ref() else { panic!("{text}") };
            assert_eq!((table.columns.len(), table.constraints.len()), (columns, constraints), "{text}");
        }
        // What is no plain table is read as ever.
        for text in [
            "CREATE TABLE t AS SELECT 1 AS key",
            "CREATE INDEX i ON t (key)",
            "CREATE VIEW v AS SELECT key FROM t",
        ] {
            assert_eq!(parse(text).unwrap().len(), 1, "{text}");
        }
    }

    #[test]
    fn clauses_of_json_calls_are_arguments() {
        for (text, meant) in [
            ("json_value(a, '$.b')", "json_value(a, '$.b')"),
            (
                "JSON_VALUE(a, '$.b' RETURNING DOUBLE ERROR ON EMPTY)",
                "TRY_CAST(JSON_VALUE(a, '$.b', 'error on empty') AS DOUBLE)",
            ),
            (
                "JSON_VALUE(a, '$' RETURNING INT ERROR ON ERROR)",
                "CAST(JSON_VALUE(a, '$', 'error on error') AS INT)",
            ),
            ("JSON_QUERY(a, '$[*]' WITH WRAPPER)", "JSON_QUERY(a, '$[*]', 'wrapper')"),
            (
                "JSON_QUERY(a, '$' WITH CONDITIONAL ARRAY WRAPPER NULL ON EMPTY)",
                "JSON_QUERY(a, '$', 'conditional wrapper')",
            ),
            ("JSON_QUERY(a, '$' WITHOUT WRAPPER)", "JSON_QUERY(a, '$')"),
        ] {
            assert_eq!(read(text), meant, "{text}");
        }
    }

    #[test]
    fn it_reads_what_the_general_dialect_reads() {
        for text in [
            "SELECT * EXCLUDE (a) REPLACE (b AS c) FROM t SELECT 1",
            "FROM t",
            "SELECT {'a': 1}, MAP {'a': 1}, [1, 2][1], x'00', E'a\\n', q'[a]'",
            "SELECT sum(a) FILTER (WHERE b) OVER (w ROWS 1 PRECEDING) FROM `t` WINDOW w AS (ORDER BY c)",
            "SELECT a FROM t GROUP BY ROLLUP (a), GROUPING SETS ((a), ()) QUALIFY true LIMIT 1, 2",
            "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'x' OPTIONS ('format.has_header' 'true')",
            "COPY (SELECT 1) TO 'x' STORED AS CSV",
            "EXPLAIN ANALYZE VERBOSE SELECT 1",
            "VALUES (1, 'a'), (2, 'b')",
            "SELECT a FROM t |> WHERE b",
        ] {
            let ours = parse(text).map(|all| format!("{all:?}")).map_err(|error| error.to_string());
            let general = datafusion::sql::parser::DFParser::parse_sql(text);
            let general = general.map(|all| format!("{all:?}")).map_err(|error| error.to_string());
            assert_eq!(ours, general, "{text}");
        }
    }
}
