//! What clients are told when something goes wrong: a code of five letters that programs look at, and a sentence for people.

use super::read_only;
use datafusion::arrow::error::ArrowError;
use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use filbert_sql::SqlError;
use std::borrow::Cow;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Severity {
    /// The statement failed, the session goes on.
    Error,
    /// The connection ends.
    Fatal,
    /// Nothing failed.
    Warning,
}

impl Severity {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
            Self::Warning => "WARNING",
        }
    }
}

/// Something went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) severity: Severity,
    /// The SQLSTATE.
    pub(super) code: &'static str,
    pub(super) message: Cow<'static, str>,
    /// Where in the text that the client sent, counted in letters from 1.
    pub(super) position: Option<usize>,
}

impl Failure {
    fn new(severity: Severity, code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self { severity, code, message: message.into(), position: None }
    }

    pub(super) fn error(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    pub(super) fn fatal(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Severity::Fatal, code, message)
    }

    pub(super) fn warning(code: &'static str, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// What went wrong with a statement of a text. Without its place where the statement is written otherwise there: in words of the
    /// engine, or with values.
    pub(super) fn of(error: SqlError, statement: &str, text: &str) -> Self {
        let place = error.offset_in(statement).zip(text.find(statement)).map(|(at, begin)| begin + at);
        let position = place.and_then(|at| text.get(..at)).map(|before| before.chars().count() + 1);
        Self { position, ..Self::from(error) }
    }

    /// Bytes that break the protocol.
    pub(super) fn malformed(what: &'static str) -> Self {
        Self::fatal("08P01", format!("this is not the PostgreSQL protocol: {what}"))
    }
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        let code = match &error {
            SqlError::TooDeep { .. } => "54001",
            SqlError::TextTooLong { .. } | SqlError::TooManyRows { .. } | SqlError::PlansTooLong { .. } => {
                "54000"
            }
            SqlError::NotOneStatement { .. } => "42601",
            SqlError::Refused(_) | SqlError::NoClause { .. } => "0A000",
            SqlError::Denied(why) if why.starts_with(read_only::REFUSED) => "25006",
            SqlError::Denied(_) | SqlError::FileDenied { .. } => "42501",
            SqlError::Full(_) => "53200",
            SqlError::Taken(_) => "23505",
            // No code that says to try again: what was done would be done twice.
            SqlError::PartlyDone { cause, .. } => match Self::from(cause.as_ref().clone()).code {
                "53000" => "40003",
                code => code,
            },
            SqlError::NotNull(_) => "23502",
            SqlError::TooLong(_) => "22001",
            SqlError::WrongParameters { .. } => "08P01",
            SqlError::NoTable { .. } => "42P01",
            SqlError::NoMoment { .. } => "22007",
            SqlError::OutOfRange { .. } => "22003",
            SqlError::Failed(cause) => code_of(cause),
            SqlError::Cancelled | SqlError::TimedOut { .. } => "57014",
            SqlError::Overloaded { .. }
            | SqlError::Busy(_)
            | SqlError::WaitedTooLong { .. }
            | SqlError::TooManyOpen { .. }
            | SqlError::JournalOverrun { .. } => "53000",
            SqlError::Submit(refused) if refused.is_retryable() => "53000",
            SqlError::Submit(_) | SqlError::Task(_) => "57P03",
            _ => "XX000",
        };
        Self::error(code, error.to_string())
    }
}

/// The code of what DataFusion says. Where only its text tells, the text is looked at: its kinds are few and coarse.
fn code_of(error: &DataFusionError) -> &'static str {
    match error.find_root() {
        DataFusionError::SQL(cause, _) => match cause.as_ref() {
            ParserError::RecursionLimitExceeded => "54001",
            _ => "42601",
        },
        DataFusionError::SchemaError(cause, _) => match cause.as_ref() {
            SchemaError::FieldNotFound { .. } => "42703",
            SchemaError::AmbiguousReference { .. } => "42702",
            _ => "42701",
        },
        DataFusionError::Plan(text) if text.contains("Invalid function") => "42883",
        DataFusionError::Plan(text) if text.contains("coerc") || text.contains("argument types") => "42804",
        DataFusionError::Plan(_) => "42000",
        DataFusionError::NotImplemented(_) => "0A000",
        DataFusionError::ResourcesExhausted(_) => "53200",
        DataFusionError::ArrowError(cause, _) => code_of_arrow(cause),
        DataFusionError::Execution(text) if text.contains("already exists") => "42P07",
        DataFusionError::Execution(text) if text.contains("ivide by zero") => "22012",
        DataFusionError::Execution(text)
            if text.contains("oesn't exist") || text.contains("does not exist") =>
        {
            "42P01"
        }
        DataFusionError::Execution(_) => "22000",
        DataFusionError::IoError(_) => "58030",
        DataFusionError::ObjectStore(_) => "58030",
        DataFusionError::Configuration(_) => "42704",
        _ => "XX000",
    }
}

fn code_of_arrow(error: &ArrowError) -> &'static str {
    match error {
        ArrowError::DivideByZero => "22012",
        ArrowError::ArithmeticOverflow(_) => "22003",
        ArrowError::CastError(text)
            if ["overflow", "out of range", "Can't cast value"].iter().any(|part| text.contains(part)) =>
        {
            "22003"
        }
        ArrowError::CastError(_) | ArrowError::ParseError(_) => "22P02",
        ArrowError::InvalidArgumentError(text) if text.contains("is declared as non-nullable") => "23502",
        ArrowError::InvalidArgumentError(_) => "22023",
        ArrowError::MemoryError(_) => "53200",
        _ => "22000",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overload_is_a_lack_of_resources() {
        let stage = filbert_pool::StageId::of(filbert_pool::StageKind::Partition);
        let late = filbert_pool::SubmitError::Late { stage, bound_ms: 5_000 };
        for error in [SqlError::Busy(late.to_string()), SqlError::Submit(late)] {
            let failure = Failure::from(error);
            assert!(
                failure.code == "53000" && failure.message.contains("partition.overload_ms"),
                "{failure:?}"
            );
        }
        let ends = filbert_pool::SubmitError::ShutDown { stage };
        assert_eq!(Failure::from(SqlError::Submit(ends)).code, "57P03");
    }

    #[test]
    fn a_statement_that_was_begun_is_not_to_be_tried_again() {
        let after = |cause| Failure::from(SqlError::PartlyDone { cause: Box::new(cause), entries: 7 });
        let busy = after(SqlError::Busy("the map is busy; try again".to_owned()));
        assert_eq!(busy.code, "40003");
        assert!(busy.message.ends_with("; 7 entries were changed before"), "{busy:?}");
        assert_eq!(after(SqlError::Taken("a key".to_owned())).code, "23505");
    }

    #[test]
    fn a_mistake_is_pointed_at_in_the_text_that_was_sent() {
        let error = || SqlError::NoMoment { text: "'2026-02-31'".into(), what: "date", form: "2026-03-31" };
        let statement = "SELECT DATE '2026-02-31'";
        let place = |text: &str| Failure::of(error(), statement, text).position;
        assert_eq!(place(statement), Some(13));
        assert_eq!(place("SELECT 'ä'; SELECT DATE '2026-02-31'"), Some(25));
        assert_eq!(place("SELECT date '2026-02-31'"), None);
        assert_eq!(place(""), None);
    }

    #[test]
    fn a_file_that_may_not_be_read_is_a_matter_of_rights() {
        let setting = "sql.files";
        let denied = SqlError::FileDenied { path: "/etc/passwd".into(), verb: "read", setting };
        assert_eq!(Failure::from(denied).code, "42501");
    }
}
