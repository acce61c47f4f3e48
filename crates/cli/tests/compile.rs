//! `everypath compile`: text and binary byte-code are the same program, and every command accepts
//! both.

mod common;

use common::{DEADLOCK, FINE, Folder, LOST_UPDATE};
use serde_json::Value;

fn answer(folder: &Folder, model: &str) -> (Value, Value, Value) {
    let json = folder.run(&["check", model, "--json"]).json();
    let space = folder.run(&["space", model, "--json"]).exits(0).json();
    (json["verdict"].clone(), json["trace"].clone(), space["states"].clone())
}

#[test]
fn text_and_binary_mean_the_same() {
    for model in [LOST_UPDATE, DEADLOCK, FINE] {
        let folder = Folder::with("model.epa", model);
        folder.run(&["compile", "model.epa", "-o", "model.epb"]).exits(0);
        folder.run(&["compile", "model.epa", "--asm", "-o", "again.epa"]).exits(0);
        folder.run(&["compile", "model.epb", "--asm", "-o", "back.epa"]).exits(0);
        folder.run(&["compile", "model.epb", "-o", "ending.epa"]).exits(0);
        assert_eq!(folder.read("again.epa"), folder.read("back.epa"));
        assert_eq!(folder.read("ending.epa"), folder.read("back.epa"));
        assert_eq!(folder.run(&["compile", "model.epb", "--asm"]).exits(0).out, folder.read("back.epa"));
        let expected = answer(&folder, "model.epa");
        for other in ["model.epb", "again.epa", "back.epa"] {
            assert_eq!(answer(&folder, other), expected, "{other}");
        }
    }
}

#[test]
fn a_binary_is_known_by_its_content() {
    let folder = Folder::with("model.epa", FINE);
    folder.run(&["compile", "model.epa", "-o", "no-ending"]).exits(0);
    assert_eq!(answer(&folder, "no-ending"), answer(&folder, "model.epa"));
}

#[test]
fn json_tells_what_was_made() {
    let folder = Folder::with("model.epa", FINE);
    let json = folder.run(&["compile", "model.epa", "--json", "--asm"]).exits(0).json();
    assert_eq!(json["processes"], 1);
    assert!(json["instructions"].as_u64() > Some(5));
    assert!(json["asm"].as_str().is_some_and(|text| text.contains("process Counter")));
    let run = folder.run(&["compile", "model.epa"]).exits(0);
    assert!(run.out.contains("instructions"), "{run:?}");
}
