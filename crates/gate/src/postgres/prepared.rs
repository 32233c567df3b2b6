//! Prepared statements and portals of the extended protocol.

use super::answer::Format;
use super::failure::Failure;
use super::local::Local;
use super::run::{Formats, Running};
use super::values::{Shown, TEXT, Zone, decode, pg_type, read_as, type_by_oid};
use bytes::Bytes;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use filbert_sql::{Description, StatementKind};
use std::collections::HashMap;
use std::sync::Arc;

/// A statement that was parsed.
pub(super) struct Prepared {
    /// As the engine is given it.
    pub(super) text: String,
    pub(super) what: What,
    pub(super) parameters: Vec<Parameter>,
    /// Bytes of a text that is not kept as it was sent, but in what was made of it.
    pub(super) said: usize,
}

/// What it is.
pub(super) enum What {
    Empty,
    Local(Local),
    Sql(Description),
    /// A cursor of that name, for a query with the same parameters.
    Declare(String, Arc<Prepared>),
}

impl What {
    /// True when the engine runs it.
    pub(super) fn is_run(&self) -> bool {
        matches!(self, Self::Sql(_) | Self::Local(Local::Execute(_)))
    }
}

/// A parameter: what the client binds, and what the plan wants.
#[derive(Clone)]
pub(super) struct Parameter {
    pub(super) shown: Shown,
    wanted: Option<DataType>,
}

/// A statement with its values.
pub(super) struct Portal {
    pub(super) statement: Arc<Prepared>,
    pub(super) formats: Formats,
    pub(super) state: PortalState,
    /// True when the client was told the columns of this portal, and not only those of its statement.
    pub(super) is_described: bool,
    bytes: usize,
}

/// How far it is.
pub(super) enum PortalState {
    /// Not begun.
    Bound(Vec<ScalarValue>),
    /// Begun, not read to its end.
    Running(Box<Running>),
    /// At its end.
    Done,
    /// It ended before that.
    Failed,
}

/// The parameters of a statement: as the client declared them, as planned where it did not.
pub(super) fn parameters(declared: &[u32], planned: &[Option<DataType>]) -> Vec<Parameter> {
    let count = declared.len().max(planned.len());
    let parameter = |at: usize| {
        let wanted = planned.get(at).cloned().flatten();
        let said = declared.get(at).copied().filter(|oid| !is_open(*oid)).and_then(type_by_oid);
        let text = || Shown::One(&TEXT);
        let planned = || wanted.as_ref().map(|wanted| pg_type(&Field::new("", wanted.clone(), true)));
        Parameter { shown: said.or_else(planned).unwrap_or_else(text), wanted }
    };
    (0..count).map(parameter).collect()
}

/// True when a client leaves the type to us.
pub(super) fn is_open(oid: u32) -> bool {
    matches!(oid, 0 | 705)
}

/// The statement with a cast at each parameter whose type the client declared, so that the plan has that type too.
pub(super) fn with_casts(text: &str, declared: &[u32]) -> String {
    let cast = |number: usize| {
        let oid = *declared.get(number.checked_sub(1)?)?;
        // What the engine has no word for stays open.
        let castable = !is_open(oid) && !matches!(oid, 18 | 19 | 26 | 114 | 2950 | 3802);
        match type_by_oid(oid)? {
            // The engine knows one kind of text.
            Shown::One(_) if matches!(oid, 1042 | 1043) => Some("varchar"),
            Shown::One(of) if castable => Some(of.sql_name),
            _ => None,
        }
    };
    if declared.iter().all(|oid| is_open(*oid)) {
        return text.to_owned();
    }
    let bytes = text.as_bytes();
    let (mut out, mut at, mut copied) = (String::with_capacity(text.len() + 16 * declared.len()), 0, 0);
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest[0] {
            quote @ (b'\'' | b'"') => 1 + past(&rest[1..], &[quote]),
            b'-' if rest.starts_with(b"--") => past(rest, b"\n"),
            b'/' if rest.starts_with(b"/*") => 2 + past(&rest[2..], b"*/"),
            b'$' => {
                let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                let number = text[at + 1..at + 1 + digits].parse::<usize>();
                if let Some(name) = number.ok().and_then(cast) {
                    out.push_str(&text[copied..at]);
                    out.push_str(&format!("CAST({} AS {name})", &text[at..at + 1 + digits]));
                    copied = at + 1 + digits;
                }
                1 + digits
            }
            _ => 1,
        };
    }
    out.push_str(&text[copied..]);
    out
}

/// The length up to and with `end`, or of all.
fn past(rest: &[u8], end: &[u8]) -> usize {
    rest.windows(end.len()).position(|part| part == end).map_or(rest.len(), |at| at + end.len())
}

