//! Why a statement failed, as clients of Hazelcast are told: a code that programs go by, words, and what to do.

use datafusion::error::DataFusionError;
use filbert_grid::TooMuch;
use filbert_sql::SqlError;
use filbert_wire::messages::structures;
use uuid::Uuid;

/// Hazelcast's codes, as far as there is a use for them here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum Code {
    Generic = -1,
    CancelledByUser = 1003,
    Timeout = 1004,
    /// The text is wrong, or asks for what there is not.
    Parsing = 1008,
    ObjectNotFound = 1010,
    /// A value cannot be what is wanted of it.
    Data = 2000,
}

/// Why a statement failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    code: Code,
    text: String,
    suggestion: Option<String>,
    missing: Option<String>,
    is_denied: bool,
}

impl Problem {
    pub(super) fn new(code: Code, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), suggestion: None, missing: None, is_denied: false }
    }

    /// A value that cannot be sent.
    pub(super) fn data(text: String) -> Self {
        Self::new(Code::Data, text)
    }

    /// What could be sent instead, as a statement.
    pub(super) fn suggesting(self, suggestion: Option<String>) -> Self {
        Self { suggestion, ..self }
    }

    /// True when the user had no right to it.
    pub(super) fn is_denied(&self) -> bool {
        self.is_denied
    }

    #[cfg(test)]
    pub(super) fn code(&self) -> Code {
        self.code
    }

    /// The table that there is not, if that is what went wrong.
    pub(super) fn missing_table(&self) -> Option<&str> {
        self.missing.as_deref()
    }

    /// As it is sent.
    pub(super) fn on(self, member: Uuid) -> structures::SqlError {
        structures::SqlError {
            code: self.code as i32,
            message: Some(self.text.into()),
            originating_member: member,
            suggestion: self.suggestion.map(Into::into),
            cause_stack_trace: None,
        }
    }
}

impl From<SqlError> for Problem {
    fn from(error: SqlError) -> Self {
        let code = match &error {
            SqlError::TextTooLong { .. }
            | SqlError::TooDeep { .. }
            | SqlError::NotOneStatement { .. }
            | SqlError::WrongParameters { .. } => Code::Parsing,
            SqlError::Failed(cause) => code_of(cause),
            SqlError::NoTable { .. } => Code::ObjectNotFound,
            SqlError::NoMoment { .. } | SqlError::Taken(_) | SqlError::NotNull(_) | SqlError::TooLong(_) => {
                Code::Data
            }
            SqlError::Cancelled => Code::CancelledByUser,
            SqlError::TimedOut { .. } => Code::Timeout,
            SqlError::PartlyDone { cause, .. } => Self::from(cause.as_ref().clone()).code,
            _ => Code::Generic,
        };
        let text = error.to_string();
        let is_denied = matches!(error, SqlError::Denied(_));
        let missing = if let SqlError::NoTable { name, .. } = error { Some(name) } else { None };
        Self { is_denied, missing, ..Self::new(code, text) }
    }
}

impl From<TooMuch> for Problem {
    fn from(error: TooMuch) -> Self {
        let setting = match error {
            TooMuch::ForOne { .. } => "answer_bytes",
            _ => "total_answer_bytes",
        };
        Self::new(Code::Generic, format!("a page of the rows: {error}; the setting is {setting}"))
    }
}

fn code_of(error: &DataFusionError) -> Code {
    match error {
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => code_of(inner),
        DataFusionError::Shared(inner) => code_of(inner),
        DataFusionError::Collection(errors) => errors.first().map_or(Code::Generic, code_of),
        DataFusionError::SQL(..)
        | DataFusionError::Plan(_)
        | DataFusionError::SchemaError(..)
        | DataFusionError::NotImplemented(_)
        | DataFusionError::Configuration(_) => Code::Parsing,
        DataFusionError::ArrowError(..) | DataFusionError::Execution(_) => Code::Data,
        _ => Code::Generic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(error: DataFusionError) -> Problem {
        SqlError::from(error).into()
    }

    #[test]
    fn each_kind_of_error_has_its_code() {
        let missing = SqlError::NoTable { name: "My.Map".into(), hint: "none".into(), place: None };
        let missing = Problem::from(missing);
        assert_eq!((missing.code(), missing.missing_table()), (Code::ObjectNotFound, Some("My.Map")));
        assert_eq!(of(DataFusionError::Plan("no such column".into())).code(), Code::Parsing);
        assert_eq!(of(DataFusionError::Execution("division by zero".into())).code(), Code::Data);
        let wrapped = DataFusionError::Plan("x".into()).context("while planning");
        assert_eq!(of(wrapped).code(), Code::Parsing);
        assert_eq!(Problem::from(SqlError::Cancelled).code(), Code::CancelledByUser);
        assert_eq!(Problem::from(SqlError::TimedOut { limit_ms: 1 }).code(), Code::Timeout);
        assert_eq!(Problem::from(SqlError::Refused("no".into())).code(), Code::Generic);
    }

    #[test]
    fn the_member_and_the_suggestion_are_told() {
        let sent = Problem::data("bad".into()).suggesting(Some("do".into())).on(Uuid::from_u128(7));
        assert_eq!((sent.code, sent.originating_member), (2000, Uuid::from_u128(7)));
        assert_eq!((sent.message.as_deref(), sent.suggestion.as_deref()), (Some("bad"), Some("do")));
    }
}
