//! The bound on what is shown of something long.

use super::super::Outcome;
use super::super::text::{counted, grouped};
use super::context::Context;
use super::kind::Kind;
use std::str::FromStr;

/// The number that a terminal shows when nobody says another.
const SHOWN_ON_TERMINAL: usize = 40;

/// The most that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// Everything.
    All,
    /// That many.
    First(usize),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "all" => Ok(Self::All),
            number => match number.parse() {
                Ok(number) => Ok(Self::First(number)),
                Err(_) => Err("write a number, or all".to_owned()),
            },
        }
    }
}

/// The option that bounds what is shown.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct LimitOption {
    /// Shows at most so many, or `all`; without it 40 on a terminal, and all elsewhere.
    #[arg(long, value_name = "N")]
    limit: Option<Limit>,
}

impl LimitOption {
    /// Returns how many are shown at most.
    pub(super) fn most(self, context: &Context, json: bool) -> usize {
        match self.limit {
            Some(Limit::First(number)) => number,
            Some(Limit::All) => usize::MAX,
            None if context.is_terminal() && !json => SHOWN_ON_TERMINAL,
            None => usize::MAX,
        }
    }
}

/// Says how many were left out, and how to see them.
pub(super) fn say_left_out(
    context: &mut Context,
    kind: Kind,
    what: (&str, &str),
    (shown, all): (usize, usize),
) -> Outcome {
    if shown >= all {
        return Ok(());
    }
    let order = match kind {
        Kind::Queue | Kind::List => "",
        _ => ", in no order",
    };
    let all = counted(all as u64, what.0, what.1);
    context
        .remark(format_args!("({} of {all} shown{order}; --limit all shows the rest)", grouped(shown as u64)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_all() {
        assert_eq!("all".parse(), Ok(Limit::All));
        assert_eq!("7".parse(), Ok(Limit::First(7)));
        assert!("-1".parse::<Limit>().unwrap_err().contains("a number, or all"));
    }
}
