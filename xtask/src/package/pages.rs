//! The files that the binary writes about itself: completions, manual pages and the settings with
//! their defaults.

use super::binary::Binary;
use super::{folder::Folder, output};
use crate::workspace::Workspace;
use std::path::Path;

/// Files that are made by the binary.
#[derive(Debug)]
pub(super) struct Pages {
    /// A shell and its completions.
    pub(super) completions: Vec<(&'static str, Vec<u8>)>,
    /// The name of a manual page, and the page.
    pub(super) manual: Vec<(String, Vec<u8>)>,
    /// A settings file with every setting as a comment.
    pub(super) settings: String,
}

/// The shells that packages have completions for.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

const SETTINGS_HEAD: &str = "\
# Every setting of Filbert with its meaning. All lines are comments: copy those that you change into your settings file.
# Values that depend on the machine (threads, memory) are those of the machine that made this file.

";

impl Pages {
    /// Asks the binary for its pages.
    pub(super) fn made_by(binary: &Binary, workspace: &Workspace, scratch: &Path) -> Result<Self, String> {
        let ask = |words: &[&str]| output(workspace, &binary.path, words, workspace.root());
        let completions = SHELLS.into_iter().map(|shell| Ok((shell, ask(&["completions", shell])?)));
        let completions = completions.collect::<Result<_, String>>()?;
        ask(&["man", &scratch.to_string_lossy()])?;
        let folder = Folder::at(scratch);
        let read = |name: String| {
            let page = std::fs::read(scratch.join(&name))
                .map_err(|error| format!("{name} cannot be read: {error}"))?;
            Ok((name, page))
        };
        let manual = folder.files()?.into_iter().map(read).collect::<Result<_, String>>()?;
        let settings = String::from_utf8_lossy(&ask(&["config", "print"])?).into_owned();
        Ok(Self { completions, manual, settings: format!("{SETTINGS_HEAD}{}", as_comments(&settings)) })
    }
}

/// Puts a `#` before every line that sets something: an example must not fix what depends on the
/// machine.
fn as_comments(settings: &str) -> String {
    let line = |line: &str| {
        if line.is_empty() || line.starts_with('#') { format!("{line}\n") } else { format!("#{line}\n") }
    };
    settings.lines().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_sets_nothing() {
        let printed = "# Threads.\n[partition]\nthreads = 4\n\n#[map.x]\n";
        assert_eq!(as_comments(printed), "# Threads.\n#[partition]\n#threads = 4\n\n#[map.x]\n");
    }
}
