//! Formulas of linear temporal logic, shared in one table.
//!
//! Equal subformulas have the same number, so that comparing is cheap, and everything that is
//! computed for a formula is computed once. Children have smaller numbers than their parents: a
//! loop over the numbers visits a formula from the leaves up. A formula that looks large as a tree
//! may be small here, so no algorithm may visit the tree without recording which formulas it has
//! visited.

use rustc_hash::FxHashMap;

/// A formula in its [`Formulas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(crate) u32);

impl Id {
    /// The number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The nodes of a formula.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// Always true.
    True,
    /// Never true.
    False,
    /// An atom, by its number.
    Atom(u32),
    /// Not.
    Not(Id),
    /// All of these; at least two.
    And(Box<[Id]>),
    /// One of these; at least two.
    Or(Box<[Id]>),
    /// The second follows from the first.
    Implies(Id, Id),
    /// Both or neither.
    Equivalent(Id, Id),
    /// At the next position.
    Next(Id),
    /// Now or later.
    Eventually(Id),
    /// Now and ever after.
    Always(Id),
    /// The second comes, and the first holds until then.
    Until(Id, Id),
    /// As [`Node::Until`], or the first holds for ever.
    WeakUntil(Id, Id),
    /// The second holds up to and with the first, or for ever.
    Release(Id, Id),
    /// As [`Node::Release`], and the first does come.
    StrongRelease(Id, Id),
}

impl Node {
    /// The direct subformulas.
    pub fn operands(&self) -> impl Iterator<Item = Id> {
        let list: &[Id] = match self {
            Node::Not(a) | Node::Next(a) | Node::Eventually(a) | Node::Always(a) => std::slice::from_ref(a),
            Node::And(list) | Node::Or(list) => list,
            _ => &[],
        };
        list.iter().copied().chain(self.pair().into_iter().flat_map(|(a, b)| [a, b]))
    }

    /// The two operands of a binary operator.
    pub fn pair(&self) -> Option<(Id, Id)> {
        match *self {
            Node::Implies(a, b)
            | Node::Equivalent(a, b)
            | Node::Until(a, b)
            | Node::WeakUntil(a, b)
            | Node::Release(a, b)
            | Node::StrongRelease(a, b) => Some((a, b)),
            _ => None,
        }
    }
}

/// The facts that follow from the shape of a formula.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shape {
    /// Levels of operators.
    pub depth: u32,
    /// No temporal operator.
    pub boolean: bool,
    /// A pure eventuality: it holds before every position where it holds.
    pub eventual: bool,
    /// Purely universal: it holds after every position where it holds.
    pub universal: bool,
}

/// The table of formulas, and their atoms.
#[derive(Clone, Debug)]
pub struct Formulas {
    nodes: Vec<Node>,
    shapes: Vec<Shape>,
    known: FxHashMap<Node, Id>,
    atoms: Vec<String>,
    atom_numbers: FxHashMap<String, u32>,
}

impl Default for Formulas {
    fn default() -> Self {
        Formulas::new()
    }
}

/// The greatest length of a printed formula; longer ones end in dots.
const PRINTED: usize = 20_000;

impl Formulas {
    /// *True*.
    pub const TRUE: Id = Id(0);
    /// *False*.
    pub const FALSE: Id = Id(1);

    /// A table with the two constants.
    pub fn new() -> Self {
        let mut table = Formulas {
            nodes: Vec::new(),
            shapes: Vec::new(),
            known: FxHashMap::default(),
            atoms: Vec::new(),
            atom_numbers: FxHashMap::default(),
        };
        table.intern(Node::True);
        table.intern(Node::False);
        table
    }

    /// The formula with this node; nothing is simplified.
    pub fn intern(&mut self, node: Node) -> Id {
        if let Some(&id) = self.known.get(&node) {
            return id;
        }
        let shape = self.shape_of(&node);
        let id = Id(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node.clone());
        self.shapes.push(shape);
        self.known.insert(node, id);
        id
    }

