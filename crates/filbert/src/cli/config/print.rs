//! A settings file with every setting: its value, and above it what it means, what it takes and its default.
//!
//! What is printed can be read again and says the same, but for secrets: they are left out, and users need theirs back first. What is
//! not set, and tables of names that there are none of, stand there behind a `#`, so that nothing has to be looked up elsewhere.

use super::super::text::write_wrapped;
use filbert::pool::settings_fields::{Field, Shape, quoted_key, range, unit};
use filbert::settings_table::{SETTINGS, Setting, Standard};
use filbert::{MemberConfig, SettingsSection};
use std::io::{self, Write};

/// Writes the settings of `whole`, which has all of them by their tables.
pub(super) fn write(whole: &toml::Table, out: &mut impl Write) -> io::Result<()> {
    for SettingsSection { name, about, is_named, fields, .. } in MemberConfig::sections() {
        let section = whole.get(name).and_then(toml::Value::as_table);
        if is_named {
            write_named(name, about, &fields, section, out)?;
        } else {
            write_table(&format!("[{name}]"), about, &fields, section, None, out)?;
        }
    }
    write_stages(whole, out)
}

/// A table under its header; all of it a comment when it is not set.
fn write_table(
    header: &str,
    about: &str,
    fields: &[Field],
    values: Option<&toml::Table>,
    standards: Option<&toml::Table>,
    out: &mut impl Write,
) -> io::Result<()> {
    write_wrapped(out, "# ", about)?;
    let mark = if values.is_some() { "" } else { "#" };
    writeln!(out, "{mark}{header}")?;
    let (tables, plain): (Vec<&Field>, Vec<&Field>) = fields
        .iter()
        .partition(|field| matches!(field.shape, Shape::Table(_) | Shape::Named(_) | Shape::List(_)));
    for field in plain {
        write_plain(field, values, standards, out)?;
    }
    writeln!(out)?;
    // Behind what belongs to this table itself, as TOML wants it.
    let path = header.trim_matches(['[', ']']);
    for field in tables {
        let (path, value) =
            (format!("{path}.{}", field.key), values.and_then(|values| values.get(field.key)));
        match field.shape {
            Shape::Named(inner) => {
                write_named(&path, field.about(), inner, value.and_then(toml::Value::as_table), out)?
            }
            Shape::List(inner) => {
                let header = format!("[[{path}]]");
                let each = value.and_then(toml::Value::as_array).filter(|each| !each.is_empty());
                for value in each.into_iter().flatten() {
                    write_table(&header, field.about(), inner, value.as_table(), None, out)?;
                }
                if each.is_none() {
                    write_table(&header, field.about(), inner, None, None, out)?;
                }
            }
            Shape::Table(inner) => {
                let (value, standard) = (value.and_then(toml::Value::as_table), field.standard());
                let standards = standard.as_ref().and_then(toml::Value::as_table);
                write_table(&format!("[{path}]"), field.about(), inner, value, standards, out)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// A table for each name; one for all names, as a comment, when there is none.
fn write_named(
    path: &str,
    about: &str,
    fields: &[Field],
    tables: Option<&toml::Table>,
    out: &mut impl Write,
) -> io::Result<()> {
    let tables = tables.filter(|tables| !tables.is_empty());
    for (name, table) in tables.into_iter().flatten() {
        write_table(&format!("[{path}.{}]", quoted_key(name)), about, fields, table.as_table(), None, out)?;
    }
    if tables.is_none() {
        write_table(&format!("[{path}.\"*\"]"), about, fields, None, None, out)?;
    }
    Ok(())
}

/// One setting. The defaults of the table that it stands in come before its own.
fn write_plain(
    field: &Field,
    values: Option<&toml::Table>,
    standards: Option<&toml::Table>,
    out: &mut impl Write,
) -> io::Result<()> {
    let standard = match standards {
        Some(table) => table.get(field.key).cloned(),
        None => field.standard(),
    };
    let value = values.and_then(|values| values.get(field.key));
    let mut comment = field.about().to_owned();
    if !matches!(field.shape, Shape::Text(_) | Shape::Texts(_) | Shape::Secret) {
        comment += &format!(" Takes {}.", field.takes());
    }
    if let (Some(value), Some(standard)) = (value, &standard)
        && value != standard
    {
        comment += &format!(" Default {standard}.");
    }
    write_wrapped(out, "# ", &comment)?;
    match (value, field.shape) {
        (Some(_), Shape::Secret) => writeln!(out, "# {} is set, and not shown", field.key),
        (Some(value), _) => writeln!(out, "{} = {value}", field.key),
        (None, Shape::OneOf(fields)) => {
            let example = fields.first().map_or("", |field| field.key);
            writeln!(out, "#{} = {{ {example} = 1000 }}", field.key)
        }
        (None, _) => match standard {
            Some(standard) => writeln!(out, "#{} = {standard}", field.key),
            None if matches!(field.shape, Shape::Texts(_)) => writeln!(out, "#{} = [\"...\"]", field.key),
            None if matches!(field.shape, Shape::Number(..)) => writeln!(out, "#{} = 1000", field.key),
            None => writeln!(out, "#{} = \"...\"", field.key),
        },
    }
}

/// The stages: a table each, and one for each executor.
fn write_stages(whole: &toml::Table, out: &mut impl Write) -> io::Result<()> {
    let mut tables: Vec<&str> = SETTINGS.iter().map(|setting| table_of(setting)).collect();
    tables.dedup();
    for table in tables {
        let Some(of_executors) = table.strip_suffix(".*") else {
            write_stage(table, table, whole.get(table).and_then(toml::Value::as_table), out)?;
            continue;
        };
        let executors = whole.get(of_executors).and_then(toml::Value::as_table);
        for (name, values) in executors.into_iter().flatten() {
            write_stage(table, &format!("{of_executors}.{}", quoted_key(name)), values.as_table(), out)?;
        }
        if executors.is_none() {
            write_stage(table, &format!("{of_executors}.name"), None, out)?;
        }
    }
    Ok(())
}

fn write_stage(
    table: &str,
    path: &str,
    values: Option<&toml::Table>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mark = if values.is_some() { "" } else { "#" };
    writeln!(out, "# Stage {}.", path.split('.').next().unwrap_or(path))?;
    writeln!(out, "{mark}[{path}]")?;
    for setting in SETTINGS.iter().filter(|setting| table_of(setting) == table) {
        let key = setting.key.rsplit('.').next().unwrap_or(setting.key);
        let (takes, standard) = match (setting.words, setting.standard) {
            ([], Standard::Number(number)) => (range(setting.range.0, setting.range.1), number.to_string()),
            ([], Standard::PerCore(factor)) => {
                (range(setting.range.0, setting.range.1), format!("{factor} per core"))
            }
            (words, Standard::Word(word)) => (words.join(", "), format!("{word:?}")),
            (words, _) => (words.join(", "), String::new()),
        };
        let unit = unit(key).map(|unit| format!(" {unit}")).unwrap_or_default();
        write_wrapped(out, "# ", &format!("{}. Takes {takes}{unit}. Default {standard}.", setting.about))?;
        match values.and_then(|values| values.get(key)) {
            Some(value) => writeln!(out, "{key} = {value}")?,
            None => writeln!(out, "#{key} = {standard}")?,
        }
    }
    writeln!(out)
}

/// `io` of `io.threads`, `executor.*` of `executor.*.threads`.
fn table_of(setting: &Setting) -> &'static str {
    setting.key.rsplit_once('.').map_or(setting.key, |(table, _)| table)
}
