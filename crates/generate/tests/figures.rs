//! The figures of the thesis, with misprints corrected, and the rules that it states.

mod common;

use common::{Folder, generate, has, output, with_comments};
use std::process::Command;

fn made(text: &str) -> common::Made {
    generate(text).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// Asserts that the parts occur in the text in this order.
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => panic!("{part:?} is missing, in this order, in\n{text}"),
        }
    }
}

#[test]
fn figure_4_names_of_messages() {
    let text = "mtype = { const1, const2, const3 };\nmtype = { const4, const5 };\nmtype = { const6, const7, const8 };\ninit { skip }";
    let wanted = "enum mtype { const3 = 1, const2, const1, const5, const4, const8, const7, const6 };";
    assert!(made(text).file("init.h").contains(wanted));
}

#[test]
fn figure_5_a_process_type_is_a_program() {
    let made = made("proctype A() { skip; }\ninit { run A() }");
    in_order(made.file("A.c"), &["int main(int argc, char *argv[])", "skip", "return ep_finish();"]);
    assert!(made.file("Makefile").contains("all: A init"));
}

#[test]
fn figure_6_parameters_come_from_the_command_line() {
    let text = "proctype add(int x; int y) { int z; z = x + y; printf(\"%d\\n\", z) }\ninit { run add(2, 3) }";
    let program = made(text);
    let wanted = [
        "/* Parameters: */",
        "int x;",
        "x = ep_argument(0);",
        "y = ep_argument(1);",
        "/* Declarations: */",
        "int z = 0;",
        "/* Statements: */",
        "z = x + y;",
    ];
    in_order(program.file("add.c"), &wanted);
    if has("cc") && has("make") {
        let folder = Folder::new("add");
        folder.write(&program);
        folder.make();
        // As a program of its own, or started by `init`.
        assert_eq!(String::from_utf8_lossy(&folder.run("add", &["20", "30"]).stdout), "50\n");
        assert_eq!(String::from_utf8_lossy(&folder.run("init", &[]).stdout), "5\n");
    }
}

#[test]
fn figure_7_active_processes() {
    let text = "active proctype A(int x; int y) { printf(\"Active A!\\n\") }\nactive [4] proctype B() { printf(\"Active B!\\n\") }";
    let made = made(text);
    let wanted = ["ep_active(\"A\", 2, (int[]) { 0, 0 });", "for (int i = 0; i < 4; i++)", "ep_active(\"B\", 0, NULL);"];
    in_order(made.file("init.c"), &wanted);
    if let Some(printed) = output("active", text) {
        assert_eq!(printed.matches("Active A!").count(), 1);
        assert_eq!(printed.matches("Active B!").count(), 4);
    }
}

#[test]
fn figure_8_types() {
    let text = "typedef T { bit a; bool b; byte c; short d; int e; byte f[3] };\nproctype P() { T t; t.a = 1 }\ninit { run P() }";
    let wanted = [
        "typedef struct T {",
        "unsigned char a;",
        "unsigned char b;",
        "unsigned char c;",
        "short int d;",
        "int e;",
        "unsigned char f[3];",
        "} T;",
    ];
    in_order(made(text).file("init.h"), &wanted);
}

