//! Files, spans, and the way from a byte offset to a line and a column.
//!
//! Spans are byte ranges rather than line/column pairs, because byte ranges are cheap to make, to
//! join and to store in a program's tables. Lines are computed only when a position is shown.

use std::fmt;

/// The number of a file in its [`SourceMap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(u32);

impl FileId {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }

    /// The file with this number; meant for tables that store spans as plain numbers.
    pub fn from_index(index: usize) -> Self {
        FileId(u32::try_from(index).unwrap_or(u32::MAX))
    }
}

/// A range of bytes `start..end` of one file. An empty range is a point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The range `start..end` of `file`. Offsets beyond four gigabytes are cut to the largest
    /// offset.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let clip = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Span { file, start: clip(start), end: clip(end.max(start)) }
    }

    /// The point just before the byte `at`.
    pub fn point(file: FileId, at: usize) -> Self {
        Span::new(file, at, at)
    }

    /// The smallest span that covers both. Spans of different files cannot be joined: the result is
    /// `self`.
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The point at which this span begins.
    pub fn begin(self) -> Span {
        Span { end: self.start, ..self }
    }

    /// The point just after this span.
    pub fn after(self) -> Span {
        Span { start: self.end, ..self }
    }

    /// The number of bytes covered.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether the span is a point.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A position a person can read: both numbers count from one, columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Line, from one.
    pub line: usize,
    /// Column in characters, from one.
    pub column: usize,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// One file: its name as the user knows it, its text, and where its lines begin.
#[derive(Clone, Debug)]
pub struct SourceFile {
    name: String,
    text: String,
    line_starts: Vec<u32>,
    /// For a text made of expansions: where each expansion begins, and the places it belongs to.
    expansions: Vec<(u32, Places)>,
}

/// The places to which expanded text belongs. Such text is in no file as it is: it is a statement
/// of a macro or an inline with its arguments substituted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// The position that messages about it show.
    pub shown: Span,
    /// The position at which the macro or the inline was used.
    pub used: Span,
    /// The position of the text from which it was expanded.
    pub origin: Span,
}

/// Texts that expansion makes, collected before they become a file.
#[derive(Clone, Debug, Default)]
pub struct Expansions {
    text: String,
    places: Vec<(u32, Places)>,
}

impl Expansions {
    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The places of the text that begins here.
    pub fn places(&self, span: Span) -> Option<Places> {
        self.places.iter().rev().find(|(start, _)| *start == span.start).map(|(_, places)| *places)
    }

    /// Adds a text. Returns its span, which contains the number that the file will have.
    pub fn add(&mut self, file: FileId, text: &str, places: Places) -> Span {
        let start = self.text.len();
        self.text.push_str(text);
        let span = Span::new(file, start, self.text.len());
        self.text.push('\n');
        self.places.push((span.start, places));
        span
    }
}

impl SourceFile {
    fn new(name: String, text: String) -> Self {
        let mut line_starts = vec![0];
        for (i, byte) in text.bytes().enumerate() {
            if byte == b'\n' {
                line_starts.push(u32::try_from(i + 1).unwrap_or(u32::MAX));
            }
        }
        SourceFile { name, text, line_starts, expansions: Vec::new() }
    }

    /// Whether the file is made of expansions, and exists on no disk.
    pub fn is_made(&self) -> bool {
        !self.expansions.is_empty()
    }

    /// The name the file was added under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How many lines the file has; a final newline does not begin another one.
    pub fn line_count(&self) -> usize {
        let open_ended = self.text.is_empty() || !self.text.ends_with('\n');
        self.line_starts.len() - usize::from(!open_ended)
    }

    /// The line number, from one, of a byte offset. Offsets past the end belong to the last line.
    pub fn line_of(&self, offset: u32) -> usize {
        self.line_starts.partition_point(|&start| start <= offset)
    }

    /// The byte offset at which a line (from one) begins; past the last line, the text's length.
    pub fn line_start(&self, line: usize) -> usize {
        match self.line_starts.get(line.saturating_sub(1)) {
            Some(&start) => start as usize,
            None => self.text.len(),
        }
    }

    /// The text of a line (from one) without its line end. Empty if there is no such line.
    pub fn line_text(&self, line: usize) -> &str {
        let range = self.line_start(line)..self.line_start(line + 1);
        self.text.get(range).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    /// Line and column of a byte offset.
    pub fn location(&self, offset: u32) -> Location {
        let line = self.line_of(offset);
        let start = self.line_start(line);
        let mut end = (offset as usize).clamp(start, self.text.len().max(start));
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let column = self.text.get(start..end).map_or(0, |s| s.chars().count()) + 1;
        Location { line, column }
    }
}

/// All the files of one compilation.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

impl SourceMap {
    /// A map without files.
    pub fn new() -> Self {
        SourceMap::default()
    }

    /// Adds a file. Adding the same name twice makes two files.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let id = FileId::from_index(self.files.len());
        self.files.push(SourceFile::new(name.into(), text.into()));
        id
    }

