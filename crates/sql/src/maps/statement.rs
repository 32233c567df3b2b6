//! Statements that DataFusion's parser does not know: mappings, indexes, `SINK INTO`. Everything else goes to it untouched.
//!
//! ```text
//! CREATE [OR REPLACE] [EXTERNAL] MAPPING [IF NOT EXISTS] name [EXTERNAL NAME "map"]
//!     [(column type [EXTERNAL NAME "__key.field"], ...)] TYPE IMap OPTIONS ('keyFormat' = '...', ...)
//! DROP [EXTERNAL] MAPPING [IF EXISTS] name
//! SHOW [EXTERNAL] MAPPINGS
//! SHOW QUERIES
//! CREATE JOB [IF NOT EXISTS] name AS SINK INTO map ...
//! DROP JOB [IF EXISTS] name
//! SHOW JOBS
//! SHOW POOLS
//! CREATE INDEX [IF NOT EXISTS] name ON map (column, ...) [TYPE SORTED | HASH]
//! [EXPLAIN ...] SINK INTO map ...          as INSERT INTO, but it replaces
//! TRUNCATE [TABLE] name, ... [RESTART IDENTITY | CONTINUE IDENTITY] [CASCADE | RESTRICT]
//! ALTER TABLE | VIEW [IF EXISTS] name RENAME TO name
//! DROP TABLE | VIEW [IF EXISTS] name, name, ...
//! ```

use super::kind::{Kind, far_reaching};
use super::layout::Typing;
use super::mapping::{DeclaredColumn, Mapping, decimal, kind_of_word};
use crate::description::StatementKind;
use crate::dialect;
use crate::error::SqlError;
use crate::names::Names;
use crate::pools::Pools;
use crate::query::Registry;
use crate::stream::Jobs;
use crate::text::offset;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    DataType as SqlType, ExactNumberInfo, Ident, ObjectType, Statement as SqlStatement, TimezoneInfo,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token};
use filbert_grid::query::IndexKind;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A statement of our own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum OwnStatement {
    CreateMapping {
        mapping: Mapping,
        replaces: bool,
        if_not_exists: bool,
    },
    DropMapping {
        name: String,
        if_exists: bool,
    },
    ShowMappings,
    ShowQueries,
    /// What it runs, and the map that this writes to.
    CreateJob {
        name: String,
        if_not_exists: bool,
        text: String,
        sink: String,
    },
    DropJob {
        name: String,
        if_exists: bool,
    },
    ShowJobs,
    ShowPools,
    CreateIndex {
        name: String,
        table: String,
        columns: Vec<String>,
        kind: IndexKind,
        options: BTreeMap<String, String>,
        if_not_exists: bool,
    },
    /// Removes all rows of tables or maps.
    Truncate {
        names: Vec<String>,
        /// Columns that number their rows begin anew.
        restarts: bool,
    },
    /// Gives a table or view another name.
    Rename {
        kind: Made,
        old: String,
        new: String,
        if_exists: bool,
    },
    /// Drops several tables or views, or none of them.
    Drop {
        kind: Made,
        names: Vec<String>,
        if_exists: bool,
    },
}

/// What a statement makes that is read as a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    Table,
    View,
}

impl Made {
    /// The word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Table => "TABLE",
            Self::View => "VIEW",
        }
    }
}

impl OwnStatement {
    /// What its reader must know.
    pub(crate) fn kind(&self) -> StatementKind {
        let name = match self {
            Self::CreateMapping { .. } => "CREATE MAPPING",
            Self::DropMapping { .. } => "DROP MAPPING",
            Self::ShowMappings | Self::ShowQueries | Self::ShowJobs | Self::ShowPools => {
                return StatementKind::Rows;
            }
            Self::CreateJob { .. } => "CREATE JOB",
            Self::DropJob { .. } => "DROP JOB",
            Self::CreateIndex { .. } => "CREATE INDEX",
            Self::Truncate { .. } => "TRUNCATE TABLE",
            Self::Rename { kind, .. } => return StatementKind::Other(format!("ALTER {}", kind.word())),
            Self::Drop { kind, .. } => return StatementKind::Other(format!("DROP {}", kind.word())),
        };
        StatementKind::Other(name.to_owned())
    }

