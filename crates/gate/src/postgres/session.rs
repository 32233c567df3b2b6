//! One session: messages in, answers out, in order. Runs on the io loop that its connection lives on; planning and running do not.
//!
//! ```text
//! Query -----------------------------> run each statement -> ReadyForQuery
//! Parse, Bind, Describe, Execute, ... -> answered one by one; after a failure nothing is, until
//! Sync ------------------------------> ReadyForQuery
//! ```
//!
//! There are no transactions: `BEGIN` and `COMMIT` keep the state that drivers look at, and what a statement changed stays changed. A
//! `ROLLBACK` after a change says so.

use super::answer::{Answer, Transaction};
use super::failure::Failure;
use super::host::Host;
use super::line::{Ended, Line};
use super::local::Local;
use super::prepared::{Desk, PortalState, Prepared, What, parameters, with_casts};
use super::request::{Named, Request};
use super::run::{Fault, Formats, Progress, Running, put_columns};
use super::script::{self, Step};
use super::startup::{self, Guest};
use super::values::{RowEncoder, pg_type};
use crate::tables::UserTables;
use bytes::BytesMut;
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use filbert_net::{Close, Stream};
use filbert_sql::StatementKind;
use std::sync::Arc;

/// Serves a connection from its first byte to its last.
pub(super) async fn serve(host: Arc<Host>, stream: Stream) -> Result<(), Close> {
    let mut line = Line::new(stream);
    let ended = match startup::start(&host, &mut line).await {
        Ok(None) => return Ok(()),
        Ok(Some(guest)) => {
            let mut session = Session::new(&host, guest, &mut line);
            session.run().await
        }
        Err(ended) => ended,
    };
    let last_words = match ended {
        Ended::Broken(close) => return Err(close),
        Ended::Gone if line.stream.is_draining() => {
            Failure::fatal("57P01", "the member shuts down; connect again later")
        }
        Ended::Gone => return Ok(()),
        Ended::Refused(failure) => failure,
    };
    if last_words.code.starts_with("08") {
        host.counters.malformed.add();
    }
    line.out.failure(&last_words);
    let _ = line.flush().await;
    Err(Close::because(last_words.message))
}

struct Session<'a> {
    host: &'a Host,
    line: &'a mut Line,
    guest: Guest,
    sql: filbert_sql::Session,
    desk: Desk,
    transaction: Transaction,
    /// True when the transaction changed what its end would have to undo.
    changed: bool,
    /// True after a failure of the extended protocol, until the next `Sync`.
    skips: bool,
}

impl<'a> Session<'a> {
    fn new(host: &'a Host, guest: Guest, line: &'a mut Line) -> Self {
        let rights = UserTables::new(&guest.user, host.rights(&guest.user));
        let sql = host.sql.session_as(Arc::new(rights));
        let desk = Desk::new(&host.settings);
        Self { host, line, guest, sql, desk, transaction: Transaction::None, changed: false, skips: false }
    }

    /// Until the connection ends.
    async fn run(&mut self) -> Ended {
        loop {
            if let Err(ended) = self.next().await {
                return ended;
            }
        }
    }

    async fn next(&mut self) -> Result<(), Ended> {
        let (kind, body) = self.line.message().await?;
        let request = Request::read(kind, body)?;
        // After a failure nothing counts until the client says where it goes on.
        if self.skips && !matches!(request, Request::Sync | Request::Terminate) {
            return Ok(());
        }
        let extended = request.is_extended();
        let handled = match request {
            Request::Query(text) => return self.simple(text).await,
            Request::Sync => {
                self.skips = false;
                if self.transaction == Transaction::None {
                    self.desk.close_portals();
                }
                self.line.out.ready(self.transaction);
                return self.line.relieve().await;
            }
            Request::Parse { name, text, types } => self.parse(name, text, &types).await,
            Request::Bind { portal, statement, formats, values, results } => {
                self.bind(portal, &statement, &formats, &values, &results).map_err(Fault::Failed)
            }
            Request::Describe(Named::Statement(name)) => {
                self.describe_statement(&name).map_err(Fault::Failed)
            }
            Request::Describe(Named::Portal(name)) => self.describe_portal(&name).await,
            Request::Execute { portal, rows } => self.execute(&portal, rows).await,
            Request::Close(named) => {
                match named {
                    Named::Statement(name) => {
                        self.desk.close_statement(&name);
                    }
                    Named::Portal(name) => self.desk.close_portal(&name),
                }
                self.line.out.closed();
                Ok(())
            }
            Request::Flush => return self.line.flush().await,
            Request::Terminate => return Err(Ended::Gone),
            Request::Copy => return Ok(()),
            Request::Password(_) => return Err(Failure::malformed("a password after the login").into()),
        };
        match handled {
            Ok(()) => self.line.relieve().await,
            Err(Fault::Ended(ended)) => Err(ended),
            Err(Fault::Failed(failure)) => {
                self.skips = extended;
                self.failed(&failure);
                Ok(())
            }
        }
    }

