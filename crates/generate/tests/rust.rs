//! Programs in Rust: generated, built with the compiler that builds this test, and run.

mod common;

use common::Folder;
use promela::NoFiles;
use source::SourceMap;
use std::process::Command;

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
    assert!(out.status.success(), "{name}: {}", String::from_utf8_lossy(&out.stderr));
    (String::from_utf8_lossy(&out.stdout).into_owned(), std::fs::read_to_string(folder.0.join("trace")).unwrap_or_default())
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