    /// The columns of its answer.
    pub(crate) fn columns(&self) -> SchemaRef {
        match self {
            Self::ShowMappings => Arc::new(Schema::new(vec![Field::new("name", DataType::Utf8, false)])),
            Self::ShowQueries => Registry::columns(),
            Self::ShowJobs => Jobs::columns(),
            Self::ShowPools => Pools::columns(),
            _ => Arc::new(Schema::empty()),
        }
    }
}

/// What a text says.
#[derive(Debug)]
pub(crate) enum Parsed {
    Own(OwnStatement),
    /// For DataFusion.
    Other(Box<Statement>),
}

/// Reads one statement.
pub(crate) fn parse(text: &str, names: Names) -> Result<Parsed, SqlError> {
    if !mentions_own(text) {
        let statement = one(text)?;
        return Ok(match several_drops(&statement, names)? {
            Some(own) => Parsed::Own(own),
            None => Parsed::Other(Box::new(statement)),
        });
    }
    let mut parser = Parser::new(&GenericDialect {}).try_with_sql(text).map_err(said)?;
    let begin = parser.peek_token().span.start;
    let mut reader = Reader { text, parser: &mut parser, names };
    if let Some(own) = reader.own().map_err(said)? {
        reader.end().map_err(said)?;
        return Ok(Parsed::Own(own));
    }
    let begin = if reader.words(&["EXPLAIN"]) {
        while reader.words(&["ANALYZE"]) || reader.words(&["VERBOSE"]) {}
        reader.parser.peek_token().span.start
    } else {
        begin
    };
    let statement = if reader.words(&["SINK", "INTO"]) { sink(text, begin)? } else { one(text)? };
    Ok(match several_drops(&statement, names)? {
        Some(own) => Parsed::Own(own),
        None => Parsed::Other(Box::new(statement)),
    })
}

/// False for most statements: these are not taken apart twice.
fn mentions_own(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mentions =
        |word: &str| bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    ["mapping", "index", "sink", "queries", "job", "pools", "truncate", "rename"].into_iter().any(mentions)
}

/// `DROP TABLE a, b`, of which the planner takes one.
fn several_drops(statement: &Statement, names: Names) -> Result<Option<OwnStatement>, SqlError> {
    let Statement::Statement(inner) = statement else { return Ok(None) };
    let SqlStatement::Drop {
        object_type,
        if_exists,
        names: dropped,
        cascade: _,
        restrict: _,
        purge: false,
        temporary: false,
        table: None,
    } = inner.as_ref()
    else {
        return Ok(None);
    };
    let kind = match object_type {
        ObjectType::Table => Made::Table,
        ObjectType::View => Made::View,
        _ => return Ok(None),
    };
    if dropped.len() < 2 {
        return Ok(None);
    }
    let idents = dropped.iter().map(|name| name.0.iter().filter_map(|part| part.as_ident().cloned()));
    let read = idents.map(|idents| in_public(idents.collect(), names).map_err(said));
    Ok(Some(OwnStatement::Drop { kind, names: read.collect::<Result<_, _>>()?, if_exists: *if_exists }))
}

/// The name of a table that is made by a statement: in the schema that they are all in.
fn in_public(mut idents: Vec<Ident>, names: Names) -> Read<String> {
    let name = idents.pop().map(|ident| names.read(&ident)).unwrap_or_default();
    match idents.pop().map(|schema| names.read(&schema)) {
        Some(schema) if !schema.eq_ignore_ascii_case("public") => Err(ParserError::ParserError(format!(
            "{schema}.{name} is not a table of the schema public, where tables are made and dropped"
        ))),
        _ => Ok(name),
    }
}

fn said(error: ParserError) -> SqlError {
    DataFusionError::SQL(Box::new(error), None).into()
}