impl Prepared {
    /// Takes types that its text says in other words than those that it was planned by, where the client declared none.
    pub(super) fn say_types(&mut self, declared: &[u32], said: &[u32]) {
        for (at, (parameter, oid)) in self.parameters.iter_mut().zip(said).enumerate() {
            let is_declared = declared.get(at).is_some_and(|declared| !is_open(*declared));
            if let Some(shown) = type_by_oid(*oid).filter(|_| !is_declared) {
                parameter.shown = shown;
            }
        }
    }

    fn bytes(&self) -> usize {
        let declared =
            if let What::Declare(name, query) = &self.what { name.len() + query.bytes() } else { 0 };
        declared
            + self.said
            + self.text.len()
            + self.parameters.len() * size_of::<Parameter>()
            + size_of::<Self>()
    }

    /// The values of the parameters, from what a client bound.
    pub(super) fn bind(
        &self,
        formats: &[i16],
        values: &[Option<Bytes>],
        zone: &Zone,
    ) -> Result<Vec<ScalarValue>, Failure> {
        if values.len() != self.parameters.len() {
            return Err(Failure::error(
                "08P01",
                format!(
                    "bind message supplies {} parameters, but the statement requires {}",
                    values.len(),
                    self.parameters.len()
                ),
            ));
        }
        let formats = Formats::new(formats)?;
        formats.fit(values.len(), "parameters")?;
        let each = self.parameters.iter().zip(values).enumerate();
        each.map(|(at, (parameter, value))| {
            let format: Format = formats.of(at);
            decode(parameter.shown, format, value.as_ref(), parameter.wanted.as_ref(), zone)
        })
        .collect()
    }
}

impl Parameter {
    /// A value that SQL gave, as what is wanted here.
    fn assigned(&self, value: &ScalarValue, zone: &Zone) -> Result<ScalarValue, Failure> {
        let wanted = self.wanted.clone().unwrap_or_else(|| read_as(self.shown));
        let wrong = |error: DataFusionError| Failure::error("42804", error.to_string());
        // What has no zone is of the session's.
        let value = match &wanted {
            DataType::Timestamp(unit, Some(_))
                if !matches!(value.data_type(), DataType::Timestamp(_, Some(_))) =>
            {
                let here = DataType::Timestamp(*unit, Some(Arc::clone(zone.name())));
                &value.cast_to(&here).map_err(wrong)?
            }
            _ => value,
        };
        value.cast_to(&wanted).map_err(wrong)
    }
}

impl Prepared {
    /// The values of the parameters, from those that `EXECUTE` was given.
    pub(super) fn assigned(&self, values: &[ScalarValue], zone: &Zone) -> Result<Vec<ScalarValue>, Failure> {
        self.parameters.iter().zip(values).map(|(parameter, value)| parameter.assigned(value, zone)).collect()
    }
}

/// The statements and portals of one session, within its limits.
pub(super) struct Desk {
    statements: HashMap<String, Arc<Prepared>>,
    portals: HashMap<String, Portal>,
    bytes: usize,
    most_statements: usize,
    most_portals: usize,
    most_bytes: usize,
}

impl Desk {
    pub(super) fn new(settings: &super::settings::PostgresSettings) -> Self {
        Self {
            statements: HashMap::new(),
            portals: HashMap::new(),
            bytes: 0,
            most_statements: settings.statements,
            most_portals: settings.portals,
            most_bytes: settings.prepared_bytes,
        }
    }

    /// Puts a statement on the desk; a name is taken until it is closed, the empty one is free.
    pub(super) fn add_statement(&mut self, name: String, prepared: Prepared) -> Result<(), Failure> {
        if name.is_empty() {
            self.close_statement("");
        }
        self.check_name(&name)?;
        let bytes = name.len() + prepared.bytes();
        self.room(self.statements.len(), self.most_statements, "prepared statements", "statements", bytes)?;
        self.bytes += bytes;
        self.statements.insert(name, Arc::new(prepared));
        Ok(())
    }

    /// Refuses a name that is taken.
    pub(super) fn check_name(&self, name: &str) -> Result<(), Failure> {
        if self.statements.contains_key(name) {
            return Err(Failure::error("42P05", format!("prepared statement {name:?} already exists")));
        }
        Ok(())
    }

