//! A compact binary form of graphs, written and read as a stream (`docs/graphs.md`).
//!
//! Numbers have seven bits per byte and are differences to the edge before. A label is written once
//! and numbered from then on. So a file has a few bytes for each edge, and its writer or reader
//! keeps only the labels in memory. The fragments of a graph that several workers have made have
//! the same form; in a fragment a number also contains the owner of its state.

use crate::graph::{Edge, Lts};
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read, Write};

/// The first bytes of a graph in binary form.
pub const GRAPH_MAGIC: [u8; 16] = *b"everypath-graph1";
/// The first bytes of a fragment of a graph.
pub const FRAGMENT_MAGIC: [u8; 16] = *b"everypath-piece1";

/// The number of edges in a chunk.
const CHUNK: usize = 4096;
/// The longest label.
const LABEL_MAX: u64 = 1 << 20;

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

/// A checksum that detects only accidental damage. FNV-1a over eight bytes at a time would be
/// faster, but a file is written once.
#[derive(Clone, Copy)]
struct Sum(u64);

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

const SUM_START: u64 = 0xcbf2_9ce4_8422_2325;

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

/// Writes a graph edge by edge.
pub struct GraphWriter<W> {
    to: W,
    chunk: Vec<u8>,
    in_chunk: usize,
    labels: HashMap<String, u64>,
    before: (u64, u64),
    edges: u64,
    sum: Sum,
}

impl<W: Write> GraphWriter<W> {
    /// Begins a graph or a fragment, depending on the magic bytes.
    pub fn new(mut to: W, magic: &[u8; 16]) -> io::Result<GraphWriter<W>> {
        to.write_all(magic)?;
        let mut sum = Sum(SUM_START);
        sum.add(magic);
        Ok(GraphWriter { to, chunk: Vec::new(), in_chunk: 0, labels: HashMap::new(), before: (0, 0), edges: 0, sum })
    }

    /// Appends an edge.
    pub fn edge(&mut self, source: u64, label: &str, target: u64) -> io::Result<()> {
        put(&mut self.chunk, folded(self.before.0, source));
        match self.labels.get(label) {
            Some(&number) => put(&mut self.chunk, number),
            None => {
                put(&mut self.chunk, 0);
                put(&mut self.chunk, label.len() as u64);
                self.chunk.extend_from_slice(label.as_bytes());
                self.labels.insert(label.to_owned(), self.labels.len() as u64 + 1);
            }
        }
        put(&mut self.chunk, folded(self.before.1, target));
        self.before = (source, target);
        self.edges += 1;
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
        bytes.extend_from_slice(&self.sum.0.to_le_bytes());
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
            GraphError::Damaged(at) => write!(f, "the graph is damaged or incomplete at byte {at}"),
            GraphError::Checksum => f.write_str("the graph is damaged: its checksum is wrong"),
            GraphError::TooLarge => f.write_str("the graph has more states than can be read"),
            GraphError::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GraphError {}

/// Reads a graph edge by edge.
pub struct GraphReader<R> {
    from: R,
    at: u64,
    left: u64,
    over: bool,
    labels: Vec<String>,
    before: (u64, u64),
    edges: u64,
    sum: Sum,
}

impl<R: Read> GraphReader<R> {
    /// Reads the magic bytes, which must be these. `from` should be buffered.
    pub fn new(from: R, magic: &[u8; 16]) -> Result<GraphReader<R>, GraphError> {
        let mut reader =
            GraphReader { from, at: 0, left: 0, over: false, labels: Vec::new(), before: (0, 0), edges: 0, sum: Sum(SUM_START) };
        let mut first = [0; 16];
        reader.bytes(&mut first).map_err(|error| if matches!(error, GraphError::Damaged(_)) { GraphError::NotAGraph } else { error })?;
        if first != *magic {
            return Err(GraphError::NotAGraph);
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

    /// The next edge; its label is an index into [`labels`](Self::labels).
    pub fn next_edge(&mut self) -> Result<Option<(u64, usize, u64)>, GraphError> {
        if self.left == 0 && !self.over {
            self.left = self.number()?;
            self.over = self.left == 0;
        }
        if self.over {
            return Ok(None);
        }
        self.left -= 1;
        let source = unfolded(self.before.0, self.number()?);
        let label = match self.number()? {
            0 => {
                let len = self.number()?;
                if len > LABEL_MAX {
                    return Err(GraphError::Damaged(self.at));
                }
                let mut bytes = vec![0; len as usize];
                self.bytes(&mut bytes)?;
                self.labels.push(String::from_utf8(bytes).map_err(|_| GraphError::Damaged(self.at))?);
                self.labels.len() - 1
            }
            known if known <= self.labels.len() as u64 => known as usize - 1,
            _ => return Err(GraphError::Damaged(self.at)),
        };
        let target = unfolded(self.before.1, self.number()?);
        self.before = (source, target);
        self.edges += 1;
        Ok(Some((source, label, target)))
    }

    /// The labels found so far.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The numbers at the end, after the last edge.
    pub fn finish(mut self) -> Result<(GraphEnd, Vec<String>), GraphError> {
        let mut numbers = [0; 5];
        for number in &mut numbers {
            let mut bytes = [0; 8];
            self.bytes(&mut bytes)?;
            *number = u64::from_le_bytes(bytes);
        }
        let sum = self.sum.0;
        let mut bytes = [0; 8];
        self.bytes(&mut bytes)?;
        if u64::from_le_bytes(bytes) != sum || numbers[1] != self.edges {
            return Err(GraphError::Checksum);
        }
        let [states, edges, initial, workers, worker] = numbers;
        Ok((GraphEnd { states, edges, initial, workers, worker }, self.labels))
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
    let mut edges = Vec::new();
    let narrow = |number: u64| u32::try_from(number).ok().filter(|&number| number < u32::MAX - 1).ok_or(GraphError::TooLarge);
    while let Some((source, label, target)) = reader.next_edge()? {
        let line = (edges.len() as u32).saturating_add(1);
        edges.push(Edge { source: narrow(source)?, label: label as u32, target: narrow(target)?, line });
    }
    let at = reader.at;
    let (end, labels) = reader.finish()?;
    let states = narrow(end.states)?;
    let inside = |number: u32| number < states;
    if !inside(narrow(end.initial)?) || !edges.iter().all(|edge| inside(edge.source) && inside(edge.target)) {
        return Err(GraphError::Damaged(at));
    }
    // The sort is stable: the edges of a state stay in the order of the file.
    edges.sort_by_key(|edge| edge.source);
    Ok(Lts { file: file.to_owned(), initial: end.initial as u32, states, edges, labels, ..Lts::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Vec<u8> {
        let mut writer = GraphWriter::new(Vec::new(), &GRAPH_MAGIC).unwrap();
        for (source, label, target) in [(0, "coin", 1), (1, "coffee, hot", 0), (0, "coin", 2), (2, "", 3)] {
            writer.edge(source, label, target).unwrap();
        }
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
