//! Defines how a state becomes a key: the pieces it is cut into, their dictionaries, and the layout
//! of their numbers.
//!
//! *Nodes* number the contents of pieces. A leaf is up to eight bytes of the state, a pair is two
//! nodes, and one node holds the length, so that states of different lengths fit one shape (a short
//! state is padded with zeros). The *top* nodes together cover the state; a [`KeyLayout`] assigns
//! the number of each a position in the key. Numbers and nodes never change. A layout is valid
//! until some number does not fit, or until pieces are to be joined; then a new *generation* of
//! keys begins. Old layouts are kept (they are tiny), so a key of any generation can always be
//! decoded. This is tree compression (Laarman, van de Pol, Weber, 2011), but the shape is measured
//! instead of balanced, and the root has exactly as many bits as it needs.

use crate::budget::Budget;
use crate::calibrate::{Column, bits_for, join_neighbours};
use crate::dictionary::{Dictionary, Id};
use crate::encoder::Encoder;
use crate::quotient::{MOST_KEY_BITS, Scramble};
use crate::sync::Arc;
use contract::StoreFull;

/// A leaf is never larger than a word.
pub(crate) const LEAF_BYTES: usize = 8;

/// The time that a leaf costs, and that a pair above two nodes costs, expressed in bytes per state.
const PIECE_BYTES: f64 = 0.04;
const PAIR_BYTES: f64 = 0.2;

/// The number of bits of the first keys. It is less than the maximum, because numbers grow.
const FIRST_KEY_BITS: u32 = 44;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The length of the state.
    Length,
    /// `len` bytes at `offset`.
    Leaf { offset: usize, len: usize },
    /// Two earlier nodes; the value is the number of the first, followed by that of the second.
    Pair(usize, usize),
}

#[derive(Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    pub dictionary: Dictionary,
}

impl Node {
    fn new(kind: Kind, budget: &Arc<Budget>) -> Result<Arc<Node>, StoreFull> {
        let narrow = matches!(kind, Kind::Leaf { len: 0..=4, .. });
        Ok(Arc::new(Node { kind, dictionary: Dictionary::new(narrow, budget.clone())? }))
    }
}

/// The position of a top node in the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Top {
    pub node: usize,
    pub shift: u32,
    pub width: u32,
}

/// One generation of keys.
#[derive(Debug)]
pub(crate) struct KeyLayout {
    /// Never 0.
    pub generation: u8,
    /// All nodes, children before parents. Later layouts only add to them.
    pub nodes: Vec<Arc<Node>>,
    pub tops: Vec<Top>,
    /// The number of values that each top had when the layout was made.
    values: Vec<u64>,
    pub key_bits: u32,
    pub scramble: Scramble,
    /// The longest state that fits; at least a word.
    pub capacity: usize,
}

impl KeyLayout {
    /// The layout over the top nodes `tops`, with `spare` bits more than each needs now.
    fn new(generation: u8, nodes: Vec<Arc<Node>>, tops: &[usize], capacity: usize, mut spare: impl FnMut(usize) -> u32) -> KeyLayout {
        let mut key_bits = 0;
        let mut values = Vec::with_capacity(tops.len());
        let tops = tops
            .iter()
            .enumerate()
            .map(|(position, &node)| {
                let len = nodes[node].dictionary.len();
                values.push(len);
                let width = (bits_for(len) + spare(position)).min(u32::BITS);
                let top = Top { node, shift: key_bits, width };
                key_bits += width;
                top
            })
            .collect();
        KeyLayout { generation, nodes, tops, values, key_bits, scramble: Scramble::new(key_bits), capacity }
    }

