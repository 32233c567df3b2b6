//! A page that points at a file which is not there misleads whoever follows it.
//!
//! Only links within the project are looked at; the network is not asked.

use super::{Report, Rule, source::SourceFile};

pub(super) const RULE: Rule = Rule {
    name: "links",
    about: "every link of a Markdown page to a file of the project finds it",
    remedy: "mend the link, or add the file",
    find,
};

fn find(files: &[SourceFile], report: &mut Report<'_>) {
    for file in files.iter().filter(|file| file.name().ends_with(".md")) {
        let folder = file.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut in_block = false;
        for (line, text) in file.lines() {
            if text.trim_start().starts_with("```") {
                in_block = !in_block;
            }
            for target in targets(text).filter(|_| !in_block) {
                let path = resolve(folder, target);
                let below = format!("{}/", path.trim_end_matches('/'));
                if !files.iter().any(|other| other.path() == path || other.path().starts_with(&below)) {
                    report(file, line, format!("the link to {target} leads nowhere"));
                }
            }
        }
    }
}

/// Where the links of a line lead, without those to the network and those within the page.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ', '#']).next()?;
        (!target.is_empty() && !target.contains(':')).then_some(target)
    })
}

/// The path from the top that a link in `folder` means.
fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::lines_found;

    #[test]
    fn a_link_finds_its_file() {
        let page = "docs/design/001-a.md";
        for good in [
            "[a](001-a.md#top)",
            "[b](../design/001-a.md)",
            "[c](https://a.b/c)",
            "[d](#x)",
            "[e](../design/)",
        ] {
            assert!(lines_found(&RULE, page, good).is_empty(), "{good}");
        }
        for bad in ["[a](002-b.md)", "see [a](001-a.md) and [b](../../b.md)"] {
            assert_eq!(lines_found(&RULE, page, bad), [1], "{bad}");
        }
        assert!(lines_found(&RULE, page, "```\n[a](b.md)\n```\n").is_empty());
    }
}
