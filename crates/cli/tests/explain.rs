//! The explanations after a check: why no process can move, what was never executed, which command
//! to type next.

mod common;

use common::Folder;
use serde_json::Value;

/// The reason why the first option of a process waits, and the processes that it waits for.
fn reason(json: &Value, pid: usize) -> (String, Vec<u64>) {
    let option = &json["waiting"][pid]["options"][0];
    let on = option["waits_for"].as_array().expect("a list").iter().filter_map(Value::as_u64);
    (option["why"].as_str().expect("a word").to_owned(), on.collect())
}

fn waiting(text: &str) -> Value {
    Folder::with("model.pml", text).run(&["check", "model.pml", "--json"]).exits(1).json()
}

#[test]
fn a_cycle_of_waiting_is_told() {
    let json = waiting(
        "bool a, b;\nactive proctype P() { atomic { !a -> a = true }; atomic { !b -> b = true }; a = false; b = false }\n\
         active proctype Q() { atomic { !b -> b = true }; atomic { !a -> a = true }; a = false; b = false }\n",
    );
    assert_eq!(reason(&json, 0), ("condition".to_owned(), vec![1]), "{json}");
    assert_eq!(reason(&json, 1), ("condition".to_owned(), vec![0]), "{json}");
    assert_eq!(json["waiting"][0]["options"][0]["values"]["b"], "1", "{json}");
    assert_eq!(json["waiting_cycle"], serde_json::json!([0, 1]), "{json}");
}

#[test]
fn channels_are_told_with_their_contents() {
    let json = waiting(
        "chan c = [1] of { byte }; chan d = [1] of { byte };\nactive proctype P() { c!1; c!2 }\nactive proctype Q() { byte x; d?x; c?x }\n",
    );
    assert_eq!(reason(&json, 0), ("full".to_owned(), vec![1]), "{json}");
    assert_eq!(json["waiting"][0]["options"][0]["contents"], "[1]", "{json}");
    assert_eq!(reason(&json, 1), ("empty".to_owned(), vec![]), "{json}");
    assert_eq!(json.get("waiting_cycle"), None, "{json}");
}

#[test]
fn a_rendezvous_without_a_partner_is_told() {
    let json = waiting(
        "chan c = [0] of { byte }; chan d = [0] of { byte };\nactive proctype P() { c!1; d!1 }\nactive proctype Q() { byte x; d?x; c?x }\n",
    );
    assert_eq!(reason(&json, 0), ("no partner".to_owned(), vec![1]), "{json}");
    assert_eq!(reason(&json, 1), ("no partner".to_owned(), vec![0]), "{json}");
    assert_eq!(json["waiting_cycle"], serde_json::json!([0, 1]), "{json}");
}

#[test]
fn messages_that_do_not_match_are_told() {
    let json = waiting("chan c = [2] of { byte };\nactive proctype P() { c!1; c??3; skip }\n");
    let option = &json["waiting"][0]["options"][0];
    assert_eq!((&option["why"], &option["contents"]), (&"no match".into(), &"[1]".into()), "{json}");
}

#[test]
fn the_next_command_works_as_it_is_printed() {
    let folder = Folder::with("model.pml", "byte x;\nactive proctype P() { x = 1; assert(x == 2) }\n");
    let run = folder.run(&["check", "model.pml"]).exits(1);
    let next = run.out.lines().find_map(|line| line.strip_prefix("next: ")).expect("a command");
    for (command, code) in next.split("; ").zip([1, 0]) {
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        folder.run(&words).exits(code);
    }
    let run = folder.run(&["check", "model.pml", "--quiet"]).exits(1);
    assert_eq!(run.out.lines().count(), 1, "{run:?}");
    folder.run(&["check", "model.pml", "--quiet", "--verbose"]).exits(2);
}

#[test]
fn coverage_is_told_as_text_and_as_json() {
    let folder = Folder::with("model.pml", "byte x;\nactive proctype P() { if :: x == 1 -> assert(false) :: else fi }\n");
    let run = folder.run(&["check", "model.pml", "--coverage"]).exits(0);
    assert!(run.out.contains("never executed") && run.out.contains("was never evaluated"), "{run:?}");
    let json = folder.run(&["check", "model.pml", "--coverage", "--json"]).exits(0).json();
    let statements = json["coverage"]["processes"][0]["statements"].as_array().expect("a list");
    let guard = statements.iter().find(|statement| statement["statement"] == "x == 1").expect("the guard");
    assert_eq!((&guard["reached"], &guard["executed"]), (&true.into(), &false.into()), "{json}");
    assert_eq!(folder.run(&["check", "model.pml", "--json"]).exits(0).json().get("coverage"), None);
}

