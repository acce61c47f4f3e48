//! A compact binary form of graphs, written and read as a stream (`docs/graphs.md`).
//!
//! Numbers have seven bits per byte and are differences to the edge before. A text is written once
//! and numbered from then on. So a file has a few bytes for each edge, and its writer or reader
//! keeps only the texts in memory. The fragments of a graph that several workers have made have
//! the same form; in a fragment a number also contains the owner of its state.

use crate::graph::{Edge, Lts, StatedFault};
use crate::text::kind_of;
use checksum::Checksum;
use contract::Fault;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read, Write};

/// The first bytes of a graph in binary form.
pub const GRAPH_MAGIC: [u8; 16] = *b"everypath-graph2";
/// The first bytes of a fragment of a graph.
pub const FRAGMENT_MAGIC: [u8; 16] = *b"everypath-piece2";

/// The first bytes of graphs in which the accepted ends and the faults were missing.
const OLD_MAGIC: [u8; 16] = *b"everypath-graph1";

/// The number of records in a chunk.
const CHUNK: usize = 4096;
/// The longest text.
const TEXT_MAX: u64 = 1 << 20;

/// The kinds of records that are not edges.
const MARK: u64 = 0;
const FAULT: u64 = 1;
const INITIAL_FAULT: u64 = 2;

/// The numbers at the end of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraphEnd {
    /// The number of states; in a fragment, of those that its worker owns.
    pub states: u64,
    /// The number of edges.
    pub edges: u64,
    /// The initial state; in a fragment, the worker that owns it.
    pub initial: u64,
    /// The number of workers that have made the graph: 1 for a whole graph.
    pub workers: u64,
    /// The worker that has written the fragment.
    pub worker: u64,
}

/// The size of the end: five numbers and a checksum.
pub const END_BYTES: u64 = 48;

fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// A difference as a number: small differences of either sign give small numbers.
fn folded(from: u64, to: u64) -> u64 {
    let difference = to.wrapping_sub(from) as i64;
    (difference << 1 ^ difference >> 63) as u64
}

fn unfolded(from: u64, number: u64) -> u64 {
    from.wrapping_add((number >> 1) ^ (number & 1).wrapping_neg())
}

/// Writes a graph record by record.
pub struct GraphWriter<W> {
    to: W,
    chunk: Vec<u8>,
    in_chunk: usize,
    texts: HashMap<String, u64>,
    before: (u64, u64),
    edges: u64,
    sum: Checksum,
}

impl<W: Write> GraphWriter<W> {
    /// Begins a graph or a fragment, depending on the magic bytes.
    pub fn new(mut to: W, magic: &[u8; 16]) -> io::Result<GraphWriter<W>> {
        to.write_all(magic)?;
        let mut sum = Checksum::new();
        sum.add(magic);
        Ok(GraphWriter { to, chunk: Vec::new(), in_chunk: 0, texts: HashMap::new(), before: (0, 0), edges: 0, sum })
    }

    /// Appends an edge.
    pub fn edge(&mut self, source: u64, label: &str, target: u64) -> io::Result<()> {
        self.head(source, false);
        self.text(label);
        put(&mut self.chunk, folded(self.before.1, target));
        self.before.1 = target;
        self.edges += 1;
        self.end_record()
    }

    /// Appends an atom of a state.
    pub fn mark(&mut self, state: u64, atom: &str) -> io::Result<()> {
        self.head(state, true);
        put(&mut self.chunk, MARK);
        self.text(atom);
        self.end_record()
    }

    /// Appends the fault of a step, or of the initial state if there is no step. A fatal fault has
    /// no target.
    pub fn fault(&mut self, step: Option<(u64, &str)>, target: Option<u64>, (kind, message): (&str, &str)) -> io::Result<()> {
        match step {
            Some((source, label)) => {
                self.head(source, true);
                put(&mut self.chunk, FAULT);
                self.text(label);
                put(&mut self.chunk, target.map_or(0, |target| target + 1));
            }
            None => {
                self.head(self.before.0, true);
                put(&mut self.chunk, INITIAL_FAULT);
            }
        }
        self.text(kind);
        self.text(message);
        self.end_record()
    }

    /// Begins a record about a state.
    fn head(&mut self, state: u64, special: bool) {
        put(&mut self.chunk, folded(self.before.0, state) << 1 | u64::from(special));
        self.before.0 = state;
    }