    /// The number that the next file will get.
    pub fn next_id(&self) -> FileId {
        FileId::from_index(self.files.len())
    }

    /// Adds the texts that expansion has made, as one file.
    pub fn add_expansions(&mut self, expansions: Expansions) -> FileId {
        let id = self.add("<expansions>", expansions.text);
        if let Some(file) = self.files.last_mut() {
            file.expansions = expansions.places;
        }
        id
    }

    /// The positions of the text of a span, if it was made by expansion.
    pub fn places(&self, span: Span) -> Option<Places> {
        let expansions = &self.get(span.file)?.expansions;
        let after = expansions.partition_point(|(start, _)| *start <= span.start);
        expansions.get(after.checked_sub(1)?).map(|(_, places)| *places)
    }

    /// The place in a file that messages about a span show.
    pub fn shown(&self, span: Span) -> Span {
        self.places(span).map_or(span, |places| places.shown)
    }

    /// The file with this number, if it is one of this map's.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.index())
    }

    /// All files in the order they were added.
    pub fn files(&self) -> impl ExactSizeIterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId::from_index(i), f))
    }

    /// The name of a file, or `?` if the map does not hold it.
    pub fn name(&self, id: FileId) -> &str {
        self.get(id).map_or("?", SourceFile::name)
    }

    /// The text of a file, or nothing if the map does not hold it.
    pub fn text(&self, id: FileId) -> &str {
        self.get(id).map_or("", SourceFile::text)
    }

    /// The line and column at which a span begins. A span of an unknown file begins at line one.
    pub fn location(&self, span: Span) -> Location {
        let span = self.shown(span);
        self.get(span.file).map_or(Location { line: 1, column: 1 }, |file| file.location(span.start))
    }

    /// The text a span covers; empty if it does not fit the file.
    pub fn snippet(&self, span: Span) -> &str {
        self.text(span.file).get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// `name:line:column` of the beginning of a span.
    pub fn describe(&self, span: Span) -> String {
        format!("{}:{}", self.name(self.shown(span).file), self.location(span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one_in_characters() {
        let mut map = SourceMap::new();
        let id = map.add("a.pml", "first\nzwö lf\n\nend");
        let at = |offset| map.get(id).expect("file").location(offset).to_string();
        assert_eq!(at(0), "1:1");
        assert_eq!(at(5), "1:6");
        assert_eq!(at(6), "2:1");
        assert_eq!(at(10), "2:4");
        assert_eq!(at(9), "2:3", "inside a character counts as its beginning");
        assert_eq!(at(14), "3:1");
        assert_eq!(at(15), "4:1");
        assert_eq!(at(10_000), "4:4");
    }

    #[test]
    fn line_texts_have_no_line_ends() {
        let mut map = SourceMap::new();
        let id = map.add("a", "one\r\ntwo\n");
        let file = map.get(id).expect("file");
        assert_eq!(file.line_text(1), "one");
        assert_eq!(file.line_text(2), "two");
        assert_eq!(file.line_text(3), "");
        assert_eq!(file.line_text(99), "");
        assert_eq!(file.line_count(), 2);
        assert_eq!(SourceFile::new(String::new(), String::new()).line_count(), 1);
    }

    #[test]
    fn spans_join_within_a_file_only() {
        let (a, b) = (FileId::from_index(0), FileId::from_index(1));
        assert_eq!(Span::new(a, 3, 5).to(Span::new(a, 8, 9)), Span::new(a, 3, 9));
        assert_eq!(Span::new(a, 8, 9).to(Span::new(a, 3, 5)), Span::new(a, 3, 9));
        assert_eq!(Span::new(a, 3, 5).to(Span::new(b, 8, 9)), Span::new(a, 3, 5));
    }

    #[test]
    fn spans_outside_the_map_are_harmless() {
        let map = SourceMap::new();
        let lost = Span::new(FileId::from_index(7), 3, 9);
        assert_eq!(map.snippet(lost), "");
        assert_eq!(map.describe(lost), "?:1:1");
    }

    #[test]
    fn expansions_belong_where_they_were_used() {
        let mut map = SourceMap::new();
        let file = map.add("a", "define x = 1\nuse\n");
        let (origin, used) = (Span::new(file, 7, 12), Span::new(file, 13, 16));
        let mut expansions = Expansions::default();
        let one = expansions.add(map.next_id(), "y = 1", Places { shown: used, used, origin });
        let two = expansions.add(map.next_id(), "y = 2", Places { shown: origin, used, origin });
        assert_eq!(map.add_expansions(expansions), one.file);
        assert_eq!((map.snippet(one), map.snippet(two)), ("y = 1", "y = 2"));
        assert_eq!((map.describe(one), map.describe(two)), ("a:2:1".to_owned(), "a:1:8".to_owned()));
        assert_eq!(map.places(two), Some(Places { shown: origin, used, origin }));
        assert_eq!(map.places(used), None);
    }
}