    fn failed(&mut self, failure: &Failure) {
        self.host.counters.failures.add();
        self.line.out.failure(failure);
        if self.transaction == Transaction::Open {
            self.transaction = Transaction::Failed;
        }
    }

    /// The statements of one text, one after the other; the first that fails is the last.
    async fn simple(&mut self, text: String) -> Result<(), Ended> {
        match self.simple_all(text).await {
            Ok(()) => {}
            Err(Fault::Ended(ended)) => return Err(ended),
            Err(Fault::Failed(failure)) => self.failed(&failure),
        }
        if self.transaction == Transaction::None {
            self.desk.close_portals();
        }
        self.line.out.ready(self.transaction);
        Ok(())
    }

    async fn simple_all(&mut self, text: String) -> Result<(), Fault> {
        self.sql.check_length(&text)?;
        let steps = script::steps(self.host, &self.guest, text).await?;
        if steps.is_empty() {
            self.line.out.empty_query();
        }
        for step in &steps {
            match step {
                Step::Local(known) => {
                    self.may_run(Some(known))?;
                    if let Some(rows) = self.shown(known) {
                        put_columns(self.line, &rows.schema(), &Formats::default());
                    }
                    self.run_local(known, &Formats::default()).await?;
                }
                Step::Sql(text) => self.simple_one(text).await?,
            }
            self.line.relieve().await?;
        }
        Ok(())
    }

    async fn simple_one(&mut self, text: &str) -> Result<(), Fault> {
        self.may_run(None)?;
        self.host.counters.statements.add();
        let mut running = Running::start(&self.sql, &self.guest.place, text, Vec::new()).await?;
        if running.description.kind == StatementKind::Rows {
            put_columns(self.line, &running.description.columns, &Formats::default());
        }
        self.changed |= running.changes();
        match running.send(self.line, &self.guest.place, &Formats::default(), 0).await? {
            Progress::Complete(tag) => self.line.out.complete(&tag),
            Progress::Suspended => self.line.out.suspended(),
        }
        Ok(())
    }

    /// After a failure in a transaction, only its end.
    fn may_run(&self, known: Option<&Local>) -> Result<(), Failure> {
        let ends = matches!(known, Some(Local::Commit | Local::Rollback | Local::Savepoint("ROLLBACK")));
        if self.transaction == Transaction::Failed && !ends {
            return Err(Failure::error(
                "25P02",
                "current transaction is aborted, commands ignored until end of transaction block",
            ));
        }
        Ok(())
    }

    async fn parse(&mut self, name: String, text: String, types: &[u32]) -> Result<(), Fault> {
        self.sql.check_length(&text)?;
        let mut steps = script::steps(self.host, &self.guest, text).await?;
        if steps.len() > 1 {
            let why = "cannot insert multiple commands into a prepared statement";
            return Err(Failure::error("42601", why).into());
        }
        let prepared = match steps.pop() {
            None => Prepared { text: String::new(), what: What::Empty, parameters: parameters(types, &[]) },
            Some(Step::Local(known)) => {
                self.may_run(Some(&known))?;
                Prepared { text: String::new(), what: What::Local(known), parameters: parameters(types, &[]) }
            }
            Some(Step::Sql(text)) => {
                self.may_run(None)?;
                let text = with_casts(&text, types);
                let described = self.sql.describe(&text).await?;
                let parameters = parameters(types, &described.parameters);
                Prepared { text, what: What::Sql(described), parameters }
            }
        };
        self.desk.add_statement(name, prepared)?;
        self.line.out.parsed();
        Ok(())
    }

