//! Partial-order reduction on the command line: it is on unless there is a reason, and the answer
//! states the reason.

mod common;

use common::Folder;

/// Four processes with nothing in common but a counter at the end.
const APART: &str = "byte done;\nactive [4] proctype P() { byte i; i = 1; i = 2; i = 3; done++ }\n\
    ltl ends { <> (done == 4) }\nltl next { X (done == 0) }\nltl early { [] (done < 4) }\n";

fn json(folder: &Folder, options: &[&str]) -> serde_json::Value {
    let arguments = [&["check", "model.pml", "--json", "--threads", "1"], options].concat();
    folder.run(&arguments).json()
}

#[test]
fn a_check_reduces_and_says_so() {
    let folder = Folder::with("model.pml", APART);
    let (reduced, full, checked) = (json(&folder, &[]), json(&folder, &["--no-por"]), json(&folder, &["--check-por"]));
    assert_eq!((&reduced["reduction"]["por"], &full["reduction"]["por"]), (&true.into(), &false.into()), "{reduced}");
    let verdicts = |json: &serde_json::Value| -> Vec<(String, String)> {
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        json["properties"].as_array().expect("a list").iter().map(|each| (text(&each["name"]), text(&each["verdict"]))).collect()
    };
    assert_eq!(verdicts(&reduced), verdicts(&full));
    assert_eq!(verdicts(&checked), verdicts(&full));
    let of = |name: &str| {
        let each = reduced["reduction"]["properties"].as_array().expect("a list").iter().find(|each| each["name"] == name);
        each.unwrap_or_else(|| panic!("{reduced}")).clone()
    };
    assert_eq!((&of("ends")["por"], &of("early")["por"]), (&true.into(), &true.into()), "{reduced}");
    assert!(of("next")["por"] == false && of("next")["off"].as_str().is_some_and(|why| why.contains('X')), "{reduced}");
    let states = |json: &serde_json::Value| {
        let each = json["properties"].as_array().expect("a list").iter().find(|each| each["name"] == "ends");
        each.and_then(|each| each["states"].as_u64()).expect("a number")
    };
    assert!(states(&reduced) < states(&full), "{reduced}");
}

/// If it would be unsound, it is off, and the answer says why.
#[test]
fn reasons_are_told() {
    let folder = Folder::with("model.pml", APART);
    for option in [&["--fair", "weak"][..], &["--fair", "strong"]] {
        let found = json(&folder, option);
        let each = found["reduction"]["properties"].as_array().expect("a list");
        assert!(!each.is_empty() && each.iter().all(|each| each["por"] == false && each["off"].is_string()), "{option:?}: {found}");
    }
    // The shortest finite run is found by the search itself, the shortest cycle later.
    let found = json(&folder, &["--shortest"]);
    let of = |name: &str| found["reduction"]["properties"].as_array().and_then(|all| all.iter().find(|each| each["name"] == name));
    assert!(of("early").is_some_and(|each| each["por"] == false && each["off"].is_string()), "{found}");
    assert!(of("ends").is_some_and(|each| each["por"] == true), "{found}");
    let folder = Folder::with("model.pml", "active [2] proctype P() priority 2 { skip; skip }\nactive proctype Q() { skip }\n");
    let found = json(&folder, &[]);
    assert!(found["reduction"]["por"] == false && found["reduction"]["off"].is_string(), "{found}");
}

/// A slice lists the parts that it removed, for each property, as text and in JSON; and it says why
/// no process was removed.
#[test]
fn a_slice_lists_what_was_cut() {
    let text = "byte x, log;\nactive proctype P() { do :: x = 1 - x od }\nactive proctype Q() { do :: log = x od }\n\
        ltl low { [] (x < 2) }\nltl comes { <> (x == 1) }\n";
    let folder = Folder::with("model.pml", text);
    let (sliced, full) = (json(&folder, &["--slice", "--no-por"]), json(&folder, &["--no-unused", "--no-por"]));
    let property = |found: &serde_json::Value, list: &[&str], name: &str| {
        let list = list.iter().fold(found.clone(), |found, key| found[*key].clone());
        list.as_array().expect("a list").iter().find(|each| each["name"] == name).expect("the property").clone()
    };
    for name in ["low", "comes"] {
        let verdict = |found| property(found, &["properties"], name)["verdict"].clone();
        assert_eq!(verdict(&sliced), verdict(&full), "{name}");
    }
    let cut = |name: &str| {
        let slice = property(&sliced, &["reduction", "properties"], name)["slice"].clone();
        let kinds = slice["cut"].as_array().expect("a list").iter();
        kinds
            .map(|cut| format!("{} {}", cut["kind"].as_str().unwrap_or_default(), cut["name"].as_str().unwrap_or_default()))
            .collect::<Vec<_>>()
    };
    // A finite run shows that `low` does not hold, so a process that moves for ever does not
    // matter.
    assert!(cut("low").contains(&"process Q".to_owned()) && cut("low").contains(&"variable log".to_owned()), "{sliced}");
    assert!(!cut("comes").contains(&"process Q".to_owned()) && cut("comes").contains(&"variable log".to_owned()), "{sliced}");
    assert!(sliced["reduction"]["slice"]["whole"].is_string() && full["reduction"].get("slice").is_none(), "{sliced}");
    let told = folder.run(&["check", "model.pml", "--slice", "--threads", "1"]);
    assert!(told.out.contains("slice for low") && told.out.contains("the processes `Q`"), "{}", told.out);
}
