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
    folder.run(&["new", "version 1.5"]).exits(0);
    assert!(folder.has("version 1.5.pml"));
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
    // The version, the commit and the target.
    let version = folder.run(&["--version"]).exits(0).out;
    let inside = version.trim().strip_prefix(&format!("everypath {} (", env!("CARGO_PKG_VERSION"))).and_then(|rest| rest.strip_suffix(')'));
    let (commit, target) = inside.and_then(|inside| inside.split_once(", ")).unwrap_or_else(|| panic!("{version}"));
    assert!(commit == "no commit" || commit.len() >= 10 && commit.chars().all(|c| c.is_ascii_hexdigit()), "{version}");
    assert!(
        target.split('-').count() >= 2 && target.starts_with(std::env::consts::ARCH.split('_').next().unwrap_or_default()),
        "{version}"
    );
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
    for part in ["id=\"slider\"", "id=\"data\"", "class=\"source\"", "<svg", "Coverage", "&#39;&lt;&#39;", "before all states were visited"]
    {
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
    // Long arrays are complete, messages of several fields are tuples, and queues are sequences.
    let model = "mtype = { req };\nbyte a[70]; bool b[3]; chan c = [2] of { mtype, byte }; chan d = [2] of { byte };\n\
                 active proctype P() { a[69] = 7; b[1] = true; c!req,3; c!req,4; d!9; assert(false) }\n";
    let long = Folder::with("long.pml", model);
    long.run(&["check", "long.pml", "--itf", "t.itf.json"]).exits(1);
    let itf: Value = serde_json::from_str(&long.read("t.itf.json")).expect("JSON");
    let states = itf["states"].as_array().expect("a list");
    let last = &states[states.len() - 1];
    assert_eq!((last["a"].as_array().map(Vec::len), &last["a"][69], &states[0]["a"][69]), (Some(70), &7.into(), &0.into()), "{itf}");
    assert_eq!(last["b"], serde_json::json!([0, 1, 0]), "{itf}");
    assert_eq!(last["c"], serde_json::json!([{ "#tup": ["req", 3] }, { "#tup": ["req", 4] }]), "{itf}");
    assert_eq!((&last["d"], &states[0]["c"]), (&serde_json::json!([9]), &serde_json::json!([])), "{itf}");
    folder.run(&["check", "model.pml", "--html", "model.pml"]).exits(2);
    folder.run(&["check", "model.pml", "--html", "x", "--junit", "x"]).exits(2);
    folder.run(&["check", "model.pml", "--trace", "x", "--junit", "./x"]).exits(2);
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
    // The message says where there are statements.
    let run = folder.run(&["check", "model.pml", "--reach", "99"]).exits(2);
    assert!(run.err.contains("on line 15"), "{run:?}");
    let run = folder.run(&["check", "model.pml", "--reach", "10"]).exits(2);
    assert!(run.err.contains("on lines 8 and 11"), "{run:?}");
    let run = folder.run(&["check", "model.pml", "--reach", "other.pml:4"]).exits(2);
    assert!(run.err.contains("are in model.pml"), "{run:?}");
    folder.run(&["check", "model.pml", "--reach", "x"]).exits(2);
    // A part of a name is no name.
    folder.run(&["check", "model.pml", "--reach", "del.pml:14"]).exits(2);
    folder.run(&["check", "model.pml", "--reach", "./model.pml:14"]).exits(0);
    // The path is written wherever the user wants it.
    let files = ["--html", "r.html", "--itf", "r.itf.json", "--trail", "r.trail", "--timeline", "r.svg"];
    folder.run(&[&["check", "model.pml", "--reach", "14"][..], &files].concat()).exits(0);
    let page = folder.read("r.html");
    assert!(page.contains("id=\"slider\"") && page.contains("reached: the last step") && page.contains("<svg"), "{page}");
    let itf: Value = serde_json::from_str(&folder.read("r.itf.json")).expect("JSON");
    assert_eq!(itf["states"].as_array().map(Vec::len), Some(5), "{itf}");
    assert!(!folder.read("r.trail").is_empty() && folder.read("r.svg").starts_with("<svg"));
    folder.run(&["check", "model.pml", "--reach", "8", "--html", "never.html"]).exits(1);
    assert!(folder.read("never.html").contains("never reached: no path"));
    for (option, value) in [("--junit", Some("x")), ("--sarif", Some("x")), ("--causal", None), ("--witness", None), ("--slice", None)] {
        let more: Vec<&str> = std::iter::once(option).chain(value).collect();
        folder.run(&[&["check", "model.pml", "--reach", "14"][..], &more].concat()).exits(2);
    }
    for options in [&["--processes", "2"][..], &["--fewest-switches"], &["--disk", "d"], &["--fair", "weak"], &["--only", "safety"]] {
        folder.run(&[&["check", "model.pml", "--reach", "14"][..], options].concat()).exits(2);
    }
    // The searches that need more than successors say so.
    for order in ["sweep", "astar", "dfs", "dfs-shared", "bfs"] {
        let run = folder.run(&["check", "model.pml", "--reach", "14", "--search", order, "--json"]);
        assert!(run.code == 2 || run.json()["verdict"] == "reached", "{order}: {run:?}");
    }
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

#[cfg(unix)]
#[test]
fn a_suggested_command_is_accepted() {
    let folder = Folder::with("model.pml", "byte x;\nactive proctype P() { x = 1; x = 2; assert(x == 2) }\n");
    let next = |arguments: &[&str]| {
        let run = folder.run(arguments);
        run.out.lines().find_map(|line| line.strip_prefix("next: ").map(str::to_owned))
    };
    let follow = |command: &str| {
        let script = command.replace("everypath ", &format!("{} ", env!("CARGO_BIN_EXE_everypath")));
        let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().expect("a shell");
        assert!(matches!(output.status.code(), Some(0 | 1 | 3)), "{command}: {output:?}");
    };
    folder.run(&["check", "model.pml", "--depth", "1", "--checkpoint", "saved"]).exits(3);
    folder.write("wrong.pml", "byte x;\nactive proctype P() { x = 1; x = 2; assert(x == 1) }\n");
    let mut given = 0;
    for model in ["model.pml", "wrong.pml"] {
        for more in [
            &[][..],
            &["--slice"],
            &["--processes", "2"],
            &["--search", "sweep"],
            &["--search", "dfs"],
            &["--store", "hash"],
            &["--coverage"],
            &["--coverage", "--no-por"],
            &["--trace", "t.json"],
            &["--ltl", "[] (x < 9)"],
            &["--witness"],
        ] {
            if let Some(command) = next(&[&["check", model], more].concat()) {
                follow(&command);
                given += 1;
            }
        }
    }
    assert!(given > 8, "{given}");
    assert_eq!(next(&["check", "model.pml", "--slice"]), None);
    assert_eq!(next(&["check", "--resume", "saved"]), None);
    assert!(next(&["check", "model.pml"]).is_some_and(|command| command.contains("--coverage")));
}

#[test]
fn a_page_shows_what_was_typed_and_what_was_given() {
    let folder = Folder::with("model.pml", "byte x;\nactive proctype P() { x = 1; x = 2 }\n");
    // The path of a witness can be walked like that of a violation.
    folder.run(&["check", "model.pml", "--ltl", "<> (x == 2)", "--witness", "--html", "w.html"]).exits(0);
    let page = folder.read("w.html");
    assert!(page.contains("id=\"slider\"") && page.contains("id=\"chart-1\"") && page.contains("data-step=\"2\""), "{page}");
    assert!(page.contains("a run that satisfies") && page.contains("--ltl &#39;&lt;&gt; (x == 2)&#39;"), "{page}");
    // The source of a model from standard input is what was read there.
    let run =
        folder.run_with(&["check", "-", "--html", "i.html"], "byte marked;\nactive proctype P() { marked = 1; assert(marked == 2) }\n");
    assert_eq!(run.code, 1, "{run:?}");
    let page = folder.read("i.html");
    assert!(page.contains("<span class=\"n\">1</span>byte marked;"), "{page}");
}

/// A name that is not valid text is no reason to fail.
#[cfg(unix)]
#[test]
fn names_that_are_no_text_are_accepted() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::with("model.pml", "byte x;\nactive proctype P() { x = 1; assert(x == 2) }\n");
    let name = std::ffi::OsStr::from_bytes(b"model\xff.pml");
    std::fs::copy(folder.path("model.pml"), folder.path(".").join(name)).expect("it can be copied");
    for arguments in [&["check"][..], &["lint"], &["space"], &["simulate", "--steps", "3"], &["compile", "--asm"], &["automata"]] {
        let output = folder.command(arguments).arg(name).output().expect("the program runs");
        assert!(matches!(output.status.code(), Some(0..=3)), "{arguments:?}: {output:?}");
    }
    let files = ["--html", "r.html", "--junit", "r.xml", "--sarif", "r.sarif", "--itf", "r.itf", "--trace", "r.trace"];
    let output = folder.command(&[&["check"][..], &files].concat()).arg(name).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(folder.read("r.html").contains("everypath check --html r.html"));
}