    fn bind(
        &mut self,
        portal: String,
        statement: &str,
        formats: &[i16],
        values: &[Option<bytes::Bytes>],
        results: &[i16],
    ) -> Result<(), Failure> {
        let prepared = Arc::clone(self.desk.statement(statement)?);
        let values = prepared.bind(formats, values)?;
        let results = Formats::new(results)?;
        if let What::Sql(described) = &prepared.what
            && described.kind == StatementKind::Rows
        {
            results.fit(described.columns.fields().len(), "columns")?;
        }
        self.desk.add_portal(portal, &prepared, values, results)?;
        self.line.out.bound();
        Ok(())
    }

    fn describe_statement(&mut self, name: &str) -> Result<(), Failure> {
        let prepared = Arc::clone(self.desk.statement(name)?);
        let oids: Vec<u32> = prepared.parameters.iter().map(|parameter| parameter.shown.oid()).collect();
        self.line.out.parameters(&oids);
        match &prepared.what {
            What::Sql(described) if described.kind == StatementKind::Rows => {
                put_columns(self.line, &described.columns, &Formats::default());
            }
            What::Local(known) => self.describe_local(known, &Formats::default()),
            _ => self.line.out.no_data(),
        }
        Ok(())
    }

    fn describe_local(&mut self, known: &Local, formats: &Formats) {
        match self.shown(known) {
            Some(rows) => put_columns(self.line, &rows.schema(), formats),
            None => self.line.out.no_data(),
        }
    }

    /// The values are known here: the query begins, so that its columns are those that will come.
    async fn describe_portal(&mut self, name: &str) -> Result<(), Fault> {
        let portal = self.desk.portal(name)?;
        let (statement, formats) = (Arc::clone(&portal.statement), portal.formats.clone());
        match &statement.what {
            What::Empty => self.line.out.no_data(),
            What::Local(known) => self.describe_local(known, &formats),
            What::Sql(described) if described.kind != StatementKind::Rows => self.line.out.no_data(),
            What::Sql(_) => {
                self.begin(name).await?;
                // Between messages there is nothing that a late cancel could mean.
                self.guest.place.runs(None);
                let portal = self.desk.portal(name)?;
                portal.is_described = true;
                if let PortalState::Running(running) = &portal.state {
                    put_columns(self.line, &running.description.columns, &formats);
                } else {
                    self.line.out.no_data();
                }
            }
        }
        Ok(())
    }

    /// Submits the query of a portal, unless it was.
    async fn begin(&mut self, name: &str) -> Result<(), Fault> {
        self.may_run(None)?;
        let portal = self.desk.portal(name)?;
        let PortalState::Bound(values) = &mut portal.state else { return Ok(()) };
        let (values, statement) = (std::mem::take(values), Arc::clone(&portal.statement));
        portal.state = PortalState::Done;
        self.host.counters.statements.add();
        let running = Running::start(&self.sql, &self.guest.place, &statement.text, values).await?;
        self.changed |= running.changes();
        self.desk.portal(name)?.state = PortalState::Running(Box::new(running));
        Ok(())
    }

    async fn execute(&mut self, name: &str, rows: usize) -> Result<(), Fault> {
        let portal = self.desk.portal(name)?;
        let (statement, formats) = (Arc::clone(&portal.statement), portal.formats.clone());
        match &statement.what {
            What::Empty => self.line.out.empty_query(),
            What::Local(known) => {
                self.may_run(Some(known))?;
                return self.run_local(known, &formats).await;
            }
            What::Sql(described) => {
                self.begin(name).await?;
                let portal = self.desk.portal(name)?;
                let PortalState::Running(running) = &mut portal.state else {
                    self.line.out.complete("SELECT 0");
                    return Ok(());
                };
                if described.kind == StatementKind::Rows && !portal.is_described {
                    let same = same_columns(&described.columns, &running.description.columns);
                    same.inspect_err(|_| self.guest.place.runs(None))?;
                }
                match running.send(self.line, &self.guest.place, &formats, rows).await {
                    Ok(Progress::Complete(tag)) => {
                        portal.state = PortalState::Done;
                        self.line.out.complete(&tag);
                    }
                    Ok(Progress::Suspended) => self.line.out.suspended(),
                    Err(fault) => {
                        portal.state = PortalState::Done;
                        return Err(fault);
                    }
                }
            }
        }
        Ok(())
    }