#[test]
fn figures_9_to_12_selections() {
    let body = |selection: &str| {
        let text = format!("active proctype P() {{ int x, y; {selection} }}");
        made(&text).flat("P.c").split("/* Statements: */").nth(1).unwrap_or_default().to_owned()
    };
    // Without `else` the process waits until an option is executable.
    let text = body("if :: x > 1 -> y = 1 :: y > 2 -> y = 2 fi");
    in_order(&text, &["while (1) {", "if (x > 1) {", "y = 1; break;", "} else if (y > 2) {", "y = 2; break;", "} else {", "ep_wait();"]);
    let text = body("if :: x > 1 -> y = 1 :: else -> y = 2 fi");
    in_order(&text, &["if (x > 1) {", "y = 1;", "} else {", "y = 2;"]);
    assert!(!text.contains("while"));
    let text = body("if :: x == 1 -> y = 1 :: x == 2 -> y = 2 fi");
    let wanted = [
        "while (1) {",
        "switch (x) {",
        "case 1:",
        "y = 1;",
        "goto selection1_end;",
        "case 2:",
        "y = 2;",
        "goto selection1_end;",
        "ep_wait();",
        "selection1_end:",
    ];
    in_order(&text, &wanted);
    let text = body("if :: x == 1 -> y = 1 :: x == 2 -> y = 2 :: else -> y = 3 fi");
    in_order(&text, &["switch (x) {", "case 1:", "y = 1;", "break;", "case 2:", "y = 2;", "break;", "default:", "y = 3;"]);
    assert!(!text.contains("while"));
}

#[test]
fn figures_13_and_14_repetitions() {
    let text = "active proctype P() { int i, j; do :: (i == 0) -> if :: (j == 0) -> printf(\"(0, 0)\"); j = 1 \
                :: (j == 1) -> printf(\"(0, 1)\"); j = 7 :: else -> printf(\"invalid\"); break; fi od }";
    let program = made(text).flat("P.c");
    let wanted = [
        "while (1) {",
        "if (i == 0) {",
        "switch (j) {",
        "case 0:",
        "(0, 0)",
        "break;",
        "case 1:",
        "(0, 1)",
        "default:",
        "invalid",
        "goto selection1_end;",
        "selection1_end:;",
    ];
    in_order(&program, &wanted);
    if let Some(printed) = output("repetition", text) {
        assert_eq!(printed, "(0, 0)(0, 1)invalid");
    }
    let text = "active proctype P() { byte i; do :: i < 3 -> i++ :: else -> break od; printf(\"%d\\n\", i) }";
    in_order(&made(text).flat("P.c"), &["if (i < 3) {", "} else {", "break;"]);
    assert_eq!(output("counting", text).as_deref().unwrap_or("3\n"), "3\n");
}

const FIGURE_15: &str = "env proctype rand_ms(chan res)\n{ if :: res!0 :: res!1 fi }\n#define RAND(var) \\\npromela_MS { \\\n   run rand_ms(res); \\\n   res?var; \\\n}; \\\n\
c_code_IS{var = rand()%4;};\nactive proctype A()\n{ int x;\n  promela_MS {\n  chan res = [1] of {int};\n  }\n  do :: true -> RAND(x); printf(\"%d\\n\", x); assert(x <= 1) od }\n";

#[test]
fn figure_15_a_function_and_its_abstraction() {
    let made = made(FIGURE_15);
    let model = made.promela.split_whitespace().collect::<Vec<_>>().join(" ");
    in_order(
        &model,
        &["proctype rand_ms", "active proctype A()", "int x;", "chan res = [1] of {int};", "run rand_ms(res);", "res?", "x", "printf"],
    );
    assert!(
        !model.contains("promela_MS") && !model.contains("env ") && !model.contains("c_code_IS") && !model.contains("#define"),
        "{model}"
    );
    in_order(&made.flat("A.c"), &["int x = 0;", "while (1) {", "x = rand()%4;", "printf(\"%d\\n\""]);
    assert!(!made.file("A.c").contains("chan res") && !made.files.iter().any(|(name, _)| name == "rand_ms.c"));
    // Both sides change `x`, so there is no warning here; a trace shows that the values differ.
    assert!(made.mapping.is_empty(), "{:?}", made.mapping);
}

