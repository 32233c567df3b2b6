//! The connection and the output of commands on structures.

use super::super::Outcome;
use super::super::client::{Client, Whom};
use super::super::interruption::Interruption;
use super::super::tell::tell;
use serde_json::Value as Json;
use std::error::Error;
use std::fmt::Display;
use std::io::{BufWriter, IsTerminal, Stdout, Write};

/// The connection of one command, or of all that are typed at a prompt.
pub(in super::super) struct Context {
    whom: Whom,
    client: Option<Client>,
    interruption: Option<Interruption>,
    out: BufWriter<Stdout>,
    is_terminal: bool,
}

impl Context {
    /// Connects to a member.
    pub(in super::super) fn connect(whom: Whom) -> Result<Self, Box<dyn Error>> {
        let out = std::io::stdout();
        let is_terminal = out.is_terminal();
        let mut context =
            Self { whom, client: None, interruption: None, out: BufWriter::new(out), is_terminal };
        context.client()?;
        Ok(context)
    }

    /// Lets this interruption give up a command.
    pub(in super::super) fn heed(&mut self, interruption: &Interruption) {
        self.interruption = Some(interruption.clone());
        if let Some(client) = &mut self.client {
            client.heed(interruption);
        }
    }

    /// Closes the connection, so that the member gives up what waits there; the next command connects again.
    pub(in super::super) fn disconnect(&mut self) {
        self.client = None;
    }

    /// Returns the connection. One that the member has closed, as it does after minutes of silence, is made anew.
    pub(in super::super) fn client(&mut self) -> Result<&mut Client, Box<dyn Error>> {
        if self.client.as_mut().is_some_and(Client::is_closed) {
            self.client = None;
        }
        let client = match self.client.take() {
            Some(client) => client,
            None => {
                let mut client = Client::connect(&self.whom.address, &self.whom.login)?;
                if let Some(interruption) = &self.interruption {
                    client.heed(interruption);
                }
                client
            }
        };
        Ok(self.client.insert(client))
    }

    /// Returns the connection as it is, for those who wait for what was asked for over it.
    pub(super) fn watching_client(&mut self) -> Result<&mut Client, Box<dyn Error>> {
        self.client.as_mut().ok_or_else(|| "the connection is closed".into())
    }

    /// Returns whether people look at the standard output.
    pub(super) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns where results are written.
    pub(super) fn out(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    /// Writes a line.
    pub(in super::super) fn line(&mut self, line: impl Display) -> Outcome {
        Ok(writeln!(self.out, "{line}")?)
    }

    /// Writes an object for programs, or a line for people.
    pub(super) fn line_or(&mut self, json: bool, object: &Json, line: impl Display) -> Outcome {
        if json { self.line(object) } else { self.line(line) }
    }

    /// Writes a remark on what was shown, to the terminal or else beside the results.
    pub(super) fn remark(&mut self, remark: impl Display) -> Outcome {
        if self.is_terminal {
            return self.line(remark);
        }
        self.flush()?;
        tell(remark);
        Ok(())
    }

    /// Writes out what is kept back.
    pub(in super::super) fn flush(&mut self) -> Outcome {
        Ok(self.out.flush()?)
    }
}
