//! One worker's way from states to keys, by what has changed since the last state.
//!
//! Successors of one state differ from it, and so from each other, in a few bytes. The encoder remembers the last state's pieces and
//! numbers; only pieces that differ are looked up, and only the paths above them are renumbered.

use crate::dictionary::{Id, Index};
use crate::shape::{Kind, LEAF_BYTES, Layout};
use crate::sync::Arc;
use contract::StoreFull;

/// Why a state has no key in the present layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// A number does not fit, or the state is too long: a new layout is needed.
    Misfit,
    /// A dictionary may not grow.
    Full(StoreFull),
}

#[derive(Debug)]
pub(crate) struct Encoder {
    pub layout: Arc<Layout>,
    leaves: Vec<Leaf>,
    pairs: Vec<Pair>,
    nodes: Vec<Last>,
    /// For states shorter than the longest: the state, followed by zeros.
    buffer: Vec<u8>,
    /// The node of the length, and the last length.
    length: (usize, usize),
    key: u64,
    /// Tops whose number does not fit.
    misfits: u32,
    /// Nothing is remembered.
    blank: bool,
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    node: usize,
    /// Which word of the state contains it, and where.
    load: usize,
    shift: u32,
    mask: u64,
    /// The last content.
    value: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    node: usize,
    left: usize,
    right: usize,
}

/// What is remembered of a node: the last value and the one before, since successors often differ from their source in turn.
#[derive(Debug)]
struct Last {
    value: u64,
    id: Id,
    before: (u64, Id),
    /// One of its children has changed.
    stale: bool,
    parent: Option<usize>,
    /// Its place in the key; nothing for nodes below a pair.
    place: Option<(u32, u32)>,
    index: Arc<Index>,
}

#[inline(always)]
fn word(state: &[u8], at: usize) -> u64 {
    let mut word = [0; LEAF_BYTES];
    word.copy_from_slice(&state[at..at + LEAF_BYTES]);
    u64::from_le_bytes(word)
}

impl Encoder {
    pub fn new(layout: Arc<Layout>) -> Encoder {
        let mut leaves = Vec::new();
        let mut pairs = Vec::new();
        let last = |index| Last { value: 0, id: 0, before: (0, 0), stale: false, parent: None, place: None, index };
        let mut nodes: Vec<Last> = layout.nodes.iter().map(|node| last(node.dictionary.index())).collect();
        let mut length = 0;
        for (node, kind) in layout.nodes.iter().map(|node| node.kind).enumerate() {
            match kind {
                Kind::Length => length = node,
                Kind::Leaf { offset, len } => {
                    let load = offset.min(layout.capacity - LEAF_BYTES);
                    let mask = u64::MAX >> (64 - 8 * len as u32);
                    leaves.push(Leaf { node, load, shift: 8 * (offset - load) as u32, mask, value: 0 });
                }
                Kind::Pair(left, right) => {
                    nodes[left].parent = Some(node);
                    nodes[right].parent = Some(node);
                    pairs.push(Pair { node, left, right });
                }
            }
        }
        for top in &layout.tops {
            nodes[top.node].place = Some((top.shift, top.width));
        }
        let buffer = vec![0; layout.capacity];
        Encoder { layout, leaves, pairs, nodes, buffer, length: (length, 0), key: 0, misfits: 0, blank: true }
    }

    /// The key of `state`.
    #[inline]
    pub fn encode(&mut self, state: &[u8]) -> Result<u64, NoKey> {
        self.look_up(state)?;
        if self.misfits == 0 { Ok(self.key) } else { Err(NoKey::Misfit) }
    }

    /// Numbers the pieces of `state` without caring whether they fit.
    pub fn fill(&mut self, state: &[u8]) -> Result<(), StoreFull> {
        match self.look_up(state) {
            Err(NoKey::Full(full)) => Err(full),
            _ => Ok(()),
        }
    }

    #[inline]
    fn look_up(&mut self, state: &[u8]) -> Result<(), NoKey> {
        if state.len() != self.buffer.len() {
            if state.len() > self.buffer.len() {
                return Err(NoKey::Misfit);
            }
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer[..state.len()].copy_from_slice(state);
            buffer[state.len()..].fill(0);
            let done = self.look_up_padded(&buffer, state.len());
            self.buffer = buffer;
            done
        } else {
            self.look_up_padded(state, state.len())
        }
    }

    /// As `look_up`, for a state of `len` bytes padded to the longest.
    #[inline]
    fn look_up_padded(&mut self, state: &[u8], len: usize) -> Result<(), NoKey> {
        // Until all is done, nothing is certain: an error on the way leaves a blank encoder.
        let blank = std::mem::replace(&mut self.blank, true);
        let Encoder { leaves, nodes, layout, key, misfits, .. } = self;
        for leaf in leaves.iter_mut() {
            let value = word(state, leaf.load) >> leaf.shift & leaf.mask;
            if value != leaf.value || blank {
                leaf.value = value;
                number(leaf.node, value, blank, layout, nodes, key, misfits)?;
            }
        }
        if len != self.length.1 || blank {
            number(self.length.0, len as u64, blank, layout, nodes, key, misfits)?;
            self.length.1 = len;
        }
        for pair in &self.pairs {
            if nodes[pair.node].stale || blank {
                nodes[pair.node].stale = false;
                let value = u64::from(nodes[pair.left].id) << 32 | u64::from(nodes[pair.right].id);
                number(pair.node, value, blank, layout, nodes, key, misfits)?;
            }
        }
        self.blank = false;
        Ok(())
    }
}