    /// Puts a portal on the desk; a name is taken until it is closed, the empty one is free.
    pub(super) fn add_portal(
        &mut self,
        name: String,
        statement: &Arc<Prepared>,
        values: Vec<ScalarValue>,
        formats: Formats,
    ) -> Result<(), Failure> {
        if name.is_empty() {
            self.close_portal("");
        } else if self.portals.contains_key(&name) {
            return Err(Failure::error("42P03", format!("portal {name:?} already exists")));
        }
        let values_bytes = values.iter().map(ScalarValue::size).sum::<usize>();
        // A statement that nobody else has counts here.
        let statement_bytes = if Arc::strong_count(statement) == 1 { statement.bytes() } else { 0 };
        let bytes = name.len() + size_of::<Portal>() + values_bytes + statement_bytes;
        self.room(self.portals.len(), self.most_portals, "open portals", "portals", bytes)?;
        self.bytes += bytes;
        let state = PortalState::Bound(values);
        let statement = Arc::clone(statement);
        self.portals.insert(name, Portal { statement, formats, state, is_described: false, bytes });
        Ok(())
    }

    fn room(
        &self,
        count: usize,
        most: usize,
        what: &str,
        setting: &str,
        bytes: usize,
    ) -> Result<(), Failure> {
        if count >= most {
            return Err(Failure::error(
                "54000",
                format!(
                    "this connection has {count} {what}, as many as postgres.{setting} allows; close some"
                ),
            ));
        }
        if self.bytes + bytes > self.most_bytes {
            return Err(Failure::error(
                "53200",
                format!(
                    "the statements and values of this connection would have {} bytes, more than the {} of \
                     postgres.prepared_bytes; close some",
                    self.bytes + bytes,
                    self.most_bytes
                ),
            ));
        }
        Ok(())
    }

    pub(super) fn statement(&self, name: &str) -> Result<&Arc<Prepared>, Failure> {
        let missing = || Failure::error("26000", format!("prepared statement {name:?} does not exist"));
        self.statements.get(name).ok_or_else(missing)
    }

    /// A portal as SQL sees it: one of a query that gives rows.
    pub(super) fn cursor(&self, name: &str) -> Result<&Portal, Failure> {
        let missing = || Failure::error("34000", format!("cursor {name:?} does not exist"));
        let gives_rows = |portal: &&Portal| match &portal.statement.what {
            What::Sql(described) => described.kind == StatementKind::Rows,
            _ => false,
        };
        self.portals.get(name).filter(gives_rows).ok_or_else(missing)
    }

    pub(super) fn portal(&mut self, name: &str) -> Result<&mut Portal, Failure> {
        let missing = || Failure::error("34000", format!("portal {name:?} does not exist"));
        self.portals.get_mut(name).ok_or_else(missing)
    }

    /// True when there was one.
    pub(super) fn close_statement(&mut self, name: &str) -> bool {
        let closed = self.statements.remove(name);
        if let Some(closed) = &closed {
            self.bytes -= name.len() + closed.bytes();
        }
        closed.is_some()
    }

    pub(super) fn close_portal(&mut self, name: &str) {
        if let Some(closed) = self.portals.remove(name) {
            self.bytes -= closed.bytes;
        }
    }

    pub(super) fn close_statements(&mut self) {
        let names: Vec<String> = self.statements.keys().cloned().collect();
        names.iter().for_each(|name| {
            self.close_statement(name);
        });
    }

    /// Closes those that failed.
    pub(super) fn close_failed(&mut self) {
        let failed = |(name, portal): (&String, &Portal)| {
            matches!(portal.state, PortalState::Failed).then(|| name.clone())
        };
        let names: Vec<String> = self.portals.iter().filter_map(failed).collect();
        names.iter().for_each(|name| self.close_portal(name));
    }

    pub(super) fn close_portals(&mut self) {
        let names: Vec<String> = self.portals.keys().cloned().collect();
        names.iter().for_each(|name| self.close_portal(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types_become_casts() {
        let text = "SELECT $1, '$1', \"$1\", $2 -- $1\n/* $1 */ + $10 + $1";
        let cast = "SELECT CAST($1 AS integer), '$1', \"$1\", $2 -- $1\n/* $1 */ + $10 + CAST($1 AS integer)";
        assert_eq!(with_casts(text, &[23, 0]), cast);
        assert_eq!(with_casts(text, &[0, 705]), text);
        assert_eq!(
            with_casts("SELECT $ $0 $99999999999999999999 ü$1", &[20]),
            "SELECT $ $0 $99999999999999999999 üCAST($1 AS bigint)"
        );
        assert_eq!(with_casts("$1", &[2950]), "$1");
        assert_eq!(with_casts("$1", &[1043]), "CAST($1 AS varchar)");
        assert_eq!(with_casts("'", &[23]), "'");
    }

    #[test]
    fn text_is_what_nobody_says_more_of() {
        let found = parameters(&[0, 23], &[None, None, Some(DataType::Int64)]);
        assert_eq!(found.iter().map(|parameter| parameter.shown.oid()).collect::<Vec<_>>(), [25, 23, 20]);
    }
}
