//! `filbert config`: checks a settings file, shows what a member would use, and makes certificates for it.

mod certificates;
mod print;

use super::Outcome;
use super::settings_file;
use filbert::{MemberConfig, Registry, SettingValue, StartError};
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
    /// Prints every setting with its value, meaning and default as a settings file; secrets are not shown.
    Print {
        /// A settings file; without it, the defaults.
        file: Option<PathBuf>,
        /// As one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Makes a signing authority with certificates for members and clients, and prints the settings that use them.
    Certificates(certificates::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let out = &mut std::io::stdout().lock();
    match &arguments.command {
        Command::Certificates(arguments) => certificates::run(arguments, out)?,
        Command::Check { file } => {
            let config = settings_file::read(Some(file))?;
            // This program registers none; one that does checks its settings when it starts.
            let problems = config.grid.unregistered(&Registry::new());
            if !problems.is_empty() {
                return Err(StartError::File { path: file.clone(), problems }.into());
            }
            let doors = [
                ("hazelcast", config.hazelcast.tls),
                ("postgres", config.postgres.tls),
                ("http", config.http.tls),
            ];
            for (door, tls) in doors {
                let Some(tls) = tls else { continue };
                let wrong = |error| vec![format!("{door}.tls: {error}")];
                tls.check()
                    .map_err(|error| StartError::File { path: file.clone(), problems: wrong(error) })?;
            }
            writeln!(out, "{}: nothing wrong", file.display())?;
        }
        Command::Print { file, json } => {
            let mut table = whole(&settings_file::read(file.as_deref())?)?;
            if *json {
                writeln!(out, "{}", serde_json::to_string(&table)?)?;
            } else {
                leave_out_default_folder(&mut table);
                print::write(&table, out)?;
            }
        }
    }
    Ok(())
}

/// Leaves the default of the data directory out, which begins at the current directory: written into a file, it would begin at the folder of
/// that file.
fn leave_out_default_folder(table: &mut toml::Table) {
    const KEY: &str = "data_directory";
    let standard = MemberConfig::default().grid.data_directory;
    if let Some(grid) = table.get_mut("grid").and_then(toml::Value::as_table_mut)
        && grid.get(KEY).and_then(toml::Value::as_str) == Some(&standard)
    {
        grid.remove(KEY);
    }
}

/// All settings as the tables of a settings file.
fn whole(config: &MemberConfig) -> Result<toml::Table, toml::ser::Error> {
    let mut table = toml::Table::new();
    let mut hazelcast = toml::Table::try_from(&config.hazelcast)?;
    if let Some(name) = hazelcast.remove("cluster_name") {
        table.insert("cluster".to_owned(), toml::Table::from_iter([("name".to_owned(), name)]).into());
    }
    table.insert("hazelcast".to_owned(), hazelcast.into());
    table.insert("postgres".to_owned(), toml::Table::try_from(&config.postgres)?.into());
    table.insert("http".to_owned(), toml::Table::try_from(&config.http)?.into());
    table.insert("log".to_owned(), toml::Table::try_from(&config.log)?.into());
    table.insert("memory".to_owned(), toml::Table::try_from(&config.memory)?.into());
    table.insert("sql".to_owned(), toml::Table::try_from(&config.sql)?.into());
    let mut grid = toml::Table::try_from(&config.grid)?;
    for kind in
        MemberConfig::sections().into_iter().filter(|section| section.is_named).map(|section| section.name)
    {
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

    fn printed(config: &MemberConfig) -> String {
        let mut out = Vec::new();
        print::write(&whole(config).unwrap(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn what_is_printed_can_be_read_and_says_the_same() {
        let text = "[cluster]\nname = 'shop'\n[map.a]\nttl_seconds = 5\neviction = 'lru'\nmax_size = { bytes = 9 }\n\
            [map.'b*']\n[sql]\nrows = 9\nqueries = 3\n[hazelcast]\npublic_address = 'a:1'\nconnections = { backlog = 9 }\n\
            tls = { cert_pem_path = 'c', key_pem_path = 'k' }\n\
            [executor.mail]\nthreads = 2\n[event]\ncapacity = 77_000\n[grid.executor.x]\nthreads = 3";
        let config = MemberConfig::from_toml(text).unwrap();
        let said = printed(&config);
        let again = MemberConfig::from_toml(&said).unwrap_or_else(|error| panic!("{error}\n{said}"));
        assert_eq!(printed(&again), said);
        assert_eq!(again.stages.number("executor.mail.threads"), 2);
        assert_eq!((again.grid, again.hazelcast, again.sql), (config.grid, config.hazelcast, config.sql));
        assert!(said.contains("capacity = 77000") && said.contains("name = \"shop\""), "{said}");
        assert!(said.contains("Takes at least 0 s. Default 0.\nttl_seconds = 5"), "{said}");
    }

    #[test]
    fn every_setting_is_printed_with_its_meaning_though_nothing_is_set() {
        let said = printed(&MemberConfig::default());
        for line in [
            "# Where to listen.\naddress = \"127.0.0.1:5701\"",
            "#[map.\"*\"]",
            "Takes at least 0 s.\n#ttl_seconds = 0",
            "#max_size = { entries = 1000 }",
            "#[queue.\"*\"]",
            "#[[hazelcast.users]]",
            "#[hazelcast.tls]",
            "[hazelcast.connections]\n",
            "#[grid.executor.\"*\"]",
            "lock_wait_ms = 60000",
            "[sql]\n",
            "# Time that a query may take. Not set: any. Takes at least 1 ms.\n#time_limit_ms = 1000",
            "# Stage executor.\n#[executor.name]",
            "# threads for operations on partitions. Takes 1 to 1024. Default 2 per core.\nthreads = ",
        ] {
            assert!(said.contains(line), "{line}\n is not in\n{said}");
        }
    }

    #[test]
    fn secrets_are_not_printed() {
        let text = "[[hazelcast.users]]\nname = 'ann'\npassword = 'sesame'";
        let said = printed(&MemberConfig::from_toml(text).unwrap());
        assert!(said.contains("# password is set, and not shown") && !said.contains("sesame"), "{said}");
    }
}
