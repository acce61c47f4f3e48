//! A diagnostic as text: position, source lines, marks, notes, hint.
//!
//! All positions of a file are shown in one excerpt, in the order of the lines. The caller says
//! whether colours are used, because only it knows the terminal. Control characters of the source
//! are not printed, and long lines are cut to a window around the first mark, so that a hostile
//! file cannot disturb the user's screen.
//!
//! `annotate-snippets` 0.12, the renderer of the Rust compiler, was compared with this one on the
//! same messages. Both cut long lines, handle wide characters, replace control characters and place
//! several labels below a line. It also draws a bracket beside a span of several lines; here such a
//! span is marked to the end of its first line. But it took 0.7 s for one message about a line of a
//! megabyte, and a file may have many errors; this one takes time in proportion to the line. None
//! of our messages has a span for which the bracket would be useful, so this renderer is kept,
//! without a dependency.

use crate::diagnostic::{Diagnostic, Severity};
use crate::map::{FileId, SourceMap, Span};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The most columns of source that are shown.
const WINDOW: usize = 110;
/// A narrower terminal shows no less.
const WINDOW_MIN: usize = 20;

/// The appearance of a diagnostic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paint {
    /// Whether colours are used, as ANSI escape sequences.
    pub color: bool,
    /// The number of columns, if the reader has a terminal. Source lines are cut to fit, because a
    /// line that continues on the next one would separate the mark from what it marks.
    pub width: Option<usize>,
}

impl Paint {
    /// The columns of source that are shown beside a frame of this width.
    fn window(self, frame: usize) -> usize {
        // A line that is cut has an ellipsis at both ends.
        self.width.map_or(WINDOW, |width| width.saturating_sub(frame + 2).clamp(WINDOW_MIN, WINDOW))
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.color && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn severity(self, severity: Severity, text: &str) -> String {
        let code = match severity {
            Severity::Error => "1;31",
            Severity::Warning => "1;33",
            Severity::Note => "1;36",
        };
        self.paint(code, text)
    }

    fn frame(self, text: &str) -> String {
        self.paint("1;34", text)
    }

    fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }
}

/// One diagnostic as plain text, ending in a newline.
pub fn render(map: &SourceMap, diagnostic: &Diagnostic) -> String {
    render_in(map, diagnostic, Paint::default())
}

/// One diagnostic as text, ending in a newline.
pub fn render_in(map: &SourceMap, diagnostic: &Diagnostic, paint: Paint) -> String {
    let Diagnostic { severity, message, span, name, labels, notes, hint, .. } = diagnostic;
    // Messages quote the model.
    let message = printable(message);
    let name = name.map(|name| format!(" [{name}]")).unwrap_or_default();
    let mut out = format!("{}{}{name}\n", paint.severity(*severity, &severity.to_string()), paint.strong(&format!(": {message}")));
    let told: Vec<String> = labels.iter().map(|label| printable(&label.message)).collect();
    let of_labels = labels.iter().zip(&told).map(|(label, told)| (label.span, Some(told.as_str())));
    let all: Vec<(Span, Option<&str>)> =
        std::iter::once((*span, None)).chain(of_labels).map(|(span, message)| (map.shown(span), message)).collect();
    let width = all.iter().map(|(span, _)| digits(map.location(*span).line)).max().unwrap_or(1);
    // The file of the message itself comes first.
    let mut files: Vec<FileId> = all.iter().map(|(span, _)| span.file).collect();
    let mut seen = Vec::new();
    files.retain(|file| {
        !seen.contains(file) && {
            seen.push(*file);
            true
        }
    });
    for (number, file) in files.iter().enumerate() {
        let here: Vec<Marked<'_>> = all
            .iter()
            .filter(|(span, _)| span.file == *file)
            .enumerate()
            .map(|(index, (span, label))| Marked { span: *span, label: *label, own: number == 0 && index == 0 })
            .collect();
        let arrow = if number == 0 { "-->" } else { ":::" };
        excerpt(&mut out, map, &here, *severity, width, arrow, paint);
    }
    for note in notes {
        let _ = writeln!(out, "{:width$} {} {} {}", "", paint.frame("="), paint.strong("note:"), printable(note));
    }
    if let Some(hint) = hint {
        let _ = writeln!(out, "{:width$} {} {} {}", "", paint.frame("="), paint.strong("hint:"), printable(hint));
    }
    out
}

/// Several diagnostics as plain text, one after the other, separated by empty lines.
pub fn render_all<'a>(map: &SourceMap, diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> String {
    render_all_in(map, diagnostics, Paint::default())
}

/// Several diagnostics, one after the other, separated by empty lines.
pub fn render_all_in<'a>(map: &SourceMap, diagnostics: impl IntoIterator<Item = &'a Diagnostic>, paint: Paint) -> String {
    let texts: Vec<String> = diagnostics.into_iter().map(|d| render_in(map, d, paint)).collect();
    texts.join("\n")
}

fn digits(n: usize) -> usize {
    n.to_string().len()
}

