//! Programs in Rust: generated, built with the compiler that builds this test, and run.

mod common;

use common::Folder;
use promela::NoFiles;
use source::SourceMap;
use std::process::{Command, Output};

fn made(text: &str) -> Result<Vec<(String, String)>, Vec<String>> {
    let mut map = SourceMap::new();
    let file = map.add("model.pch", text);
    let (hybrid, diagnostics) = promela::hybrid(&mut map, file, &mut NoFiles, &[], false);
    let Some(hybrid) = hybrid else { return Err(diagnostics.iter().map(|d| d.message.clone()).collect()) };
    match generate::rust_program(&hybrid, &map, "model.pch") {
        Ok(made) => Ok(made.files),
        Err(errors) => Err(errors.iter().map(|d| d.message.clone()).collect()),
    }
}

/// What a program prints, and its trace.
fn run(name: &str, text: &str) -> (String, String) {
    let (out, trace) = outcome(name, text);
    assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
    (String::from_utf8_lossy(&out.stdout).into_owned(), trace)
}

/// How a program ends, and its trace.
fn outcome(name: &str, text: &str) -> (Output, String) {
    let folder = Folder::new(&format!("rust-{name}"));
    std::fs::create_dir_all(folder.0.join("src")).expect("a folder");
    for (file, text) in made(text).unwrap_or_else(|errors| panic!("{errors:?}")) {
        std::fs::write(folder.0.join(file), text).expect("a file");
    }
    let compiler = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let out =
        Command::new(compiler).args(["--edition", "2021", "-o", "program", "src/main.rs"]).current_dir(&folder.0).output().expect("rustc");
    assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
    let out =
        Command::new("timeout").args(["20", "./program"]).env("EP_TRACE", "trace").current_dir(&folder.0).output().expect("the program");
    (out, std::fs::read_to_string(folder.0.join("trace")).unwrap_or_default())
}

#[test]
fn the_alternating_bit_protocol_runs() {
    let text = r#"
c_decl_IS { static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
fn passes() -> bool { COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 3 != 2 } };
chan to_link = [1] of { bit, byte };
chan to_b = [1] of { bit, byte };
chan answers = [1] of { bit };
chan to_a = [1] of { bit };
active proctype link() {
	bit alt, ok;
	byte data;
	do
	:: to_link?alt,255 -> to_b!alt,255; break
	:: to_link?alt,data ->
		promela_MS { if :: ok = 1 :: ok = 0 fi };
		c_code_IS { ok = passes() as u8; };
		if :: ok -> to_b!alt,data :: else fi
	:: answers?alt ->
		promela_MS { if :: ok = 1 :: ok = 0 fi };
		c_code_IS { ok = passes() as u8; };
		if :: ok -> to_a!alt :: else fi
	od
}
active proctype A() {
	bit alt, got;
	byte data;
	do
	:: data < 5 ->
		to_link!alt,data;
		if
		:: to_a?got -> if :: got == alt -> alt = 1 - alt; data++ :: else fi
		:: timeout
		fi
	:: else -> break
	od;
	to_link!alt,255
}
active proctype B() {
	bit alt, got;
	byte data, expected;
	do
	:: to_b?got,data ->
		if :: data == 255 -> break :: else fi;
		if
		:: got == alt -> assert(data == expected); printf("B: %d\n", data); expected++; alt = 1 - alt
		:: else
		fi;
		answers!got
	od
}
"#;
    let (printed, trace) = run("abp", text);
    assert_eq!(printed, "B: 0\nB: 1\nB: 2\nB: 3\nB: 4\n");
    assert!(trace.lines().any(|line| line.starts_with("active 0 ")) && trace.contains(" ok 0"), "{trace}");
}

#[test]
fn statements_mean_what_they_mean_in_the_model() {
    let text = r#"
mtype = { red, green };
typedef Pair { byte a; short b };
chan hands = [0] of { byte };
chan sorted = [4] of { byte, byte };
chan pairs = [2] of { Pair };
byte done;
int total = 7;
proctype Adder(int by; byte times) {
	do
	:: times > 0 -> atomic { total = total + by; times-- }
	:: else -> break
	od;
	done++
}
init {
	byte v, w, i; Pair p; bit b; unsigned u : 3; short s; mtype m = green;
	byte list[3];
	sorted!!3,30; sorted!!1,10; sorted!!2,20;
	sorted?<v,w>;
	printf("%d %d %d\n", v, w, len(sorted));
	sorted??2,w;
	printf("%d %d\n", w, (sorted??[3,w] -> 1 : 0));
	run Adder(2, 10); run Adder(-1, 5);
	done == 2;
	printf("total %d\n", total);
again:
	if
	:: i < 3 -> list[i] = i * i; i++; goto again
	:: else
	fi;
	b = 3; u = 13; s = 70000; v = 300;
	printf("%d %d %d %d %d\n", list[2], b, u, s, v);
	p.a = 3; p.b = -7; pairs!p; p.a = 0;
	pairs?p;
	printf("%d %d %e\n", p.a, p.b, m);
	atomic { run Taker(); hands!9 };
	done == 3
}
proctype Taker() { byte v; hands?v; printf("hand %d\n", v); done++ }
"#;
    let (printed, _) = run("everything", text);
    assert_eq!(printed, "1 10 3\n20 1\ntotal 22\n4 1 5 4464 44\n3 -7 1\nhand 9\n");
}