    fn shape_of(&self, node: &Node) -> Shape {
        let of = |id: Id| self.shapes[id.index()];
        let mut shape = Shape { depth: 0, boolean: true, eventual: true, universal: true };
        for child in node.operands() {
            let child = of(child);
            shape.depth = shape.depth.max(child.depth + 1);
            shape.boolean &= child.boolean;
            shape.eventual &= child.eventual;
            shape.universal &= child.universal;
        }
        match *node {
            Node::True | Node::False | Node::And(_) | Node::Or(_) => {}
            Node::Atom(_) | Node::Implies(..) | Node::Equivalent(..) => (shape.eventual, shape.universal) = (false, false),
            Node::Not(a) => (shape.eventual, shape.universal) = (of(a).universal, of(a).eventual),
            Node::Next(_) => shape.boolean = false,
            Node::Eventually(_) => (shape.boolean, shape.eventual) = (false, true),
            Node::Always(_) => (shape.boolean, shape.universal) = (false, true),
            // After `b` has become true, a universal `b` stays true; before that, the formula still
            // waits for it. `V` is the dual.
            Node::Until(_, b) | Node::Release(_, b) => {
                (shape.boolean, shape.eventual, shape.universal) = (false, of(b).eventual, of(b).universal);
            }
            Node::WeakUntil(_, b) => (shape.boolean, shape.universal) = (false, of(b).universal),
            Node::StrongRelease(_, b) => (shape.boolean, shape.eventual) = (false, of(b).eventual),
        }
        shape
    }