#[test]
fn statements_keep_their_lines() {
    let text = "byte x;\n\nc_decl_IS {\n  int hidden;\n}\nactive proctype P()\n{\n  x = 1;\n  c_code_IS {\n    hidden = 2;\n  };\n  x = 2 /* a remark */\n}\n";
    let made = with_comments(text, true).expect("right");
    let line = |wanted: &str| made.promela.lines().position(|line| line.contains(wanted)).map(|at| at + 1);
    assert_eq!((line("x = 1"), line("x = 2"), line("proctype")), (Some(8), Some(12), Some(6)));
    assert!(!made.promela.contains("hidden") && made.promela.contains("/* a remark */"));
    assert!(!generate(text).expect("right").promela.contains("remark"));
}

/// Whether SPIN accepts a model. It writes its files into the folder.
fn spin_accepts(folder: &Folder, name: &str, text: &str) -> Result<(), String> {
    std::fs::write(folder.0.join(name), text).expect("a file");
    let out = Command::new("spin").args(["-a", name]).current_dir(&folder.0).output().expect("spin");
    if out.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&out.stdout).into_owned()) }
}

#[test]
fn spin_accepts_the_model() {
    if !has("spin") {
        testkit::passed_over("no SPIN");
        return;
    }
    let folder = Folder::new("spin");
    for (name, text) in [("figure 15", FIGURE_15), ("figure 24", FIGURE_24)] {
        let model = made(text).promela;
        spin_accepts(&folder, "model.prom", &model).unwrap_or_else(|said| panic!("{name}: {said}\n{model}"));
    }
    for path in ["examples/abp/altbit.pch", "examples/ftpd/ftpd.pch"] {
        let model = made(&std::fs::read_to_string(common::root().join(path)).expect("an example")).promela;
        spin_accepts(&folder, "model.prom", &model).unwrap_or_else(|said| panic!("{path}: {said}"));
    }
}

/// The model of a text that has no pieces of a program is the text itself, as far as SPIN sees.
#[test]
fn spin_accepts_what_is_left_of_every_model_that_it_accepts() {
    if !has("spin") {
        testkit::passed_over("no SPIN");
        return;
    }
    let folder = Folder::new("spin-models");
    let (mut accepted, mut refused) = (0, Vec::new());
    let folders = std::fs::read_dir(common::root().join("models/promela")).expect("models").flatten();
    let files = folders.filter_map(|inner| std::fs::read_dir(inner.path()).ok()).flat_map(|files| files.flatten());
    let mut files: Vec<_> = files.map(|file| file.path()).collect();
    files.sort();
    for path in files.iter().filter(|path| path.extension().is_some_and(|ending| ending == "pml")) {
        let text = std::fs::read_to_string(path).expect("a model");
        // Other files are not there.
        if text.contains("#include") {
            continue;
        }
        let mut map = source::SourceMap::new();
        let file = map.add("model.pml", &*text);
        let (hybrid, found) = promela::hybrid(&mut map, file, &mut promela::NoFiles, &[], false);
        let left = hybrid.map(|hybrid| hybrid.promela).ok_or_else(|| format!("{found:?}"));
        match left.and_then(|left| spin_accepts(&folder, "left.prom", &left)) {
            Ok(()) => accepted += 1,
            Err(_) if spin_accepts(&folder, "given.pml", &text).is_err() => {}
            Err(said) => refused.push(format!("{}: {said}", path.display())),
        }
    }
    assert!(refused.is_empty(), "{} of {} are refused:\n{}", refused.len(), refused.len() + accepted, refused.join("\n"));
    assert!(accepted >= 150, "{accepted}");
}

