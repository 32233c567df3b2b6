//! Statements that the session answers itself, answered: transactions, variables, prepared statements, cursors.

use super::answer::{Answer, Transaction};
use super::failure::Failure;
use super::local::Local;
use super::named::Preparation;
use super::prepared::What;
use super::run::{Fault, Formats};
use super::session::Session;
use super::values::RowEncoder;
use bytes::BytesMut;
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use filbert_sql::StatementKind;
use std::sync::Arc;

impl Session<'_> {
    /// The rows of a statement that the session answers itself; `None` when it has none.
    pub(super) fn shown(&self, known: &Local) -> Option<RecordBatch> {
        let variables = &self.guest.variables;
        let (names, columns): (Vec<&str>, Vec<Vec<&str>>) = match known {
            Local::Show(name) => (vec![name.as_str()], vec![vec![variables.get(name)?]]),
            Local::SetConfig { value, .. } => (vec!["set_config"], vec![vec![value.as_str()]]),
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

    pub(super) async fn run_local(&mut self, known: &Local, formats: &Formats) -> Result<(), Fault> {
        let tag = match known {
            Local::Begin { read_only } => {
                if self.transaction != Transaction::None {
                    self.warn("25001", "there is already a transaction in progress");
                } else {
                    (self.transaction, self.changed, self.queried) = (Transaction::Open, false, false);
                    self.guest.variables.begin(*read_only);
                }
                "BEGIN"
            }
            Local::Commit => match self.end_transaction()? {
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
                self.end_transaction()?;
                "ROLLBACK"
            }
            Local::Savepoint(tag) => {
                if *tag == "ROLLBACK" && self.transaction == Transaction::Failed {
                    self.transaction = Transaction::Open;
                    // Their names are free for another try.
                    self.desk.close_failed();
                }
                tag
            }
            Local::SetTransaction { read_only } => {
                self.set_transaction(*read_only)?;
                "SET"
            }
            Local::Set { local: true, .. } if self.transaction == Transaction::None => {
                self.warn("25P01", "SET LOCAL can only be used in transaction blocks");
                "SET"
            }
            Local::Set { name, value, local } => {
                self.set(name, value, *local)?;
                "SET"
            }
            Local::SetConfig { name, value, local } => {
                // Alone, it is a transaction of its own, with whose end it would end.
                if !*local || self.transaction != Transaction::None {
                    match self.set(name, value, *local) {
                        // Whoever wants no schema searched names the schema everywhere.
                        Err(_) if name.eq_ignore_ascii_case("search_path") && value.trim().is_empty() => {}
                        done => done?,
                    }
                }
                self.show(known, formats)?;
                "SELECT 1"
            }
            Local::SetNothing => "SET",
            Local::Reset(name) => {
                self.guest.variables.reset(name.as_deref());
                self.tell_variables();
                self.heed_variables()?;
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
                    self.heed_variables()?;
                }
                if *all { "DISCARD ALL" } else { "DISCARD" }
            }
            Local::Deallocate(None) => {
                self.desk.close_statements();
                "DEALLOCATE ALL"
            }
            Local::Deallocate(Some(name)) => {
                self.desk.statement(name)?;
                self.desk.close_statement(name);
                "DEALLOCATE"
            }
            Local::Prepare(prepare) => {
                self.prepare(prepare).await?;
                "PREPARE"
            }
            // It gives rows, and is run where those of queries are.
            Local::Execute(_) => return Ok(()),
            Local::Declare(declared) => return self.declare_plain(declared).await,
            Local::Fetch(fetch) => return self.fetch(fetch, formats).await,
            Local::Close(name) => self.close_cursor(name.as_deref())?,
            Local::Unserved(why) => return Err(Failure::error("0A000", *why).into()),
            Local::Malformed(word) => {
                return Err(Failure::error("42601", format!("syntax error in {word}")).into());
            }
            Local::Wrong(wrong) => return Err(Failure::error(wrong.code, wrong.why.clone()).into()),
            Local::Copy(copy) => return self.copy(copy).await,
            Local::Unlisten => "UNLISTEN",
        };
        self.line.out.complete(tag);
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str, local: bool) -> Result<(), Failure> {
        let variables = &mut self.guest.variables;
        let told = if local { variables.set_local(name, value) } else { variables.set(name, value) };
        if let Some((name, value)) = told? {
            self.line.out.parameter_status(name, value);
        }
        self.heed_variables()
    }

    /// Lets the transaction only read, or not.
    fn set_transaction(&mut self, read_only: Option<bool>) -> Result<(), Failure> {
        if self.transaction == Transaction::None {
            self.warn("25P01", "SET TRANSACTION can only be used in transaction blocks");
            return Ok(());
        }
        let Some(read_only) = read_only else { return Ok(()) };
        if !read_only && self.queried && self.guest.variables.is_read_only() {
            let why = "transaction read-write mode must be set before any query";
            return Err(Failure::error("25001", why));
        }
        self.guest.variables.begin(Some(read_only));
        Ok(())
    }

    fn show(&mut self, known: &Local, formats: &Formats) -> Result<(), Failure> {
        if let Some(rows) = self.shown(known) {
            let rows = RowEncoder::new(&rows, &self.zone, |at| formats.of(at))?;
            (0..rows.rows()).try_for_each(|row| rows.put_row(row, &mut self.line.out))?;
        }
        Ok(())
    }

    fn tell_variables(&mut self) {
        let out: &mut BytesMut = &mut self.line.out;
        self.guest.variables.reported().for_each(|(name, value)| out.parameter_status(name, value));
    }

    fn warn(&mut self, code: &'static str, message: &'static str) {
        if !self.guest.variables.tells_warnings() {
            return;
        }
        self.line.out.failure(&Failure::warning(code, message));
    }

    /// What it was in.
    fn end_transaction(&mut self) -> Result<Transaction, Failure> {
        if self.transaction == Transaction::None {
            self.warn("25P01", "there is no transaction in progress");
        }
        self.desk.close_portals();
        let was = std::mem::replace(&mut self.transaction, Transaction::None);
        self.changed = false;
        if self.guest.variables.end() {
            self.tell_variables();
            self.heed_variables()?;
        }
        Ok(was)
    }

    /// `PREPARE`: the same as the protocol's message, in words.
    async fn prepare(&mut self, prepare: &Preparation) -> Result<(), Failure> {
        self.desk.check_name(&prepare.name)?;
        let prepared = self.planned(&prepare.text, &prepare.types).await?;
        let gives_none = |kind: &StatementKind| {
            matches!(kind, StatementKind::Other(_) | StatementKind::Copy | StatementKind::CreateTableAs)
        };
        if matches!(&prepared.what, What::Sql(described) if gives_none(&described.kind)) {
            let why = "PREPARE takes a statement that gives, inserts, updates or deletes rows";
            return Err(Failure::error("42601", why));
        }
        self.desk.add_statement(prepare.name.clone(), prepared)
    }
}