/// `EXPLAIN PLAN FOR`, as Hazelcast writes it, is `EXPLAIN`; the places in the text stay.
fn without_plan_for(text: &str) -> Cow<'_, str> {
    let explains = text.as_bytes().windows(4).any(|part| part.eq_ignore_ascii_case(b"plan"));
    let Some(Ok(mut parser)) = explains.then(|| Parser::new(&GenericDialect {}).try_with_sql(text)) else {
        return Cow::Borrowed(text);
    };
    let mut reader = Reader { text, parser: &mut parser, names: Names::AsWritten };
    if !reader.are_next(0, &["EXPLAIN", "PLAN", "FOR"]) {
        return Cow::Borrowed(text);
    }
    reader.words(&["EXPLAIN"]);
    let begin = offset(text, reader.parser.peek_token_ref().span.start);
    reader.words(&["PLAN"]);
    let end = offset(text, reader.parser.peek_token_ref().span.start) + "FOR".len();
    let blanks: String =
        text[begin..end].chars().map(|letter| if letter == '\n' { letter } else { ' ' }).collect();
    Cow::Owned(format!("{}{blanks}{}", &text[..begin], &text[end..]))
}

fn one(text: &str) -> Result<Statement, SqlError> {
    let mut statements = dialect::parse(&without_plan_for(text))?;
    let found = statements.len();
    match (statements.pop_front(), found) {
        (Some(statement), 1) => Ok(statement),
        _ => Err(SqlError::NotOneStatement { found }),
    }
}

/// `SINK INTO` is `INSERT INTO` that replaces: the parser knows it under that name.
fn sink(text: &str, begin: Location) -> Result<Statement, SqlError> {
    let start = offset(text, begin);
    let rest = text.get(start + "SINK".len()..).unwrap_or_default();
    let mut statement = one(&format!("{}INSERT{rest}", &text[..start]))?;
    let inner = match &mut statement {
        Statement::Explain(explain) => explain.statement.as_mut(),
        other => other,
    };
    if let Statement::Statement(inner) = inner
        && let SqlStatement::Insert(insert) = inner.as_mut()
    {
        insert.replace_into = true;
    }
    Ok(statement)
}

struct Reader<'p, 'd> {
    text: &'p str,
    parser: &'p mut Parser<'d>,
    names: Names,
}

type Read<T> = Result<T, ParserError>;

impl Reader<'_, '_> {
    /// A statement of our own; nothing was read when it is none.
    fn own(&mut self) -> Read<Option<OwnStatement>> {
        let start = ["CREATE", "OR", "REPLACE"];
        for replaces in [true, false] {
            for external in [true, false] {
                let mut words = start[..if replaces { 3 } else { 1 }].to_vec();
                words.extend(external.then_some("EXTERNAL"));
                words.push("MAPPING");
                if self.words(&words) {
                    return self.create_mapping(replaces).map(Some);
                }
            }
        }
        if self.words(&["DROP", "MAPPING"]) || self.words(&["DROP", "EXTERNAL", "MAPPING"]) {
            let if_exists = self.words(&["IF", "EXISTS"]);
            return Ok(Some(OwnStatement::DropMapping { name: self.name()?, if_exists }));
        }
        if self.words(&["SHOW", "MAPPINGS"]) || self.words(&["SHOW", "EXTERNAL", "MAPPINGS"]) {
            return Ok(Some(OwnStatement::ShowMappings));
        }
        if self.words(&["SHOW", "QUERIES"]) {
            return Ok(Some(OwnStatement::ShowQueries));
        }
        if self.words(&["CREATE", "JOB"]) {
            return self.create_job().map(Some);
        }
        if self.words(&["DROP", "JOB"]) {
            let if_exists = self.words(&["IF", "EXISTS"]);
            return Ok(Some(OwnStatement::DropJob { name: self.name()?, if_exists }));
        }
        if self.words(&["SHOW", "JOBS"]) {
            return Ok(Some(OwnStatement::ShowJobs));
        }
        if self.words(&["SHOW", "POOLS"]) {
            return Ok(Some(OwnStatement::ShowPools));
        }
        if self.words(&["CREATE", "INDEX"]) {
            return self.create_index().map(Some);
        }
        if self.words(&["TRUNCATE"]) {
            return self.truncate().map(Some);
        }
        for kind in [Made::Table, Made::View] {
            if self.renames(kind) {
                return self.rename(kind).map(Some);
            }
        }
        Ok(None)
    }