    /// The rows of a statement that the session answers itself; `None` when it has none.
    fn shown(&self, known: &Local) -> Option<RecordBatch> {
        let variables = &self.guest.variables;
        let (names, columns): (Vec<&str>, Vec<Vec<&str>>) = match known {
            Local::Show(name) => (vec![name.as_str()], vec![vec![variables.get(name)?]]),
            Local::ShowAll => {
                let (names, values) = variables.all().unzip();
                (vec!["name", "setting"], vec![names, values])
            }
            _ => return None,
        };
        let fields: Vec<Field> = names.iter().map(|name| Field::new(*name, DataType::Utf8, false)).collect();
        let columns =
            columns.into_iter().map(|column| Arc::new(StringArray::from(column)) as ArrayRef).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).ok()
    }

    async fn run_local(&mut self, known: &Local, formats: &Formats) -> Result<(), Fault> {
        let tag = match known {
            Local::Begin => {
                if self.transaction != Transaction::None {
                    self.warn("25001", "there is already a transaction in progress");
                } else {
                    (self.transaction, self.changed) = (Transaction::Open, false);
                }
                "BEGIN"
            }
            Local::Commit => match self.end_transaction() {
                Transaction::Failed => "ROLLBACK",
                _ => "COMMIT",
            },
            Local::Rollback => {
                if self.changed && self.transaction != Transaction::None {
                    self.warn(
                        "0A000",
                        "there are no transactions: what was changed since BEGIN stays changed",
                    );
                }
                self.end_transaction();
                "ROLLBACK"
            }
            Local::Savepoint(tag) => {
                if *tag == "ROLLBACK" && self.transaction == Transaction::Failed {
                    self.transaction = Transaction::Open;
                }
                tag
            }
            Local::Set { name, value } => {
                if let Some((name, value)) = self.guest.variables.set(name, value)? {
                    self.line.out.parameter_status(name, value);
                }
                "SET"
            }
            Local::SetNothing => "SET",
            Local::Reset(name) => {
                self.guest.variables.reset(name.as_deref());
                self.tell_variables();
                "RESET"
            }
            Local::Show(_) | Local::ShowAll => {
                self.show(known, formats)?;
                "SHOW"
            }
            Local::Discard { all } => {
                if *all {
                    self.desk.close_portals();
                    self.desk.close_statements();
                    self.guest.variables.reset(None);
                    self.tell_variables();
                }
                if *all { "DISCARD ALL" } else { "DISCARD" }
            }
            Local::Deallocate(None) => {
                self.desk.close_statements();
                "DEALLOCATE ALL"
            }
            Local::Deallocate(Some(name)) => {
                if !self.desk.close_statement(name) {
                    // One of PREPARE, which the engine knows.
                    let text = format!("DEALLOCATE \"{}\"", name.replace('"', "\"\""));
                    let mut running = Running::start(&self.sql, &self.guest.place, &text, Vec::new()).await?;
                    running.send(self.line, &self.guest.place, formats, 0).await?;
                }
                "DEALLOCATE"
            }
            Local::Unlisten => "UNLISTEN",
        };
        self.line.out.complete(tag);
        Ok(())
    }

    fn show(&mut self, known: &Local, formats: &Formats) -> Result<(), Failure> {
        if let Some(rows) = self.shown(known) {
            let rows = RowEncoder::new(&rows, |at| formats.of(at))?;
            (0..rows.rows()).for_each(|row| rows.put_row(row, &mut self.line.out));
        }
        Ok(())
    }

    fn tell_variables(&mut self) {
        let out: &mut BytesMut = &mut self.line.out;
        self.guest.variables.reported().for_each(|(name, value)| out.parameter_status(name, value));
    }

    fn warn(&mut self, code: &'static str, message: &'static str) {
        self.line.out.failure(&Failure::warning(code, message));
    }

    /// What it was in.
    fn end_transaction(&mut self) -> Transaction {
        if self.transaction == Transaction::None {
            self.warn("25P01", "there is no transaction in progress");
        }
        self.desk.close_portals();
        self.changed = false;
        std::mem::replace(&mut self.transaction, Transaction::None)
    }
}

/// Refuses rows that are not those that the client was told of.
fn same_columns(told: &Schema, now: &Schema) -> Result<(), Failure> {
    let oids =
        |columns: &Schema| columns.fields().iter().map(|field| pg_type(field).oid()).collect::<Vec<_>>();
    if oids(told) != oids(now) {
        let why = "the columns have other types than when the statement was prepared; prepare it again";
        return Err(Failure::error("0A000", why));
    }
    Ok(())
}
