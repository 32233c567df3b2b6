//! The options of a chore that is made of steps: `--only`, `--skip`, `--help`, and numbers and paths a chore adds.

use std::path::{Path, PathBuf};

/// What the caller asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// Steps to run; empty means all.
    pub(crate) only: Vec<String>,
    /// Steps to leave out.
    pub(crate) skip: Vec<String>,
    /// Numbers by the name of their option.
    pub(crate) numbers: Vec<(&'static str, u64)>,
    /// Paths by the name of their option.
    pub(crate) paths: Vec<(&'static str, PathBuf)>,
    /// The caller wants the explanation.
    pub(crate) help: bool,
}

impl Options {
    /// Reads the words after the chore's name. `numbers` and `paths` are the further options, each with one number or one path.
    pub(crate) fn parse(
        chore: &str,
        words: &[String],
        steps: &[&str],
        numbers: &[&'static str],
        paths: &[&'static str],
    ) -> Result<Self, String> {
        let mut options = Options::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let mut value = || {
                let value = attached.clone().or_else(|| words.next().cloned());
                value.ok_or_else(|| format!("{chore}: {option} needs a value"))
            };
            match option {
                "--help" | "-h" => options.help = true,
                "--only" | "--skip" => {
                    let step = value()?;
                    if !steps.contains(&step.as_str()) {
                        let known = if steps.is_empty() { "none".to_owned() } else { steps.join(", ") };
                        return Err(format!("{chore}: there is no step {step:?}; the steps are: {known}"));
                    }
                    if option == "--only" { options.only.push(step) } else { options.skip.push(step) }
                }
                _ if paths.contains(&option) => {
                    let path = std::path::absolute(value()?)
                        .map_err(|error| format!("{chore}: {option}: {error}"))?;
                    if !path.is_dir() {
                        return Err(format!("{chore}: {option} {} is no folder", path.display()));
                    }
                    options
                        .paths
                        .extend(paths.iter().find(|known| **known == option).map(|known| (*known, path)));
                }
                _ => match numbers.iter().find(|known| **known == option) {
                    Some(known) => {
                        let text = value()?;
                        let number = text.replace('_', "").parse().ok().filter(|number| *number > 0);
                        let wrong = || format!("{chore}: {option} needs a number above 0, not {text:?}");
                        options.numbers.push((known, number.ok_or_else(wrong)?));
                    }
                    None => {
                        return Err(format!(
                            "{chore}: unknown option {word:?}; see `cargo xtask {chore} --help`"
                        ));
                    }
                },
            }
        }
        Ok(options)
    }

    /// The number given for an option, the last one if there are several.
    pub(crate) fn number(&self, name: &str, otherwise: u64) -> u64 {
        self.numbers.iter().rev().find(|(known, _)| *known == name).map_or(otherwise, |(_, number)| *number)
    }

    /// The paths given for an option, in their order.
    pub(crate) fn paths(&self, name: &str) -> Vec<&Path> {
        self.paths.iter().filter(|(known, _)| *known == name).map(|(_, path)| path.as_path()).collect()
    }

    /// True when the caller wants this step.
    pub(crate) fn wants(&self, step: &str) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == step);
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Options, String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        Options::parse("long", &words, &["loom", "demo"], &["--seeds"], &["--checkout"])
    }

    #[test]
    fn only_and_skip_choose_steps() {
        let all = parse("").unwrap();
        assert!(all.wants("loom") && all.wants("demo"));
        let one = parse("--only loom").unwrap();
        assert!(one.wants("loom") && !one.wants("demo"));
        let rest = parse("--skip=loom").unwrap();
        assert!(!rest.wants("loom") && rest.wants("demo"));
    }

    #[test]
    fn numbers_have_a_default() {
        assert_eq!(parse("").unwrap().number("--seeds", 7), 7);
        assert_eq!(parse("--seeds 1_000").unwrap().number("--seeds", 7), 1_000);
    }

    #[test]
    fn paths_may_be_several() {
        let options = parse("--checkout . --checkout=/").unwrap();
        let here = std::env::current_dir().unwrap();
        assert_eq!(options.paths("--checkout"), [here.as_path(), Path::new("/")]);
        assert!(parse("").unwrap().paths("--checkout").is_empty());
    }

    #[test]
    fn mistakes_are_named() {
        for (words, said) in [
            ("--only clippi", "the steps are: loom, demo"),
            ("--only", "--only needs a value"),
            ("--fast", "unknown option \"--fast\""),
            ("--seeds many", "needs a number above 0"),
            ("--seeds 0", "needs a number above 0"),
            ("--checkout", "--checkout needs a value"),
            ("--checkout /no/such/folder", "is no folder"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(said), "{words}: {error}");
        }
    }
}
