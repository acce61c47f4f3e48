//! Section 3: instructions that compute, load, store and jump.

use super::{Bench, Case, Verdict, case};

pub(super) const CASES: &[Case] = &[
    case!("I-LDC" => constants),
    case!("I-LDV" "I-STV" => scalars),
    case!("I-LDX" => elements_are_loaded),
    case!("I-STX" => elements_are_stored),
    case!("I-LDR" => locals_of_other_processes),
    case!("I-LDR" => elements_of_other_processes),
    case!("I-CHK" => indices_are_checked),
    case!("I-PUSH" "I-POP" "I-DROP" => registers_and_the_stack),
    case!("I-OP" => operators),
    case!("I-DIV" => division),
    case!("I-OVERFLOW" => results_that_fit),
    case!("I-RANGE" => ranges),
    case!("I-SHIFT" => shifts),
    case!("I-CMP" => comparisons),
    case!("I-JMP" "I-JMPZ" => jumps),
    case!("I-CALL" "I-RET" => subroutines),
    case!("I-ASSERT" => assertions),
    case!("I-PRINT" => printing_changes_nothing),
];

fn constants(b: &Bench<'_>) -> Verdict {
    b.computes(&[
        ("LDC 0", "0"),
        ("LDC -1", "-1"),
        ("LDC 70000", "70000"),
        ("LDC 2147483647", "2147483647"),
        ("LDC -2147483648", "-2147483648"),
    ])
}

fn scalars(b: &Bench<'_>) -> Verdict {
    let text = "global int x = 5 | global int y = 6 | global short z
        process p() {
            local int u = 7 | local byte v = 8
            LDG x | LDG y | STG x | STG y
            LDL u | LDL v | STL u | STL v
            LDC 259 | STL v
            LDL u | LDL v | ADD | STG z
            STEP N
            LDL v | STG z | STEP N | NEX
        }
        start p, p";
    b.expect(text, "x y z", "0:6,5,11 1:6,5,11")?;
    // A local belongs to its process alone.
    b.expect_after(text, &[0], "z", "0:3 1:11")
}

fn elements_are_loaded(b: &Bench<'_>) -> Verdict {
    for (declare, load) in [("global", "LDGX"), ("local", "LDLX")] {
        for (index, expected) in [(0, "4"), (1, "5"), (2, "6"), (3, "!Index"), (-1, "!Index"), (i32::MAX, "!Index"), (i32::MIN, "!Index")] {
            let (global, local) =
                if declare == "global" { ("global byte a[3] = {4, 5, 6}", "") } else { ("", "local byte a[3] = {4, 5, 6}") };
            let text = format!(
                "global int out | {global}
                 process p() {{ | {local} | LDC {index} | {load} a | STG out | STEP N | NEX | }}
                 start p"
            );
            b.expect(&text, "out", &format!("0:{expected}"))?;
        }
    }
    // A scalar is an array of one.
    b.expect("global byte a = 4 | global int out | process p() { | LDC 0 | LDGX a | STG out | STEP N | NEX | } | start p", "out", "0:4")?;
    b.expect(
        "global byte a = 4 | global int out | process p() { | LDC 1 | LDGX a | STG out | STEP N | NEX | } | start p",
        "out",
        "0:!Index",
    )
}

fn elements_are_stored(b: &Bench<'_>) -> Verdict {
    // The index is on top, the value below it.
    let global = |index: i32| {
        format!("global byte a[3] = {{4, 5, 6}} | process p() {{ | LDC 1 | LDC {index} | STGX a | STEP N | NEX | }} | start p")
    };
    for (index, expected) in [(0, "0:1/5/6"), (1, "0:4/1/6"), (2, "0:4/5/1"), (3, "0:!Index"), (-1, "0:!Index"), (i32::MIN, "0:!Index")] {
        b.expect(&global(index), "a", expected)?;
    }
    let local = |index: i32| {
        format!(
            "global int out
             process p() {{ | local byte a[2] | LDC 257 | LDC {index} | STLX a | LDC 0 | LDLX a | LDC 1 | LDLX a | SUB | STG out | STEP N | NEX | }}
             start p"
        )
    };
    for (index, expected) in [(0, "0:1"), (1, "0:-1"), (2, "0:!Index")] {
        b.expect(&local(index), "out", expected)?;
    }
    Ok(())
}

fn locals_of_other_processes(b: &Bench<'_>) -> Verdict {
    let text = |number: i32| {
        format!(
            "global int out
             process p() {{ | local int u = 3 | local int v = 4 | LDC {number} | LDR q.w | STG out | STEP N | NEX | }}
             process q() {{ | local int u = 5 | local int w = 6 | NEX | }}
             start p, q"
        )
    };
    // Process 0 has another type, and processes 2 and -1 do not exist.
    for (number, expected) in [(0, "0:0"), (1, "0:6"), (2, "0:0"), (-1, "0:0"), (255, "0:0")] {
        b.expect(&text(number), "out", expected)?;
    }
    Ok(())
}