/// The alternating bit protocol of figures 22 and 24, with the macros of the thesis. A new message
/// has a new number; a message that is sent again has the old one.
const FIGURE_24: &str = r#"mtype = { STATE6, STATE5, STATE4, STATE3, STATE2, STATE1 };
typedef Msg { c_decl_IS { long type; }; bit altbit; byte data; byte checksum };
typedef Ack { c_decl_IS { long type; }; bit altbit };
#define SEND(CHAN,MSG,SIZE)\
promela_MS{CHAN!MSG;};\
c_code_IS{_ipc_mq_snd(CHAN,&MSG,SIZE,1);};
#define RECV(CHAN,MSG,SIZE)\
promela_MS{CHAN?MSG;};\
c_code_IS{_ipc_mq_rcv(CHAN,&MSG,SIZE,0,1);};
c_decl_IS {
\#include <fcntl.h>
\#include <sys/stat.h>
\#include <unistd.h>
static int _ipc_mq(int queue)
{
	static int open_queues[256];
	char name[16];
	if (!open_queues[queue]) {
		snprintf(name, sizeof name, "queue%d", queue);
		mkfifo(name, 0600);
		open_queues[queue] = open(name, O_RDWR);
	}
	return open_queues[queue];
}
static void _ipc_mq_snd(int queue, const void *message, size_t size, int block)
{
	if (block && write(_ipc_mq(queue), message, size) != (ssize_t) size)
		abort();
}
static void _ipc_mq_rcv(int queue, void *message, size_t size, long type, int block)
{
	if (block && type == 0 && read(_ipc_mq(queue), message, size) != (ssize_t) size)
		abort();
}
};
chan AtoB = [1] of { Msg };
chan BtoA = [1] of { Ack };
proctype A(chan in, out) {
	mtype state = STATE1;
	Msg msg;
	Ack ack;
	do
	:: state == STATE1 -> msg.altbit = 0; msg.data++; SEND(out,msg,sizeof(Msg)) state = STATE2
	:: state == STATE2 -> RECV(in,ack,sizeof(Ack))
		if :: ack.altbit == 0 -> state = STATE3 :: ack.altbit == 1 -> state = STATE4 fi
	:: state == STATE3 -> msg.altbit = 1; msg.data++; SEND(out,msg,sizeof(Msg)) state = STATE5
	:: state == STATE4 -> SEND(out,msg,sizeof(Msg)) state = STATE2
	:: state == STATE5 -> RECV(in,ack,sizeof(Ack))
		if :: ack.altbit == 1 -> state = STATE1 :: ack.altbit == 0 -> state = STATE6 fi
	:: state == STATE6 -> SEND(out,msg,sizeof(Msg)) state = STATE5
	od
}
proctype B(chan in, out) {
	mtype state = STATE1;
	Msg msg;
	Ack ack;
	do
	:: state == STATE1 -> RECV(in,msg,sizeof(Msg))
		if :: msg.altbit == 0 -> state = STATE2 :: msg.altbit == 1 -> state = STATE3 fi
	:: state == STATE2 -> ack.altbit = 0; SEND(out,ack,sizeof(Ack)) state = STATE4
	:: state == STATE3 -> ack.altbit = 1; SEND(out,ack,sizeof(Ack)) state = STATE1
	:: state == STATE4 -> RECV(in,msg,sizeof(Msg))
		if :: msg.altbit == 1 -> state = STATE5 :: msg.altbit == 0 -> state = STATE6 fi
	:: state == STATE5 -> ack.altbit = 1; SEND(out,ack,sizeof(Ack)) state = STATE1
	:: state == STATE6 -> ack.altbit = 0; SEND(out,ack,sizeof(Ack)) state = STATE4
	od
}
init { atomic { run A(BtoA, AtoB); run B(AtoB, BtoA) } }
"#;

