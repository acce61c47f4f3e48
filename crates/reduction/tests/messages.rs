//! Messages whose values decide: a receive that compares with a variable, an offer that sends a
//! variable, both beside `unless`, in selections, and in the middle of atomic sequences.
//!
//! Whether such a step is executable depends on more than the channel. Each choice is examined by
//! brute force, and the verdicts are those of the full search. `EVERYPATH_SEEDS=from..to` tests
//! other models.

mod common;

use common::{Choices, examine, violated};
use contract::Safety;
use reduction::Stubborn;

/// Random models around two variables and two channels.
struct Models(Choices);

impl Models {
    fn send(&mut self) -> &'static str {
        self.0.pick(&["q!1", "q!2", "q!x", "q!!y", "r!1", "r!2", "r!x", "r!(y + 1) % 3"])
    }

    fn receive(&mut self) -> &'static str {
        self.0.pick(&["q?1", "q?v", "q?eval(x)", "q??eval(y)", "q?<eval(x)>", "r?2", "r?v", "r?eval(x)", "r?eval(y)"])
    }

    fn wait(&mut self) -> &'static str {
        match self.0.below(3) {
            0 => self.send(),
            1 => self.receive(),
            _ => self.0.pick(&["x == 1", "y == 2", "q?[eval(x)]", "full(q)", "empty(q)"]),
        }
    }

    fn store(&mut self) -> &'static str {
        self.0.pick(&["x = 1", "x = 2", "y = 1", "y = 2", "x = y", "x = (x + 1) % 3"])
    }

    fn statement(&mut self) -> String {
        match self.0.below(12) {
            0..=2 => self.store().to_owned(),
            3 | 4 => self.send().to_owned(),
            5 | 6 => self.receive().to_owned(),
            7 => format!("atomic {{ {}; {}; {} }}", self.store(), self.wait(), self.store()),
            8 => format!("atomic {{ {}; {} }}", self.wait(), self.wait()),
            9 => format!("{{ {}; {} }} unless {{ {} }}", self.wait(), self.store(), self.wait()),
            10 => {
                let otherwise = self.0.pick(&["", ":: else", ":: true"]);
                format!("if :: {} :: {} -> {} {otherwise} fi", self.wait(), self.wait(), self.store())
            }
            _ => self.0.pick(&["assert(x != 2)", "assert(x == 0 || y == 0)", "assert(len(q) < 2)"]).to_owned(),
        }
    }

    fn model(&mut self) -> String {
        let mut text = "byte x, y; chan q = [2] of { byte }; chan r = [0] of { byte };\n".to_owned();
        for name in ["P", "Q", "R"] {
            let mut body: Vec<String> = (0..1 + self.0.below(3)).map(|_| self.statement()).collect();
            if self.0.below(3) == 0 {
                body.push(format!("end: {}", self.wait()));
            }
            if self.0.below(4) == 0 {
                body.push("assert(false)".to_owned());
            }
            text += &format!("active proctype {name}() {{ byte v; {} }}\n", body.join("; "));
        }
        text
    }
}

#[test]
fn no_message_is_overlooked() {
    let (mut compared, mut violations) = (0, 0);
    // The last one has a condition that may be a fault before the one that blocks.
    for number in testkit::models::seeds(0..1500).chain([8833]) {
        let text = Models(Choices(number)).model();
        let Some(program) = languages::testing::promela(&text) else { panic!("{text}") };
        let reduction = Stubborn::of(&program).expect("a reduction");
        examine(&format!("model {number}:\n{text}"), &program, &reduction);
        for (deadlocks, faults) in [(true, false), (false, true)] {
            let property = Safety { deadlocks, faults };
            let full = violated(&program, property, None);
            assert_eq!(violated(&program, property, Some(&reduction)), full, "{property:?}, model {number}:\n{text}");
            compared += 1;
            violations += u32::from(full);
        }
    }
    println!("{compared} comparisons, {violations} violations");
    assert!(violations > compared / 5 && violations < compared * 4 / 5, "{violations} of {compared}");
}