    /// A first layout for states like those of the `sample`, which was taken from `population`
    /// states. Its dictionaries are filled with the sample. Nodes that are expected to grow get
    /// more bits.
    pub fn first(sample: &[Vec<u8>], population: u64, budget: &Arc<Budget>) -> Result<KeyLayout, StoreFull> {
        let capacity = sample.iter().map(Vec::len).max().unwrap_or(0).max(LEAF_BYTES);
        let byte = |at: usize| sample.iter().map(move |state| u64::from(state.get(at).copied().unwrap_or(0)));
        let bytes: Vec<Column> = (0..capacity).map(|at| Column::new(byte(at), 256, population)).collect();
        let length_bits = Column::new(sample.iter().map(|state| state.len() as u64), capacity as u64 + 1, population).bits();
        // Pieces of up to a word are formed first, cut anywhere, and then pairs of pieces.
        let (joins, leaves) = join_neighbours(bytes, population, PIECE_BYTES, u32::MAX, |a, b| a + b <= LEAF_BYTES);
        let mut lens = vec![1; capacity];
        for at in joins {
            lens[at] += lens.remove(at + 1);
        }
        let mut nodes = vec![Node::new(Kind::Length, budget)?];
        let mut offset = 0;
        for len in lens {
            nodes.push(Node::new(Kind::Leaf { offset, len }, budget)?);
            offset += len;
        }
        let mut tops: Vec<usize> = (1..nodes.len()).collect();
        let (joins, columns) = join_neighbours(leaves, population, -PAIR_BYTES, FIRST_KEY_BITS.saturating_sub(length_bits), |_, _| true);
        join_tops(&mut nodes, &mut tops, &joins, budget)?;
        tops.push(0);
        // The numbers are assigned before the layout is fixed, so that the whole sample fits it.
        let draft = Arc::new(KeyLayout::new(1, nodes.clone(), &tops, capacity, |_| 0));
        let mut encoder = Encoder::new(draft);
        for state in sample {
            encoder.fill(state)?;
        }
        let planned = |position: usize| columns.get(position).map_or(length_bits, Column::bits);
        let spare = |position: usize| planned(position).saturating_sub(bits_for(nodes[tops[position]].dictionary.len()));
        Ok(KeyLayout::new(1, nodes.clone(), &tops, capacity, spare))
    }

    /// The memory that learning from a state of `len` bytes takes: the state, and for each byte its
    /// entry in a column and in a column that joining may add.
    pub fn learning_bytes(len: u64) -> u64 {
        64 + len * (1 + 2 * size_of::<u32>() as u64)
    }

    /// This layout, of which no key is in use yet, with room for the states that did not fit: bits
    /// for all numbers assigned since, leaves for states of `longest` bytes, and joined pieces if
    /// the key would be too long. The decision uses the states of `sample`; there are `most_keys`
    /// states in all.
    pub fn refitted(&self, longest: usize, sample: &[Vec<u8>], most_keys: u64, budget: &Arc<Budget>) -> Result<KeyLayout, StoreFull> {
        let (nodes, tops) = self.with_leaves_up_to(longest, budget)?;
        let planned = |node: usize| self.tops.iter().find(|top| top.node == node).map_or(0, |top| top.width);
        let spare = |position: usize| {
            let (len, width) = (nodes[tops[position]].dictionary.len(), planned(tops[position]));
            if len > 1 << width { 1 } else { width.saturating_sub(bits_for(len)) }
        };
        let layout = KeyLayout::new(self.generation, nodes.clone(), &tops, self.capacity.max(longest), spare);
        if layout.key_bits <= MOST_KEY_BITS {
            return Ok(layout);
        }
        let sample: Vec<Vec<Id>> = sample.iter().map(|state| layout.numbers_in(state)).collect();
        layout.squeezed(&sample, most_keys, budget)
    }

