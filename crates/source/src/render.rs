//! A diagnostic as text: position, source line, caret, hint.
//!
//! The text is plain, without colours, because only the caller knows the terminal. Control
//! characters of the source are not passed on, and long lines are cut to a window around the span,
//! so that a hostile file cannot disturb the user's screen.

use crate::diagnostic::Diagnostic;
use crate::map::{SourceMap, Span};
use std::fmt::Write;

/// Columns of source shown at most.
const WINDOW: usize = 110;
/// Columns shown before the span when a long line is cut.
const LEAD: usize = 40;

/// One diagnostic as text, ending in a newline.
pub fn render(map: &SourceMap, diagnostic: &Diagnostic) -> String {
    let mut out = format!("{}: {}\n", diagnostic.severity, diagnostic.message);
    let spans = diagnostic.labels.iter().map(|l| l.span).chain([diagnostic.span]);
    let width = spans.map(|s| digits(map.location(s).line)).max().unwrap_or(1);
    excerpt(&mut out, map, diagnostic.span, '^', "", width, "-->");
    for label in &diagnostic.labels {
        excerpt(&mut out, map, label.span, '-', &label.message, width, ":::");
    }
    if let Some(hint) = &diagnostic.hint {
        let _ = writeln!(out, "{:width$} = hint: {hint}", "");
    }
    out
}

/// Several diagnostics, one after the other, separated by empty lines.
pub fn render_all<'a>(map: &SourceMap, diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    let texts: Vec<String> = diagnostics.into_iter().map(|d| render(map, d)).collect();
    texts.join("\n")
}

fn digits(n: usize) -> usize {
    n.to_string().len()
}

/// Position line, source line and marks of one span.
fn excerpt(out: &mut String, map: &SourceMap, span: Span, mark: char, message: &str, width: usize, arrow: &str) {
    let span = map.shown(span);
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "{:width$}{arrow} {}", "", map.describe(span));
    let Some(file) = map.get(span.file) else {
        if !message.is_empty() {
            let _ = writeln!(out, "{:width$} = {message}", "");
        }
        return;
    };
    let line = file.line_of(span.start);
    let text = file.line_text(line);
    let line_start = file.line_start(line);
    let (shown, from, to) =
        shown_line(text, (span.start as usize).saturating_sub(line_start), (span.end as usize).saturating_sub(line_start));
    let marks: String = std::iter::repeat_n(mark, (to - from).max(1)).collect();
    push_line(out, &format!("{:width$} |", ""));
    push_line(out, &format!("{line:>width$} | {shown}"));
    push_line(out, &format!("{:width$} | {:from$}{marks} {message}", "", ""));
}