/// The value of `node` is now `value`: finds its number and puts it into the key, or tells the pair above.
#[inline]
fn number(
    node: usize,
    value: u64,
    blank: bool,
    layout: &Layout,
    nodes: &mut [Last],
    key: &mut u64,
    misfits: &mut u32,
) -> Result<(), NoKey> {
    let last = &mut nodes[node];
    let id = if last.before.0 == value && !blank {
        last.before.1
    } else {
        match last.index.find(value) {
            Some(id) => id,
            None => layout.nodes[node].dictionary.add(&mut last.index, value).map_err(NoKey::Full)?,
        }
    };
    last.before = if blank { (value, id) } else { (last.value, last.id) };
    last.value = value;
    let old = std::mem::replace(&mut last.id, id);
    if let Some((shift, width)) = last.place {
        let fits = |id: Id| u64::from(id) >> width == 0;
        // Numbers that do not fit are not in the key.
        let part = |id: Id| if fits(id) { u64::from(id) << shift } else { 0 };
        *key ^= part(old) ^ part(id);
        *misfits = *misfits + u32::from(!fits(id)) - u32::from(!fits(old));
    }
    if let Some(parent) = last.parent {
        nodes[parent].stale = true;
    }
    Ok(())
}

/// From keys of an older layout to keys of a newer one.
#[derive(Debug)]
pub(crate) struct Translator {
    from: Arc<Layout>,
    to: Arc<Layout>,
    ids: Vec<Id>,
    /// For the pairs that are new: the last value, its number, and the index.
    pairs: Vec<(usize, u64, Option<Id>, Arc<Index>)>,
}

impl Translator {
    pub fn new(from: Arc<Layout>, to: Arc<Layout>) -> Translator {
        let new_pairs = (from.nodes.len()..to.nodes.len()).filter(|&node| matches!(to.nodes[node].kind, Kind::Pair(..)));
        let pairs = new_pairs.map(|node| (node, 0, None, to.nodes[node].dictionary.index())).collect();
        // Leaves that are new have number 0 in all older states.
        let ids = vec![0; to.nodes.len()];
        Translator { from, to, ids, pairs }
    }

    pub fn translate(&mut self, key: u64) -> Result<u64, NoKey> {
        for top in &self.from.tops {
            self.ids[top.node] = top.of(key);
        }
        for (node, last, last_id, index) in &mut self.pairs {
            let node = *node;
            let Kind::Pair(left, right) = self.to.nodes[node].kind else { continue };
            let value = u64::from(self.ids[left]) << 32 | u64::from(self.ids[right]);
            let id = match *last_id {
                Some(id) if *last == value => id,
                _ => match index.find(value) {
                    Some(id) => id,
                    None => self.to.nodes[node].dictionary.add(index, value).map_err(NoKey::Full)?,
                },
            };
            (*last, *last_id) = (value, Some(id));
            self.ids[node] = id;
        }
        let mut new = 0;
        for top in &self.to.tops {
            let id = u64::from(self.ids[top.node]);
            if id >> top.width != 0 {
                return Err(NoKey::Misfit);
            }
            new |= id << top.shift;
        }
        Ok(new)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use contract::testing::Random;
    use std::collections::HashMap;

    fn states(seed: u64, count: usize, len: usize, values: u64) -> Vec<Vec<u8>> {
        let mut random = Random(seed);
        let mut state = vec![0u8; len];
        (0..count)
            .map(|_| {
                let at = random.below(len as u64) as usize;
                state[at] = random.below(values) as u8;
                let short = random.below(3) as usize;
                state[..len - short].to_vec()
            })
            .collect()
    }

    #[test]
    fn keys_are_unique_and_can_be_read_in_every_generation() {
        let budget = Arc::new(Budget::new(u64::MAX));
        for (len, values) in [(4, 200), (20, 4), (90, 3), (300, 2)] {
            let states = states(len as u64, 20_000, len, values);
            let mut layout = Arc::new(Layout::first(&states[..2000], 2000, &budget).unwrap());
            let mut encoder = Encoder::new(layout.clone());
            let mut names: HashMap<(u8, u64), Vec<u8>> = HashMap::new();
            let mut present: HashMap<u64, Vec<u8>> = HashMap::new();
            let mut layouts = HashMap::from([(layout.generation, layout.clone())]);
            for state in &states {
                let key = loop {
                    match encoder.encode(state) {
                        Ok(key) => break key,
                        Err(NoKey::Full(full)) => panic!("{full}"),
                        Err(NoKey::Misfit) => {
                            let sample: Vec<u64> = present.keys().copied().take(500).collect();
                            let next = layout.next(state.len(), &sample, 2 * present.len() as u64 + 2, &budget).unwrap();
                            let next = Arc::new(next);
                            let mut translator = Translator::new(layout, next.clone());
                            present = present.drain().map(|(key, state)| (translator.translate(key).unwrap(), state)).collect();
                            layouts.insert(next.generation, next.clone());
                            layout = next.clone();
                            encoder = Encoder::new(next);
                        }
                    }
                };
                assert!(key >> layout.key_bits == 0);
                assert_eq!(present.entry(key).or_insert_with(|| state.clone()), state, "two states, one key");
                names.insert((layout.generation, key), state.clone());
            }
            assert_eq!(present.len(), states.iter().collect::<std::collections::HashSet<_>>().len());
            let (mut ids, mut out) = (Vec::new(), Vec::new());
            for ((generation, key), state) in &names {
                layouts[generation].decode(*key, &mut ids, &mut out);
                assert_eq!(&out, state);
            }
        }
    }
}
