//! The text form of step graphs.

use stepgraph::StepGraph;

fn check(assembly: &str, expected: &str) {
    let mut map = source::SourceMap::new();
    let file = map.add("golden.epa", assembly);
    let program = bytecode::asm::assemble(&map, file).expect("a good program");
    let verified = bytecode::verify(program).expect("a good program");
    let text = StepGraph::of(&verified).expect("a small program").to_text(&verified, true);
    let trim = |s: &str| s.lines().map(str::trim_end).filter(|l| !l.is_empty()).collect::<Vec<_>>().join("\n");
    assert_eq!(trim(&text), trim(expected), "the graph is:\n{text}");
}

#[test]
fn guards_and_effects() {
    check(
        "global byte x\nglobal byte a[3]\nprocess P(byte i) {\n LDG x\n LDC 3\n LT\n NEXZ\n LDG x\n LDL i\n STGX a\n LDG x\n LDC 1\n ADD\n STG x\n STEP N\n STEP T\n}\nstart P\n",
        "process P
  location 0
    when (x < 3)
    a[i] = x
    x = (x + 1)
    step N -> 1
    # @11: reads x i @; writes x a[*] @
  location 1
    step T -> end
    # @12: reads @ processes; writes @ processes
",
    );
}

#[test]
fn alternatives_and_else() {
    check(
        "global byte x\nprocess P() {\n ELSE other\n NDET two\n LDG x\n NEXZ\n LDC 0\n STG x\n STEP N\n JMP done\ntwo:\n LDG x\n LDC 2\n EQ\n NEXZ\n STEP N\n JMP done\nother:\n LDC 1\n STG x\n STEP N\ndone:\n STEP T\n}\nstart P\n",
        "process P
  location 0
    first
      choice
        when x
        x = 0
        step N -> 1
      or
        when (x == 2)
        step N -> 1
    else
      x = 1
      step N -> 1
    # @6: reads x @; writes x @
    # @12: reads x @; writes @
    # @16: reads x @; writes x @
  location 1
    step T -> end
    # @17: reads @ processes; writes @ processes
",
    );
}

#[test]
fn short_circuits_come_back_as_expressions() {
    check(
        "global byte x\nglobal byte y\nprocess P() {\n LDG x\n JMPZ no\n LDG y\n LDC 2\n GT\n JMP join\nno:\n LDC 0\njoin:\n NEXZ\n LDC 0\n STG x\n LDC 1\n STG y\n STEP N\n STEP T\n}\nstart P\n",
        "process P
  location 0
    when (x ? (y > 2) : 0)
    x = 0
    y = 1
    step N -> 1
    # @12: reads x y @; writes x y @
  location 1
    step T -> end
    # @13: reads @ processes; writes @ processes
",
    );
}

#[test]
fn what_a_store_would_change_is_kept_first() {
    check(
        "global byte x\nglobal byte y\nprocess P() {\n LDG y\n LDG x\n STG y\n STG x\n STEP N\n STEP T\n}\nstart P\n",
        "process P
  location 0
    let t0 = y
    y = x
    x = t0
    step N -> 1
    # @4: reads x y @; writes x y @
  location 1
    step T -> end
    # @5: reads @ processes; writes @ processes
",
    );
}
