//! The text form: its meaning, its error messages, and that printing and reading are inverse.

use bytecode::asm::{assemble, disassemble};
use bytecode::{
    Addr, ChannelTypeId, FieldMask, FormatId, GlobalId, LabelKind, LocalId, MessageField, Mode, Op, ProcessId, Program, Receive, Register,
    Shown, Type, VerifyErrorKind, verify,
};
use source::{Diagnostic, SourceMap, render};

fn read(text: &str) -> Result<Program, (SourceMap, Vec<Diagnostic>)> {
    let mut map = SourceMap::new();
    let file = map.add("dir/test.epa", text);
    assemble(&map, file).map_err(|errors| (map, errors))
}

fn good(text: &str) -> Program {
    read(text).unwrap_or_else(|(map, errors)| panic!("{}", errors.iter().map(|e| render(&map, e)).collect::<String>()))
}

/// The text that each error points at; the empty string at the end of a line.
fn places(text: &str) -> Vec<String> {
    let (map, errors) = read(text).expect_err("an error");
    errors.iter().map(|e| map.snippet(e.span).to_owned()).collect()
}

fn hints(text: &str) -> Vec<String> {
    let (_, errors) = read(text).expect_err("an error");
    errors.into_iter().map(|e| e.hint.unwrap_or_default()).collect()
}

const EVERYTHING: &str = r#"
program "All of it"     ; every declaration and every kind of operand
symbol red = 1, green = -2
symbol 'light blue' = 0xffffffff
global byte fork[3] = 1
global short s = -3
global scratch bool b
global unsigned:5 u[2] = {red, 3}
global chan q = work
global int as symbol color = green
chantype pair = [2] of { byte, int as symbol }
channel work : pair
channel sync = [0] of { chan, pid, mtype }
format "unused\n"

process P(byte i, scratch chan c = 2) priority 3 {
    local int n = 0
    local bit row[4] = {0, 1, 0, 1}
.prologue
    LDC 7
    STL n
    RET
.entry
top: end accept
again: progress
    ldc green
    LDC sync
    DROP
    DROP
    NDET @2
    NDET other
    JMP top
@2: LDL i
    LDLX row
    LDG s
    STGX fork
    STEP A
other:
    LDC -1
    LDRX P.row
    LDC 'light blue'
    LDR P.n
    CHK 5
    POP r31
    PUSH r31
    AT Q.@wait
    RUN 0, Q
    CHNEW pair
    DROP
    DROP
    DROP
    LDC work
    LDC 1
    RECV 2, {1}, peek-any
    LDC work
    RECV 2, {}, first
    LDC work
    LDC 1
    LDC 2
    POLL 2, {0, 1}, any
    PRINT "n = %d\n", 1
    CALL sub
    STEP T
sub: RET
}

process Q() {
@wait: STEP D
    STEP T
}

start P, Q, P
"#;

#[test]
fn every_construct_means_what_it_should() {
    let p = good(EVERYTHING);
    assert_eq!(p.name, "All of it");
    assert_eq!(p.symbols, [(1, "red".to_owned()), (-2, "green".to_owned()), (-1, "light blue".to_owned())]);
    assert_eq!((p.globals[0].length, p.globals[0].init.as_slice(), p.globals[0].ty), (Some(3), &[1][..], Type::Byte));
    assert_eq!((p.globals[2].scratch, p.globals[2].ty, p.globals[2].shown), (true, Type::Bit, Shown::Bool));
    assert_eq!((p.globals[3].ty, p.globals[3].init.as_slice()), (Type::Unsigned(5), &[1, 3][..]));
    assert_eq!((p.globals[4].shown, p.globals[4].init.as_slice()), (Shown::Channel, &[1][..]));
    assert_eq!((p.globals[5].ty, p.globals[5].shown, p.globals[5].init[0]), (Type::Int, Shown::Symbol, -2));
    assert_eq!(p.channel_types[0].fields[1], MessageField { ty: Type::Int, shown: Shown::Symbol });
    assert_eq!((p.channel_types[1].name.as_str(), p.channel_types[1].capacity), ("sync", 0));
    assert_eq!(p.channels[1].ty, ChannelTypeId(1));
    assert_eq!(p.formats, ["unused\n", "n = %d\n"]);
    assert_eq!(p.instances, [ProcessId(0), ProcessId(1), ProcessId(0)]);

    let process = &p.processes[0];
    assert_eq!((process.params, process.priority, process.locals.len()), (2, 3, 4));
    assert_eq!((process.start, process.prologue, process.entry), (Addr(0), Some(Addr(0)), Addr(3)));
    assert_eq!(process.locals[1].init, [2]);
    let top = &p.labels[0];
    assert_eq!((top.name.as_str(), top.addr, top.kind), ("top", Addr(3), LabelKind { end: true, progress: false, accept: true }));
    assert_eq!((p.labels[1].name.as_str(), p.labels[1].kind.progress), ("again", true));
    assert_eq!(p.labels.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(), ["top", "again", "other", "sub"]);

    assert_eq!(p.code[3], Op::Ldc { value: -2 });
    assert_eq!(p.code[4], Op::Ldc { value: 2 });
    assert_eq!(p.code[7], Op::Ndet { target: Addr(10) });
    assert_eq!(p.code[8], Op::Ndet { target: Addr(15) });
    assert_eq!(p.code[9], Op::Jmp { target: Addr(3) });
    assert_eq!(p.code[13], Op::Stgx { var: GlobalId(0) });
    assert_eq!(p.code[14], Op::Step { mode: Mode::Atomic });
    assert_eq!(p.code[16], Op::Ldrx { var: (ProcessId(0), LocalId(3)) });
    assert_eq!(p.code[20], Op::Pop { reg: Register(31) });
    assert_eq!(p.code[22], Op::At { place: (ProcessId(1), p.processes[1].start) });
    assert!(p.code.contains(&Op::Recv { fields: 2, mask: FieldMask(2), how: Receive::PeekAny }));
    assert!(p.code.contains(&Op::Poll { fields: 2, mask: FieldMask(3), how: Receive::Any }));
    assert!(p.code.contains(&Op::Print { format: FormatId(1), args: 1 }));
}