/// A place in an excerpt.
#[derive(Clone, Copy)]
struct Marked<'a> {
    span: Span,
    label: Option<&'a str>,
    /// Whether the message is about this position.
    own: bool,
}

/// Position line, source lines and marks of places in one file.
fn excerpt(out: &mut String, map: &SourceMap, places: &[Marked<'_>], severity: Severity, width: usize, arrow: &str, paint: Paint) {
    let Some(first) = places.first() else { return };
    let bar = paint.frame("|");
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "{:width$}{} {}", "", paint.frame(arrow), printable(&map.describe(first.span)));
    let Some(file) = map.get(first.span.file) else {
        for label in places.iter().filter_map(|place| place.label) {
            let _ = writeln!(out, "{:width$} {} {label}", "", paint.frame("="));
        }
        return;
    };
    let mut lines: BTreeMap<usize, Vec<Marked<'_>>> = BTreeMap::new();
    for place in places {
        lines.entry(file.line_of(place.span.start)).or_default().push(*place);
    }
    push_line(out, &format!("{:width$} {bar}", ""));
    let mut before = None;
    for (line, mut here) in lines {
        if before.is_some_and(|before| before + 1 < line) {
            push_line(out, &paint.frame("..."));
        }
        before = Some(line);
        here.sort_by_key(|place| (place.span.start, !place.own));
        let (text, begin) = (file.line_text(line), file.line_start(line));
        let column = |offset: u32| (offset as usize).saturating_sub(begin);
        // The window is around the position that the message is about, or else around the first
        // one.
        let main = here.iter().find(|place| place.own).or(here.first()).map_or(0, |place| column(place.span.start));
        let shown = Shown::of(text, main, paint.window(width + 3));
        push_line(out, &format!("{} {bar} {}", paint.frame(&format!("{line:>width$}")), shown.text));
        let marks: Vec<(usize, usize, Marked<'_>)> = here
            .iter()
            .map(|place| {
                let (from, to) = shown.columns(column(place.span.start), column(place.span.end));
                (from, (to - from).max(1), *place)
            })
            .collect();
        marks_text(out, &marks, severity, width, paint);
    }
}

/// The line of marks below a source line, and their labels: the last one beside it, the others
/// below.
fn marks_text(out: &mut String, marks: &[(usize, usize, Marked<'_>)], severity: Severity, width: usize, paint: Paint) {
    let frame = format!("{:width$} {} ", "", paint.frame("|"));
    let colour = |place: &Marked<'_>, text: &str| if place.own { paint.severity(severity, text) } else { paint.frame(text) };
    let mut line = frame.clone();
    let mut at = 0;
    for (index, (from, length, place)) in marks.iter().enumerate() {
        let end = marks.get(index + 1).map_or(usize::MAX, |(next, ..)| *next);
        let length = (*length).min(end.saturating_sub(*from)).max(1);
        // Positions that begin together share a mark.
        if *from < at {
            continue;
        }
        line.push_str(&" ".repeat(from - at));
        line.push_str(&colour(place, &if place.own { "^" } else { "-" }.repeat(length)));
        at = from + length;
    }
    let labels: Vec<&(usize, usize, Marked<'_>)> = marks.iter().filter(|(.., place)| place.label.is_some()).collect();
    let beside = labels.last().filter(|last| marks.last().is_some_and(|(from, ..)| last.0 == *from));
    if let Some((_, _, place)) = beside {
        line.push(' ');
        line.push_str(&colour(place, place.label.unwrap_or_default()));
    }
    push_line(out, &line);
    let below = labels.len() - usize::from(beside.is_some());
    for (from, _, place) in labels[..below].iter().rev() {
        push_line(out, &format!("{frame}{}{}", " ".repeat(*from), colour(place, place.label.unwrap_or_default())));
    }
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

/// A text from a model without characters that would disturb the terminal. Tabs are kept.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if disturbs(c) && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// A source line as it is shown.
struct Shown {
    text: String,
    /// For each character its offset in the line, and the column at which it begins.
    places: Vec<(usize, usize)>,
    /// The column after the last character.
    end: usize,
    /// The first column that is shown, the distance by which the rest is moved to the right, and
    /// the most columns that are shown.
    first: usize,
    shift: usize,
    window: usize,
}

impl Shown {
    /// The line, or if it is long, a window of it around the character at `around`. About a third
    /// of the window is before that character.
    fn of(line: &str, around: usize, window: usize) -> Shown {
        // Each character with the column at which it begins.
        let mut shown: Vec<(char, usize)> = Vec::new();
        let mut places = Vec::new();
        let mut columns = 0;
        for (offset, c) in line.char_indices() {
            places.push((offset, columns));
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
        if columns <= window {
            return Shown { text: shown.into_iter().map(|(c, _)| c).collect(), places, end: columns, first: 0, shift: 0, window };
        }
        let from = places.iter().find(|(offset, _)| *offset >= around).map_or(columns, |&(_, column)| column);
        // A wide character may begin before the window and is then left out.
        let wanted = from.saturating_sub(window * 4 / 11);
        let first = shown.iter().map(|&(_, column)| column).find(|&column| column >= wanted).unwrap_or(wanted);
        let seen = shown.iter().filter(|&&(c, column)| column >= first && column + columns_of(c) <= first + window);
        let cut: String = seen.map(|&(c, _)| c).collect();
        let lead = if first > 0 { "…" } else { "" };
        let tail = if first + window < columns { "…" } else { "" };
        Shown { text: format!("{lead}{cut}{tail}"), places, end: columns, first, shift: lead.chars().count(), window }
    }

    /// The columns of a piece of the line, as far as they are shown.
    fn columns(&self, start: usize, end: usize) -> (usize, usize) {
        let column = |wanted: usize| self.places.iter().find(|(offset, _)| *offset >= wanted).map_or(self.end, |&(_, column)| column);
        let shown = |column: usize| column.clamp(self.first, self.first + self.window) - self.first + self.shift;
        let (from, to) = (shown(column(start)), shown(column(end)));
        (from, to.max(from))
    }
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
        let line = Shown::of(text, start, WINDOW);
        let (shown, (from, to)) = (&line.text, line.columns(start, start + 1));
        assert!(!shown.contains('\u{202e}'));
        let before: String = shown.chars().take_while(|&c| c != 'x').collect();
        assert_eq!(from, before.chars().map(columns_of).sum::<usize>());
        assert_eq!((from, to), (3 + 4 + 1 + 1 + 1 + 1 + 4, from + 1));
        // The same in a line that is cut.
        let long = format!("{}x{}", "\u{6f22}".repeat(200), "\u{6f22}".repeat(200));
        let line = Shown::of(&long, 600, WINDOW);
        let (shown, (from, _)) = (&line.text, line.columns(600, 601));
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
1 | byte count;
  |      ----- this one is
...
3 |     conut = 1
  |     ^^^^^
  = hint: did you mean `count`?
";
        assert_eq!(render(&map, &d), expected);
    }

    #[test]
    fn several_places_of_a_line_share_it() {
        let (map, id) = map("init { if :: x == 1 -> skip }");
        let d = Diagnostic::error(Span::new(id, 28, 29), "expected `fi`")
            .with_label(Span::new(id, 7, 9), "to close this `if`")
            .with_label(Span::new(id, 13, 19), "its only option")
            .with_note("a selection ends with `fi`");
        let expected = "\
error: expected `fi`
 --> model.pml:1:29
  |
1 | init { if :: x == 1 -> skip }
  |        --    ------         ^
  |              its only option
  |        to close this `if`
  = note: a selection ends with `fi`
";
        assert_eq!(render(&map, &d), expected);
    }

    #[test]
    fn colours_are_for_those_who_see_them() {
        let (map, id) = map("x");
        let d = Diagnostic::warning(Span::new(id, 0, 1), "m").with_hint("h");
        let painted = render_in(&map, &d, Paint { color: true, width: None });
        assert!(painted.contains("\u{1b}[1;33mwarning\u{1b}[0m") && painted.contains("\u{1b}[1;33m^\u{1b}[0m"), "{painted}");
        let mut plain = String::new();
        let mut inside = false;
        for c in painted.chars() {
            match c {
                '\u{1b}' => inside = true,
                'm' if inside => inside = false,
                c if !inside => plain.push(c),
                _ => {}
            }
        }
        assert_eq!(plain, render(&map, &d));
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
    fn nothing_is_wider_than_the_terminal() {
        let text = format!("{}here{}", "a".repeat(70), "b".repeat(70));
        let (map, id) = map(&text);
        for width in [30, 40, 60, 80, 100] {
            let out = render_in(&map, &Diagnostic::error(Span::new(id, 70, 74), "m"), Paint { width: Some(width), ..Paint::default() });
            assert!(out.lines().all(|line| line.chars().count() <= width), "{width}\n{out}");
            let lines: Vec<&str> = out.lines().collect();
            let caret = lines[4].chars().position(|c| c == '^').expect("caret");
            assert_eq!(lines[3].chars().skip(caret).take(4).collect::<String>(), "here", "{width}\n{out}");
        }
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let (map, id) = map("x \u{1b}[2J y");
        let quoting = "a \u{1b}[31mred\u{1b}[0m one\u{202e}\r\n";
        let diagnostic = Diagnostic::error(Span::new(id, 2, 3), quoting)
            .with_label(Span::new(id, 0, 1), quoting)
            .with_label(Span::new(FileId::from_index(9), 1, 2), quoting)
            .with_note(quoting)
            .with_hint(quoting);
        let out = render(&map, &diagnostic);
        assert!(!out.contains(|c| c != '\n' && disturbs(c)), "{out:?}");
        assert_eq!(out.matches("[31mred").count(), 5, "{out}");
        let mut map = SourceMap::new();
        let id = map.add("a\u{1b}[31m.pml", "x");
        assert!(!render(&map, &Diagnostic::error(Span::new(id, 0, 1), "m")).contains('\u{1b}'));
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