#[test]
fn what_has_no_translation_is_an_error() {
    let errors = made("byte x;\nactive proctype P() { { x = 1 } unless { x == 2 } }").expect_err("wrong");
    assert!(errors.iter().any(|error| error.contains("no translation")), "{errors:?}");
    assert!(made("byte x;\nactive proctype P() provided (x > 0) { x = 1 }").is_err());
}

#[test]
fn indices_and_late_declarations_mean_what_they_mean_in_the_model() {
    let text = r#"
typedef S { byte f[3] };
byte x = 1, list[3];
S s[2];
chan q = [2] of { byte, byte };
active proctype P() {
	byte round;
	list[x] = list[x] + 5;
	list[list[x] - 3] = x;
	s[x].f[x + 1] = 7;
	q!list[x],s[list[0] + 1].f[2];
	q?list[x - 1],s[x - 1].f[x];
	printf("%d %d %d %d\n", list[0], list[1], list[2], s[0].f[1]);
	do
	:: round < 2 ->
		byte inner = round + 3;
		inner++;
		byte zero;
		zero++;
		printf("%d %d\n", inner, zero);
		round++
	:: else -> break
	od;
	byte late = round;
	printf("%d\n", late)
}
"#;
    let (printed, _) = run("indices", text);
    assert_eq!(printed, "5 5 1 7\n4 1\n5 1\n2\n");
}

/// Other processes wait for one that has failed; the program ends, and says where it has failed.
#[test]
fn a_violation_ends_the_program_with_its_place() {
    let cases = [
        ("assertion", "x = 3;\n assert(x < 2)", "model.pch:4:2: violated: assert(x < 2)"),
        ("index", "list[x + 5] = 1", "model.pch:3:2: this statement has failed"),
        ("division", "x = 4 / x", "model.pch:3:2: this statement has failed"),
        ("guard", "if :: 4 / x > 1 -> skip :: else fi", "model.pch:3:8: this statement has failed"),
        ("condition", "c_code [ world.lock().globals.x == 1 ] { }", "model.pch:3:2: violated: the condition of this piece"),
        ("piece", "c_code_IS { let none: Option<u8> = None; none.unwrap(); }", "model.pch:3:2: this statement has failed"),
    ];
    for (name, body, said) in cases {
        let text = format!(
            "int x, list[2];\nactive proctype P() {{\n {body}\n}}\nactive proctype Q() {{ x == 9 }}\nactive proctype R() {{ x == 9 }}\n"
        );
        let (out, trace) = outcome(&format!("fails-{name}"), &text);
        let errors = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{name}: {errors}");
        assert!(errors.contains(said), "{name}: {errors}");
        let place: Vec<&str> = said.split(':').collect();
        assert_eq!(trace.lines().last(), Some(&*format!("fail 1 {} {}", place[1], place[2])), "{name}: {trace}");
    }
}

#[test]
fn a_program_in_which_all_wait_ends() {
    let text = |label: &str| {
        format!(
            "byte x;\nactive proctype P() {{ x = 1;\n{label}: x == 2 }}\nactive proctype Q() {{ x == 1;\n{label}: do :: x == 3 -> skip od }}\n"
        )
    };
    let (out, _) = outcome("deadlock", &text("stay"));
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.code() == Some(1) && said.contains("every process waits for another one"), "{said}");
    let (out, _) = outcome("ends", &text("end_here"));
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    // One that waits for a time limit, or in a piece, is not stuck.
    let text = "byte x;\nactive proctype P() { x == 1 }\nactive proctype Q() { timeout -> x = 1 }\n\
                active proctype R() { c_code_IS { std::thread::sleep(std::time::Duration::from_millis(300)); } }\n";
    assert_eq!(outcome("limit", text).0.status.code(), Some(0));
}

/// Numbers count from 0 in the order of the text, and one is used again when those after it have
/// ended.
#[test]
fn processes_have_the_numbers_of_the_model() {
    let body = "atomic { printf(\"%d\\n\", _pid); turn++ }";
    let text = format!(
        "byte turn;\nactive [2] proctype P() {{ turn == _pid; {body} }}\ninit {{ turn == 2; {body}; turn == 4; printf(\"%d\\n\", _nr_pr); \
         _nr_pr == 3; run S(); run S(); _nr_pr == 3; printf(\"end\\n\") }}\nactive proctype R() {{ turn == _pid; {body}; turn == 5 }}\n\
         proctype S() {{ atomic {{ printf(\"%d\\n\", _pid); turn = 5 }} }}\n"
    );
    let text =
        text.replace("turn == 4; printf(\"%d\\n\", _nr_pr); _nr_pr == 3;", "turn == 4; printf(\"%d\\n\", _nr_pr); turn = 5; _nr_pr == 3;");
    let (printed, _) = run("numbers", &text);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(&lines[..4], ["0", "1", "2", "3"], "{printed}");
    assert_eq!(lines[4], "4", "those that have ended are counted while one after them exists: {printed}");
    assert_eq!(lines.last(), Some(&"end"), "{printed}");
    let (printed, _) = run("alone", "active [2] proctype P() { printf(\"%d\\n\", _pid) }");
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0", "1"]);
}