    /// Nodes and tops, with leaves for states of `len` bytes.
    fn with_leaves_up_to(&self, len: usize, budget: &Arc<Budget>) -> Result<(Vec<Arc<Node>>, Vec<usize>), StoreFull> {
        let mut nodes = self.nodes.clone();
        let mut tops: Vec<usize> = self.tops.iter().map(|top| top.node).collect();
        let mut capacity = self.capacity;
        while capacity < len {
            let bytes = (len - capacity).min(LEAF_BYTES);
            let node = Node::new(Kind::Leaf { offset: capacity, len: bytes }, budget)?;
            // The padding of shorter states has number 0, which keys of older generations rely on.
            node.dictionary.add(&mut node.dictionary.index(), 0)?;
            nodes.push(node);
            // New leaves are inserted before the length, which is last.
            tops.insert(tops.len() - 1, nodes.len() - 1);
            capacity += bytes;
        }
        Ok((nodes, tops))
    }

    /// The numbers of the tops in a state; 0 for contents without a number.
    fn numbers_in(&self, state: &[u8]) -> Vec<Id> {
        let mut ids: Vec<Id> = Vec::with_capacity(self.nodes.len());
        // Children come before their parents.
        for node in &self.nodes {
            let value = match node.kind {
                Kind::Length => state.len() as u64,
                Kind::Leaf { offset, len } => {
                    let bytes = state.iter().skip(offset).take(len).enumerate();
                    bytes.map(|(at, &byte)| u64::from(byte) << (8 * at)).sum()
                }
                Kind::Pair(left, right) => u64::from(ids[left]) << 32 | u64::from(ids[right]),
            };
            ids.push(node.dictionary.index().find(value).unwrap_or(0));
        }
        self.tops.iter().map(|top| ids[top.node]).collect()
    }

    /// Whether the next layout would be enough of an improvement: some top has grown and is nearly
    /// out of numbers, or too many bits are unused.
    pub fn is_outgrown(&self) -> bool {
        let mut idle = 0;
        for (top, &before) in self.tops.iter().zip(&self.values) {
            let len = self.nodes[top.node].dictionary.len();
            if len > before && len * 8 > 7 << top.width {
                return true;
            }
            idle += top.width.saturating_sub(bits_for(len) + 1);
        }
        idle > 2
    }

    /// The next generation, with more bits for the tops that have grown, room for a state of `len`
    /// bytes, and joined pieces if the key would be too long. The decision uses `sample`, some of
    /// the at most `most_keys` keys of this generation.
    pub fn next(&self, len: usize, sample: &[u64], most_keys: u64, budget: &Arc<Budget>) -> Result<KeyLayout, StoreFull> {
        let Some(generation) = self.generation.checked_add(1).filter(|&g| g < u8::MAX) else {
            return Err(StoreFull { needed: u64::MAX, budget: budget.limit() });
        };
        let (nodes, tops) = self.with_leaves_up_to(len, budget)?;
        let before = |node: usize| self.tops.iter().position(|top| top.node == node).map_or(0, |at| self.values[at]);
        let spare = |node: usize| u32::from(nodes[node].dictionary.len() > before(node));
        let layout = KeyLayout::new(generation, nodes.clone(), &tops, self.capacity.max(len), |position| spare(tops[position]));
        if layout.key_bits <= MOST_KEY_BITS {
            return Ok(layout);
        }
        let sample: Vec<Vec<Id>> = sample.iter().map(|&key| self.numbers_of(key, &layout)).collect();
        layout.squeezed(&sample, most_keys, budget)
    }

    /// The numbers of the tops of `layout` in a key of this generation; `layout` has the same tops
    /// and possibly more.
    fn numbers_of(&self, key: u64, layout: &KeyLayout) -> Vec<Id> {
        let number = |node: usize| self.tops.iter().find(|top| top.node == node).map_or(0, |top| top.of(key));
        layout.tops.iter().map(|top| number(top.node)).collect()
    }