#[test]
fn a_log_for_other_programs_says_where_and_how_to_mend() {
    let folder = Folder::with("model.pml", "byte x;\n*/ init { x = 1 }\n");
    folder.run(&["check", "model.pml", "--sarif", "r.sarif"]).exits(0);
    let sarif: Value = serde_json::from_str(&folder.read("r.sarif")).expect("JSON");
    let warning = &sarif["runs"][0]["results"][0];
    assert_eq!(warning["ruleId"], "stray-comment-end", "{sarif}");
    assert_eq!(warning["locations"][0]["physicalLocation"]["region"]["startLine"], 2, "{sarif}");
    let change = &warning["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!((&change["deletedRegion"]["endColumn"], &change["insertedContent"]["text"]), (&3.into(), &"".into()), "{sarif}");
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], true, "{sarif}");
    // A verdict that is not known is no success.
    folder.write("long.pml", "byte x;\nactive proctype P() { do :: x < 9 -> x++ :: x == 9 -> x = 0 od }\n");
    folder.run(&["check", "long.pml", "--depth", "2", "--sarif", "u.sarif"]).exits(3);
    let sarif: Value = serde_json::from_str(&folder.read("u.sarif")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("a list");
    assert!(!results.is_empty() && results.iter().any(|result| result["ruleId"] == "unknown" && result["level"] == "error"), "{sarif}");
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false, "{sarif}");
    // The change that mends the model is part of the warning in this form too.
    let json = folder.run(&["lint", "model.pml", "--json"]).exits(0).json();
    let warning = &json["warnings"][0];
    assert_eq!((&warning["fix"]["old"], &warning["fix"]["new"]), (&"*/".into(), &"".into()), "{json}");
    let listed = folder.run(&["lint", "--list"]).exits(0).out;
    let json = folder.run(&["lint", "--list", "--json"]).exits(0).json();
    assert_eq!(json["names"].as_array().map(Vec::len), Some(listed.lines().count()), "{json}");
    folder.run(&["lint"]).exits(2);
}