#[test]
fn printing_and_reading_are_inverse() {
    let p = good(EVERYTHING);
    let text = disassemble(&p);
    assert_eq!(good(&text), p, "{text}");
    let empty = good("");
    assert_eq!(empty.name, "test");
    assert_eq!(good(&disassemble(&empty)), empty);
}

#[test]
fn positions_are_those_of_the_assembly() {
    let p = good("process P() {\na: LDC 1 ; push it\n   DROP\n   ;: leave\n   STEP N\n   JMP a\n}\n");
    let spans: Vec<_> = p.spans.iter().map(|s| (s.addr.0, s.line, s.column, s.text.as_str())).collect();
    assert_eq!(spans, [(0, 2, 4, "LDC 1"), (1, 3, 4, "DROP"), (2, 4, 7, "leave")]);
    assert_eq!(p.files, ["dir/test.epa"]);
    assert_eq!(p.name, "test");
}

#[test]
fn positions_can_be_given() {
    let text = "process P() {\n.line \"a.pml\" 3 1 \"x = 1\"\nLDC 1\nDROP ;: drop it\n.line \"b.pml\" 4 2 \"end\"\nSTEP T\n}\n";
    let read = |text| {
        let p = good(text);
        let spans = p.spans.iter().map(|s| (s.addr.0, p.files[s.file.index()].clone(), s.line, s.text.clone()));
        spans.map(|(a, f, l, t)| format!("{a} {f}:{l} {t}")).collect::<Vec<_>>()
    };
    assert_eq!(read(text), ["0 a.pml:3 x = 1", "1 dir/test.epa:4 drop it", "2 b.pml:4 end"]);
    let explicit = format!(".positions explicit\n{text}");
    assert_eq!(read(&explicit), ["0 a.pml:3 x = 1", "2 b.pml:4 end"]);
    assert!(read(".positions explicit\nprocess P() {\nSTEP T\n}\n").is_empty());
}

#[test]
fn formats_are_told_apart() {
    let text = "format \"a\"\nformat \"a\"\nprocess P() {\nPRINT 1, 0\nPRINT \"a\", 0\nPRINT \"b\", 0\nSTEP T\n}\n";
    let p = good(text);
    assert_eq!(p.formats, ["a", "a", "b"]);
    let used: Vec<u16> = p.code.iter().filter_map(|op| if let Op::Print { format, .. } = op { Some(format.0) } else { None }).collect();
    assert_eq!(used, [1, 0, 2]);
    assert_eq!(good(&disassemble(&p)), p);
}

#[test]
fn every_mistake_is_reported_where_it_is() {
    let text = "
globl byte x
global bite y
symbol a
channel c
process P(byte) {
}
";
    assert_eq!(places(text), ["globl", "bite", "", "", ")"]);
    let text = "
global byte x
symbol x2 = 1
symbol x2 = 2
process P(byte i) {
    local byte i
    LDX x
    LDG i
    LDL x
    LDC y
    LDC 5000000000
    LDG 5
    LDG
    ADD 1
    RUN 1 P
    RUN 1, R
    JMP nowhere
    PUSH r32
    STEP X
    RECV 1, {32}, first
    RECV 1, {0}, second
    PRINT 3, 1
    AT P.end
    LDR P,i
end:
}
start Q
";
    assert_eq!(
        places(text),
        [
            "x2",
            "i",
            "LDX",
            "i",
            "x",
            "y",
            "5000000000",
            "5",
            "",
            "1",
            "P",
            "R",
            "nowhere",
            "r32",
            "X",
            "32",
            "second",
            "3",
            ",",
            "end",
            "Q"
        ]
    );
}

