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
fn the_cycle_of_waiting_goes_through_those_who_have_what_is_waited_for() {
    // Each philosopher has taken a fork. The forks wait for philosophers too, but have nothing.
    let json = waiting(
        "#define N 3\nchan fork[N] = [0] of { bit };\nproctype Fork(byte i) { do :: fork[i] ! 0; fork[i] ? _ od }\n\
         proctype Phil(byte i) { do :: fork[i] ? _; fork[(i+1)%N] ? _; fork[i] ! 0; fork[(i+1)%N] ! 0 od }\n\
         init { byte i; atomic { for (i : 0 .. N-1) { run Fork(i); run Phil(i) } } }\n",
    );
    let name = |pid: &Value| json["waiting"][pid.as_u64().expect("a number") as usize]["process"].clone();
    let cycle = json["waiting_cycle"].as_array().expect("a cycle");
    assert_eq!(cycle.iter().map(name).collect::<Vec<_>>(), ["Phil", "Phil", "Phil"], "{json}");
    assert_eq!(json["waiting_others"].as_array().expect("others").iter().map(name).collect::<Vec<_>>(), ["Fork", "Fork", "Fork"]);
    // The one that took the fork is told first.
    let first = &json["waiting"][2]["options"][0]["waits_for"][0];
    assert_eq!((name(&json["waiting"][2]["pid"]), name(first)), ("Phil".into(), "Phil".into()), "{json}");
    // A process that could be helped by one that waits for nobody is in no cycle.
    let json = waiting(
        "chan a = [0] of { bit }; chan b = [0] of { bit }; chan c = [0] of { bit };\nactive proctype P() { a ? _; b ! 0 }\n\
         active proctype Q() { b ? _; a ! 0 }\nactive proctype R() { c ? _; a ! 0 }\n",
    );
    assert_eq!(json.get("waiting_cycle"), None, "{json}");
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
    // A program in LF has the flaw too; a run may or may not show it.
    for name in ["first.lf", "while.lf", "2nd.lf"] {
        folder.run(&["new", name]).exits(0);
        assert_eq!(folder.run(&["check", name, "--json"]).exits(1).json()["violation"]["kind"], "assertion violated", "{name}");
        folder.run(&["run", name, "--seed", "1"]);
    }
    assert!(folder.read("first.lf").contains("END first."));
    folder.run(&["new", "first.elf"]).exits(2);
    let json = folder.run(&["check", "first.pml", "--json"]).exits(1).json();
    assert_eq!(json["violation"]["kind"], "assertion violated", "{json}");
    let list = folder.run(&["examples"]).exits(0);
    for line in list.out.lines() {
        let name = line.split(' ').next().expect("a name");
        assert!(folder.run(&["examples", name]).exits(0).out.contains(if name.ends_with(".lf") { "MODULE" } else { "proctype" }), "{name}");
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
    let junit = read("r.xml");
    assert!(junit.contains("failures=\"1\"") && junit.contains("name=\"assertions\""), "{junit}");
    assert!(!junit.contains("other-violation") && junit.contains("message=\"the search ended with another violation\""), "{junit}");
    let sarif: Value = serde_json::from_str(&read("r.sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "assertion violated", "{sarif}");
    assert!(sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"].as_array().is_some_and(|all| !all.is_empty()));
    let itf: Value = serde_json::from_str(&read("r.itf.json")).expect("JSON");
    let (vars, states) = (itf["vars"].as_array().expect("a list"), itf["states"].as_array().expect("a list"));
    for state in states {
        assert!(vars.iter().all(|name| state.get(name.as_str().unwrap_or_default()).is_some()), "{itf}");
    }
    // A process that is created later has variables of one type from the beginning.
    let late = Folder::with(
        "late.pml",
        "mtype = { a, b };\nproctype Q(byte n) { mtype m; m = b; assert(n != 3) }\nactive proctype P() { byte x; x = 2; run Q(3) }\n",
    );
    late.run(&["check", "late.pml", "--itf", "t.itf.json"]).exits(1);
    let itf: Value = serde_json::from_str(&late.read("t.itf.json")).expect("JSON");
    let states = itf["states"].as_array().expect("a list");
    let kind = |value: &Value| (value.is_number(), value.is_string(), value.is_array(), value.is_boolean());
    for name in itf["vars"].as_array().expect("a list") {
        let name = name.as_str().expect("a name");
        assert!(states.iter().all(|state| kind(&state[name]) == kind(&states[0][name])), "{name}: {itf}");
    }
    assert!(states[0]["#meta"]["absent"].as_array().is_some_and(|absent| !absent.is_empty()), "{itf}");
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

#[test]
fn faults_are_told_with_their_values() {
    let because = |model: &str| {
        let json = Folder::with("model.pml", model).run(&["check", "model.pml", "--json", "--no-merge"]).exits(1).json();
        json["trace"].as_array().and_then(|steps| steps.last()).map(|step| step["because"].clone()).unwrap_or_default()
    };
    let array = "byte a[3]; byte i = 2;\n";
    for (body, told) in [
        ("i++; a[i] = 1", "the index is 3, and `a` has 3 elements"),
        ("i = a[i + 2]", "the index is 4, and `a` has 3 elements"),
        ("byte b[2]; i = 7; b[i] = 1", "the index is 7, and `b` has 2 elements"),
        ("i = 5; assert(i < 3 && a[0] == 1)", "it read i = 5"),
        ("a[1] = 4; assert(i == 2 && a[1] < 4)", "it read i = 2, a[1] = 4"),
        ("i = 0; a[0] = 5 / i", "it read i = 0"),
        ("atomic { i = 5; a[1] = 4; assert(i < 3) }", "it read i = 5"),
        ("d_step { i = 5; i++; assert(i < 3) }", "it read i = 6"),
        ("atomic { i = 5; assert(i < 3); i = 0; a[1] = 1 }", "it read i = 5"),
        ("do :: atomic { i == 3 -> skip } :: atomic { i == 2 -> a[1] = i; assert(a[1] != i) } od", "it read a[1] = 2, i = 2"),
        ("atomic { i++; if :: i == 2 -> skip :: i == 3 -> i = i + 4; assert(i == 2) fi }", "it read i = 7"),
        ("atomic { i++; a[i] = 1 }", "the index is 3, and `a` has 3 elements"),
    ] {
        assert_eq!(because(&format!("{array}active proctype P() {{ {body} }}\n")), told, "{body}");
    }
    // A step of LF has many statements. What they store counts, and what they read before does not.
    let of_lf = |body: &str| {
        let text = format!("MODULE M; VAR a : ARRAY 3 OF INT8; s : SET; n, m : INTEGER; BEGIN {body} END M.");
        let json = Folder::with("m.lf", text).run(&["check", "m.lf", "--json"]).exits(1).json();
        json["trace"].as_array().and_then(|steps| steps.last()).map(|step| step["because"].clone()).unwrap_or_default()
    };
    for (body, told) in [
        ("n := 2; n := n + 5; a[n] := 1", "the index is 7, and the array has 3 elements"),
        ("m := 3; n := m; INC(n); ASSERT n < 4", "it read n = 4"),
        ("n := 40; INCL(s, n)", "the number is 40"),
        ("IF n = 0 THEN m := 1; RESCHEDULE; n := 5 END; m := m + n; ASSERT m = 1", "it read m = 6"),
    ] {
        assert_eq!(of_lf(body), told, "{body}");
    }
    let text =
        Folder::with("model.pml", format!("{array}active proctype P() {{ i++; a[i] = 1 }}\n")).run(&["check", "model.pml"]).exits(1).out;
    assert!(text.contains("the index is 3, and `a` has 3 elements"), "{text}");
}

#[test]
fn what_is_wrong_with_a_model_is_written_for_other_programs() {
    let folder = Folder::with("broken.pml", "byte x;\ninit { x = 1 y = 2 }\n");
    let files = ["--junit", "r.xml", "--sarif", "r.sarif", "--html", "r.html"];
    folder.run(&[&["check", "broken.pml"][..], &files].concat()).exits(2);
    let sarif: Value = serde_json::from_str(&folder.read("r.sarif")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("a list");
    let region = &results[0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&results[0]["level"], &region["startLine"], &region["startColumn"]), (&"error".into(), &2.into(), &14.into()), "{sarif}");
    let junit = folder.read("r.xml");
    assert!(junit.contains("errors=\"1\"") && junit.contains("broken.pml:2:14: expected"), "{junit}");
    assert!(!folder.path("r.html").exists());
    // A warning that the user does not accept is an error too.
    let folder = Folder::with("model.pml", "byte x, y;\ninit { x = 300 }\n");
    folder.run(&["check", "model.pml"]).exits(0);
    folder.run(&["check", "model.pml", "-W", "no-effect"]).exits(0);
    folder.run(&["check", "model.pml", "-W", "no-such-warning"]).exits(2);
    folder.run(&["check", "model.pml", "-W", "all", "-A", "unused-variable", "-A", "value-does-not-fit"]).exits(0);
    folder.run(&["check", "model.pml", "-W", "value-does-not-fit", "--sarif", "w.sarif"]).exits(2);
    let sarif: Value = serde_json::from_str(&folder.read("w.sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "value-does-not-fit", "{sarif}");
    // Warnings of the parser have names as well.
    let folder = Folder::with("model.pml", "byte x;\ninit { do :: x++ :: else -> break od }\n");
    let given = folder.run(&["lint", "model.pml", "--json"]).exits(0).json();
    assert_eq!((&given["warnings"][0]["name"], &given["warnings"][0]["hint"]), (&"else-never-runs".into(), &Value::Null), "{given}");
    assert!(folder.run(&["check", "model.pml", "--depth", "2"]).err.contains("[else-never-runs]"));
    assert!(!folder.run(&["check", "model.pml", "--depth", "2", "-A", "else-never-runs"]).err.contains("[else-never-runs]"));
}

#[test]
fn colours_are_used_if_and_only_if_the_user_wants_them() {
    let folder = Folder::with("model.pml", "byte x;\ninit { x = 1; assert(x == 2) }\n");
    let broken = Folder::with("broken.pml", "init { x }\n");
    let with = |folder: &Folder, file: &str, variables: &[(&str, &str)]| {
        let mut command = folder.command(&["check", file]);
        for name in ["NO_COLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().expect("the command runs");
        [output.stdout, output.stderr].concat().contains(&0x1b)
    };
    for (folder, file) in [(&folder, "model.pml"), (&broken, "broken.pml")] {
        assert!(!with(folder, file, &[]), "the output is no terminal");
        assert!(with(folder, file, &[("CLICOLOR_FORCE", "1")]), "{file}");
        assert!(!with(folder, file, &[("CLICOLOR_FORCE", "0")]), "{file}");
        assert!(!with(folder, file, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), "{file}");
    }
}

#[test]
fn a_page_tells_both_sides_of_a_rendezvous_and_lines_that_ran_in_part() {
    let model = "chan c = [0] of { byte };\nactive proctype P() { c ! 1; assert(false) }\n\
                 active proctype Q() { byte x; c ? x; if :: x == 2 -> skip :: else -> skip fi }\n";
    let folder = Folder::with("model.pml", model);
    folder.run(&["check", "model.pml", "--html", "r.html", "--coverage"]).exits(1);
    let page = folder.read("r.html");
    assert!(page.contains("1. P(0): c ! 1 | Q(1): c ? x"), "{page}");
    let class = |line: usize| {
        let before = page.split(&format!("\" id=\"l0-{line}\"")).next().unwrap_or_default();
        before.rsplit("class=\"").next().unwrap_or_default().to_owned()
    };
    assert!(class(3).split(' ').any(|class| class == "part"), "{}", class(3));
    assert!(!class(2).contains("never") && !class(2).contains("blocked"), "the end of a process does not matter: {}", class(2));
}
