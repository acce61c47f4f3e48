//! Signs and words of other languages, and the advice what LF has instead.
//!
//! They are not part of LF. Programmers who come from other languages write them, so a message
//! about them names what they look for.

use crate::lexer::WORDS;

/// Signs, LF's sign, and its meaning.
pub(crate) const SIGNS: &[(&str, &str, &str)] = &[
    ("<>", "#", "unequal is written `#`"),
    ("!=", "#", "unequal is written `#`"),
    ("==", "=", "equal is written `=`"),
    ("&&", "&", "the sign for and is `&`"),
    ("||", "OR", "the word for or is `OR`"),
];

/// Words, and what LF has instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("PROCEDURE", "a process that is called without CREATE is a procedure: PROCESS"),
    ("FUNCTION", "a process gives its result through a parameter by reference: PROCESS P(VAR result : INTEGER)"),
    ("RETURN", "a process ends at its END, and gives its results through parameters by reference: VAR"),
    ("CASE", "alternatives are written IF … ELSIF … ELSE … END"),
    ("SWITCH", "alternatives are written IF … ELSIF … ELSE … END"),
    ("LOOP", "a loop without end is written WHILE TRUE DO … END"),
    ("EXIT", "a loop ends when its condition says so"),
    ("BREAK", "a loop ends when its condition says so"),
    ("CONTINUE", "the rest of a turn is left out by IF"),
    ("SKIP", "an empty sequence of statements does nothing"),
    ("YIELD", "an action is ended by RESCHEDULE"),
    ("SPAWN", "a process is created by CREATE"),
    ("START", "a process is created by CREATE"),
    ("POINTER", "there are no pointers; a parameter by reference is written with VAR"),
    ("STRING", "texts are only printed: Out.String(\"text\"); characters are in an ARRAY n OF CHAR"),
    ("REAL", "there are whole numbers only"),
    ("FLOAT", "there are whole numbers only"),
    ("INT", "the type of whole numbers is INTEGER"),
    ("BOOL", "the type of conditions is BOOLEAN"),
    ("BYTE", "the type of numbers from 0 to 255 is UINT8"),
    ("CARDINAL", "the type of numbers from 0 is UINT32"),
    ("CHAN", "a channel type is a list of messages in brackets: [data(INTEGER), end]"),
    ("CHANNEL", "a channel type is a list of messages in brackets: [data(INTEGER), end]"),
];

/// Types, which are no reserved words.
const TYPES: &[&str] =
    &["INTEGER", "INT8", "INT16", "INT32", "UINT8", "UINT16", "UINT31", "UINT32", "BOOLEAN", "CHAR", "SET", "NEW", "INC", "DEC", "LEN"];

/// The advice about a name that has no meaning where it stands.
pub(crate) fn advice(name: &str) -> Option<String> {
    let capitals = name.to_ascii_uppercase();
    let in_capitals = || capitals != name && (WORDS.contains(&capitals.as_str()) || TYPES.contains(&capitals.as_str()));
    let elsewhere = ELSEWHERE.iter().find(|(word, _)| *word == capitals).map(|(_, advice)| (*advice).to_owned());
    elsewhere.or_else(|| in_capitals().then(|| format!("it is written in capitals: `{capitals}`")))
}
