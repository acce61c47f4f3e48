//! Conditions that may be faults: an index that another process makes wrong, before or after the
//! condition that blocks the path, beside `else`, in a message, in a path that can never be taken.
//!
//! A path that is blocked may still become a fault, so it is not enough that no process can unblock
//! it. `EVERYPATH_SEEDS=from..to` tests other models.

mod common;

use common::{Choices, examine, violated};
use contract::Safety;
use reduction::Stubborn;

/// What is looked for here.
const FAULTS: Safety = Safety { deadlocks: false, faults: true };

/// Random models around a few shared indices.
struct Models(Choices);

impl Models {
    /// A condition, which may be a fault.
    fn condition(&mut self) -> String {
        let simple = |of: &mut Models| {
            of.0.pick(&["a[i] > 0", "b[j] == 0", "x == 1", "x == 0", "y > 0", "7 / y > 1", "zero == 1", "c[z] > 0"]).to_owned()
        };
        let first = simple(self);
        match self.0.below(4) {
            0 => first,
            1 => format!("{first} || {}", simple(self)),
            _ => format!("{first} && {}", simple(self)),
        }
    }

    fn statement(&mut self) -> String {
        match self.0.below(9) {
            0 | 1 => format!("({})", self.condition()),
            2 => self.0.pick(&["i = 5", "i = 0", "j = 3", "j = 1", "y = 0", "y = 2"]).to_owned(),
            3 => self.0.pick(&["x = 1", "x = 0", "a[i] = 0", "b[1] = 1"]).to_owned(),
            4 => self.0.pick(&["q!a[i]", "q!1", "r!b[j]", "r!1"]).to_owned(),
            5 => self.0.pick(&["q?v", "q?eval(a[i])", "r?v", "r?eval(b[j])", "nempty(q)"]).to_owned(),
            6 => format!("d_step {{ {}; x = 1 - x }}", self.0.pick(&["x == 0", "x == 1", "y > 0"])),
            7 => "skip".to_owned(),
            _ => {
                let mut options = format!(":: {} -> v = 1", self.condition());
                for _ in 0..self.0.below(2) {
                    options += &format!(" :: {} ", self.0.pick(&["q!a[i]", "q?v", "r!a[i]", "x == 1", "true"]));
                }
                let otherwise = self.0.pick(&[":: else", ":: true -> skip", ""]);
                format!("if {options} {otherwise} fi")
            }
        }
    }

    fn model(&mut self) -> String {
        let (i, y) = (self.0.pick(&["0", "1", "5"]), self.0.pick(&["0", "1"]));
        let mut text = format!(
            "byte i = {i}; byte j; byte x; byte y = {y}; byte zero; byte a[2] = 1; byte b[3]; chan q = [1] of {{ byte }}; chan r = [0] of {{ byte }};\n"
        );
        for name in ["P", "Q", "R"] {
            let body: Vec<String> = (0..2 + self.0.below(3)).map(|_| self.statement()).collect();
            text += &format!("active proctype {name}() {{ byte v; byte z = 7; byte c[2]; {} }}\n", body.join("; "));
        }
        text
    }
}

#[test]
fn no_fault_is_lost() {
    let (mut compared, mut violations) = (0, 0);
    for number in testkit::models::seeds(0..1200) {
        let text = Models(Choices(number)).model();
        let Some(program) = languages::testing::promela(&text) else { panic!("{text}") };
        let reduction = Stubborn::of(&program).expect("a reduction");
        let full = violated(&program, FAULTS, None);
        assert_eq!(violated(&program, FAULTS, Some(&reduction)), full, "model {number}:\n{text}");
        examine(&format!("model {number}:\n{text}"), &program, &reduction);
        compared += 1;
        violations += u32::from(full);
    }
    println!("{compared} models, {violations} violations");
    assert!(violations > compared / 5 && violations < compared * 4 / 5, "{violations} of {compared}");
}

/// One model for each way in which a fault was lost.
#[test]
fn faults_of_blocked_paths_are_found() {
    let shared = "byte i; byte a[2] = 1; byte x; chan q = [1] of { byte }; chan r = [0] of { byte };\n";
    for rest in [
        // The condition that blocks comes after the one that may be a fault.
        "active proctype P() { if :: (a[i] > 0 && x == 1) -> skip :: true -> skip fi }\nactive proctype Q() { i = 5; x = 0 }",
        // The second condition can never hold, so the path comes to no step.
        "active proctype P() { if :: (a[i] > 0 && x == 1) -> skip :: true -> skip fi }\nactive proctype Q() { i = 5 }",
        "active proctype P() { if :: (a[i] > 0 && x == 1) -> skip :: else -> skip fi }\nactive proctype Q() { i = 5 }",
        // A message is computed before the channel is tested.
        "active proctype P() { q!0; if :: q!a[i] :: true -> skip fi }\nactive proctype Q() { skip; skip; i = 5 }",
        "active proctype P() { q!0; if :: q!a[i] :: else -> skip fi }\nactive proctype Q() { skip; skip; i = 5 }",
        "active proctype P() { if :: r!a[i] :: true -> skip fi }\nactive proctype Q() { skip; i = 5 }",
        // A fault of a path that comes to no step must not be postponed for ever.
        "active proctype P() { do :: i = 1 - i od }\nactive proctype Q() { byte z = 7; byte c[2]; skip; (c[z] > 0 && x == 1) }",
    ] {
        let program = languages::testing::promela(&format!("{shared}{rest}\n")).expect("a good model");
        let reduction = Stubborn::of(&program).expect("a reduction");
        assert!(violated(&program, FAULTS, None) && violated(&program, FAULTS, Some(&reduction)), "{rest}");
        examine(rest, &program, &reduction);
    }
}

/// A program without processes has a reduction that leaves nothing out.
#[test]
fn nothing_can_be_reduced() {
    let program = std::sync::Arc::new(testkit::assembly::verified("global byte x"));
    let reduction = Stubborn::of(&program).expect("a reduction");
    assert!(!violated(&program, FAULTS, Some(&reduction)));
}
