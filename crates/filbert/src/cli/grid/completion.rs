//! Completes a line from the definitions of the commands, and from the names of structures.

use super::super::structures::Kind;
use super::words::{Word, quoted, split};
use clap::{Arg, Command};

/// Returns the byte at which the word under the cursor begins, and what it may become. `line` ends at the cursor.
pub(super) fn complete(
    definition: &Command,
    line: &str,
    find_names: &dyn Fn(Kind) -> Vec<String>,
) -> (usize, Vec<String>) {
    let mut split = split(line);
    let begun = if split.is_within { split.words.pop() } else { None };
    let begun = begun.unwrap_or_else(|| Word { text: String::new(), start: line.len() });
    let words: Vec<String> = split.words.into_iter().map(|word| word.text).collect();
    let words = match words.first() {
        Some(first) if first == "filbert" => &words[1..],
        _ => &words[..],
    };
    let mut found = candidates(definition, words, &begun.text, find_names);
    // A name with a control character would command the terminal, or run the line, when it is offered.
    found.retain(|candidate| candidate.starts_with(&begun.text) && !candidate.contains(char::is_control));
    (begun.start, found.iter().map(|candidate| quoted(candidate)).collect())
}

fn candidates(
    definition: &Command,
    words: &[String],
    begun: &str,
    find_names: &dyn Fn(Kind) -> Vec<String>,
) -> Vec<String> {
    let (mut at, mut arguments, mut option): (&Command, usize, Option<&Arg>) = (definition, 0, None);
    for word in words {
        if option.take().is_some() {
            continue;
        }
        match (at.find_subcommand(word), word.strip_prefix("--")) {
            (Some(command), _) => at = command,
            (None, Some(long)) => {
                option = at.get_arguments().find(|arg| arg.get_long() == Some(long)).filter(takes_value);
            }
            (None, None) => arguments += 1,
        }
    }
    if let Some(option) = option {
        return option.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    }
    if begun.starts_with('-') {
        let shown = at.get_arguments().filter(|arg| !arg.is_hide_set());
        return shown.filter_map(Arg::get_long).map(|long| format!("--{long}")).collect();
    }
    if at.has_subcommands() && arguments == 0 {
        return at.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    }
    let kind = words.first().and_then(|word| Kind::of_word(word));
    let is_name = arguments == 0 && at.get_positionals().next().is_some();
    kind.filter(|_| is_name).map(find_names).unwrap_or_default()
}

fn takes_value(arg: &&Arg) -> bool {
    arg.get_action().takes_values()
}

#[cfg(test)]
mod tests {
    use super::super::typed::definition;
    use super::*;

    fn found(line: &str) -> Vec<String> {
        let names = |kind: Kind| match kind {
            Kind::Map => vec!["cities".to_owned(), "my map".to_owned(), "city\u{1b}[2J".to_owned()],
            _ => Vec::new(),
        };
        complete(&definition(), line, &names).1
    }

    #[test]
    fn commands_names_and_options_are_completed() {
        assert_eq!(found("ma"), ["map"]);
        assert_eq!(found("filbert ma"), ["map"]);
        assert_eq!(found("map en"), ["entries"]);
        assert_eq!(found("map get ci"), ["cities"]);
        assert_eq!(found("map get m"), ["'my map'"]);
        assert_eq!(found("map get 'my"), ["'my map'"]);
        assert!(found("map get cities O").is_empty());
        assert!(found("map list ").is_empty());
        assert_eq!(found("map entries cities --li"), ["--limit"]);
        assert_eq!(found("map get cities 1 --key-as lo"), ["long"]);
        assert_eq!(found("map --key-as long get ci"), ["cities"]);
        assert!(found("map get --ke").contains(&"--key-as".to_owned()));
        assert_eq!(found("help que"), ["queue"]);
        assert_eq!(found("qui"), ["quit"]);
    }

    #[test]
    fn the_word_that_is_replaced_begins_with_its_quote() {
        assert_eq!(complete(&definition(), "map get 'my", &|_| vec!["my map".to_owned()]).0, 8);
    }
}