    /// The same layout with neighbouring tops joined until the key fits; `sample` gives the numbers
    /// of the tops in some states.
    fn squeezed(self, sample: &[Vec<Id>], most_keys: u64, budget: &Arc<Budget>) -> Result<KeyLayout, StoreFull> {
        let KeyLayout { generation, mut nodes, tops: old, capacity, .. } = self;
        let (Some(length), population) = (old.last().copied(), sample.len() as u64) else {
            return Err(StoreFull { needed: u64::MAX, budget: budget.limit() });
        };
        let mut widths: Vec<u32> = old.iter().map(|top| top.width).collect();
        let mut tops: Vec<usize> = old.iter().map(|top| top.node).collect();
        tops.pop();
        let columns = (0..tops.len()).map(|at| Column::new(sample.iter().map(|n| u64::from(n[at])), u64::MAX, population)).collect();
        let (joins, _) = join_neighbours(columns, population, -PAIR_BYTES, 0, |_, _| true);
        // The number of pairs is known only when all keys have been moved, but it is at most the
        // number of keys.
        let bound = bits_for(most_keys) + 1;
        let mut needed = 0;
        while widths.iter().sum::<u32>() > MOST_KEY_BITS - 2 && needed < joins.len() {
            let at = joins[needed];
            widths[at] = (widths[at] + widths.remove(at + 1)).min(bound);
            needed += 1;
        }
        join_tops(&mut nodes, &mut tops, &joins[..needed], budget)?;
        tops.push(length.node);
        let spare: Vec<u32> =
            tops.iter().zip(&widths).map(|(&node, &width)| width.saturating_sub(bits_for(nodes[node].dictionary.len()))).collect();
        let layout = KeyLayout::new(generation, nodes, &tops, capacity, |position| spare[position]);
        if layout.key_bits > MOST_KEY_BITS {
            return Err(StoreFull { needed: u64::MAX, budget: budget.limit() });
        }
        Ok(layout)
    }
}

/// Decodes keys of a layout for one worker, incrementally from the last key.
#[derive(Debug)]
pub(crate) struct Decoder {
    layout: Arc<KeyLayout>,
    /// The number each node had in the last state.
    ids: Vec<Id>,
    /// The last state, padded.
    state: Vec<u8>,
    len: usize,
    /// Nodes whose contents must still be written.
    work: Vec<(usize, Id)>,
    blank: bool,
}

impl Decoder {
    pub fn new(layout: Arc<KeyLayout>) -> Decoder {
        let (ids, state) = (vec![0; layout.nodes.len()], vec![0; layout.capacity]);
        Decoder { layout, ids, state, len: 0, work: Vec::new(), blank: true }
    }

    /// The state with scrambled key `x`.
    pub fn decode(&mut self, x: u64) -> &[u8] {
        let key = self.layout.scramble.off(x);
        let blank = std::mem::replace(&mut self.blank, false);
        for top in &self.layout.tops {
            let id = top.of(key);
            if id != self.ids[top.node] || blank {
                self.work.push((top.node, id));
            }
            while let Some((number, id)) = self.work.pop() {
                self.ids[number] = id;
                let node = &self.layout.nodes[number];
                let value = node.dictionary.value(id);
                match node.kind {
                    Kind::Length => self.len = (value as usize).min(self.state.len()),
                    Kind::Leaf { offset, len } => self.state[offset..offset + len].copy_from_slice(&value.to_le_bytes()[..len]),
                    Kind::Pair(left, right) => {
                        let children = [(left, (value >> 32) as Id), (right, value as Id)];
                        self.work.extend(children.into_iter().filter(|&(child, id)| id != self.ids[child] || blank));
                    }
                }
            }
        }
        &self.state[..self.len]
    }
}

/// Makes pairs of neighbouring tops, as `joins` specifies.
fn join_tops(nodes: &mut Vec<Arc<Node>>, tops: &mut Vec<usize>, joins: &[usize], budget: &Arc<Budget>) -> Result<(), StoreFull> {
    for &at in joins {
        let right = tops.remove(at + 1);
        nodes.push(Node::new(Kind::Pair(tops[at], right), budget)?);
        tops[at] = nodes.len() - 1;
    }
    Ok(())
}

impl Top {
    /// This top's number in a key.
    #[inline(always)]
    pub fn of(&self, key: u64) -> Id {
        (key >> self.shift & ((1 << self.width) - 1)) as Id
    }
}
