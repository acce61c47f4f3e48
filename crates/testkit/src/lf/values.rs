//! The meaning of expressions and of places.

use super::evaluate::{Fatal, Machine};
use super::numbers::{OVERFLOW, compute, in_32_bits, is_unsigned};
use super::state::{IMPORTED_PORT, Kind, OF_PORTS, Place, State};
use super::{Condition, PORTS, Port, Relation, SLOTS, Set, Type, Value, Var};

pub(super) type Did<T> = Result<T, Fatal>;

const INDEX: Fatal = Fatal("IndexOutOfRange");

impl Machine<'_> {
    /// The process whose variables a process names, and the call of it.
    fn owner(&self, state: &State, p: usize) -> (usize, usize) {
        match state.processes[p].kind {
            Kind::Inner(_) => (state.processes[p].parent.unwrap_or(p), 0),
            _ => (p, state.depth(p)),
        }
    }

    /// The variable to which a name refers in the innermost call.
    pub fn place(&self, state: &State, p: usize, var: Var) -> Did<Place> {
        let (owner, frame) = self.owner(state, p);
        Ok(match var {
            Var::Reference => state.processes[p].frames[state.depth(p)].reference.unwrap_or((Var::Global(0), None)),
            Var::Local(_) => (var, Some((owner, frame))),
            Var::Chosen => {
                let x = state.processes[owner].frames[frame].locals[0];
                let slot = usize::try_from(x).ok().filter(|slot| *slot < SLOTS).ok_or(INDEX)?;
                (Var::Slot(slot), None)
            }
            Var::Pointed => {
                let at = usize::try_from(state.globals[0]).ok().filter(|at| *at < state.tables[0].len()).ok_or(INDEX)?;
                (Var::Element(at), None)
            }
            other => (other, None),
        })
    }

    /// What is stored in a place.
    pub fn stored<'s>(&self, state: &'s mut State, place: Place) -> &'s mut i64 {
        match place {
            (Var::Local(number), Some((process, frame))) => &mut state.processes[process].frames[frame].locals[number],
            (Var::Global(number), _) => &mut state.globals[number],
            (Var::Wide(number), _) => &mut state.wide[number],
            (Var::Field(number), _) => &mut state.fields[number],
            (Var::Slot(number), _) => &mut state.fields[2 + number],
            (Var::Element(number), _) => &mut state.tables[0][number],
            _ => &mut state.shared,
        }
    }

    pub fn store(&self, state: &mut State, p: usize, var: Var, value: i64) -> Did<()> {
        let place = self.place(state, p, var)?;
        *self.stored(state, place) = value;
        Ok(())
    }

    pub fn load(&self, state: &State, p: usize, var: Var) -> Did<i64> {
        let place = self.place(state, p, var)?;
        Ok(*self.stored(&mut state.clone(), place))
    }

    /// An element of an array, by the number of the array in the state.
    pub fn element<'s>(&self, state: &'s mut State, array: usize, index: i64) -> Did<&'s mut i64> {
        usize::try_from(index).ok().and_then(|index| state.tables[array].get_mut(index)).ok_or(INDEX)
    }

    /// The number of an element of `e`.
    pub fn slot(&self, state: &State, p: usize, index: &Value) -> Did<usize> {
        let index = self.value(state, p, index)?;
        usize::try_from(index).ok().filter(|slot| *slot < SLOTS).ok_or(INDEX)
    }

    /// The position of a port in the state; `None` if the port belongs to the process.
    fn position(&self, state: &State, p: usize, port: Port) -> Did<Option<usize>> {
        Ok(match port {
            Port::Global(number) => Some(number),
            Port::Own => None,
            Port::Open => Some(PORTS + 5),
            Port::Device => Some(OF_PORTS),
            Port::Slot(number) => Some(PORTS + 1 + number),
            Port::Chosen => {
                let (owner, frame) = self.owner(state, p);
                let x = state.processes[owner].frames[frame].locals[0];
                Some(PORTS + 1 + usize::try_from(x).ok().filter(|slot| *slot < 2).ok_or(INDEX)?)
            }
            Port::Kept => Some(PORTS + 3),
            Port::Imported => Some(IMPORTED_PORT),
        })
    }

    /// The channel of a port; 0 if it has none.
    pub fn channel(&self, state: &State, p: usize, port: Port) -> Did<usize> {
        Ok(match self.position(state, p, port)? {
            Some(position) => state.ports[position],
            None => state.processes[self.owner(state, p).0].port,
        })
    }

    pub fn set_channel(&self, state: &mut State, p: usize, port: Port, channel: usize) -> Did<()> {
        match self.position(state, p, port)? {
            Some(position) => state.ports[position] = channel,
            None => state.processes[p].port = channel,
        }
        Ok(())
    }

    /// A value that must fit INT8.
    pub fn fitting(&self, state: &State, p: usize, of: &Value) -> Did<i64> {
        self.fitting_in(state, p, of, Var::Local(0).ty())
    }

    pub fn fitting_in(&self, state: &State, p: usize, of: &Value, ty: Type) -> Did<i64> {
        fits_type(self.value(state, p, of)?, ty)
    }

    pub fn value(&self, state: &State, p: usize, of: &Value) -> Did<i64> {
        Ok(match of {
            Value::Constant(number) => *number,
            Value::Load(var) => self.load(state, p, *var)?,
            Value::Element(array, index) => {
                let index = self.value(state, p, index)?;
                *self.element(&mut state.clone(), *array, index)?
            }
            Value::Deep(i, j) => {
                let slot = self.slot(state, p, i)?;
                let index = self.value(state, p, j)?;
                *self.element(&mut state.clone(), 3 + slot, index)?
            }
            Value::Binary(operator, a, b) => {
                let (a, b) = self.operands(state, p, a, b)?;
                compute(*operator, a, b, is_unsigned(of))?
            }
            Value::Absolute(operand) => in_32_bits(self.value(state, p, operand)?.abs(), is_unsigned(operand))?,
            Value::Negate(operand) => in_32_bits(-self.value(state, p, operand)?, false)?,
            Value::Cast(ty, operand) => self.fitting_in(state, p, operand, super::WIDE[*ty])?,
            Value::Imported => self.program.constant,
            Value::Letter => state.letter,
            Value::Bits => i64::from(state.set as i32),
        })
    }

    /// Two numbers that meet in an operator: both without sign if one of them is.
    fn operands(&self, state: &State, p: usize, a: &Value, b: &Value) -> Did<(i64, i64)> {
        let unsigned = is_unsigned(a) || is_unsigned(b);
        let left = in_32_bits(self.value(state, p, a)?, unsigned)?;
        Ok((left, in_32_bits(self.value(state, p, b)?, unsigned)?))
    }

    pub fn set(&self, state: &State, p: usize, of: &Set) -> Did<u32> {
        Ok(match of {
            Set::Load => state.set,
            Set::Of(elements) => {
                let mut bits = 0;
                for (first, last) in elements {
                    let first = element(self.value(state, p, first)?)?;
                    let last = match last {
                        Some(last) => element(self.value(state, p, last)?)?,
                        None => first,
                    };
                    bits |= (first..=last).fold(0, |bits, number| bits | 1 << number);
                }
                bits
            }
            Set::Join(sign, a, b) => {
                let (a, b) = (self.set(state, p, a)?, self.set(state, p, b)?);
                match sign {
                    '+' => a | b,
                    '-' => a & !b,
                    '*' => a & b,
                    _ => a ^ b,
                }
            }
            Set::Complement(of) => !self.set(state, p, of)?,
            Set::Number(of) => self.value(state, p, of)? as u32,
        })
    }

    pub fn holds(&self, state: &State, p: usize, test: &Condition) -> Did<bool> {
        Ok(match test {
            Condition::Compare(relation, a, b) => {
                let (a, b) = self.operands(state, p, a, b)?;
                match relation {
                    Relation::Less => a < b,
                    Relation::Equal => a == b,
                    Relation::Unequal => a != b,
                    Relation::LessOrEqual => a <= b,
                    Relation::Greater => a > b,
                    Relation::GreaterOrEqual => a >= b,
                }
            }
            Condition::Not(inside) => !self.holds(state, p, inside)?,
            Condition::And(a, b) => self.holds(state, p, a)? && self.holds(state, p, b)?,
            Condition::Or(a, b) => self.holds(state, p, a)? || self.holds(state, p, b)?,
            Condition::In(of, set) => {
                let set = self.set(state, p, set)?;
                set >> element(self.value(state, p, of)?)? & 1 == 1
            }
            Condition::Flag => state.flag,
            Condition::Odd(of) => self.value(state, p, of)? % 2 != 0,
            Condition::Before(letter) => state.letter < i64::from(*letter),
            Condition::Same(a, b) => self.set(state, p, a)? == self.set(state, p, b)?,
            Condition::SamePort(a, b) => self.channel(state, p, *a)? == self.channel(state, p, *b)?,
            Condition::True => true,
        })
    }
}

pub(super) fn fits_type(number: i64, (_, least, greatest): Type) -> Did<i64> {
    if (least..=greatest).contains(&number) { Ok(number) } else { Err(Fatal(OVERFLOW)) }
}

/// A number that a set can have.
pub(super) fn element(number: i64) -> Did<u32> {
    if (0..32).contains(&number) { Ok(number as u32) } else { Err(Fatal("Other(\"no element of a set\")")) }
}
