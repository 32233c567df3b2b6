//! One session: messages in, answers out, in order. Runs on the io loop that its connection lives on; planning and running do not.
//!
//! ```text
//! Query -----------------------------> run each statement -> ReadyForQuery
//! Parse, Bind, Describe, Execute, ... -> answered one by one; after a failure nothing is, until
//! Sync ------------------------------> ReadyForQuery
//! ```
//!
//! There are no transactions: `BEGIN` and `COMMIT` keep the state that drivers look at, and what a statement changed stays changed. A
//! `ROLLBACK` after a change says so. One that may only read changes nothing.

use super::answer::{Answer, Transaction};
use super::dialect::{cast_types, compared, mentions_array};
use super::failure::Failure;
use super::host::Host;
use super::line::{Ended, Line};
use super::local::Local;
use super::named::Call;
use super::prepared::{Desk, PortalState, Prepared, What, is_open, parameters, with_casts};
use super::read_only::SessionTables;
use super::request::{Named, Request};
use super::run::{Fault, Formats, Progress, Running, check_columns, put_columns};
use super::script::{self, SHORT_BYTES, Step};
use super::startup::{self, Guest};
use super::values::{Zone, pg_type};
use crate::tables::UserTables;
use bytes::Bytes;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::scalar::ScalarValue;
use filbert_net::{Close, Stream};
use filbert_sql::{ColumnNaming, Description, StatementKind, has_made_names, shown_columns};
use std::sync::Arc;