    /// The node of a formula.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id.index()]
    }

    /// The facts that follow from its shape.
    pub fn shape(&self, id: Id) -> Shape {
        self.shapes[id.index()]
    }

    /// How many formulas there are.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The texts of the atoms, by number.
    pub fn atoms(&self) -> &[String] {
        &self.atoms
    }

    /// The number of the atom with this text.
    pub fn atom_number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.atom_numbers.get(text) {
            return number;
        }
        let number = u32::try_from(self.atoms.len()).unwrap_or(u32::MAX);
        self.atoms.push(text.to_owned());
        self.atom_numbers.insert(text.to_owned(), number);
        number
    }

    /// The atom with this text.
    pub fn atom(&mut self, text: &str) -> Id {
        let number = self.atom_number(text);
        self.intern(Node::Atom(number))
    }

    /// Not, without simplification.
    pub fn not(&mut self, a: Id) -> Id {
        self.intern(Node::Not(a))
    }

    /// All subformulas of `root` and itself, the smaller first.
    pub fn below(&self, root: Id) -> Vec<Id> {
        let mut seen = vec![false; self.nodes.len()];
        let mut open = vec![root];
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            open.extend(self.node(id).operands());
        }
        (0..self.nodes.len() as u32).map(Id).filter(|id| seen[id.index()]).collect()
    }

    /// The atoms that occur in `root`, by number.
    pub fn atoms_of(&self, root: Id) -> Vec<u32> {
        let below = self.below(root).into_iter();
        let mut atoms: Vec<u32> = below.filter_map(|id| if let Node::Atom(a) = *self.node(id) { Some(a) } else { None }).collect();
        atoms.sort_unstable();
        atoms
    }

    /// Whether `X` occurs in `root`. A formula without it does not distinguish a state from its
    /// repetition.
    pub fn has_next(&self, root: Id) -> bool {
        self.below(root).into_iter().any(|id| matches!(self.node(id), Node::Next(_)))
    }

    /// The same formula in another table; atoms keep their texts.
    pub fn copy(&self, root: Id, into: &mut Formulas) -> Id {
        let mut copies: FxHashMap<Id, Id> = FxHashMap::default();
        for id in self.below(root) {
            let of = |child: Id| copies[&child];
            let node = match self.node(id) {
                Node::True => Node::True,
                Node::False => Node::False,
                Node::Atom(atom) => Node::Atom(into.atom_number(&self.atoms[*atom as usize])),
                Node::Not(a) => Node::Not(of(*a)),
                Node::And(list) => Node::And(list.iter().map(|a| of(*a)).collect()),
                Node::Or(list) => Node::Or(list.iter().map(|a| of(*a)).collect()),
                Node::Implies(a, b) => Node::Implies(of(*a), of(*b)),
                Node::Equivalent(a, b) => Node::Equivalent(of(*a), of(*b)),
                Node::Next(a) => Node::Next(of(*a)),
                Node::Eventually(a) => Node::Eventually(of(*a)),
                Node::Always(a) => Node::Always(of(*a)),
                Node::Until(a, b) => Node::Until(of(*a), of(*b)),
                Node::WeakUntil(a, b) => Node::WeakUntil(of(*a), of(*b)),
                Node::Release(a, b) => Node::Release(of(*a), of(*b)),
                Node::StrongRelease(a, b) => Node::StrongRelease(of(*a), of(*b)),
            };
            copies.insert(id, into.intern(node));
        }
        copies[&root]
    }

    /// The formula in SPIN's syntax, with parentheses wherever two binary operators meet.
    pub fn text(&self, root: Id) -> String {
        enum Piece {
            Formula(Id, bool),
            Text(&'static str),
        }
        let mut out = String::new();
        let mut open = vec![Piece::Formula(root, false)];
        while let Some(piece) = open.pop() {
            if out.len() > PRINTED {
                out.push('…');
                break;
            }
            let (id, inside) = match piece {
                Piece::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Piece::Formula(id, inside) => (id, inside),
            };
            let node = self.node(id);
            let (parts, word): (Vec<Id>, &'static str) = match node {
                Node::True | Node::False => {
                    out.push_str(if *node == Node::True { "true" } else { "false" });
                    continue;
                }
                Node::Atom(a) => {
                    out.push_str(&written(&self.atoms[*a as usize]));
                    continue;
                }
                Node::Not(a) | Node::Next(a) | Node::Eventually(a) | Node::Always(a) => {
                    out.push_str(match node {
                        Node::Not(_) => "!",
                        Node::Next(_) => "X ",
                        Node::Eventually(_) => "<>",
                        _ => "[]",
                    });
                    open.push(Piece::Formula(*a, true));
                    continue;
                }
                Node::And(list) => (list.to_vec(), " && "),
                Node::Or(list) => (list.to_vec(), " || "),
                Node::Implies(a, b) => (vec![*a, *b], " -> "),
                Node::Equivalent(a, b) => (vec![*a, *b], " <-> "),
                Node::Until(a, b) => (vec![*a, *b], " U "),
                Node::WeakUntil(a, b) => (vec![*a, *b], " W "),
                Node::Release(a, b) => (vec![*a, *b], " V "),
                Node::StrongRelease(a, b) => {
                    // SPIN has no word for it: `a M b` is `b U (a && b)`.
                    open.extend(inside.then_some(Piece::Text(")")));
                    open.extend([Piece::Text(")"), Piece::Formula(*b, true), Piece::Text(" && "), Piece::Formula(*a, true)]);
                    open.extend([Piece::Text(" U ("), Piece::Formula(*b, true)]);
                    open.extend(inside.then_some(Piece::Text("(")));
                    continue;
                }
            };
            open.extend(inside.then_some(Piece::Text(")")));
            for (index, part) in parts.iter().enumerate().rev() {
                open.push(Piece::Formula(*part, true));
                open.extend((index > 0).then_some(Piece::Text(word)));
            }
            open.extend(inside.then_some(Piece::Text("(")));
        }
        out
    }
}

/// An atom's text as an operand: in parentheses unless it is one word.
pub fn quoted(atom: &str) -> String {
    let word = atom.chars().all(|c| c.is_alphanumeric() || c == '_');
    if word { atom.to_owned() } else { format!("({atom})") }
}

/// An atom's text in a formula. A text that would be read as something else, for example one with
/// an operator in it, is in braces.
fn written(atom: &str) -> String {
    let mut formulas = Formulas::new();
    let read = crate::parse::parse(&mut formulas, atom, source::FileId::default(), 0);
    let itself = read.is_ok_and(|parsed| matches!(formulas.node(parsed.root), Node::Atom(_))) && formulas.atoms() == [atom];
    if itself { quoted(atom) } else { format!("{{{atom}}}") }
}
