//! Broken models with the complete messages, in `broken.txt`: a model after each `====`, and the
//! messages about it after `----`.
//!
//! `UPDATE=1 cargo test -p promela --test broken` rewrites the messages. Then read each one: does
//! the mark point at the right position, does the message give the reason, can a newcomer act on
//! it?

mod common;

use common::findings;
use std::path::Path;

#[test]
fn messages_are_as_they_were() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken.txt");
    let text = std::fs::read_to_string(&path).expect("the models");
    let update = std::env::var_os("UPDATE").is_some();
    let (mut models, mut now) = (0, String::new());
    for part in text.split("====\n").skip(1) {
        let model = part.split("----\n").next().unwrap_or_default();
        let found = findings(model);
        if !found.contains("error: ") && update {
            continue;
        }
        models += 1;
        assert!(found.contains("error: "), "nothing is wrong with\n{model}");
        assert!(found.contains("= hint: ") || found.contains("= note: "), "a newcomer is not told what to do:\n{found}");
        now.push_str(&format!("====\n{model}----\n{found}"));
    }
    if update {
        std::fs::write(&path, &now).expect("the file can be written");
        return;
    }
    assert!(models >= 60, "only {models} models");
    for (was, is) in text.split("====\n").skip(1).zip(now.split("====\n").skip(1)) {
        assert_eq!(was, is, "run with UPDATE=1 and read what has changed");
    }
}