fn elements_of_other_processes(b: &Bench<'_>) -> Verdict {
    let text = |number: i32, index: i32| {
        format!(
            "global int out
             process p() {{ | local int a[3] = 7 | LDC {number} | LDC {index} | LDRX q.a | STG out | STEP N | NEX | }}
             process q() {{ | local int a[2] = {{5, 6}} | NEX | }}
             start p, q"
        )
    };
    for (number, index, expected) in [
        (1, 0, "0:5"),
        (1, 1, "0:6"),
        (1, 2, "0:!Index"),
        (1, -1, "0:!Index"),
        (0, 1, "0:0"),
        (0, 2, "0:!Index"),
        (7, 1, "0:0"),
        (7, 2, "0:!Index"),
        (-1, -1, "0:!Index"),
    ] {
        b.expect(&text(number, index), "out", expected)?;
    }
    Ok(())
}

fn indices_are_checked(b: &Bench<'_>) -> Verdict {
    b.computes(&[
        ("LDC 0 | CHK 3", "0"),
        ("LDC 2 | CHK 3", "2"),
        ("LDC 3 | CHK 3", "!Index"),
        ("LDC -1 | CHK 3", "!Index"),
        ("LDC 0 | CHK 0", "!Index"),
        ("LDC 2147483647 | CHK 4294967295", "2147483647"),
    ])
}

fn registers_and_the_stack(b: &Bench<'_>) -> Verdict {
    b.computes(&[
        // A register keeps its value when it is pushed.
        ("LDC 5 | POP r3 | PUSH r3 | PUSH r3 | ADD", "10"),
        ("LDC 5 | POP r0 | LDC 6 | POP r0 | PUSH r0", "6"),
        // POP takes the value off the stack.
        ("LDC 5 | LDC 6 | POP r1", "5"),
        ("LDC 5 | LDC 6 | DROP", "5"),
        ("LDC 5 | LDC 6 | LDC 7 | DROP | SUB", "-1"),
    ])
}

fn operators(b: &Bench<'_>) -> Verdict {
    b.computes(&[
        ("LDC 2147483647 | LDC 1 | ADD", "-2147483648"),
        ("LDC 7 | LDC 5 | ADD", "12"),
        ("LDC 7 | LDC 5 | SUB", "2"),
        ("LDC -2147483648 | LDC 1 | SUB", "2147483647"),
        ("LDC -3 | LDC 5 | MUL", "-15"),
        ("LDC 65536 | LDC 65537 | MUL", "65536"),
        ("LDC 12 | LDC 10 | AND", "8"),
        ("LDC 12 | LDC 10 | OR", "14"),
        ("LDC 12 | LDC 10 | XOR", "6"),
        ("LDC -1 | LDC 255 | AND", "255"),
        ("LDC 5 | NEG", "-5"),
        ("LDC -2147483648 | NEG", "-2147483648"),
        ("LDC 5 | NOT", "-6"),
        ("LDC 5 | LNOT", "0"),
        ("LDC 0 | LNOT", "1"),
        ("LDC -1 | LNOT", "0"),
    ])
}

fn division(b: &Bench<'_>) -> Verdict {
    b.computes(&[
        ("LDC 7 | LDC 2 | DIV", "3"),
        ("LDC -7 | LDC 2 | DIV", "-3"),
        ("LDC 7 | LDC -2 | DIV", "-3"),
        ("LDC -7 | LDC -2 | DIV", "3"),
        ("LDC 7 | LDC 2 | MOD", "1"),
        ("LDC -7 | LDC 2 | MOD", "-1"),
        ("LDC 7 | LDC -2 | MOD", "1"),
        ("LDC -7 | LDC -2 | MOD", "-1"),
        ("LDC -2147483648 | LDC -1 | DIV", "-2147483648"),
        ("LDC -2147483648 | LDC -1 | MOD", "0"),
        ("LDC 7 | LDC 0 | DIV", "!Division"),
        ("LDC 0 | LDC 0 | MOD", "!Division"),
    ])
}

fn results_that_fit(b: &Bench<'_>) -> Verdict {
    b.computes(&[
        ("LDC 2147483646 | LDC 1 | ADDV", "2147483647"),
        ("LDC 2147483647 | LDC 1 | ADDV", "!Overflow"),
        ("LDC -2147483648 | LDC -1 | ADDV", "!Overflow"),
        ("LDC -5 | LDC 3 | SUBV", "-8"),
        ("LDC -2147483648 | LDC 1 | SUBV", "!Overflow"),
        ("LDC 0 | LDC -2147483648 | SUBV", "!Overflow"),
        ("LDC 46340 | LDC 46340 | MULV", "2147395600"),
        ("LDC 65536 | LDC 65536 | MULV", "!Overflow"),
        ("LDC -2147483648 | LDC -1 | MULV", "!Overflow"),
        // The values of these are not known before they run.
        ("NRPR | LDC 2147483647 | ADDV", "!Overflow"),
        ("NRPR | LDC 2147483646 | ADDV", "2147483647"),
        ("PID | LDC -2147483648 | SUBV", "!Overflow"),
        ("NRPR | LDC 2147483647 | MULV", "2147483647"),
        ("NRPR | LDC 1 | ADD | LDC 1073741824 | MULV", "!Overflow"),
    ])
}