#[test]
fn hints_help() {
    assert_eq!(hints("globl byte x\n"), ["did you mean `global`?"]);
    assert_eq!(hints("process P() {\nSTPE T\n}\n"), ["did you mean `STEP`?"]);
    assert!(hints("LDC 1\n")[0].contains("process"));
    assert!(hints("process P() {\nglobal byte x\n}\n")[0].contains("local"));
    let text = "global byte total\nprocess P(byte index) {\nLDG index\nLDL total\nLDG totl\nLDC total\nSTEP T\n}\n";
    let hints = hints(text);
    assert!(hints[0].contains("local variable") && hints[1].contains("global variable"), "{hints:?}");
    assert_eq!(hints[2], "did you mean `total`?");
    assert!(hints[3].contains("LDG"));
}

#[test]
fn a_broken_declaration_does_not_echo() {
    assert_eq!(places("global bite x\nprocess P() {\nLDG x\nSTEP T\n}\n"), ["bite"]);
    assert_eq!(places("process P( {\nLDG x\nSTEP T\n}\nstart P\n"), ["{"]);
}

#[test]
fn processes_open_and_close() {
    assert_eq!(places("process P() {\nSTEP T\n"), ["process"]);
    assert_eq!(places("process P() {\nSTEP T\nprocess Q() {\nSTEP T\n}\n"), ["process"]);
    assert_eq!(places("process P() {\n}\n"), ["P"]);
    assert_eq!(places("process P() {\nSTEP T\n}\n}\n"), ["}"]);
    // The word can be used as a label.
    assert_eq!(good("process P() {\nprocess: local: STEP N\nJMP process\n}\n").labels.len(), 2);
}

#[test]
fn labels_need_instructions_and_are_unique() {
    assert_eq!(places("process P() {\nSTEP T\nx:\n}\n"), ["x"]);
    assert_eq!(places("process P() {\nSTEP T\n;: nothing\n}\n"), ["nothing"]);
    assert_eq!(places("process P() {\nx: STEP N\nx: STEP T\n}\n"), ["x"]);
    assert_eq!(places("process P() {\n@x: end\nSTEP T\n}\n"), ["end"]);
    assert_eq!(places("process P() {\n.entry\n.entry\nSTEP T\n}\n"), ["entry"]);
    // A name with `@` is a different name.
    assert_eq!(good("process P() {\nx: @x: STEP N\nJMP @x\n}\n").labels.len(), 1);
}

#[test]
fn too_many_mistakes_are_not_all_told() {
    let text = format!("process P() {{\n{}}}\n", "LDG x\n".repeat(100_000));
    assert_eq!(places(&text).len(), 100);
}

#[test]
fn lines_may_end_as_they_like() {
    assert_eq!(good("process P() {\r\n  STEP T\r\n}\r\nstart P"), good("process P() {\n  STEP T\n}\nstart P\n"));
}

#[test]
fn what_the_verifier_says_points_into_the_assembly() {
    let text = "process P() {\n    LDC 1\n    STEP N\n    STEP T\n}\n";
    let mut map = SourceMap::new();
    let file = map.add("test.epa", text);
    let error = verify(assemble(&map, file).expect("well-formed")).expect_err("a value is left");
    assert_eq!(error.kind, VerifyErrorKind::AliveAtStep { depth: 1 });
    assert_eq!(map.snippet(error.diagnostic(&map).span), "STEP N");
}

#[test]
fn programs_that_break_rules_are_printed_too() {
    // No operand here refers to an existing entry.
    let mut p = good("process P() {\nSTEP T\n}\n");
    p.code = vec![
        Op::Ldg { var: GlobalId(9) },
        Op::Ldr { var: (ProcessId(7), LocalId(3)) },
        Op::Jmp { target: Addr(77) },
        Op::Chnew { ty: ChannelTypeId(5) },
        Op::Print { format: FormatId(5), args: 1 },
        Op::Run { args: 1, process: ProcessId(8) },
    ];
    p.instances = vec![ProcessId(4)];
    p.processes[0].params = 5;
    p.spans[0].file = bytecode::FileIndex(3);
    assert!(disassemble(&p).contains("LDG ?9"));
}

#[test]
fn the_example_of_the_document_is_a_program() {
    let document = include_str!("../../../docs/assembly.md");
    let block = document.split("```").nth(1).expect("a program between fences");
    // The first line names the language and the file.
    let (_, example) = block.split_once('\n').expect("a program after the first line");
    assert!(verify(good(example)).is_ok());
}
