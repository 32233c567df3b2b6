//! `filbert config`: checks a settings file, and shows what a member would use.

use super::Outcome;
use super::settings_file;
use filbert::{MemberConfig, SettingValue};
use std::io::Write;
use std::path::PathBuf;

/// The options of `filbert config`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Says everything that is wrong with a settings file, and with the certificates that it names; starts nothing.
    Check {
        /// The file.
        file: PathBuf,
    },
    /// Prints every setting with its value as a settings file; secrets are not shown.
    Print {
        /// A settings file; without it, the defaults.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// As one JSON object.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let out = &mut std::io::stdout().lock();
    match &arguments.command {
        Command::Check { file } => {
            if let Some(tls) = settings_file::read(Some(file))?.hazelcast.tls {
                tls.check()?;
            }
            writeln!(out, "{}: nothing wrong", file.display())?;
        }
        Command::Print { config, json } => {
            let table = whole(&settings_file::read(config.as_deref())?)?;
            if *json {
                writeln!(out, "{}", serde_json::to_string(&table)?)?;
            } else {
                write!(out, "{}", toml::to_string(&table)?)?;
            }
        }
    }
    Ok(())
}

/// All settings as the tables of a settings file.
fn whole(config: &MemberConfig) -> Result<toml::Table, toml::ser::Error> {
    let mut table = toml::Table::new();
    let mut hazelcast = toml::Table::try_from(&config.hazelcast)?;
    if let Some(name) = hazelcast.remove("cluster_name") {
        table.insert("cluster".to_owned(), toml::Table::from_iter([("name".to_owned(), name)]).into());
    }
    table.insert("hazelcast".to_owned(), hazelcast.into());
    let mut grid = toml::Table::try_from(&config.grid)?;
    for kind in ["map", "list", "queue"] {
        if let Some(structures) =
            grid.remove(kind).filter(|value| value.as_table().is_none_or(|all| !all.is_empty()))
        {
            table.insert(kind.to_owned(), structures);
        }
    }
    table.insert("grid".to_owned(), grid.into());
    for (key, value) in config.stages.values() {
        let mut at = &mut table;
        let mut words = key.split('.').peekable();
        while let Some(word) = words.next() {
            if words.peek().is_none() {
                let value = match &value {
                    SettingValue::Number(number) => i64::try_from(*number).unwrap_or(i64::MAX).into(),
                    SettingValue::Word(text) => text.as_str().into(),
                };
                at.insert(word.to_owned(), value);
                break;
            }
            let inner = at.entry(word).or_insert_with(|| toml::Table::new().into());
            let Some(inner) = inner.as_table_mut() else { break };
            at = inner;
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_read_and_says_the_same() {
        let text = "[cluster]\nname = 'shop'\n[map.a]\nttl_seconds = 5\n[executor.mail]\nthreads = 2\n[event]\ncapacity = 77_000";
        let config = MemberConfig::from_toml(text).unwrap();
        let printed = toml::to_string(&whole(&config).unwrap()).unwrap();
        let again = MemberConfig::from_toml(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
        assert_eq!(toml::to_string(&whole(&again).unwrap()).unwrap(), printed);
        assert_eq!(again.stages.number("executor.mail.threads"), 2);
        assert_eq!(again.grid, config.grid);
        assert!(printed.contains("capacity = 77000") && printed.contains("name = \"shop\""), "{printed}");
    }
}