    fn text(&mut self, text: &str) {
        match self.texts.get(text) {
            Some(&number) => put(&mut self.chunk, number),
            None => {
                let end = text.floor_char_boundary(TEXT_MAX as usize);
                put(&mut self.chunk, 0);
                put(&mut self.chunk, end as u64);
                self.chunk.extend_from_slice(&text.as_bytes()[..end]);
                self.texts.insert(text.to_owned(), self.texts.len() as u64 + 1);
            }
        }
    }

    fn end_record(&mut self) -> io::Result<()> {
        self.in_chunk += 1;
        if self.in_chunk == CHUNK { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut head = Vec::new();
        put(&mut head, self.in_chunk as u64);
        for bytes in [&head, &self.chunk] {
            self.sum.add(bytes);
            self.to.write_all(bytes)?;
        }
        self.chunk.clear();
        self.in_chunk = 0;
        Ok(())
    }

    /// Ends the file. The number of edges is known here.
    pub fn finish(mut self, end: GraphEnd) -> io::Result<W> {
        if self.in_chunk > 0 {
            self.flush()?;
        }
        // An empty chunk is the last one.
        self.flush()?;
        let mut bytes = Vec::new();
        for number in [end.states, self.edges, end.initial, end.workers, end.worker] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        self.sum.add(&bytes);
        bytes.extend_from_slice(&self.sum.to_bytes());
        self.to.write_all(&bytes)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Why a file is not a graph.
#[derive(Debug)]
pub enum GraphError {
    /// It does not begin with the magic bytes.
    NotAGraph,
    /// It was written by a version that did not write accepted ends and faults, so it would give
    /// wrong verdicts.
    Old,
    /// It ends too early, or its contents are invalid, at this offset.
    Damaged(u64),
    /// Its checksum is wrong.
    Checksum,
    /// It has more states than can be read.
    TooLarge,
    /// It cannot be read.
    Io(io::Error),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::NotAGraph => f.write_str("this is not a graph in binary form"),
            GraphError::Old => {
                f.write_str("the graph was written by an older version, without its accepted ends and its faults; write it again")
            }
            GraphError::Damaged(at) => write!(f, "the graph is damaged or incomplete at byte {at}"),
            GraphError::Checksum => f.write_str("the graph is damaged: its checksum is wrong"),
            GraphError::TooLarge => f.write_str("the graph has more states than can be read"),
            GraphError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GraphError {}

/// A record of a file. Texts are positions in [`GraphReader::texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// An edge.
    Edge {
        /// The state it leaves.
        source: u64,
        /// Its label.
        label: usize,
        /// The state it enters.
        target: u64,
    },
    /// An atom of a state.
    Mark {
        /// The state.
        state: u64,
        /// The atom.
        atom: usize,
    },
    /// The fault of a step, or of the initial state if there is no step.
    Fault {
        /// The source and the label of the step.
        step: Option<(u64, usize)>,
        /// The state that the step enters; none if the fault is fatal.
        target: Option<u64>,
        /// The name of the kind of the fault.
        kind: usize,
        /// The message.
        message: usize,
    },
}

/// Reads a graph record by record.
pub struct GraphReader<R> {
    from: R,
    at: u64,
    left: u64,
    over: bool,
    texts: Vec<String>,
    before: (u64, u64),
    edges: u64,
    sum: Checksum,
}

impl<R: Read> GraphReader<R> {
    /// Reads the magic bytes, which must be these. `from` should be buffered.
    pub fn new(from: R, magic: &[u8; 16]) -> Result<GraphReader<R>, GraphError> {
        let mut reader =
            GraphReader { from, at: 0, left: 0, over: false, texts: Vec::new(), before: (0, 0), edges: 0, sum: Checksum::new() };
        let mut first = [0; 16];
        reader.bytes(&mut first).map_err(|error| if matches!(error, GraphError::Damaged(_)) { GraphError::NotAGraph } else { error })?;
        if first != *magic {
            return Err(if first == OLD_MAGIC { GraphError::Old } else { GraphError::NotAGraph });
        }
        Ok(reader)
    }

    fn bytes(&mut self, bytes: &mut [u8]) -> Result<(), GraphError> {
        match self.from.read_exact(bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(GraphError::Damaged(self.at)),
            Err(error) => return Err(GraphError::Io(error)),
        }
        self.at += bytes.len() as u64;
        self.sum.add(bytes);
        Ok(())
    }

    fn number(&mut self) -> Result<u64, GraphError> {
        let mut number = 0;
        for index in 0..10 {
            let mut byte = [0];
            self.bytes(&mut byte)?;
            number |= u64::from(byte[0] & 0x7f) << (7 * index);
            if byte[0] < 0x80 {
                return Ok(number);
            }
        }
        Err(GraphError::Damaged(self.at))
    }

    /// The next record.
    pub fn next_record(&mut self) -> Result<Option<Record>, GraphError> {
        if self.left == 0 && !self.over {
            self.left = self.number()?;
            self.over = self.left == 0;
        }
        if self.over {
            return Ok(None);
        }
        self.left -= 1;
        let head = self.number()?;
        let source = unfolded(self.before.0, head >> 1);
        self.before.0 = source;
        if head & 1 == 0 {
            let label = self.text()?;
            let target = unfolded(self.before.1, self.number()?);
            self.before.1 = target;
            self.edges += 1;
            return Ok(Some(Record::Edge { source, label, target }));
        }
        Ok(Some(match self.number()? {
            MARK => Record::Mark { state: source, atom: self.text()? },
            FAULT => {
                let step = Some((source, self.text()?));
                let target = self.number()?.checked_sub(1);
                Record::Fault { step, target, kind: self.text()?, message: self.text()? }
            }
            INITIAL_FAULT => Record::Fault { step: None, target: None, kind: self.text()?, message: self.text()? },
            _ => return Err(GraphError::Damaged(self.at)),
        }))
    }

    fn text(&mut self) -> Result<usize, GraphError> {
        match self.number()? {
            0 => {
                let len = self.number()?;
                if len > TEXT_MAX {
                    return Err(GraphError::Damaged(self.at));
                }
                let mut bytes = vec![0; len as usize];
                self.bytes(&mut bytes)?;
                self.texts.push(String::from_utf8(bytes).map_err(|_| GraphError::Damaged(self.at))?);
                Ok(self.texts.len() - 1)
            }
            known if known <= self.texts.len() as u64 => Ok(known as usize - 1),
            _ => Err(GraphError::Damaged(self.at)),
        }
    }

    /// The texts found so far.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// The fault in a record of a fault.
    pub fn fault(&self, kind: usize, message: usize) -> Result<Fault, GraphError> {
        let kind = kind_of(&self.texts[kind]).ok_or(GraphError::Damaged(self.at))?;
        Ok(Fault::new(kind, self.texts[message].as_str()))
    }

    /// The numbers at the end, after the last record.
    pub fn finish(mut self) -> Result<(GraphEnd, Vec<String>), GraphError> {
        let mut numbers = [0; 5];
        for number in &mut numbers {
            let mut bytes = [0; 8];
            self.bytes(&mut bytes)?;
            *number = u64::from_le_bytes(bytes);
        }
        let sum = self.sum.to_bytes();
        let mut bytes = [0; 8];
        self.bytes(&mut bytes)?;
        if bytes != sum || numbers[1] != self.edges {
            return Err(GraphError::Checksum);
        }
        let [states, edges, initial, workers, worker] = numbers;
        Ok((GraphEnd { states, edges, initial, workers, worker }, self.texts))
    }
}

/// The numbers at the end of a file, from its last [`END_BYTES`] bytes; nothing before them is
/// read.
pub fn graph_end(bytes: &[u8; END_BYTES as usize]) -> GraphEnd {
    let number = |index: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[8 * index..8 * index + 8]);
        u64::from_le_bytes(word)
    };
    GraphEnd { states: number(0), edges: number(1), initial: number(2), workers: number(3), worker: number(4) }
}

/// Reads a whole graph. The edges in the file decide how much memory is used, not its numbers.
pub fn read_graph(file: &str, from: impl Read) -> Result<Lts, GraphError> {
    let mut reader = GraphReader::new(from, &GRAPH_MAGIC)?;
    let mut edges: Vec<Edge> = Vec::new();
    let (mut marks, mut faults) = (Vec::new(), Vec::new());
    let narrow = |number: u64| u32::try_from(number).ok().filter(|&number| number < u32::MAX - 1).ok_or(GraphError::TooLarge);
    while let Some(record) = reader.next_record()? {
        let line = (edges.len() as u32).saturating_add(1);
        match record {
            Record::Edge { source, label, target } => {
                edges.push(Edge { source: narrow(source)?, label: label as u32, target: narrow(target)?, line });
            }
            Record::Mark { state, atom } => marks.push((narrow(state)?, atom)),
            Record::Fault { step, target, kind, message } => {
                let step = step.map(|(source, label)| Ok((narrow(source)?, label as u32))).transpose()?;
                let target = target.map(narrow).transpose()?;
                faults.push(StatedFault { step, target, fault: reader.fault(kind, message)?, line });
            }
        }
    }
    let at = reader.at;
    let (end, texts) = reader.finish()?;
    let states = narrow(end.states)?;
    let inside = |number: u32| number < states;
    let steps = faults.iter().flat_map(|fault| [fault.step.map(|(source, _)| source), fault.target]).flatten();
    if !inside(narrow(end.initial)?)
        || !edges.iter().all(|edge| inside(edge.source) && inside(edge.target))
        || !marks.iter().all(|(state, _)| inside(*state))
        || !steps.into_iter().all(inside)
    {
        return Err(GraphError::Damaged(at));
    }
    let mut graph = Lts { file: file.to_owned(), initial: end.initial as u32, states, edges, ..Lts::default() };
    let mut atoms: HashMap<usize, u32> = HashMap::new();
    for (state, atom) in marks {
        let number = *atoms.entry(atom).or_insert_with(|| {
            graph.atoms.push(texts[atom].clone());
            graph.atoms.len() as u32 - 1
        });
        graph.marked.entry(state).or_default().push(number);
    }
    for marked in graph.marked.values_mut() {
        marked.sort_unstable();
        marked.dedup();
    }
    graph.labels = texts;
    graph.complete(faults).map_err(|_| GraphError::Damaged(at))?;
    Ok(graph)
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::ViolationKind;

    fn written() -> Vec<u8> {
        let mut writer = GraphWriter::new(Vec::new(), &GRAPH_MAGIC).unwrap();
        for (source, label, target) in [(0, "coin", 1), (1, "coffee, hot", 0), (0, "coin", 2), (2, "", 3)] {
            writer.edge(source, label, target).unwrap();
        }
        writer.mark(3, "end").unwrap();
        writer.mark(0, "idle").unwrap();
        writer.mark(3, "idle").unwrap();
        writer.fault(Some((1, "coffee, hot")), Some(0), ("assertion violated", "x < 4")).unwrap();
        writer.fault(Some((3, "boom")), None, ("division by zero", "1 / 0")).unwrap();
        writer.fault(None, None, ("assertion violated", "x < 4")).unwrap();
        writer.finish(GraphEnd { states: 4, edges: 0, initial: 0, workers: 1, worker: 0 }).unwrap()
    }

    #[test]
    fn what_is_written_is_read() {
        let graph = read_graph("coffee.lts", &written()[..]).unwrap();
        assert_eq!((graph.states(), graph.initial()), (4, 0));
        let labels: Vec<&str> = graph.leaving(0).iter().map(|edge| graph.label(edge)).collect();
        assert_eq!(labels, ["coin", "coin"]);
        assert_eq!(graph.label(&graph.leaving(1)[0]), "coffee, hot");
        assert_eq!(graph.leaving(2)[0].target, 3);
        assert_eq!(graph.atoms(), ["end", "idle"]);
        assert_eq!((graph.may_end(3), graph.has(3, 1), graph.has(0, 1), graph.may_end(0)), (true, true, true, false));
        assert_eq!(graph.fault_of(1, 0).map(|fault| fault.message.as_str()), Some("x < 4"));
        assert_eq!((graph.fault_of(0, 0), graph.initial_fault().map(|fault| fault.kind)), (None, Some(ViolationKind::Assertion)));
        let fatal = &graph.leaving(3)[0];
        assert_eq!(
            (fatal.reaches(), graph.label(fatal), graph.fault_of(3, 0).unwrap().kind),
            (None, "boom", ViolationKind::DivisionByZero)
        );
        let bytes = written();
        let end = graph_end(bytes.last_chunk().unwrap());
        assert_eq!((end.states, end.edges), (4, 4));
    }

    #[test]
    fn many_edges_take_few_bytes() {
        let mut writer = GraphWriter::new(Vec::new(), &GRAPH_MAGIC).unwrap();
        for number in 0..100_000 {
            writer.edge(number, if number % 3 == 0 { "a" } else { "b" }, (number + 7) % 100_000).unwrap();
        }
        let bytes = writer.finish(GraphEnd { states: 100_000, initial: 0, workers: 1, ..GraphEnd::default() }).unwrap();
        assert!(bytes.len() < 310_000, "{}", bytes.len());
        assert_eq!(read_graph("x", &bytes[..]).unwrap().states(), 100_000);
    }

    #[test]
    fn damage_is_noticed() {
        let bytes = written();
        for cut in 0..bytes.len() {
            assert!(read_graph("cut", &bytes[..cut]).is_err(), "{cut}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            assert!(read_graph("damaged", &damaged[..]).is_err(), "{at}");
        }
    }
}
