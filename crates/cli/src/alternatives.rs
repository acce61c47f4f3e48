//! Choices on the command line. Their names and help texts come from the declarations of the
//! choices.

use check::Choosable;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command, Error};
use std::ffi::OsStr;
use std::marker::PhantomData;

/// Reads the name of one of the alternatives of a choice, and lists them all in the help.
#[derive(Clone)]
pub struct OneOf<A>(PhantomData<A>);

/// The parser of a choice.
pub fn one_of<A: Choosable>() -> OneOf<A> {
    OneOf(PhantomData)
}

impl<A: Choosable> TypedValueParser for OneOf<A> {
    type Value = A;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<A, Error> {
        StringValueParser::new().try_map(|name| name.parse::<A>()).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(A::ALL.iter().map(|alternative| PossibleValue::new(alternative.name()).help(alternative.help()))))
    }
}
