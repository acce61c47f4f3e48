//! An input of the LF targets: a program, further modules and formulas, and options.
//!
//! The last character decides the options; a line end stands for the usual ones, so any LF file is
//! an input. Form feeds divide the rest: the main module comes first, a part that begins with
//! `MODULE` is a module that can be imported, and any other part is a formula.

use lf::{Console, Options, Queues, Values};

pub struct Input<'a> {
    pub main: &'a str,
    pub modules: Vec<&'a str>,
    pub formulas: Vec<(String, String)>,
    pub options: Options,
}

impl<'a> Input<'a> {
    pub fn of(text: &'a str) -> Input<'a> {
        let last = text.chars().next_back();
        let text = &text[..text.len() - last.map_or(0, char::len_utf8)];
        let bits = last.map_or(0, u32::from) ^ u32::from('\n');
        let is_set = |bit: u32| bits >> bit & 1 == 1;
        let mut parts = text.split('\u{c}');
        let main = parts.next().unwrap_or_default();
        let (modules, formulas): (Vec<&str>, Vec<&str>) = parts.partition(|part| part.trim_start().starts_with("MODULE"));
        let close = match (is_set(2), is_set(3)) {
            (false, false) => None,
            (true, false) => Some(Values::Some(2)),
            (false, true) => Some(Values::Some(255)),
            (true, true) => Some(Values::Any),
        };
        let options = Options {
            queues: if is_set(0) { Queues::Fifo } else { Queues::Sorted },
            fine: is_set(1),
            close,
            host: is_set(4) || is_set(5),
            console: is_set(5).then(|| Console::default().at_most(3)),
        };
        let formulas = formulas.iter().enumerate().map(|(number, formula)| (format!("f{number}"), (*formula).to_owned())).collect();
        Input { main, modules, formulas, options }
    }

    /// Reads the module in a file of this name.
    pub fn load(&self, wanted: &str) -> Result<(String, String), String> {
        let name = wanted.trim_end_matches(".lf");
        let is_wanted = |part: &&&str| part.trim_start().trim_start_matches("MODULE").trim_start().starts_with(name);
        let found = self.modules.iter().find(is_wanted);
        found.map(|text| (wanted.to_owned(), (*text).to_owned())).ok_or_else(|| format!("there is no file `{wanted}`"))
    }
}