    fn truncate(&mut self) -> Read<OwnStatement> {
        self.words(&["TABLE"]);
        let mut names = Vec::new();
        loop {
            self.words(&["ONLY"]);
            names.push(self.table()?);
            if !self.parser.consume_token(&Token::Comma) {
                break;
            }
        }
        let restarts = self.words(&["RESTART", "IDENTITY"]);
        let _ = restarts || self.words(&["CONTINUE", "IDENTITY"]);
        // No table refers to another, so both say what is done.
        let _ = self.words(&["CASCADE"]) || self.words(&["RESTRICT"]);
        Ok(OwnStatement::Truncate { names, restarts })
    }

    /// True for `ALTER ... RENAME TO`, and not for what else `ALTER` may do.
    fn renames(&mut self, kind: Made) -> bool {
        if !self.are_next(0, &["ALTER", kind.word()]) {
            return false;
        }
        (2..32).any(|number| self.are_next(number, &["RENAME", "TO"]))
    }

    fn rename(&mut self, kind: Made) -> Read<OwnStatement> {
        self.expect(&["ALTER", kind.word()])?;
        let if_exists = self.words(&["IF", "EXISTS"]);
        let old = self.table()?;
        self.expect(&["RENAME", "TO"])?;
        let new = self.table()?;
        Ok(OwnStatement::Rename { kind, old, new, if_exists })
    }

    /// The name of a table that statements make.
    fn table(&mut self) -> Read<String> {
        let mut idents = Vec::new();
        loop {
            idents.push(self.parser.parse_identifier()?);
            if !self.parser.consume_token(&Token::Period) {
                return in_public(idents, self.names);
            }
        }
    }

    fn create_mapping(&mut self, replaces: bool) -> Read<OwnStatement> {
        let if_not_exists = self.words(&["IF", "NOT", "EXISTS"]);
        let name = self.name()?;
        let external_name = if self.words(&["EXTERNAL", "NAME"]) { self.name()? } else { name.clone() };
        let mut columns = Vec::new();
        if self.parser.consume_token(&Token::LParen) {
            loop {
                columns.push(self.column()?);
                if !self.parser.consume_token(&Token::Comma) {
                    break;
                }
            }
            self.parser.expect_token(&Token::RParen)?;
        }
        if self.words(&["DATA", "CONNECTION"]) {
            return Err(ParserError::ParserError(
                "data connections are not known here; TYPE IMap is what can be mapped".into(),
            ));
        }
        self.expect(&["TYPE"])?;
        let kind = self.name()?;
        if !kind.eq_ignore_ascii_case("imap") {
            let text = format!("a mapping of type {kind} is not known; TYPE IMap is what can be mapped");
            return Err(ParserError::ParserError(text));
        }
        let options = if self.words(&["OPTIONS"]) { self.options()? } else { BTreeMap::new() };
        let mapping = Mapping { name, external_name, columns, options };
        Ok(OwnStatement::CreateMapping { mapping, replaces, if_not_exists })
    }

    fn column(&mut self) -> Read<DeclaredColumn> {
        let name = self.name()?;
        let written = self.parser.parse_data_type()?;
        let (kind, data_type, typing) = column_type(&written).ok_or_else(|| {
            ParserError::ParserError(format!(
                "the column {name:?} has the type {written}, which maps do not have"
            ))
        })?;
        let external_name = if self.words(&["EXTERNAL", "NAME"]) { Some(self.name()?) } else { None };
        Ok(DeclaredColumn { name, kind, data_type, typing, external_name })
    }

    fn options(&mut self) -> Read<BTreeMap<String, String>> {
        let mut options = BTreeMap::new();
        self.parser.expect_token(&Token::LParen)?;
        while !self.parser.consume_token(&Token::RParen) {
            let name = self.parser.parse_literal_string()?;
            self.parser.expect_token(&Token::Eq)?;
            options.insert(name, self.parser.parse_literal_string()?);
            if !self.parser.consume_token(&Token::Comma) {
                self.parser.expect_token(&Token::RParen)?;
                break;
            }
        }
        Ok(options)
    }

