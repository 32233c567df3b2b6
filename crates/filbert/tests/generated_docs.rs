//! The parts of the documentation that come from the code are what the code says.
//!
//! A page keeps its prose; a generated part stands between two marks. This test fails when a part is stale and, with
//! `FILBERT_WRITE_DOCS` set (`cargo xtask fix` sets it), writes it anew instead.

use std::path::Path;

/// A page, the name of the part in it, and the code that writes the part.
type Part = (&'static str, &'static str, fn() -> String);

const PARTS: &[Part] = &[
    ("docs/design/005-stage-table.md", "stage table", filbert::stage_table),
    ("docs/settings.md", "member settings", filbert::MemberConfig::settings_markdown),
    ("docs/settings.md", "stage settings", filbert::settings_table::markdown),
];

#[test]
fn generated_parts_are_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let write = std::env::var_os("FILBERT_WRITE_DOCS").is_some();
    for (page, part, generate) in PARTS {
        let path = root.join(page);
        let before = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{page}: {error}"));
        let after = replace(&before, part, &generate()).unwrap_or_else(|error| panic!("{page}: {error}"));
        if before == after {
            continue;
        }
        assert!(
            write,
            "{page}: the part {part:?} is not what the code says; run `cargo xtask fix --only docs`"
        );
        std::fs::write(&path, after).unwrap_or_else(|error| panic!("{page}: {error}"));
    }
}

/// The page with the text between the marks of `part` replaced.
fn replace(page: &str, part: &str, text: &str) -> Result<String, String> {
    let (open, close) = (format!("<!-- begin {part}"), format!("<!-- end {part} -->"));
    let missing = |mark: &str| format!("the mark {mark:?} is missing; the generated part goes below it");
    let start = page.find(&open).ok_or_else(|| missing(&open))?;
    let start = start + page[start..].find("-->\n").ok_or_else(|| missing("-->"))? + "-->\n".len();
    let end = start + page[start..].find(&close).ok_or_else(|| missing(&close))?;
    Ok(format!("{}\n{}\n\n{}", &page[..start], text.trim_end(), &page[end..]))
}

#[test]
fn only_the_part_between_its_marks_changes() {
    let page = "Before.\n<!-- begin a: made by x -->\nold\n<!-- end a -->\nAfter.\n";
    let expected = "Before.\n<!-- begin a: made by x -->\n\nnew\n\n<!-- end a -->\nAfter.\n";
    assert_eq!(replace(page, "a", "new\n").as_deref(), Ok(expected));
    assert_eq!(replace(expected, "a", "new\n").as_deref(), Ok(expected));
    assert!(replace("no marks", "a", "new").unwrap_err().contains("<!-- begin a"));
}

/// The page shows the settings that bound queries, with the values that they have.
#[test]
fn the_limits_of_sql_are_the_defaults() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, limits) = page.split_once("## Limits").unwrap();
    let (_, shown) = limits.split_once("```toml\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let shown = filbert::MemberConfig::from_toml(shown).unwrap().sql;
    let defaults = filbert::SqlSettings::default();
    let half = Some(defaults.memory_bytes / 2);
    assert_eq!(shown, filbert::SqlSettings { table_bytes: half, ..defaults });
}
