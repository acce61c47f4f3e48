//! The measure of a sweep as part of a plan, and its construction from the user's text.

use bytecode::{GlobalId, Verified};
use measure::{MeasurePart, Signed, Sum, Term, compose};
use search::MEASURE_MAX;
use std::fmt;
use std::sync::Arc;

/// A measure of progress: numbers of atoms of the model, compared from the first to the last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    atoms: [u32; MEASURE_MAX],
    count: usize,
    proposed: bool,
}

/// Why a text is not a measure of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoMeasure(pub String);

impl fmt::Display for NoMeasure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoMeasure {}

impl Measure {
    /// The measure of these atoms.
    pub fn new(atoms: &[u32]) -> Result<Measure, NoMeasure> {
        let mut measure = Measure { count: atoms.len(), ..Measure::default() };
        let room = measure.atoms.get_mut(..atoms.len());
        room.ok_or_else(|| NoMeasure(format!("a measure has at most {MEASURE_MAX} parts, separated by commas")))?.copy_from_slice(atoms);
        Ok(measure)
    }

    /// The same measure, marked as not requested by the user. A search that cannot use it ignores
    /// it.
    pub(crate) fn as_proposed(self) -> Measure {
        Measure { proposed: true, ..self }
    }

    /// Whether the user did not request this measure.
    pub(crate) fn is_proposed(&self) -> bool {
        self.proposed
    }

    /// The numbers of its atoms.
    pub fn atoms(&self) -> &[u32] {
        &self.atoms[..self.count]
    }

    /// Whether there is no measure, so that all states are in one layer.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// The text of a part of a measure that is an expression of the model's language.
pub fn expression_of(part: &Signed) -> Option<String> {
    match &part.term {
        Term::Expression(text) => Some(text.clone()),
        Term::Array(_) | Term::Order(_) => None,
    }
}

/// Whether a part is an expression that contains `sum(…)` or `order(…)`, which can only be parts
/// themselves.
pub fn has_form_inside(part: &Signed) -> bool {
    part.has_special_inside()
}

/// The program with atoms for the sums that a user wrote, and the measure. `atoms` are the numbers
/// of the atoms that the language has made of the expressions in them, in order.
pub fn measured(program: &Arc<Verified>, sums: &[Vec<Signed>], atoms: &[u32]) -> Result<(Arc<Verified>, Measure), NoMeasure> {
    let mut given = atoms.iter().copied();
    let alone = |sum: &Vec<Signed>| matches!(&sum[..], [Signed { negative: false, term: Term::Expression(_) }]);
    if sums.iter().all(alone) {
        return Ok((Arc::clone(program), Measure::new(atoms)?));
    }
    let sums: Vec<Sum> = sums.iter().map(|sum| of_sum(program, sum, &mut given)).collect::<Result<_, _>>()?;
    let (program, atoms) = compose(program, &sums).map_err(NoMeasure)?;
    Ok((Arc::new(program), Measure::new(&atoms)?))
}

fn of_sum(program: &Verified, sum: &[Signed], given: &mut dyn Iterator<Item = u32>) -> Result<Sum, NoMeasure> {
    let mut made = Sum::new();
    let declared = program.program();
    for Signed { negative, term } in sum {
        match term {
            Term::Expression(text) => {
                made.push((*negative, MeasurePart::Atom(given.next().ok_or_else(|| NoMeasure(format!("`{text}` is not an expression")))?)));
            }
            Term::Array(name) => {
                let found = declared.globals.iter().position(|global| global.name == *name && global.length.is_some());
                let var = found.and_then(GlobalId::new).ok_or_else(|| NoMeasure(format!("there is no global array `{name}`")))?;
                made.push((*negative, MeasurePart::Array(var)));
            }
            Term::Order(name) => {
                let is_meant = |pid: usize, ty: usize| name.parse() == Ok(pid) || declared.processes[ty].name == *name;
                let numbers = declared.instances.iter().enumerate().filter(|(pid, ty)| is_meant(*pid, ty.index()));
                let before = made.len();
                made.extend(numbers.map(|(pid, _)| (*negative, MeasurePart::Order(pid as u32))));
                if made.len() == before {
                    return Err(NoMeasure(format!("no process `{name}` exists from the start, so there is no order of it")));
                }
            }
        }
    }
    Ok(made)
}