#[test]
fn first_models_examples_and_pages_are_there() {
    let folder = Folder::with("other.pml", "init { skip }\n");
    folder.run(&["new", "first"]).exits(0);
    folder.run(&["new", "first"]).exits(2);
    let json = folder.run(&["check", "first.pml", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "assertion violated", "{json}");
    let list = folder.run(&["examples"]).exits(0);
    for line in list.out.lines() {
        let name = line.split(' ').next().expect("a name");
        assert!(folder.run(&["examples", name]).exits(0).out.contains("proctype"), "{name}");
    }
    folder.run(&["examples", "philosophers", "--check", "--quiet"]).exits(1);
    folder.run(&["examples", "nothing"]).exits(2);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(folder.run(&["completions", shell]).exits(0).out.contains("coverage"), "{shell}");
    }
    assert!(folder.run(&["man"]).exits(0).out.contains(".SH"));
    folder.run(&["man", "-o", "pages"]).exits(0);
    assert!(folder.run(&["--version"]).exits(0).out.contains('('));
}

#[test]
fn reports_are_written_to_files() {
    let model =
        "chan c = [1] of { byte };\nactive proctype P() { c!1; c!2 }\nactive proctype Q() { byte x; c?x; assert(x == 2 && '<' != 0) }\n";
    let folder = Folder::with("model.pml", model);
    let files = ["--html", "r.html", "--junit", "r.xml", "--sarif", "r.sarif", "--itf", "r.itf.json"];
    folder.run(&[&["check", "model.pml", "--coverage"][..], &files].concat()).exits(1);
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).expect("a file");
    let page = read("r.html");
    // The page loads nothing from outside, has no text of the model as markup, and has all parts.
    assert!(
        !page.contains("http://") && !page.contains("https://")
            || page.matches("http").count() == page.matches("http-equiv").count() + page.matches("www.w3.org").count()
    );
    for part in ["id=\"slider\"", "id=\"data\"", "class=\"source\"", "<svg", "Coverage", "&#39;&lt;&#39;"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(read("r.xml").contains("failures=\"1\""));
    let sarif: Value = serde_json::from_str(&read("r.sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "assertion violated", "{sarif}");
    assert!(sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"].as_array().is_some_and(|all| !all.is_empty()));
    let itf: Value = serde_json::from_str(&read("r.itf.json")).expect("JSON");
    let (vars, states) = (itf["vars"].as_array().expect("a list"), itf["states"].as_array().expect("a list"));
    for state in states {
        assert!(vars.iter().all(|name| state.get(name.as_str().unwrap_or_default()).is_some()), "{itf}");
    }
    let summary = folder.run(&["check", "model.pml", "--format", "spin"]).exits(1).out;
    assert!(summary.contains("errors: 1") && summary.contains("states, stored"), "{summary}");
    folder.run(&["check", "model.pml", "--html", "model.pml"]).exits(2);
    folder.run(&["check", "model.pml", "--html", "x", "--junit", "x"]).exits(2);
}

#[test]
fn a_path_to_a_statement_is_found_or_there_is_none() {
    let model = "byte x;\nactive proctype P() {\n\tatomic {\n\t\tx = 1;\n\t\tif\n\t\t:: x == 1 -> x = 2\n\t\t:: else ->\n\t\t\tx = 3\n\t\tfi\n\t};\n\td_step { x = 4;\n\tx = 5 };\n\tassert(false);\n\tx = 6\n}\n";
    let folder = Folder::with("model.pml", model);
    for (line, steps) in [("4", 1), ("6", 1), ("11", 2), ("12", 2), ("model.pml:14", 4)] {
        for engine in ["vm", "jit"] {
            let json = folder.run(&["check", "model.pml", "--reach", line, "--engine", engine, "--json"]).exits(0).json();
            assert_eq!(json["verdict"], "reached", "{line} {json}");
            assert_eq!(json["trace"].as_array().map(Vec::len), Some(steps), "{line} {json}");
        }
    }
    let json = folder.run(&["check", "model.pml", "--reach", "8", "--json"]).exits(1).json();
    assert_eq!(json["verdict"], "never", "{json}");
    folder.run(&["check", "model.pml", "--reach", "99"]).exits(2);
    folder.run(&["check", "model.pml", "--reach", "other.pml:4"]).exits(2);
    folder.run(&["check", "model.pml", "--reach", "x"]).exits(2);
    folder.run(&["check", "model.pml", "--reach", "14", "--trace", "there.trace"]).exits(0);
    folder.run(&["replay", "there.trace"]).exits(0);
}