/// Serves a connection from its first byte to its last.
pub(super) async fn serve(host: Arc<Host>, stream: Stream) -> Result<(), Close> {
    let mut line = Line::new(stream);
    let ended = match startup::start(&host, &mut line).await {
        Ok(None) => return Ok(()),
        Ok(Some(guest)) => {
            let ended = match Session::new(&host, guest, &mut line) {
                Ok(mut session) => session.run().await,
                Err(failure) => failure.into(),
            };
            tracing::info!(peer = %line.stream.info().peer, "a client left");
            ended
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

pub(super) struct Session<'a> {
    host: &'a Host,
    pub(super) line: &'a mut Line,
    pub(super) guest: Guest,
    sql: filbert_sql::Session,
    /// That of the variable, which its moments are shown in.
    pub(super) zone: Zone,
    tables: Arc<SessionTables>,
    pub(super) desk: Desk,
    pub(super) transaction: Transaction,
    /// True when a statement ran since it began.
    pub(super) queried: bool,
    /// True when the transaction changed what its end would have to undo.
    pub(super) changed: bool,
    /// True after a failure of the extended protocol, until the next `Sync`.
    skips: bool,
}

impl<'a> Session<'a> {
    fn new(host: &'a Host, guest: Guest, line: &'a mut Line) -> Result<Self, Failure> {
        let tables = UserTables::new(&guest.user, Arc::new(guest.rights.clone()));
        let tables = Arc::new(SessionTables::new(tables));
        let sql = host.sql.session_as(Arc::clone(&tables) as _);
        let desk = Desk::new(&host.settings);
        let transaction = Transaction::None;
        let zone = guest.variables.zone();
        let sql = sql.in_time_zone(zone.name())?;
        let mut session = Self {
            host,
            line,
            guest,
            sql,
            zone,
            tables,
            desk,
            transaction,
            queried: false,
            changed: false,
            skips: false,
        };
        session.heed_variables()?;
        Ok(session)
    }

    /// Lets the engine know of what was set.
    pub(super) fn heed_variables(&mut self) -> Result<(), Failure> {
        let zone = self.guest.variables.zone();
        let limit = self.guest.variables.statement_timeout();
        if zone != self.zone {
            self.sql = self.sql.clone().in_time_zone(zone.name())?;
            self.zone = zone;
        }
        self.sql = self.sql.clone().with_time_limit(limit);
        Ok(())
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
        self.guest.place.works();
        let extended = request.is_extended();
        let handled = match request {
            Request::Query(text) => return self.simple(text).await,
            Request::Sync => {
                self.skips = false;
                if self.transaction == Transaction::None {
                    self.desk.close_portals();
                }
                self.ready();
                return self.line.relieve().await;
            }
            Request::Parse { name, text, types } => self.parse(name, text, &types).await,
            Request::Bind { portal, statement, formats, values, results } => {
                self.bind(portal, &statement, formats, values, &results).await.map_err(Fault::Failed)
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
            Request::CopyData(_) | Request::CopyDone | Request::CopyFail(_) => return Ok(()),
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
        self.ready();
        Ok(())
    }

    /// The client may ask again.
    fn ready(&mut self) {
        self.guest.place.rests();
        self.line.out.ready(self.transaction);
    }

    async fn simple_all(&mut self, text: String) -> Result<(), Fault> {
        self.sql.check_length(&text)?;
        let sent = if text.len() <= SHORT_BYTES { text.clone() } else { String::new() };
        let steps = script::steps(self.host, &self.guest, text).await?;
        if steps.is_empty() {
            self.line.out.empty_query();
        }
        for step in &steps {
            match step {
                Step::Local(Local::Execute(call)) => {
                    self.may_run(None)?;
                    let (prepared, values) = self.called(call).await?;
                    self.simple_one(&prepared.text, values, "").await?;
                }
                Step::Local(known) => {
                    self.may_run(Some(known))?;
                    if let Some(columns) = self.local_columns(known) {
                        put_columns(self.line, &columns, &Formats::default());
                    }
                    self.run_local(known, &Formats::default()).await?;
                }
                Step::Sql(text, _) => {
                    self.may_run(None)?;
                    self.simple_one(text, Vec::new(), &sent).await?;
                }
            }
            self.line.relieve().await?;
        }
        Ok(())
    }

    async fn simple_one(&mut self, text: &str, values: Vec<ScalarValue>, sent: &str) -> Result<(), Fault> {
        let mut running = self.start(text, values, sent).await?;
        if running.description.kind == StatementKind::Rows {
            put_columns(self.line, &running.description.columns, &Formats::default());
        }
        match running.send(self.line, &self.guest.place, &Formats::default(), 0).await? {
            Progress::Complete(tag) => self.line.out.complete(&tag),
            Progress::Suspended => self.line.out.suspended(),
        }
        Ok(())
    }

    /// Submits a statement, as far as the transaction allows it; mistakes are pointed at in the text that was sent.
    pub(super) async fn start(
        &mut self,
        text: &str,
        values: Vec<ScalarValue>,
        sent: &str,
    ) -> Result<Running, Failure> {
        self.host.counters.statements.add();
        self.queried = true;
        self.tables.set_reads_only(self.guest.variables.is_read_only());
        let started = Running::start(&self.sql, &self.guest.place, text, values, sent, &self.zone).await;
        // What is only prepared is judged when it runs.
        self.tables.set_reads_only(false);
        let mut running = started?;
        self.changed |= running.changes();
        self.name_columns(text, &mut running.description)
            .await
            .inspect_err(|_| self.guest.place.runs(None))?;
        Ok(running)
    }

    /// Gives the columns of a statement the names that PostgreSQL would give them.
    async fn name_columns(&self, text: &str, described: &mut Description) -> Result<(), Failure> {
        let columns = &described.columns;
        if described.kind != StatementKind::Rows || !has_made_names(columns) {
            return Ok(());
        }
        described.columns = if text.len() <= SHORT_BYTES {
            shown_columns(text, columns, ColumnNaming::Postgres)
        } else {
            let (text, columns) = (text.to_owned(), Arc::clone(columns));
            self.host
                .elsewhere("name columns", move || shown_columns(&text, &columns, ColumnNaming::Postgres))
                .await?
        };
        Ok(())
    }

    /// The statement that an `EXECUTE` means, and the values that it gives it.
    async fn called(&mut self, call: &Call) -> Result<(Arc<Prepared>, Vec<ScalarValue>), Failure> {
        let prepared = Arc::clone(self.desk.statement(&call.name)?);
        if !matches!(prepared.what, What::Sql(_)) {
            let why = format!(
                "prepared statement {:?} is none that EXECUTE runs; run it by the protocol",
                call.name
            );
            return Err(Failure::error("0A000", why));
        }
        let expected = prepared.parameters.len();
        if call.arguments != expected {
            let why = format!(
                "wrong number of parameters for prepared statement {:?}: expected {expected}, got {}",
                call.name, call.arguments
            );
            return Err(Failure::error("42601", why));
        }
        if call.arguments == 0 {
            return Ok((prepared, Vec::new()));
        }
        let row = self.start(&call.select, Vec::new(), "").await?.first_row().await;
        self.guest.place.runs(None);
        let values = prepared.assigned(&row?, &self.zone)?;
        Ok((prepared, values))
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
        let said = text.len();
        let mut steps = script::steps(self.host, &self.guest, text).await?;
        if steps.len() > 1 {
            let why = "cannot insert multiple commands into a prepared statement";
            return Err(Failure::error("42601", why).into());
        }
        let prepared = match steps.pop() {
            None => Prepared {
                text: String::new(),
                what: What::Empty,
                parameters: parameters(types, &[]),
                said: 0,
            },
            Some(Step::Local(Local::Declare(declared))) => {
                self.may_run(None)?;
                let query = self.planned_cursor(&declared, types).await?;
                let parameters = query.parameters.clone();
                let what = What::Declare(declared.name, Arc::new(query));
                Prepared { text: String::new(), what, parameters, said: 0 }
            }
            Some(Step::Local(known)) => {
                self.may_run(Some(&known))?;
                let parameters = parameters(types, &[]);
                Prepared { text: String::new(), what: What::Local(known), parameters, said }
            }
            Some(Step::Sql(text, said)) => {
                self.may_run(None)?;
                let mut prepared = self.planned(&text, types).await?;
                prepared.say_types(types, &said);
                prepared
            }
        };
        self.desk.add_statement(name, prepared)?;
        self.line.out.parsed();
        Ok(())
    }

    /// A statement of the engine, planned to know its parameters and columns.
    pub(super) async fn planned(&self, text: &str, types: &[u32]) -> Result<Prepared, Failure> {
        let text = with_casts(text, types);
        let mut described = self.described(&text).await?;
        check_columns(&described)?;
        self.name_columns(&text, &mut described).await?;
        let types = self.cast_types(&text, types, &described).await?;
        self.array_types(&text, &types, &mut described).await?;
        let parameters = parameters(&types, &described.parameters);
        Ok(Prepared { text, what: What::Sql(described), parameters, said: 0 })
    }

    /// What a statement of the engine is.
    pub(super) async fn described(&self, text: &str) -> Result<Description, Failure> {
        let describing = self.sql.describe(text);
        self.guest.place.runs(describing.canceller());
        let described = describing.await;
        self.guest.place.runs(None);
        Ok(described?)
    }

    /// Does what would keep the io loop from its other connections: on stage `fragment`.
    pub(super) async fn elsewhere<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Failure> {
        self.host.elsewhere(name, work).await
    }

    /// The types that the client declared, and where neither it nor the plan says one, those that the text casts to.
    async fn cast_types(
        &self,
        text: &str,
        types: &[u32],
        described: &Description,
    ) -> Result<Vec<u32>, Failure> {
        let mut types = types.to_vec();
        let count = described.parameters.len();
        types.resize(count.max(types.len()), 0);
        let is_unknown = |types: &[u32], at: usize| is_open(types[at]) && described.parameters[at].is_none();
        if (0..count).any(|at| is_unknown(&types, at)) {
            let cast = if text.len() <= SHORT_BYTES {
                cast_types(text, count)
            } else {
                let text = text.to_owned();
                self.host.elsewhere("types of parameters", move || cast_types(&text, count)).await?
            };
            for (at, cast) in cast.into_iter().enumerate() {
                if is_unknown(&types, at) {
                    types[at] = cast;
                }
            }
        }
        Ok(types)
    }

    /// Finds the types of parameters that are searched, as in `x = ANY($1)`: arrays of what they are compared with.
    async fn array_types(
        &self,
        text: &str,
        types: &[u32],
        described: &mut Description,
    ) -> Result<(), Failure> {
        let is_unknown =
            |at: usize, described: &Description| is_open(types[at]) && described.parameters[at].is_none();
        if !(0..described.parameters.len()).any(|at| is_unknown(at, described)) || !mentions_array(text) {
            return Ok(());
        }
        let found = if text.len() <= SHORT_BYTES {
            compared(text)
        } else {
            let text = text.to_owned();
            self.host.elsewhere("types of parameters", move || compared(&text)).await?
        };
        let Some((text, numbers)) = found else { return Ok(()) };
        // Where the comparison itself is wrong, running it says so.
        let Ok(compared) = self.described(&text).await else { return Ok(()) };
        for at in numbers.into_iter().filter_map(|number| number.checked_sub(1)) {
            let item = compared.parameters.get(at).cloned().flatten();
            if let Some(item) = item.filter(|_| at < described.parameters.len() && is_unknown(at, described))
            {
                described.parameters[at] = Some(DataType::new_list(item, true));
            }
        }
        Ok(())
    }

    async fn bind(
        &mut self,
        portal: String,
        statement: &str,
        formats: Vec<i16>,
        values: Vec<Option<Bytes>>,
        results: &[i16],
    ) -> Result<(), Failure> {
        let prepared = Arc::clone(self.desk.statement(statement)?);
        let bytes: usize = values.iter().flatten().map(Bytes::len).sum();
        let values = if bytes <= SHORT_BYTES {
            prepared.bind(&formats, &values, &self.zone)?
        } else {
            let (prepared, zone) = (Arc::clone(&prepared), self.zone.clone());
            self.host.elsewhere("decode", move || prepared.bind(&formats, &values, &zone)).await??
        };
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

    /// The columns that a statement gives, as far as that is known before it has values; `None` when it gives no rows.
    pub(super) fn planned_columns(&self, what: &What) -> Option<SchemaRef> {
        match what {
            What::Sql(described) if described.kind == StatementKind::Rows => {
                Some(Arc::clone(&described.columns))
            }
            What::Local(Local::Execute(call)) => match &self.desk.statement(&call.name).ok()?.what {
                called @ What::Sql(_) => self.planned_columns(called),
                _ => None,
            },
            What::Local(known) => self.local_columns(known),
            _ => None,
        }
    }

    /// The columns of what the session answers itself; `None` when it gives no rows.
    fn local_columns(&self, known: &Local) -> Option<SchemaRef> {
        match known {
            Local::Fetch(fetch) => self.cursor_columns(&fetch.cursor),
            _ => self.shown(known).map(|rows| rows.schema()),
        }
    }

    fn describe_statement(&mut self, name: &str) -> Result<(), Failure> {
        let prepared = Arc::clone(self.desk.statement(name)?);
        let oids: Vec<u32> = prepared.parameters.iter().map(|parameter| parameter.shown.oid()).collect();
        self.line.out.parameters(&oids);
        self.put_description(self.planned_columns(&prepared.what), &Formats::default());
        Ok(())
    }

    fn put_description(&mut self, columns: Option<SchemaRef>, formats: &Formats) {
        match columns {
            Some(columns) => put_columns(self.line, &columns, formats),
            None => self.line.out.no_data(),
        }
    }

    /// The values are known here: the query begins, so that its columns are those that will come.
    async fn describe_portal(&mut self, name: &str) -> Result<(), Fault> {
        let portal = self.desk.portal(name)?;
        let (statement, formats) = (Arc::clone(&portal.statement), portal.formats.clone());
        let mut columns = self.planned_columns(&statement.what);
        if columns.is_some() && statement.what.is_run() {
            self.begin(name).await?;
            // Between messages there is nothing that a late cancel could mean.
            self.guest.place.runs(None);
            let portal = self.desk.portal(name)?;
            portal.is_described = true;
            columns = match &portal.state {
                PortalState::Running(running) => Some(Arc::clone(&running.description.columns)),
                _ => None,
            };
        }
        self.put_description(columns, &formats);
        Ok(())
    }

    /// Submits the query of a portal, unless it was.
    pub(super) async fn begin(&mut self, name: &str) -> Result<(), Fault> {
        self.may_run(None)?;
        let portal = self.desk.portal(name)?;
        let values = match &mut portal.state {
            PortalState::Bound(values) => values,
            PortalState::Running(_) | PortalState::Done => return Ok(()),
            // Nothing more comes, which must not look like its end.
            PortalState::Failed => {
                return Err(Failure::error("55000", format!("portal {name:?} cannot be run")).into());
            }
        };
        let (mut values, mut statement) = (std::mem::take(values), Arc::clone(&portal.statement));
        portal.state = PortalState::Failed;
        if let What::Local(Local::Execute(call)) = &statement.what {
            (statement, values) = self.called(call).await?;
        }
        let running = self.start(&statement.text, values, "").await?;
        self.desk.portal(name)?.state = PortalState::Running(Box::new(running));
        Ok(())
    }

    async fn execute(&mut self, name: &str, rows: usize) -> Result<(), Fault> {
        let portal = self.desk.portal(name)?;
        let (statement, formats) = (Arc::clone(&portal.statement), portal.formats.clone());
        match &statement.what {
            What::Empty => {
                self.line.out.empty_query();
                return Ok(());
            }
            What::Declare(cursor, query) => {
                let PortalState::Bound(values) = std::mem::replace(&mut portal.state, PortalState::Done)
                else {
                    return Err(
                        Failure::error("55000", format!("portal {name:?} cannot be run again")).into()
                    );
                };
                self.may_run(None)?;
                return self.declare(cursor, query, values).await;
            }
            What::Local(Local::Fetch(fetch)) if rows > 0 && (fetch.rows == 0 || fetch.rows > rows) => {
                let why = "FETCH says itself how many rows come: run it without a limit";
                return Err(Failure::error("0A000", why).into());
            }
            What::Local(known) if !statement.what.is_run() => {
                self.may_run(Some(known))?;
                return self.run_local(known, &formats).await;
            }
            _ => {}
        }
        self.begin(name).await?;
        let planned = self.planned_columns(&statement.what);
        let portal = self.desk.portal(name)?;
        let PortalState::Running(running) = &mut portal.state else {
            self.line.out.complete("SELECT 0");
            return Ok(());
        };
        if let Some(planned) = planned
            && !portal.is_described
        {
            let same = same_columns(&planned, &running.description.columns);
            same.inspect_err(|_| self.guest.place.runs(None))?;
        }
        match running.send(self.line, &self.guest.place, &formats, rows).await {
            Ok(Progress::Complete(tag)) => {
                portal.state = PortalState::Done;
                self.line.out.complete(&tag);
            }
            Ok(Progress::Suspended) => self.line.out.suspended(),
            Err(fault) => {
                portal.state = PortalState::Failed;
                return Err(fault);
            }
        }
        Ok(())
    }
}

/// Refuses rows that are not those that the client was told of.
pub(super) fn same_columns(told: &Schema, now: &Schema) -> Result<(), Failure> {
    let oids =
        |columns: &Schema| columns.fields().iter().map(|field| pg_type(field).oid()).collect::<Vec<_>>();
    if oids(told) != oids(now) {
        let why = "the columns have other types than when the statement was prepared; prepare it again";
        return Err(Failure::error("0A000", why));
    }
    Ok(())
}