#[test]
fn no_text_of_a_model_reaches_the_terminal_as_a_command() {
    let (escape, folder) = ("\u{1b}[31mred\u{1b}[0m\u{7}", Folder::new());
    folder.write(
        "warning.pml",
        format!("byte x;\n#warning a {escape}\nactive proctype P() {{ x = 1; printf(\"{escape}\"); assert(x == 2) }}\n"),
    );
    folder.write("error.pml", format!("byte x;\n#error a {escape}\n"));
    folder.write("include.pml", format!("byte x;\n#include \"{escape}.h\"\n"));
    folder.write("graph.aut", format!("des (0, 2, 3)\n(0, \"{escape}\", 1)\n(1, \"{escape}\", 2)\n"));
    for arguments in [
        &["check", "warning.pml"][..],
        &["lint", "warning.pml"],
        &["simulate", "warning.pml", "--steps", "9"],
        &["check", "error.pml"],
        &["check", "include.pml"],
        &["check", "graph.aut"],
        &["simulate", "graph.aut", "--steps", "3"],
        &["check", "graph.aut", "--trace", "t.json"],
        &["replay", "t.json"],
    ] {
        let run = folder.run(arguments);
        assert!(!run.out.contains(['\u{1b}', '\u{7}']) && !run.err.contains(['\u{1b}', '\u{7}']), "{arguments:?}: {run:?}");
    }
}

