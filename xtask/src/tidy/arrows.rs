//! Crates know what lies below them and nothing else; that is what lets one be read, tested and replaced alone.
//!
//! Reads the Cargo.toml files itself: `cargo metadata` would need a JSON parser and a lock file that resolves. Dependencies for
//! tests and builds count as well.

use super::{Report, Rule, source::SourceFile};

/// The crates from the lowest to the highest, by the folder below `crates/`. A crate may use those before it.
const ORDER: &[&str] = &[
    "sync",
    "pool",
    "wire-derive",
    "wire",
    "net",
    "cluster",
    "store",
    "grid",
    "flow",
    "connect",
    "sql",
    "cube",
    "gate",
    "filbert",
];

/// Packages above everything: they may use all crates, and nothing uses them.
const ABOVE: &[&str] = &["filbert-bench", "filbert-test-member", "filbert-tokio-postgres-tests", "xtask"];

/// Pairs that must not know each other although their order would allow it: user and used, with the way around.
const STRANGERS: &[(&str, &str, &str)] = &[("flow", "grid", "`connect` joins them")];

pub(super) const RULE: Rule = Rule {
    name: "arrows",
    about: "a crate depends only on crates below it, in the order of tidy/arrows.rs",
    remedy: "move the shared part down, or pass it in as a trait or value; see the map in ARCHITECTURE.md",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    let manifests = files.iter().filter(|file| file.name() == "Cargo.toml" && file.path() != "Cargo.toml");
    for file in manifests {
        let Some((name, line)) = package_name(file.text()) else { continue };
        if ABOVE.contains(&name) {
            continue;
        }
        let Some(height) = height(name) else {
            report(
                file,
                line,
                format!("the package {name} has no place in the order of crates (ORDER in arrows.rs)"),
            );
            continue;
        };
        for (line, used) in dependencies(file.text()) {
            if ABOVE.contains(&used) {
                report(file, line, format!("{name} uses {used}, which nothing may use"));
            } else if let Some(below) = self::height(used) {
                let stranger = STRANGERS
                    .iter()
                    .find(|(user, lower, _)| (*user, *lower) == (ORDER[height], ORDER[below]));
                if below >= height {
                    report(file, line, format!("{name} uses {used}, which does not lie below it"));
                } else if let Some((_, _, instead)) = stranger {
                    report(file, line, format!("{name} uses {used}, which it must not know: {instead}"));
                }
            }
        }
    }
}

/// The place of a package in the order; none for packages that are not ours.
fn height(package: &str) -> Option<usize> {
    let short = if package == "filbert" { package } else { package.strip_prefix("filbert-")? };
    ORDER.iter().position(|known| *known == short)
}

fn package_name(manifest: &str) -> Option<(&str, usize)> {
    let mut section = "";
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if line.starts_with('[') {
            section = line;
        } else if section == "[package]" && key(line) == "name" {
            return Some((quoted(line)?, index + 1));
        }
    }
    None
}

/// Every package that a manifest depends on, under its real name, with the line.
fn dependencies(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_section = false;
    for (index, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            in_section = section.ends_with("dependencies");
            // [dependencies.name] is a dependency of its own.
            if let Some((_, name)) = section.rsplit_once("dependencies.") {
                found.push((index + 1, name.trim_matches('"')));
            }
        } else if in_section && !line.is_empty() && !line.starts_with('#') {
            let renamed = line.split_once("package").and_then(|(_, rest)| quoted(rest));
            found.push((index + 1, renamed.unwrap_or_else(|| key(line))));
        }
    }
    found
}

/// `filbert-pool` in `filbert-pool.workspace = true` and in `filbert-pool = "1"`.
fn key(line: &str) -> &str {
    line.split(['=', '.', ' ']).next().unwrap_or(line).trim_matches('"')
}

/// The first text in quotes.
fn quoted(line: &str) -> Option<&str> {
    line.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    fn manifest(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\n{rest}")
    }

    #[test]
    fn arrows_point_down() {
        let up = manifest("filbert-sync", "[dependencies]\nfilbert-pool.workspace = true\n");
        assert_eq!(lines_found(&RULE, "crates/sync/Cargo.toml", &up), [4]);
        let down = manifest(
            "filbert-pool",
            "[dependencies]\nserde = \"1\"\nfilbert-sync = { path = \"../sync\" }\n",
        );
        assert!(lines_found(&RULE, "crates/pool/Cargo.toml", &down).is_empty());
        let top = manifest("filbert", "[dependencies]\nfilbert-gate.workspace = true\n");
        assert!(lines_found(&RULE, "crates/filbert/Cargo.toml", &top).is_empty());
    }

    #[test]
    fn no_way_of_writing_a_dependency_escapes() {
        for section in [
            "[dev-dependencies]\nfilbert-gate.workspace = true\n",
            "[dependencies.filbert-gate]\nworkspace = true\n",
            "[target.'cfg(unix)'.dependencies]\nfilbert-gate = \"1\"\n",
            "[build-dependencies]\ndoor = { package = \"filbert-gate\", version = \"1\" }\n",
        ] {
            let found = lines_found(&RULE, "crates/grid/Cargo.toml", &manifest("filbert-grid", section));
            assert_eq!(found.len(), 1, "{section}");
        }
    }

    #[test]
    fn strangers_and_the_unlisted_are_found() {
        let flow = manifest("filbert-flow", "[dependencies]\nfilbert-grid.workspace = true\n");
        assert_eq!(lines_found(&RULE, "crates/flow/Cargo.toml", &flow), [4]);
        assert_eq!(lines_found(&RULE, "crates/x/Cargo.toml", &manifest("filbert-x", "")), [2]);
        let upward = manifest("filbert-grid", "[dependencies]\nfilbert-bench = { path = \"../../bench\" }\n");
        assert_eq!(lines_found(&RULE, "crates/grid/Cargo.toml", &upward), [4]);
        let bench = manifest("filbert-bench", "[dependencies]\nfilbert.workspace = true\n");
        assert!(lines_found(&RULE, "bench/Cargo.toml", &bench).is_empty());
    }
}