/// Appends a line without the blanks at its end.
fn push_line(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The columns that a terminal uses for a character: two for East Asian wide characters and most
/// pictographs, none for combining marks. The ranges are the blocks of Unicode that contain only
/// such characters; a rare character outside them may move a mark by one column.
fn columns_of(c: char) -> usize {
    match u32::from(c) {
        0x0300..=0x036f | 0x200b..=0x200f | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfe20..=0xfe2f => 0,
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff01..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Whether a character would disturb the terminal: control characters, and those that change the
/// writing direction of the text after them.
fn disturbs(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The part of a line to show, and the columns `from..to` of the marked piece in it.
fn shown_line(text: &str, start: usize, end: usize) -> (String, usize, usize) {
    // Each character with the column at which it begins.
    let mut shown: Vec<(char, usize)> = Vec::new();
    let (mut columns, mut from, mut to) = (0, None, None);
    for (offset, c) in text.char_indices() {
        if offset >= start && from.is_none() {
            from = Some(columns);
        }
        if offset >= end && to.is_none() {
            to = Some(columns);
        }
        if c == '\t' {
            let pad = 4 - columns % 4;
            shown.extend((columns..columns + pad).map(|column| (' ', column)));
            columns += pad;
        } else {
            let c = if disturbs(c) { '\u{fffd}' } else { c };
            shown.push((c, columns));
            columns += columns_of(c);
        }
    }
    let from = from.unwrap_or(columns);
    let to = to.unwrap_or(columns).max(from);
    if columns <= WINDOW {
        return (shown.into_iter().map(|(c, _)| c).collect(), from, to);
    }
    // A wide character may begin before the window and is then left out.
    let wanted = from.saturating_sub(LEAD);
    let first = shown.iter().map(|&(_, column)| column).find(|&column| column >= wanted).unwrap_or(wanted);
    let window = shown.iter().filter(|&&(c, column)| column >= first && column + columns_of(c) <= first + WINDOW);
    let cut: String = window.map(|&(c, _)| c).collect();
    let (head, tail) = (first > 0, first + WINDOW < columns);
    let lead = if head { "…" } else { "" };
    let shift = lead.chars().count();
    let shown = format!("{lead}{cut}{}", if tail { "…" } else { "" });
    (shown, from - first + shift, to.min(first + WINDOW).max(from) - first + shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::FileId;

    fn map(text: &str) -> (SourceMap, FileId) {
        let mut map = SourceMap::new();
        let id = map.add("model.pml", text);
        (map, id)
    }

    #[test]
    fn marks_are_under_what_they_mark() {
        // Two wide characters, a letter with a combining accent, a mark that reverses the text.
        let text = "/* \u{6f22}\u{5b57} e\u{301} \u{202e} */ x = 1";
        let start = text.find('x').expect("it is there");
        let (shown, from, to) = shown_line(text, start, start + 1);
        assert!(!shown.contains('\u{202e}'));
        let before: String = shown.chars().take_while(|&c| c != 'x').collect();
        assert_eq!(from, before.chars().map(columns_of).sum::<usize>());
        assert_eq!((from, to), (3 + 4 + 1 + 1 + 1 + 1 + 4, from + 1));
        // The same in a line that is cut.
        let long = format!("{}x{}", "\u{6f22}".repeat(200), "\u{6f22}".repeat(200));
        let (shown, from, _) = shown_line(&long, 600, 601);
        let before: String = shown.chars().take_while(|&c| c != 'x').collect();
        assert_eq!(from, before.chars().map(columns_of).sum::<usize>());
    }

    #[test]
    fn a_diagnostic_shows_line_caret_label_and_hint() {
        let (map, id) = map("byte count;\nactive proctype P() {\n\tconut = 1\n}\n");
        let d = Diagnostic::error(Span::new(id, 35, 40), "`conut` is not declared")
            .with_label(Span::new(id, 5, 10), "this one is")
            .with_hint("did you mean `count`?");
        let expected = "\
error: `conut` is not declared
 --> model.pml:3:2
  |
3 |     conut = 1
  |     ^^^^^
 ::: model.pml:1:6
  |
1 | byte count;
  |      ----- this one is
  = hint: did you mean `count`?
";
        assert_eq!(render(&map, &d), expected);
    }

    #[test]
    fn a_span_over_several_lines_is_marked_to_the_end_of_the_first() {
        let (map, id) = map("do\n:: x\nod");
        let d = Diagnostic::warning(Span::new(id, 3, 10), "m");
        assert!(render(&map, &d).contains("2 | :: x\n  | ^^^^\n"));
    }

    #[test]
    fn long_lines_are_cut_around_the_span() {
        let text = format!("{}here{}", "a".repeat(500), "b".repeat(500));
        let (map, id) = map(&text);
        let out = render(&map, &Diagnostic::error(Span::new(id, 500, 504), "m"));
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines.iter().all(|l| l.chars().count() < 130), "{out}");
        let caret = lines[4].chars().position(|c| c == '^').expect("caret");
        let word: String = lines[3].chars().skip(caret).take(4).collect();
        assert_eq!(word, "here");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let (map, id) = map("x \u{1b}[2J y");
        let out = render(&map, &Diagnostic::error(Span::new(id, 2, 3), "m"));
        assert!(!out.contains('\u{1b}'));
    }

    #[test]
    fn ends_of_files_and_lost_files_render() {
        let (map, id) = map("");
        let d = Diagnostic::error(Span::point(id, 0), "nothing");
        assert!(render(&map, &d).contains("1 |\n  | ^\n"));
        let lost = Diagnostic::error(Span::new(FileId::from_index(9), 1, 2), "lost");
        assert_eq!(render(&map, &lost), "error: lost\n --> ?:1:1\n");
    }
}
