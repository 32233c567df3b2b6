//! `filbert stages --rules`: what each stage may do with each other one.

use super::super::Outcome;
use super::super::table::Table;
use filbert::StageKind;
use std::io::Write;

pub(super) fn write(out: &mut impl Write, json: bool) -> Outcome {
    // No work goes to the threads that a program made itself.
    let to_kinds = &StageKind::ALL[1..];
    if json {
        for from in StageKind::ALL {
            for to in to_kinds {
                let may = from.permission(*to);
                let cell = serde_json::json!({
                    "from": from, "to": to, "submit": may.submit, "wait": may.wait, "await": may.r#await,
                });
                writeln!(out, "{cell}")?;
            }
        }
        return Ok(());
    }
    let header: Vec<&str> = ["from \\ to"].into_iter().chain(to_kinds.iter().map(|to| to.as_str())).collect();
    let mut table = Table::new(&header);
    for from in StageKind::ALL {
        let cells = to_kinds.iter().map(|to| letters(from, *to));
        table.row([from.to_string()].into_iter().chain(cells));
    }
    table.write(out, "")?;
    writeln!(out, "\ns submit work to it, w wait for its result (block), a await its result, - nothing")?;
    Ok(())
}

fn letters(from: StageKind, to: StageKind) -> String {
    let may = from.permission(to);
    let letters: String = [(may.submit, 's'), (may.wait, 'w'), (may.r#await, 'a')]
        .into_iter()
        .filter_map(|(allowed, letter)| allowed.then_some(letter))
        .collect();
    if letters.is_empty() { "-".to_owned() } else { letters }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lines_up_and_explains_its_letters() {
        let mut out = Vec::new();
        write(&mut out, false).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let column = lines[0].find("generic").unwrap();
        assert!(lines[1][column..].starts_with("swa"), "application may wait for generic\n{text}");
        assert!(lines[13][column..].starts_with("s "), "cpu may only submit to generic\n{text}");
        assert!(lines[15].starts_with("s submit"), "{text}");
    }

    #[test]
    fn as_json_there_is_one_object_per_pair() {
        let mut out = Vec::new();
        write(&mut out, true).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.lines().count(), 13 * 12);
        let first: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(first["from"], "application");
        assert_eq!(first["wait"], true);
    }
}