    /// The statement of a job is read where it is asked; here it is only seen that it writes, and where.
    fn create_job(&mut self) -> Read<OwnStatement> {
        let if_not_exists = self.words(&["IF", "NOT", "EXISTS"]);
        let name = self.name()?;
        self.expect(&["AS"])?;
        let begin = offset(self.text, self.parser.peek_token_ref().span.start);
        if !self.words(&["SINK", "INTO"]) {
            return self.parser.expected("SINK INTO, what a job does", self.parser.peek_token());
        }
        let sink = self.name()?;
        while self.parser.next_token().token != Token::EOF {}
        let text = self.text.get(begin..).unwrap_or_default().to_owned();
        Ok(OwnStatement::CreateJob { name, if_not_exists, text, sink })
    }

    fn create_index(&mut self) -> Read<OwnStatement> {
        let if_not_exists = self.words(&["IF", "NOT", "EXISTS"]);
        let name = self.name()?;
        self.expect(&["ON"])?;
        let table = self.name()?;
        self.parser.expect_token(&Token::LParen)?;
        let mut columns = Vec::new();
        loop {
            columns.push(self.name()?);
            if !self.parser.consume_token(&Token::Comma) {
                break;
            }
        }
        self.parser.expect_token(&Token::RParen)?;
        let kind = match self.words(&["TYPE"]) {
            false => IndexKind::Sorted,
            true if self.words(&["SORTED"]) => IndexKind::Sorted,
            true if self.words(&["HASH"]) => IndexKind::Hash,
            true if self.words(&["BITMAP"]) => IndexKind::Bitmap,
            true => return self.parser.expected("SORTED, HASH or BITMAP", self.parser.peek_token()),
        };
        let options = if self.words(&["OPTIONS"]) { self.options()? } else { BTreeMap::new() };
        Ok(OwnStatement::CreateIndex { name, table, columns, kind, options, if_not_exists })
    }

    /// A name. One in a schema is known by its last part.
    fn name(&mut self) -> Read<String> {
        loop {
            let ident = self.parser.parse_identifier()?;
            if !self.parser.consume_token(&Token::Period) {
                return Ok(self.names.read(&ident));
            }
        }
    }

    /// Reads these words, if all of them are next.
    fn words(&mut self, words: &[&str]) -> bool {
        let are_next = self.are_next(0, words);
        if are_next {
            for _ in words {
                self.parser.next_token();
            }
        }
        are_next
    }

    /// True when these words come after so many others.
    fn are_next(&self, after: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(number, word)| {
            matches!(&self.parser.peek_nth_token_ref(after + number).token,
                Token::Word(found) if found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
        })
    }

    fn expect(&mut self, words: &[&str]) -> Read<()> {
        match self.words(words) {
            true => Ok(()),
            false => self.parser.expected(&words.join(" "), self.parser.peek_token()),
        }
    }

    fn end(&mut self) -> Read<()> {
        while self.parser.consume_token(&Token::SemiColon) {}
        match self.parser.peek_token_ref().token {
            Token::EOF => Ok(()),
            _ => self.parser.expected("the end of the statement", self.parser.peek_token()),
        }
    }
}

/// Digits of a second that a column with microseconds has room for.
const MICROS: u64 = 6;