/// The figure shows the first four states. Its comparisons of one variable are a `switch` here, and
/// a value that no option has waits, as in the model.
#[test]
fn figure_24_macros_of_a_piece_for_each_side() {
    let made = made(FIGURE_24);
    let model = made.promela.split_whitespace().collect::<Vec<_>>().join(" ");
    in_order(&model, &["typedef Msg {", "bit altbit; byte data; byte checksum", "msg.data++;", "out ! msg", "state = STATE2", "in ? ack"]);
    assert!(!model.contains("_ipc") && !model.contains("type;") && !model.contains("SEND"), "{model}");
    // Spaces are where the macros have them.
    in_order(
        &made.flat("A.c").replace(' ', ""),
        &[
            "while(1){",
            "switch(state){",
            "caseSTATE1:",
            "msg.altbit=(0)&1;",
            "msg.data=msg.data+1;",
            "_ipc_mq_snd(out,&msg,sizeof(Msg),1);",
            "state=STATE2;",
            "caseSTATE2:",
            "_ipc_mq_rcv(in,&ack,sizeof(Ack),0,1);",
            "switch(ack.altbit){",
            "case0:",
            "state=STATE3;",
            "case1:",
            "state=STATE4;",
            "caseSTATE3:",
            "msg.altbit=(1)&1;",
            "msg.data=msg.data+1;",
            "_ipc_mq_snd(out,&msg,sizeof(Msg),1);",
            "state=STATE5;",
            "caseSTATE4:",
            "_ipc_mq_snd(out,&msg,sizeof(Msg),1);",
            "state=STATE2;",
            "caseSTATE5:",
        ],
    );
    in_order(made.file("init.h"), &["long type;", "altbit;", "data;", "checksum;"]);
    assert!(!made.file("A.c").contains("ep_try_"), "the pieces replace the channels");
}

/// Figure 25 shows the steps of the program beside the chart of the model: A sends 0, B answers 0,
/// A sends 1, B answers 1, and so on.
#[test]
fn figure_25_the_trace_of_the_program_is_the_chart_of_the_model() {
    if !common::builds() {
        return;
    }
    let folder = Folder::new("figure-25");
    folder.write(&made(FIGURE_24));
    folder.make();
    let mut run = Command::new("timeout");
    let _ = run.args(["0.5", "./init"]).env("EP_TRACE", "trace").current_dir(&folder.0).status().expect("the program");
    let trace = std::fs::read_to_string(folder.0.join("trace")).expect("the trace");
    // The line and the column of the first statement of an option.
    let place = |process: &str, state: &str| {
        let option = format!(":: state == {state}");
        let from = FIGURE_24.find(process).expect("a process");
        let at = from + FIGURE_24[from..].find(&option).expect("an option") + 3;
        let line = FIGURE_24[..at].rfind('\n').map_or(0, |end| end + 1);
        format!("{} {}", FIGURE_24[..at].matches('\n').count() + 1, at - line + 1)
    };
    // The options that send.
    let chart = [
        (place("proctype A", "STATE1"), "A sends 0"),
        (place("proctype B", "STATE2"), "B answers 0"),
        (place("proctype A", "STATE3"), "A sends 1"),
        (place("proctype B", "STATE5"), "B answers 1"),
    ];
    let steps = || trace.lines().filter_map(|line| line.strip_prefix("step ")?.split_once(' ')).map(|(_, place)| place);
    let sent: Vec<&str> = steps().filter_map(|at| chart.iter().find(|(place, _)| place == at).map(|(_, what)| *what)).collect();
    assert!(sent.len() > 8, "{sent:?}");
    // The signal may come between any two of them.
    for (number, what) in sent.iter().enumerate() {
        assert_eq!(*what, chart[number % 4].1, "{number}: {:?}", &sent[..=number]);
    }
    // States 4 and 6 of A, and 3 and 6 of B, are for messages that are lost or damaged.
    for (process, state) in [("proctype A", "STATE4"), ("proctype A", "STATE6"), ("proctype B", "STATE3"), ("proctype B", "STATE6")] {
        assert!(!steps().any(|at| at == place(process, state)), "{process} {state}");
    }
}

#[test]
fn mistakes_are_all_reported_and_nothing_is_made() {
    let found = generate("active proctype P() { byte x; x = ; }\nactive proctype Q() { y + ; }").err().expect("wrong");
    assert_eq!(found.len(), 2, "{found:?}");
    let found = generate("byte x;\nactive proctype P() provided (x > 0) { { x = 1 } unless { x == 2 } }").err().expect("wrong");
    assert!(found.iter().any(|m| m.contains("`provided`")) && found.iter().any(|m| m.contains("`unless`")), "{found:?}");
    assert!(
        generate("active proctype P() { skip; promela_MS { x = ; } }").is_ok(),
        "the model's own mistakes are found when it is checked"
    );
}

