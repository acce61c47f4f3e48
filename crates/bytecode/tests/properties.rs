//! Atoms and properties: their text form, their binary form, and the verifier's rules for them.

use bytecode::asm::assemble;
use bytecode::{
    Addr, AtomId, BinaryOp, EdgeLabel, Event, FileIndex, FormulaNode, Label, LabelKind, LocalId, Mode, Op, Origin, Program, PropertyBody,
    UnaryOp, VerifyErrorKind as Kind, testing, verify,
};
use source::SourceMap;

const TEXT: &str = r#"
global byte x
channel q = [2] of { byte, byte }

process P() {
    STEP N
at: accept
    STEP T
}

atom small {
    LDG x
    LDC 3
    LT
    RET
}

atom 'P[0]@at' {
    LDC 0
    AT P.at
    JMPZ @no
    LDC 1
    JMP @end
@no: LDC 0
@end: RET
}

atom queue {
    LDC q
    RET
}

ltl bounded {
    formula "[] (small -> X 'P[0]@at')"
}

never claim {
    .line "m.pml" 7 3 "never { ... }"
    state first
    state second accept progress
    edge first, first
    edge first, second when small rank 1 atomic
    .line "m.pml" 9 1 "else -> skip"
    edge second, first else rank 1
    exit second assert 'P[0]@at'
}

notrace order {
    state only end
    edge only, only send queue(small, .)
    exit only receive queue(., .)
}

start P
"#;

fn read(text: &str) -> Result<Program, Vec<String>> {
    let mut map = SourceMap::new();
    let file = map.add("test.epa", text);
    assemble(&map, file)
        .map_err(|errors| errors.into_iter().map(|error| format!("{}: {}", map.snippet(error.span), error.message)).collect())
}

fn good() -> Program {
    read(TEXT).expect("a good program")
}

fn broken(change: impl FnOnce(&mut Program)) -> (Kind, &'static str) {
    let mut program = good();
    change(&mut program);
    let error = verify(program).expect_err("the program breaks a rule");
    (error.kind.clone(), error.rule())
}

#[test]
fn properties_are_read_as_they_are_meant() {
    let program = good();
    assert!(verify(program.clone()).is_ok());
    let names: Vec<&str> = program.atoms.iter().map(|atom| atom.name.as_str()).collect();
    assert_eq!(names, ["small", "P[0]@at", "queue"]);
    assert_eq!(program.code_of_atom(AtomId(0)), 2..6);
    assert_eq!((program.process_at(Addr(2)), program.atom_at(Addr(2)), program.atom_at(Addr(1))), (None, Some(AtomId(0)), None));
    assert_eq!(program.span_at(Addr(3)).map(|span| span.text.as_str()), Some("LDC 3"));
    let [bounded, claim, order] = program.properties.as_slice() else { panic!("three properties") };
    let PropertyBody::Ltl(formula) = &bounded.kind else { panic!("a formula") };
    let (small, at) = (FormulaNode::Atom(AtomId(0)), FormulaNode::Atom(AtomId(1)));
    let next = FormulaNode::Unary(UnaryOp::Next);
    assert_eq!(formula.0, [small, at, next, FormulaNode::Binary(BinaryOp::Implies), FormulaNode::Unary(UnaryOp::Always)]);
    assert_eq!(bounded.origin.as_ref().map(|origin| (origin.line, origin.text.as_str())), Some((33, "bounded")));
    assert_eq!(claim.origin.as_ref().map(|origin| (origin.line, origin.column)), Some((7, 3)));
    let automaton = claim.kind.automaton().expect("an automaton");
    assert_eq!(automaton.states[1].kind, LabelKind { end: false, progress: true, accept: true });
    let labels: Vec<_> = automaton.edges.iter().map(|edge| (&edge.label, edge.target, edge.rank, edge.atomic)).collect();
    assert_eq!(labels[1], (&EdgeLabel::When(AtomId(0)), Some(1), 1, true));
    assert_eq!(labels[3], (&EdgeLabel::Assert(AtomId(1)), None, 0, false));
    assert_eq!(automaton.edges[2].origin.as_ref().map(|origin| origin.line), Some(9));
    let event = Event { channel: AtomId(2), fields: vec![Some(AtomId(0)), None] };
    assert_eq!(order.kind.automaton().expect("an automaton").edges[0].label, EdgeLabel::Send(event));
}

#[test]
fn properties_survive_both_forms() {
    let program = good();
    testing::check_binary(&program);
    testing::check_text(&program, &bytecode::asm::disassemble(&program));
    // Old files have no atoms and no properties.
    let plain = read("process P() {\nSTEP T\n}\nstart P\n").expect("a good program");
    testing::check_binary(&plain);
}