#[test]
fn changes_far_behind_in_an_array_are_shown() {
    let model = "byte a[70]; chan c = [70] of { byte };\n\
                 active proctype P() { byte b[100]; byte i; for (i : 1 .. 69) { c!i } a[69] = 5; b[90] = 3; c!9; a[2] = 1; assert(false) }\n";
    let folder = Folder::with("model.pml", model);
    let json = folder.run(&["check", "model.pml", "--no-merge", "--json"]).exits(1).json();
    let steps = json["trace"].as_array().expect("a list");
    let changed = |statement: &str| {
        let step = steps.iter().find(|step| step["statement"] == statement);
        step.unwrap_or_else(|| panic!("{statement}: {json}"))["changes"].clone()
    };
    assert_eq!(changed("a[69] = 5"), serde_json::json!({ "a[69]": "5" }));
    assert_eq!(changed("b[90] = 3"), serde_json::json!({ "P(0).b[90]": "3" }));
    assert!(changed("c!9")["c"].as_str().is_some_and(|text| text.contains("6 more")), "{json}");
    assert!(changed("a[2] = 1")["a"].is_string() && changed("a[2] = 1").get("a[69]").is_none(), "{json}");
    let text = folder.run(&["check", "model.pml", "--no-merge", "--verbose"]).exits(1).out;
    for line in ["        a[69] = 5\n", "        P(0).b[90] = 3\n", "        a[2] = 1\n"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    folder.run(&["check", "model.pml", "--no-merge", "--html", "r.html"]).exits(1);
    assert!(folder.read("r.html").contains("{\"a[69]\":\"5\"}"));
}

/// On a terminal a long trace is cut, and the line that says so has the command that shows all.
#[cfg(target_os = "linux")]
#[test]
fn a_trace_that_is_cut_comes_with_the_command_that_shows_all() {
    let body: String = (1..50).map(|number| format!("n = {number}; ")).collect();
    let folder = Folder::with("model.pml", format!("byte n;\nactive proctype P() {{ {body} assert(n == 3) }}\n"));
    let program = env!("CARGO_BIN_EXE_everypath");
    let on_terminal = |arguments: &str| {
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &format!("{program} {arguments}"), "/dev/null"]).current_dir(folder.path("."));
        script.env("NO_COLOR", "1").stdin(std::process::Stdio::null()).output().ok().filter(|output| output.status.code() == Some(1))
    };
    let Some(cut) = on_terminal("check model.pml --no-merge") else {
        testkit::passed_over("there is no `script` that gives a terminal");
        return;
    };
    let cut = String::from_utf8_lossy(&cut.stdout).into_owned();
    let command = cut.lines().find_map(|line| line.split("not shown here; to see all: everypath ").nth(1)).map(str::trim);
    let Some(command) = command else { panic!("{cut}") };
    assert_eq!(command, "check model.pml --no-merge --verbose");
    let whole = String::from_utf8_lossy(&on_terminal(command).expect("it worked before").stdout).into_owned();
    assert!(whole.lines().count() > cut.lines().count() && !whole.contains("not shown here"), "{whole}");
}

/// Commands are shown as a shell reads them, whatever the files are called.
#[cfg(unix)]
#[test]
fn suggested_commands_work_with_every_name() {
    let model = "byte x;\nactive proctype P() { x = 1; x = 2; assert(x == N) }\n";
    let folder = Folder::new();
    let shell = |command: &str| {
        let script = command.replace("everypath ", &format!("{} ", env!("CARGO_BIN_EXE_everypath")));
        let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(folder.path(".")).output().expect("a shell");
        assert!(matches!(output.status.code(), Some(0 | 1)), "{command}: {output:?}");
    };
    for name in ["my model", "it's", "-dash", "\u{fc}n\u{ef}", "a;b$HOME", "*", "a.b", "~", "x\\y", "$(false)", "#"] {
        let file = format!("{name}.pml");
        folder.write(&file, model);
        // A name that begins with a dash is not an option.
        let given = if name.starts_with('-') { format!("./{file}") } else { file };
        let run = folder.run(&["check", &given, "-D", "N=1 + 2"]).exits(1);
        let next = run.out.lines().find_map(|line| line.strip_prefix("next: ")).unwrap_or_else(|| panic!("{given}: {run:?}"));
        shell(next);
        assert!(folder.has(&format!("{name}.trace")), "{next}");
        // A file of another kind: the message has a command, too.
        let run = folder.run(&["space", &format!("./{name}.trace")]).exits(2);
        let command = run.err.split('`').nth(1).unwrap_or_else(|| panic!("{run:?}"));
        shell(command);
        let run = folder.run(&["new", &format!("./{name} new")]).exits(0);
        run.out.lines().filter_map(|line| line.strip_prefix("  everypath ")).for_each(|command| shell(&format!("everypath {command}")));
    }
    // What cannot be typed is not shown.
    folder.write("bell\u{7}.pml", model);
    let run = folder.run(&["check", "bell\u{7}.pml", "-DN=3"]).exits(1);
    assert!(!run.out.contains('\u{7}') && !run.out.contains("next: "), "{run:?}");
    let run = folder.run(&["check", "none\u{7}.pml"]).exits(2);
    assert!(!run.err.contains('\u{7}'), "{run:?}");
}