#[test]
fn a_variable_that_one_side_alone_changes_is_warned_of() {
    let text = "byte x, y;\nactive proctype P() {\n  c_code_IS { x = 1; };\n  promela_MS { y = 2 };\n  c_code_IS { y = 2; };\n  promela_MS { x = 3 };\n  c_code_IS { other(); }\n}";
    let found: Vec<String> = made(text).mapping.iter().map(|d| d.message.clone()).collect();
    assert_eq!(found, ["the program changes `x` here, and the model does not", "the model changes `x` here, and the program does not"]);
    // A variable of C has nothing to do with one of the model in another process.
    let text = "active proctype P() { byte x; x = 1 }\nactive proctype Q() { c_decl_IS { int x; }; c_code_IS { x = 2; }; skip }";
    assert!(made(text).mapping.is_empty(), "{:?}", made(text).mapping);
    // Nor has a field that only the program has.
    let text = "typedef M { c_decl_IS { long stamp[2]; }; byte kind }\nM m[2];\n\
                active proctype P() { c_code_IS { m[1].stamp[0] = 7; }; c_code_IS { m[0].kind = 1; } }";
    assert_eq!(made(text).mapping.len(), 1, "{:?}", made(text).mapping);
}

#[test]
fn an_inline_at_the_beginning_of_an_option_is_its_guard() {
    let text = "inline step(v) { v > 0 -> v-- }\ninline twice(v) { step(v); step(v) }\n\
                active proctype P() { byte n = 5, k; do :: twice(n); k++ :: n <= 1 -> break od; printf(\"%d %d\\n\", n, k) }";
    in_order(&made(text).flat("P.c"), &["if (n > 0) {", "n = n - 1;"]);
    // The first option is taken while it can be: at 1 it waits in its second half.
    if let Some(printed) = output("inline", &text.replace("n = 5", "n = 4")) {
        assert_eq!(printed, "0 2\n");
    }
    let found = generate("inline f(v) { f(v) }\nactive proctype P() { byte n; f(n) }").err().expect("recursion");
    assert!(!found.is_empty());
}

#[test]
fn declarations_are_at_the_beginning() {
    let text = "active proctype P() { byte a = 2; a = a + 1; byte b = 4; a = a + b; printf(\"%d\\n\", a) }";
    in_order(&made(text).flat("P.c"), &["unsigned char a = 0;", "unsigned char b = 0;", "b = 4;", "/* Statements: */", "a = a + 1;"]);
    assert_eq!(output("hoisted", text).as_deref().unwrap_or("7\n"), "7\n");
}

#[test]
fn of_two_options_the_first_is_taken() {
    let text = "active proctype P() { byte x = 3, y; if :: x > 1 -> y = 1 :: x > 2 -> y = 2 fi; \
                if :: x > 9 -> y = y + 10 :: x > 2 -> y = y + 20 :: x > 1 -> y = y + 30 fi; printf(\"%d\\n\", y) }";
    assert_eq!(output("two-guards", text).as_deref().unwrap_or("21\n"), "21\n");
}

#[test]
fn a_conditional_expression_is_that_of_c() {
    let text = "active proctype P() { byte x = 3, y; y = (x > 2 -> x + 1 : x - 1); printf(\"%d\\n\", (y == 4 -> 7 : 8)) }";
    assert!(made(text).flat("P.c").contains("y = ((x > 2) ? (x + 1) : (x - 1));"), "{}", made(text).flat("P.c"));
    assert_eq!(output("conditional", text).as_deref().unwrap_or("7\n"), "7\n");
}