#[test]
fn mistakes_in_the_text_have_a_place() {
    let errors = |text: &str| read(text).expect_err("an error");
    assert_eq!(errors("ltl p {\nformula \"[] q\"\n}\n"), ["\"[] q\": no atom is called `q` (byte 3 of the formula)"]);
    assert_eq!(errors("ltl p {\n}\n"), ["p: a property without a formula"]);
    assert_eq!(errors("never p {\n}\n"), ["p: an automaton without states"]);
    assert_eq!(errors("never p {\nstate s\nedge s, t\n}\n"), ["t: no state is called `t`"]);
    assert_eq!(errors("never p {\nstate s\nstate s\n}\n"), ["s: there is another state called `s`"]);
    assert_eq!(errors("never p {\nstate s\nexit s when a\n}\n"), ["a: no atom is called `a`"]);
    assert_eq!(errors("never p {\nformula \"true\"\nstate s\n}\n"), ["p: an automaton has no formula"]);
    assert_eq!(errors("ltl p {\nedges\n}\n"), ["edges: `edges` does not begin a line of a property"]);
    assert_eq!(errors("ltl p {\nformula \"true\"\n}\nltl p {\nformula \"true\"\n}\n"), ["p: there is another property called `p`"]);
    assert_eq!(errors("atom a {\n}\n"), ["a: an atom without instructions"]);
    assert_eq!(
        errors("atom a {\nlocal byte x\nend: LDC 1\nRET\n}\n"),
        ["x: an atom has no local variables", "end: an atom has no label but those with `@`"]
    );
    assert_eq!(errors("atom a {\nLDL x\nRET\n}\n"), ["x: no local variable is called `x`"]);
    assert_eq!(errors("atom a {\natom b {\nLDC 1\nRET\n}\n"), ["a: an atom without instructions", "atom: an atom inside an atom"]);
    assert_eq!(errors("ltl p {\n"), ["ltl: this property is not closed", "p: a property without a formula"]);
}

#[test]
fn atoms_only_compute_a_value() {
    for op in [
        Op::Step { mode: Mode::Normal },
        Op::Nex {},
        Op::Pid {},
        Op::Ldl { var: LocalId(0) },
        Op::Stg { var: bytecode::GlobalId(0) },
        Op::Ndet { target: Addr(4) },
        Op::Call { target: Addr(4) },
        Op::Send { fields: 2 },
        Op::Assert {},
        // Backwards.
        Op::Jmp { target: Addr(2) },
    ] {
        assert_eq!(broken(|program| program.code[3] = op), (Kind::NotInAtom, "V-ATOM"), "{op:?}");
    }
    assert_eq!(broken(|program| program.code[3] = Op::Drop {}).1, "V-STACK");
    assert_eq!(broken(|program| program.code[4] = Op::Lnot {}), (Kind::AtomValue { depth: 2 }, "V-ATOM"));
    assert_eq!(broken(|program| program.code[4] = Op::Jmp { target: Addr(8) }).1, "V-JUMP");
    assert_eq!(broken(|program| program.code[5] = Op::Lnot {}).1, "V-JUMP");
    assert_eq!(broken(|program| program.code[3] = Op::Add {}).1, "V-STACK");
    assert_eq!(broken(|program| program.atoms[1].start = Addr(2)).1, "V-ATOM");
    assert_eq!(broken(|program| program.atoms[2].start = Addr(99)).1, "V-ATOM");
    assert_eq!(broken(|program| program.atoms[0].start = Addr(0)).1, "V-TABLES");
    assert_eq!(broken(|program| program.atoms[1].name = "small".to_owned()).1, "V-TABLES");
    let label = Label { name: "x".to_owned(), addr: Addr(4), kind: LabelKind::default() };
    assert_eq!(broken(|program| program.labels.push(label)).1, "V-TABLES");
}

#[test]
fn properties_name_what_exists() {
    fn automaton(program: &mut Program, index: usize) -> &mut bytecode::Automaton {
        match &mut program.properties[index].kind {
            PropertyBody::Never(automaton) | PropertyBody::Trace(automaton) | PropertyBody::Notrace(automaton) => automaton,
            PropertyBody::Ltl(_) => panic!("an automaton"),
        }
    }
    let property = |change: fn(&mut Program)| assert_eq!(broken(change).1, "V-PROPERTY");
    property(|program| program.properties[0].kind = PropertyBody::Ltl(bytecode::Formula(vec![])));
    property(|program| program.properties[0].kind = PropertyBody::Ltl(bytecode::Formula(vec![FormulaNode::Atom(AtomId(3))])));
    property(|program| automaton(program, 1).edges[0].target = Some(2));
    property(|program| automaton(program, 1).edges[0].source = 2);
    property(|program| automaton(program, 1).edges[0].label = EdgeLabel::When(AtomId(3)));
    property(|program| automaton(program, 1).states.clear());
    property(|program| {
        let event = automaton(program, 2).edges[0].label.clone();
        automaton(program, 1).edges[0].label = event;
    });
    property(|program| automaton(program, 2).edges[0].label = EdgeLabel::When(AtomId(0)));
    property(|program| automaton(program, 2).edges[0].label = EdgeLabel::Send(Event { channel: AtomId(2), fields: vec![] }));
    let tables = |change: fn(&mut Program)| assert_eq!(broken(change).1, "V-TABLES");
    tables(|program| program.properties[1].name = "order".to_owned());
    tables(|program| automaton(program, 1).states[1].name = "first".to_owned());
    tables(|program| program.properties[0].origin = Some(Origin { file: FileIndex(9), line: 1, column: 1, text: String::new() }));
    tables(|program| automaton(program, 1).edges[2].origin.as_mut().expect("an origin").file = FileIndex(9));
}