#[test]
fn other_tools_are_given_paths_that_they_can_show() {
    let folder = Folder::with("long.pml", "short n;\nactive proctype P() { do :: n < 3000 -> n++ :: else -> assert(false) od }\n");
    folder.run(&["check", "long.pml", "--no-merge", "--search", "dfs", "--sarif", "r.sarif", "--junit", "r.xml"]).exits(1);
    let sarif: Value = serde_json::from_str(&folder.read("r.sarif")).expect("JSON");
    let steps = sarif["runs"][0]["results"][0]["codeFlows"][0]["threadFlows"][0]["locations"].as_array().expect("a list");
    assert_eq!(steps.len(), 1001, "the first and the last, and one that says how many are between");
    let texts: Vec<&str> = steps.iter().filter_map(|step| step["location"]["message"]["text"].as_str()).collect();
    assert!(texts[500].starts_with('\u{2026}') && texts[1000].contains("assert(false)"), "{}", texts[500]);
    let junit = folder.read("r.xml");
    assert!(junit.lines().count() < 1020 && junit.contains("steps are left out") && junit.contains("assert(false)"));
}

/// A run without an end stops when its reader has gone, unless it writes files.
#[cfg(unix)]
#[test]
fn a_run_ends_with_its_reader() {
    let folder = Folder::with("model.pml", "byte n;\nactive proctype P() { do :: n++ od }\n");
    let mut child = folder
        .command(&["simulate", "model.pml", "--steps", "1000000000000"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
}

#[test]
fn a_word_that_is_no_formula_may_be_a_name() {
    let model = "bool p;\nactive proctype P() { p = true }\nltl served { <> p }\nltl safe { [] (p || !p) }\n";
    let folder = Folder::with("model.pml", model);
    let run = folder.run(&["check", "model.pml", "--ltl", "serve"]).exits(2);
    assert!(run.err.contains("did you mean `served`?"), "{run:?}");
    let run = folder.run(&["check", "model.pml", "--ltl", "live"]).exits(2);
    assert!(run.err.contains("states are served, safe"), "{run:?}");
    let run = folder.run(&["check", "model.pml", "--ltl", "<> q"]).exits(2);
    assert!(run.err.contains("as in `byte q`"), "{run:?}");
}

/// Nothing that is cut is wider than the terminal, and nothing is lost in a very narrow one.
#[cfg(target_os = "linux")]
#[test]
fn the_answer_fits_the_terminal() {
    let long = "a_rather_long_name_of_a_variable + a_rather_long_name_of_a_variable + a_rather_long_name_of_a_variable";
    let folder = Folder::with(
        "model.pml",
        format!(
            "byte a_rather_long_name_of_a_variable;\nactive [2] proctype AProcess() {{ a_rather_long_name_of_a_variable++; ({long} > 40) }}\n"
        ),
    );
    folder.write("broken.pml", format!("byte x;\ninit {{ x = {} + missing + {} }}\n", "1 + ".repeat(30) + "1", "1 + ".repeat(30) + "1"));
    let on_terminal = |columns: usize, arguments: &str| {
        let command = format!("stty rows 40 cols {columns} && {} {arguments}", env!("CARGO_BIN_EXE_everypath"));
        let mut script = std::process::Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).current_dir(folder.path(".")).env("NO_COLOR", "1");
        let output =
            script.stdin(std::process::Stdio::null()).output().ok().filter(|output| matches!(output.status.code(), Some(1 | 2)))?;
        Some(String::from_utf8_lossy(&output.stdout).replace('\r', ""))
    };
    let Some(wide) = on_terminal(100, "check model.pml --no-merge") else {
        testkit::passed_over("there is no `script` that gives a terminal");
        return;
    };
    let listed = |text: &str| text.lines().filter(|line| line.contains("model.pml:2")).map(str::to_owned).collect::<Vec<_>>();
    for (columns, text) in [(100, wide), (62, on_terminal(62, "check model.pml --no-merge").expect("it worked before"))] {
        let lines = listed(&text);
        assert!(lines.len() > 3 && lines.iter().skip(1).all(|line| line.chars().count() <= columns), "{columns}\n{text}");
        assert!(lines.iter().any(|line| line.ends_with('\u{2026}')), "{text}");
    }
    let narrow = on_terminal(40, "check model.pml --no-merge").expect("it worked before");
    assert!(listed(&narrow).iter().any(|line| line.contains(long)), "{narrow}");
    // The mark is below what it marks.
    for columns in [40, 80] {
        let text = on_terminal(columns, "check broken.pml").expect("it worked before");
        let lines: Vec<&str> = text.lines().collect();
        let at = lines.iter().position(|line| line.contains("^^^^^^^")).unwrap_or_else(|| panic!("{text}"));
        let column = lines[at].chars().position(|c| c == '^').expect("the mark");
        assert_eq!(lines[at - 1].chars().skip(column).take(7).collect::<String>(), "missing", "{text}");
        assert!(lines[at - 1].chars().count() <= columns, "{text}");
    }
}
