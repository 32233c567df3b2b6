//! A text in the editor of the user.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The editor when nobody says which.
const EDITOR: &str = "vi";

/// A file that is removed when nobody needs it.
struct Draft(PathBuf);

impl Drop for Draft {
    fn drop(&mut self) {
        // Another may have removed it already.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Opens an editor with a file, or with a file that has `text` in it; returns what it has when the editor ends.
pub(super) fn edited(
    path: Option<&Path>,
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<String, Box<dyn Error>> {
    let draft = match path {
        Some(_) => None,
        None => Some(draft(text)?),
    };
    let path = path.or(draft.as_ref().map(|draft| draft.0.as_path())).unwrap_or(Path::new(""));
    let said =
        ["VISUAL", "EDITOR"].into_iter().filter_map(variable).find(|command| !command.trim().is_empty());
    let command = said.unwrap_or_else(|| EDITOR.to_owned());
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or(EDITOR);
    let ended = Command::new(program).args(words).arg(path).status();
    let ended = ended
        .map_err(|error| format!("cannot start the editor {program:?}: {error}; $EDITOR names another"))?;
    if !ended.success() {
        return Err(format!("the editor {program:?} ended with an error; nothing is run").into());
    }
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()).into())
}

/// Makes a file with that text, which nobody else may read.
fn draft(text: &str) -> Result<Draft, String> {
    let path = std::env::temp_dir().join(format!("filbert-{}.sql", uuid::Uuid::new_v4()));
    let wrong = |error: std::io::Error| format!("cannot write {}: {error}", path.display());
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).map_err(wrong)?;
    let draft = Draft(path.clone());
    file.write_all(text.as_bytes()).map_err(wrong)?;
    Ok(draft)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_gets_the_text_and_what_it_leaves_is_returned() {
        let editor = |command: &'static str| move |name: &str| (name == "EDITOR").then(|| command.to_owned());
        let text = edited(None, "SELECT 1;\n", editor("sed -i s/1/2/")).unwrap();
        assert_eq!(text, "SELECT 2;\n");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.sql");
        std::fs::write(&file, "SELECT 3;").unwrap();
        assert_eq!(edited(Some(&file), "", editor("true")).unwrap(), "SELECT 3;");
        let wrong = |command| edited(None, "", editor(command)).unwrap_err().to_string();
        assert!(wrong("false").contains("nothing is run"));
        assert!(wrong("no-such-editor").contains("$EDITOR names another"));
    }
}
