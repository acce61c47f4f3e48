//! The rest of the language, in every third random model: signed and narrow numbers and their
//! arithmetic, structures and arrays of them, names (`mtype`), arrays of channels, channels in
//! variables, in messages and as arguments, copies of messages (`?<…>`), `for` over an array.
//!
//! The variables here are never copied to those that are used as indices, so no index is out of
//! range. Values are received into variables that hold every value of the field, because SPIN puts
//! the truncated value back.

use super::{Generator, Where};

/// What every such model declares.
pub(super) const DECLARATIONS: &str = "\
mtype = { m0, m1, m2 };
typedef T { short s; bit f; byte d[2] };
T g;
byte w[2];
T tt[2];
short s = 1;
unsigned u : 2;
mtype k = m1;
chan cc[2] = [1] of { mtype, short };
chan h = [1] of { chan };
";

impl Generator {
    pub(super) fn wide_basic(&mut self, place: Where) -> String {
        match self.below(20) {
            0..=5 => format!("{} = {}", self.wide_variable(), self.wide_value()),
            6 => format!("k = {}", self.name()),
            7..=9 => self.wide_send(),
            10..=12 => self.wide_receive(),
            13 => format!("v = {}", self.wide_channel()),
            14 => ["h!v", "h?v", "h?<v>", "h!cc[1]"][self.below(4)].into(),
            15 if place != Where::DStep => "for (l in w) { w[l] = !w[l] }".into(),
            16 if !(place == Where::DStep && self.rendezvous) => format!("assert({})", self.wide_guard()),
            17 => "printf(\"%d %e\\n\", s, k)".into(),
            18 => format!("{}{}", self.wide_variable(), ["++", "--"][self.below(2)]),
            _ => self.wide_guard(),
        }
    }

    pub(super) fn wide_guard(&mut self) -> String {
        let op = ["==", "!=", "<", ">", "<=", ">="][self.below(6)];
        match self.below(9) {
            0 => format!("k {} {}", ["==", "!="][self.below(2)], self.name()),
            1 => format!("v {} {}", ["==", "!="][self.below(2)], self.wide_channel()),
            2 => format!("{}({})", ["empty", "nempty", "full", "nfull"][self.below(4)], ["v", "cc[0]", "cc[b]", "h"][self.below(4)]),
            3 => {
                let (channel, op, first) = (self.wide_channel(), ["?", "??"][self.below(2)], self.match_name());
                format!("{channel}{op}[{first},{}]", [self.small(), "eval(s)".to_owned()][self.below(2)])
            }
            4 => format!("({} {op} {} -> {} : {})", self.wide_variable(), self.small(), self.below(2), self.below(2)),
            5 => format!("({} {op} {}) + !{} == 1", self.wide_variable(), self.small(), self.wide_variable()),
            _ => format!("{} {op} {}", self.wide_variable(), self.small()),
        }
    }

    fn wide_variable(&mut self) -> &'static str {
        ["s", "s", "u", "g.s", "g.f", "g.d[b]", "tt[b].s", "tt[1].f", "tt[b].d[1]", "w[b]"][self.below(10)]
    }

    /// A small number, also below zero.
    fn small(&mut self) -> String {
        ["-1", "0", "1", "2", "-2"][self.below(5)].into()
    }

    fn wide_value(&mut self) -> String {
        let variable = self.wide_variable();
        match self.below(10) {
            0..=2 => self.small(),
            3 => format!("({variable} - 1) % 3"),
            4 => format!("-{variable} % 2"),
            5 => format!("({variable} << 1 & 3) - 2"),
            6 => format!("~{variable} & 3"),
            7 => format!("({variable} ^ 1) / 2 % 3"),
            8 => format!("({variable} >> 1 | y) % 4"),
            _ => format!("({variable} < 0 -> -{variable} : {})", self.small()),
        }
    }

    fn name(&mut self) -> &'static str {
        ["m0", "m1", "m2", "k"][self.below(4)]
    }

    /// The first field of a message that is compared.
    fn match_name(&mut self) -> &'static str {
        ["m0", "m1", "eval(k)", "_"][self.below(4)]
    }

    fn wide_channel(&mut self) -> &'static str {
        ["v", "v", "cc[0]", "cc[b]", "cc[1 - b]"][self.below(5)]
    }

    fn wide_send(&mut self) -> String {
        let (channel, op, name) = (self.wide_channel(), ["!", "!", "!", "!!"][self.below(4)], self.name());
        let value = ["s", "g.s", "-1", "1", "tt[b].s"][self.below(5)];
        match self.below(3) {
            0 => format!("{channel}{op}{name}({value})"),
            _ => format!("{channel}{op}{name},{value}"),
        }
    }

    fn wide_receive(&mut self) -> String {
        let (channel, op) = (self.wide_channel(), ["?", "?", "??"][self.below(3)]);
        let name = match self.below(4) {
            0 => "k",
            _ => self.match_name(),
        };
        // SPIN undoes a receive wrongly if the receive changes what it has matched.
        let value = ["s", "g.s", "tt[b].s", "_", "-1", "eval(g.s)"][self.below(6)];
        match self.below(4) {
            0 => format!("{channel}{op}<{name},{value}>"),
            1 => format!("{channel}{op}{name}({value})"),
            _ => format!("{channel}{op}{name},{value}"),
        }
    }
}
