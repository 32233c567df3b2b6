//! Commands on the structures of a running member: maps, queues, topics, lists and sets.
//!
//! ```text
//! filbert map get ... --address ... --> StructureCommand<Whom> --+
//!                                                                +--> Context (one connection) --> a file per structure
//! filbert grid> map get ...         --> StructureCommand<Here> --+
//! ```
//!
//! The definitions of the command line serve the prompt of `filbert grid` too. They differ in one type: a command line says where
//! the member is, a prompt is connected already.

mod context;
mod items;
mod kind;
mod limit;
mod list;
mod map;
mod options;
mod question;
mod queue;
mod set;
mod topic;
mod watch;

use super::Outcome;
use super::client::Whom;
pub(super) use context::Context;
pub(super) use kind::Kind;

/// A command on a structure; `W` says where the member is, if that has to be said.
#[derive(Debug, clap::Subcommand)]
pub(super) enum StructureCommand<W: clap::Args> {
    /// The maps of a running member: look into them, change them, watch them.
    Map(Box<Reached<map::Arguments, W>>),
    /// The queues of a running member: put items in, and take them out.
    Queue(Box<Reached<queue::Arguments, W>>),
    /// The topics of a running member: publish messages, and watch them.
    Topic(Box<Reached<topic::Arguments, W>>),
    /// The lists of a running member: items by their place.
    List(Box<Reached<list::Arguments, W>>),
    /// The sets of a running member: items that are there once.
    Set(Box<Reached<set::Arguments, W>>),
}

/// The arguments of a command, and how its member is reached.
#[derive(Debug, clap::Args)]
pub(super) struct Reached<A: clap::Args, W: clap::Args> {
    #[command(flatten)]
    what: A,
    #[command(flatten)]
    at: W,
}

/// Nothing to say: the connection is there.
#[derive(Debug, clap::Args)]
pub(super) struct Here {}

impl<W: clap::Args> StructureCommand<W> {
    /// Runs the command over a connection.
    pub(super) fn run(&self, context: &mut Context) -> Outcome {
        let ran = match self {
            Self::Map(command) => command.what.run(context),
            Self::Queue(command) => command.what.run(context),
            Self::Topic(command) => command.what.run(context),
            Self::List(command) => command.what.run(context),
            Self::Set(command) => command.what.run(context),
        };
        // What was found before a failure is shown before it.
        context.flush().and(ran)
    }

    fn at(&self) -> &W {
        match self {
            Self::Map(command) => &command.at,
            Self::Queue(command) => &command.at,
            Self::Topic(command) => &command.at,
            Self::List(command) => &command.at,
            Self::Set(command) => &command.at,
        }
    }
}

/// Runs one command over a connection of its own.
pub(super) fn run(command: &StructureCommand<Whom>) -> Outcome {
    command.run(&mut Context::connect(command.at().clone())?)
}