/// What a column of that type holds, and where its digits come from.
fn column_type(written: &SqlType) -> Option<(Kind, DataType, Typing)> {
    let digits = |info: &ExactNumberInfo| match info {
        ExactNumberInfo::None => decimal(None, None),
        ExactNumberInfo::Precision(precision) => decimal(Some(*precision), Some(0)),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => decimal(Some(*precision), Some(*scale)),
    };
    let kind = match written {
        SqlType::Decimal(info) | SqlType::Numeric(info) | SqlType::Dec(info) => {
            let typing =
                if *info == ExactNumberInfo::None { Typing::WithoutDigits } else { Typing::Declared };
            return Some((Kind::Decimal, digits(info)?, typing));
        }
        SqlType::Bool | SqlType::Boolean => Kind::Bool,
        SqlType::TinyInt(_) => Kind::Byte,
        SqlType::SmallInt(_) | SqlType::Int2(_) => Kind::Short,
        SqlType::Int(_) | SqlType::Integer(_) | SqlType::Int4(_) => Kind::Int,
        SqlType::BigInt(_) | SqlType::Int8(_) => Kind::Long,
        SqlType::Real | SqlType::Float4 => Kind::Float,
        SqlType::Double(_) | SqlType::DoublePrecision | SqlType::Float(_) | SqlType::Float8 => Kind::Double,
        SqlType::Varchar(_) | SqlType::CharacterVarying(_) | SqlType::Text | SqlType::String(_) => {
            Kind::String
        }
        SqlType::Char(_) | SqlType::Character(_) => Kind::Char,
        SqlType::Uuid => Kind::Uuid,
        SqlType::Bytea | SqlType::Varbinary(_) | SqlType::Binary(_) | SqlType::Bytes(_) => Kind::Bytes,
        SqlType::Date => Kind::Date,
        SqlType::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => Kind::Time,
        SqlType::Timestamp(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => Kind::Timestamp,
        SqlType::Timestamp(..) => Kind::OffsetTimestamp,
        SqlType::JSON | SqlType::JSONB => Kind::Json,
        other => kind_of_word(&other.to_string().to_lowercase())?,
    };
    Some(match written {
        SqlType::Timestamp(Some(..=MICROS), _) => (kind, far_reaching(kind.data_type(6)), Typing::Declared),
        SqlType::Timestamp(Some(_), _) => (kind, kind.data_type(6), Typing::Declared),
        _ => (kind, kind.data_type(6), kind.typing()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(text: &str) -> OwnStatement {
        match parse(text, Names::LowerCase) {
            Ok(Parsed::Own(own)) => own,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn says(text: &str) -> String {
        parse(text, Names::LowerCase).map(|parsed| format!("{parsed:?}")).unwrap_err().to_string()
    }

    #[test]
    fn mappings_are_read_with_columns_and_options() {
        let text = "create or replace external mapping if not exists People external name \"my map\" (\n  __key INT, \"fullName\" \
                    VARCHAR(20) EXTERNAL NAME \"this.name\", born TIMESTAMP WITH TIME ZONE, pay DECIMAL(10, 2)) type IMap \
                    options ('keyFormat'='int', 'valueFormat' = 'json-flat',);";
        let OwnStatement::CreateMapping { mapping, replaces: true, if_not_exists: true } = own(text) else {
            panic!()
        };
        assert_eq!((mapping.name.as_str(), mapping.external_name.as_str()), ("people", "my map"));
        let columns: Vec<_> =
            mapping.columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
        let expected = [
            ("__key", Kind::Int),
            ("fullName", Kind::String),
            ("born", Kind::OffsetTimestamp),
            ("pay", Kind::Decimal),
        ];
        assert_eq!(columns, expected);
        assert_eq!(mapping.columns[1].external_name.as_deref(), Some("this.name"));
        assert_eq!(mapping.columns[3].data_type, DataType::Decimal128(10, 2));
        assert_eq!(mapping.options["valueFormat"], "json-flat");
    }

    #[test]
    fn other_statements_of_our_own_are_read() {
        let drop = OwnStatement::DropMapping { name: "A".into(), if_exists: true };
        assert_eq!(own("DROP MAPPING IF EXISTS public.\"A\""), drop);
        assert_eq!(own("show mappings;"), OwnStatement::ShowMappings);
        let OwnStatement::CreateIndex { name, table, columns, kind, .. } =
            own("CREATE INDEX i ON m (a, __key) TYPE hash")
        else {
            panic!()
        };
        assert_eq!((name.as_str(), table.as_str(), kind), ("i", "m", IndexKind::Hash));
        assert_eq!(columns, ["a", "__key"]);
        let text = "CREATE INDEX i ON m (a) TYPE BITMAP OPTIONS ('unique_key' = '__key')";
        let OwnStatement::CreateIndex { kind, options, .. } = own(text) else { panic!() };
        assert_eq!((kind, options["unique_key"].as_str()), (IndexKind::Bitmap, "__key"));
    }

    #[test]
    fn names_are_as_written_where_that_is_wanted() {
        let text = "CREATE MAPPING People EXTERNAL NAME MyMap (firstName INT) TYPE IMap";
        let Ok(Parsed::Own(OwnStatement::CreateMapping { mapping, .. })) = parse(text, Names::AsWritten)
        else {
            panic!()
        };
        assert_eq!((mapping.name.as_str(), mapping.external_name.as_str()), ("People", "MyMap"));
        assert_eq!(mapping.columns[0].name, "firstName");
    }

    #[test]
    fn a_plan_is_asked_for_in_either_way() {
        for text in ["EXPLAIN PLAN FOR SELECT 1", "explain /* a */ plan\nfor SELECT 1", "EXPLAIN SELECT 1"] {
            let Ok(Parsed::Other(statement)) = parse(text, Names::LowerCase) else { panic!("{text}") };
            assert!(matches!(*statement, Statement::Explain(_)), "{text}");
        }
        assert_eq!(without_plan_for("SELECT plan FROM t"), "SELECT plan FROM t");
    }

    #[test]
    fn several_tables_are_dropped_renamed_and_emptied_by_statements_of_their_own() {
        let OwnStatement::Drop { kind, names, if_exists } =
            own("DROP VIEW IF EXISTS a, public.\"B\" CASCADE")
        else {
            panic!()
        };
        assert_eq!((kind, names, if_exists), (Made::View, vec!["a".to_owned(), "B".to_owned()], true));
        let OwnStatement::Rename { old, new, .. } = own("alter table Filbert.Public.A rename to B") else {
            panic!()
        };
        assert_eq!((old.as_str(), new.as_str()), ("a", "b"));
        let OwnStatement::Truncate { names, restarts } = own("truncate a, only b restart identity cascade")
        else {
            panic!()
        };
        assert_eq!((names, restarts), (vec!["a".to_owned(), "b".to_owned()], true));
        assert!(matches!(parse("DROP TABLE a", Names::LowerCase), Ok(Parsed::Other(_))));
        assert!(matches!(
            parse("ALTER TABLE a RENAME COLUMN b TO c", Names::LowerCase),
            Ok(Parsed::Other(_))
        ));
        assert!(says("TRUNCATE information_schema.tables").contains("not a table of the schema public"));
    }

    #[test]
    fn a_sink_is_an_insert_that_replaces() {
        let text = "-- sink\n/* ü */ sink INTO m VALUES (1, 'SINK INTO x')";
        let Ok(Parsed::Other(statement)) = parse(text, Names::LowerCase) else { panic!() };
        let Statement::Statement(inner) = *statement else { panic!() };
        let SqlStatement::Insert(insert) = *inner else { panic!() };
        assert!(insert.replace_into);
        assert!(insert.to_string().contains("'SINK INTO x'"), "{insert}");
    }

    #[test]
    fn mistakes_are_told_with_what_was_expected() {
        assert!(says("CREATE MAPPING m TYPE Kafka").contains("TYPE IMap"));
        assert!(says("CREATE MAPPING m (a OBJECT) TYPE IMap").contains("OBJECT"));
        assert!(says("CREATE MAPPING m (a INT) IMap").contains("TYPE"));
        assert!(says("CREATE INDEX i ON m (a) TYPE TREE").contains("SORTED, HASH or BITMAP"));
        assert!(says("DROP MAPPING a b").contains("end of the statement"));
        assert!(says("SHOW MAPPINGS; SELECT 1").contains("end of the statement"));
        for text in ["CREATE MAPPING", "CREATE MAPPING m (", "CREATE INDEX i ON", "SINK INTO", "SINK"] {
            assert!(parse(text, Names::LowerCase).is_err(), "{text}");
        }
    }
}
