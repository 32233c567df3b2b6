//! A picture of a terminal in SVG, from what commands printed: plain text that every browser draws,
//! with nothing to install.

/// Pixels of a letter and of a line.
const LETTER: f64 = 8.4;
const LINE: usize = 20;
const MARGIN: usize = 16;
/// Room for the bar of the window.
const BAR: usize = 28;

/// Draws commands and their outputs.
pub(super) fn svg(shown: &[(String, String)]) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for (command, output) in shown {
        for (number, line) in command.split('\n').enumerate() {
            lines.push(("c", format!("{} {line}", if number == 0 { "$" } else { " " })));
        }
        lines.extend(output.lines().map(|line| ("o", line.to_owned())));
    }
    let longest = lines.iter().map(|(_, line)| line.chars().count()).max().unwrap_or(0);
    let width = (longest as f64 * LETTER) as usize + 2 * MARGIN;
    let height = lines.len() * LINE + BAR + MARGIN;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>text {{ font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }} \
         .c {{ fill: #8fd18f; }} .o {{ fill: #e6e6e6; }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e2127\"/>\n"
    );
    for (number, colour) in ["#e06c60", "#e0b860", "#70b868"].into_iter().enumerate() {
        out +=
            &format!("<circle cx=\"{}\" cy=\"14\" r=\"5\" fill=\"{colour}\"/>\n", MARGIN + 4 + number * 18);
    }
    for (number, (class, line)) in lines.iter().enumerate() {
        let y = BAR + MARGIN + number * LINE;
        out += &format!(
            "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{}\n</text>\n",
            escaped(line)
        );
    }
    out + "</svg>\n"
}

fn escaped(line: &str) -> String {
    line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_drawn_and_no_letter_is_markup() {
        let text = svg(&[("a \"<x>\"\n  b".to_owned(), "1 & 2\nlast".to_owned())]);
        assert_eq!(text.matches("<text ").count(), 4, "{text}");
        for part in [">$ a \"&lt;x&gt;\"\n<", ">    b\n<", ">1 &amp; 2\n<", "class=\"o\""] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        assert!(text.ends_with("</svg>\n"));
    }
}