fn ranges(b: &Bench<'_>) -> Verdict {
    b.computes(&[
        ("LDC 127 | RANGE -128, 127", "127"),
        ("LDC -128 | RANGE -128, 127", "-128"),
        ("LDC 128 | RANGE -128, 127", "!Overflow"),
        ("LDC -129 | RANGE -128, 127", "!Overflow"),
        ("NRPR | RANGE 1, 1", "1"),
        ("NRPR | RANGE 2, 7", "!Overflow"),
        ("NRPR | RANGE 0, 0", "!Overflow"),
        ("NRPR | RANGE 1, 0", "!Overflow"),
    ])
}

fn shifts(b: &Bench<'_>) -> Verdict {
    b.computes(&[
        ("LDC 3 | LDC 2 | SHL", "12"),
        ("LDC 3 | LDC 31 | SHL", "-2147483648"),
        ("LDC 3 | LDC 32 | SHL", "3"),
        ("LDC 3 | LDC 33 | SHL", "6"),
        ("LDC 3 | LDC -31 | SHL", "6"),
        ("LDC 12 | LDC 2 | SHR", "3"),
        ("LDC -12 | LDC 2 | SHR", "-3"),
        ("LDC -1 | LDC 31 | SHR", "-1"),
        ("LDC 12 | LDC 34 | SHR", "3"),
        ("LDC -12 | LDC -1 | SHR", "-1"),
    ])
}

fn comparisons(b: &Bench<'_>) -> Verdict {
    let results = [("EQ", [0, 1, 0]), ("NE", [1, 0, 1]), ("LT", [1, 0, 0]), ("LE", [1, 1, 0]), ("GT", [0, 0, 1]), ("GE", [0, 1, 1])];
    for (op, [less, equal, greater]) in results {
        for (u, v, expected) in [(-1, 1, less), (3, 4, less), (i32::MIN, i32::MAX, less), (4, 4, equal), (-4, -4, equal), (1, -1, greater)]
        {
            b.computes(&[(&format!("LDC {u} | LDC {v} | {op}"), &expected.to_string())])?;
        }
    }
    Ok(())
}

fn jumps(b: &Bench<'_>) -> Verdict {
    b.computes(&[
        ("LDC 7 | JMP a | b: LDC 1 | JMP c | a: LDC 2 | c: LDC 3 | ADD | ADD", "12"),
        ("LDC 7 | JMP a | b: LDC 1 | JMP c | a: JMP b | c: LDC 3 | ADD | ADD", "11"),
        ("LDC 9 | LDC 0 | JMPZ a | DROP | LDC 1 | a: LDC 0 | ADD", "9"),
        ("LDC 9 | LDC 5 | JMPZ a | DROP | LDC 1 | a: LDC 0 | ADD", "1"),
        ("LDC 9 | LDC 0 | JMPNZ a | DROP | LDC 1 | a: LDC 0 | ADD", "1"),
        ("LDC 9 | LDC -1 | JMPNZ a | DROP | LDC 1 | a: LDC 0 | ADD", "9"),
    ])
}

fn subroutines(b: &Bench<'_>) -> Verdict {
    // A subroutine returns to the instruction after its call, wherever it was called.
    let text = "global int x
        process p() {
            CALL twice | LDG x | LDC 1 | ADD | STG x | CALL twice | STEP N | NEX
        twice: CALL once | CALL once | RET
        once: LDG x | LDC 2 | MUL | LDC 1 | ADD | STG x | RET
        }
        start p";
    // 0 → 1 → 3, plus 1, 4 → 9 → 19.
    b.expect(text, "x", "0:19")?;
    // Values of the caller are below the return address.
    let text = "global int x
        process p() { | LDC 5 | CALL f | PUSH r0 | ADD | STG x | STEP N | NEX | f: NDET other | LDC 1 | POP r0 | RET | other: LDC 2 | POP r0 | RET | }
        start p";
    b.expect(text, "x", "0:6 0:7")
}

fn assertions(b: &Bench<'_>) -> Verdict {
    let text = |value: i32| {
        format!("global int x | process p() {{ | LDC 4 | STG x | LDC {value} | ASSERT | LDC 5 | STG x | STEP N | NEX | }} | start p")
    };
    b.expect(&text(1), "x", "0:5")?;
    b.expect(&text(-1), "x", "0:5")?;
    b.expect(&text(0), "x", "0:5!Assertion")
}

fn printing_changes_nothing(b: &Bench<'_>) -> Verdict {
    b.computes(&[("LDC 5 | LDC 6 | LDC 7 | PRINT \"%d and %d\", 2", "5"), ("LDC 5 | PRINT \"nothing\", 0", "5")])?;
    // Not even if it is tried and taken back.
    b.expect("global int x | process p() { | ELSE a | PRINT \"lost\", 0 | NEX | a: LDC 1 | STG x | STEP N | NEX | } | start p", "x", "0:1")
}
