//! The licences of what the binary is built from, in full: most of them ask for their text to go
//! with the binary.

use super::dependencies::Package;
use std::collections::BTreeMap;

/// The documents about licences that go with the binary.
#[derive(Debug)]
pub(super) struct Documents {
    /// A list for programs.
    pub(super) spdx: String,
    /// The texts for people.
    pub(super) third_parties: String,
}

/// The beginnings of the names of files with a licence.
const NAMES: [&str; 6] = ["license", "licence", "copying", "notice", "copyright", "unlicense"];

/// Writes every package with its licence, then every text once, with the packages that it is of.
pub(super) fn third_parties(packages: &[Package]) -> String {
    let others: Vec<&Package> = packages.iter().filter(|package| !package.is_ours).collect();
    let mut out = String::from("Filbert is built from these packages:\n\n");
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &others {
        let (name, version) = (&package.name, &package.version);
        let licence = if package.licence.is_empty() { "its file says" } else { &package.licence };
        out += &format!("{name} {version}: {licence}\n");
        for text in licence_texts(package) {
            texts.entry(text).or_default().push(format!("{name} {version}"));
        }
    }
    for (text, of) in texts {
        out += &format!("\n{}\n{}:\n\n{}\n", "=".repeat(80), of.join(", "), text.trim_end());
    }
    out
}

/// Reads the files with a licence at the top of the sources of a package.
fn licence_texts(package: &Package) -> Vec<String> {
    let Some(entries) = package.sources.as_ref().and_then(|sources| std::fs::read_dir(sources).ok()) else {
        return Vec::new();
    };
    let is_licence = |name: &str| NAMES.iter().any(|start| name.to_ascii_lowercase().starts_with(start));
    let mut files: Vec<_> = entries
        .flatten()
        .filter(|entry| is_licence(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_two_packages_share_stands_there_once() {
        let root = std::env::temp_dir().join(format!("filbert-licences-{}", std::process::id()));
        let mut packages = Vec::new();
        for (name, text) in [("a", "text one"), ("b", "text one"), ("c", "text two")] {
            let sources = root.join(name);
            std::fs::create_dir_all(&sources).unwrap();
            std::fs::write(sources.join("LICENSE-MIT"), text).unwrap();
            std::fs::write(sources.join("lib.rs"), "no licence").unwrap();
            packages.push(Package {
                name: name.to_owned(),
                version: "1.0.0".to_owned(),
                licence: "MIT".to_owned(),
                sources: Some(sources),
                is_ours: false,
            });
        }
        packages.push(Package { name: "filbert".to_owned(), is_ours: true, ..packages[0].clone() });
        let text = third_parties(&packages);
        std::fs::remove_dir_all(&root).unwrap();
        assert_eq!(text.matches("text one").count(), 1, "{text}");
        assert!(
            text.contains("a 1.0.0, b 1.0.0:\n\ntext one\n") && text.contains("c 1.0.0: MIT\n"),
            "{text}"
        );
        assert!(!text.contains("no licence") && !text.contains("filbert 1.0.0"), "{text}");
    }
}
