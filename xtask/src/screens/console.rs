//! Blocks of commands and their output in a page of Markdown.

/// A block of the kind `console`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// A command, which may have several lines, and what it printed.
    pub(super) commands: Vec<(String, String)>,
}

const OPEN: &str = "```console";
const CLOSE: &str = "```";

impl Block {
    fn read(lines: &[&str]) -> Result<Self, String> {
        let mut commands: Vec<(String, String)> = Vec::new();
        let mut is_command = false;
        for line in lines {
            if let Some(command) = line.strip_prefix("$ ") {
                commands.push((command.to_owned(), String::new()));
                is_command = true;
                continue;
            }
            let Some((command, output)) = commands.last_mut() else {
                return Err(format!("a block of commands begins with `$ `, not with {line:?}"));
            };
            match line.strip_prefix("> ").filter(|_| is_command) {
                Some(more) => *command += &format!("\n{more}"),
                None => {
                    is_command = false;
                    if !output.is_empty() {
                        output.push('\n');
                    }
                    output.push_str(line);
                }
            }
        }
        Ok(Self { commands })
    }

    /// The lines of the block with these outputs.
    fn written(&self, outputs: &[String]) -> String {
        let mut out = String::new();
        for ((command, _), output) in self.commands.iter().zip(outputs) {
            for (line, text) in command.split('\n').enumerate() {
                out += &format!("{} {text}\n", if line == 0 { '$' } else { '>' });
            }
            if !output.is_empty() {
                out += &format!("{output}\n");
            }
        }
        out
    }
}

/// Puts new outputs into all blocks of a page.
pub(super) fn rewritten(
    page: &str,
    mut run: impl FnMut(&Block) -> Result<Vec<String>, String>,
) -> Result<String, String> {
    let mut out = String::new();
    let mut lines = page.split_inclusive('\n');
    while let Some(line) = lines.next() {
        out += line;
        if line.trim_end() != OPEN {
            continue;
        }
        let inside: Vec<&str> = lines
            .by_ref()
            .take_while(|line| line.trim_end() != CLOSE)
            .map(|line| line.trim_end_matches('\n'))
            .collect();
        let block = Block::read(&inside)?;
        out += &block.written(&run(&block)?);
        out += "```\n";
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_put_below_their_commands() {
        let page = "Text\n\n```console\n$ a 'x\n> y'\nold\n\nlines\n$ b\n```\nmore\n```sh\n$ c\n```\n";
        let mut seen = Vec::new();
        let after = rewritten(page, |block| {
            seen.clone_from(&block.commands);
            Ok(vec!["new".to_owned(), String::new()])
        });
        assert_eq!(
            seen,
            [("a 'x\ny'".to_owned(), "old\n\nlines".to_owned()), ("b".to_owned(), String::new())]
        );
        let expected = "Text\n\n```console\n$ a 'x\n> y'\nnew\n$ b\n```\nmore\n```sh\n$ c\n```\n";
        assert_eq!(after.as_deref(), Ok(expected));
    }

    #[test]
    fn a_page_stays_as_it_is_when_its_outputs_do() {
        let page = "```console\n$ a\none\n```\nno end";
        let same =
            rewritten(page, |block| Ok(block.commands.iter().map(|(_, output)| output.clone()).collect()));
        assert_eq!(same.as_deref(), Ok(page));
        assert!(
            rewritten("```console\nno command\n```\n", |_| Ok(Vec::new()))
                .unwrap_err()
                .contains("no command")
        );
    }
}
