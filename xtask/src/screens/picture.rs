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
    let mut out = head(width, height);
    for (number, (class, line)) in lines.iter().enumerate() {
        let y = BAR + MARGIN + number * LINE;
        out += &format!(
            "<text class=\"{class}\" x=\"{MARGIN}\" y=\"{y}\" xml:space=\"preserve\">{}\n</text>\n",
            escaped(line)
        );
    }
    out + "</svg>\n"
}

/// Draws the window without what is in it.
fn head(width: usize, height: usize) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>text {{ font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre; }} \
         .c {{ fill: #8fd18f; }} .o {{ fill: #e6e6e6; }} .b {{ fill: #ffffff; font-weight: bold; }} \
         .f {{ fill: #9aa0a6; }} .r {{ fill: #ff7b72; font-weight: bold; }} .i {{ fill: #1e2127; }}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e2127\"/>\n"
    );
    for (number, colour) in ["#e06c60", "#e0b860", "#70b868"].into_iter().enumerate() {
        out +=
            &format!("<circle cx=\"{}\" cy=\"14\" r=\"5\" fill=\"{colour}\"/>\n", MARGIN + 4 + number * 18);
    }
    out
}

/// Letters that follow one another and look alike.
struct Span {
    column: usize,
    columns: usize,
    text: String,
    /// Classes of the style sheet.
    classes: &'static str,
}

/// Draws the screen of a terminal, with room for all its columns and lines.
pub(super) fn of_screen(screen: &vt100::Screen) -> String {
    let (lines, columns) = (screen.size().0.get(), screen.size().1.get());
    let width = (f64::from(columns) * LETTER) as usize + 2 * MARGIN;
    let height = usize::from(lines) * LINE + BAR + MARGIN;
    let mut out = head(width, height);
    for line in 0..lines {
        let y = BAR + MARGIN + usize::from(line) * LINE;
        for span in spans(screen, line) {
            let x = MARGIN as f64 + span.column as f64 * LETTER;
            let length = span.columns as f64 * LETTER;
            if span.classes == "i" {
                let above = y - LINE + 5;
                out += &format!(
                    "<rect x=\"{x:.1}\" y=\"{above}\" width=\"{length:.1}\" height=\"{LINE}\" fill=\"#e6e6e6\"/>\n"
                );
            }
            out += &format!(
                "<text class=\"{}\" x=\"{x:.1}\" y=\"{y}\" textLength=\"{length:.1}\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">{}</text>\n",
                span.classes,
                escaped(&span.text)
            );
        }
    }
    out + "</svg>\n"
}

/// The parts of a line that are not blank.
fn spans(screen: &vt100::Screen, line: u16) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut blanks = 0;
    for column in 0..screen.size().1.get() {
        let Some(cell) = screen.cell(line, column).filter(|cell| !cell.is_wide_continuation()) else {
            continue;
        };
        let (columns, classes) = (if cell.is_wide() { 2 } else { 1 }, classes(cell));
        let is_blank = cell.contents().trim().is_empty();
        match spans.last_mut().filter(|span| span.classes == classes && blanks < 3) {
            // A single blank belongs to a text, many are a gap.
            _ if is_blank && classes != "i" => blanks += columns,
            Some(span) if span.column + span.columns + blanks == usize::from(column) => {
                span.text += &" ".repeat(blanks);
                span.text += if cell.has_contents() { cell.contents() } else { " " };
                span.columns += blanks + columns;
                blanks = 0;
            }
            _ => {
                let text = if cell.has_contents() { cell.contents().to_owned() } else { " ".to_owned() };
                spans.push(Span { column: column.into(), columns, text, classes });
                blanks = 0;
            }
        }
    }
    spans
}

fn classes(cell: &vt100::Cell) -> &'static str {
    match cell.fgcolor() {
        _ if cell.inverse() => "i",
        vt100::Color::Idx(1 | 9) => "r",
        vt100::Color::Idx(2 | 10) => "c",
        _ if cell.bold() => "b",
        _ if cell.dim() => "f",
        _ => "o",
    }
}

/// Returns the text of a line of a picture.
pub(super) fn shown(line: &str) -> Option<&str> {
    line.strip_prefix("<text ")?.split_once('>')?.1.strip_suffix("</text>")
}

/// Writes a text so that nothing in it is markup.
pub(super) fn escaped(line: &str) -> String {
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

    #[test]
    fn a_screen_is_drawn_with_its_size_and_emphasis() {
        let mut parser = vt100::Parser::new(3.try_into().unwrap(), 20.try_into().unwrap(), 0);
        parser.process(b"\x1b[1mname  a < b\x1b[0m     far\r\n\x1b[7m x \x1b[0m \x1b[1;31mred\x1b[0m");
        let text = of_screen(parser.screen());
        assert!(text.contains("width=\"200\" height=\"104\""), "{text}");
        for part in [
            "class=\"b\" x=\"16.0\" y=\"44\" textLength=\"92.4\"",
            ">name  a &lt; b</text>",
            "class=\"o\" x=\"150.4\" y=\"44\"",
            ">far</text>",
            "> x </text>",
            "class=\"r\" x=\"49.6\" y=\"64\"",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
