//! Each rule of the verifier, violated by a program that violates nothing else.
//!
//! Every case starts from a program that passes, so that the error concerns the one change.

use bytecode::{
    Addr, ChannelType, ChannelTypeId, FieldMask, FileIndex, FormatId, GlobalId, Label, LabelKind, LayoutError, LocalId, MessageField, Mode,
    Op, ProcessId, ProcessType, Program, Receive, Register, Shown, Span, StaticChannel, Table, Type, Variable, VerifyError,
    VerifyErrorKind as Kind, verify,
};

const N: Op = Op::Step { mode: Mode::Normal };
const T: Op = Op::Step { mode: Mode::Terminate };

fn ldc(value: i32) -> Op {
    Op::Ldc { value }
}

fn jmp(target: u32) -> Op {
    Op::Jmp { target: Addr(target) }
}

fn jmpz(target: u32) -> Op {
    Op::Jmpz { target: Addr(target) }
}

fn ndet(target: u32) -> Op {
    Op::Ndet { target: Addr(target) }
}

fn call(target: u32) -> Op {
    Op::Call { target: Addr(target) }
}

fn push(reg: u8) -> Op {
    Op::Push { reg: Register(reg) }
}

fn pop(reg: u8) -> Op {
    Op::Pop { reg: Register(reg) }
}

fn process(name: &str, start: u32) -> ProcessType {
    ProcessType {
        name: name.to_owned(),
        params: 0,
        locals: vec![Variable::scalar("n", Type::Int), Variable::array("a", Type::Byte, 3)],
        start: Addr(start),
        entry: Addr(start),
        prologue: None,
        priority: 1,
    }
}

/// A program with one process type that has this code, and something in every table.
fn program(code: impl Into<Vec<Op>>) -> Program {
    let field = MessageField { ty: Type::Byte, shown: Shown::Number };
    Program {
        name: "test".to_owned(),
        globals: vec![Variable::scalar("x", Type::Byte), Variable::array("y", Type::Short, 4)],
        channel_types: vec![ChannelType { name: "ty".to_owned(), capacity: 2, fields: vec![field, field] }],
        channels: vec![StaticChannel { name: "c".to_owned(), ty: ChannelTypeId(0) }],
        processes: vec![process("P", 0)],
        instances: vec![ProcessId(0)],
        code: code.into(),
        labels: Vec::new(),
        spans: Vec::new(),
        files: vec!["f.epa".to_owned()],
        formats: vec!["x = %d\n".to_owned()],
        symbols: vec![(1, "red".to_owned())],
        atoms: Vec::new(),
        properties: Vec::new(),
    }
}

fn error(program: Program) -> VerifyError {
    verify(program).expect_err("the program breaks a rule")
}

/// The error of a program with this code, and its position.
fn wrong(code: impl Into<Vec<Op>>) -> (Kind, Option<u32>) {
    let error = error(program(code));
    (error.kind, error.addr.map(|a| a.0))
}

/// The error after a change of the tables.
fn tables(change: impl FnOnce(&mut Program)) -> Kind {
    let mut changed = program([N, T]);
    assert!(verify(changed.clone()).is_ok());
    change(&mut changed);
    let error = error(changed);
    assert_eq!(error.rule(), "V-TABLES");
    error.kind
}

fn label(name: &str, addr: u32) -> Label {
    Label { name: name.to_owned(), addr: Addr(addr), kind: LabelKind::default() }
}

fn span(addr: u32, file: u16) -> Span {
    Span { addr: Addr(addr), file: FileIndex(file), line: 3, column: 5, text: "x = 1".to_owned() }
}

#[test]
fn what_is_derived_from_a_good_program() {
    let verified = verify(program([ndet(5), ldc(1), ldc(2), Op::Add {}, pop(0), N, T, Op::Nex {}])).expect("good");
    assert_eq!(verified.max_stack(), 2);
    assert_eq!(verified.max_paths(), 2);
    assert!(verified.is_reachable(Addr(6)));
    assert!(!verified.is_reachable(Addr(7)));
    assert!(!verified.is_reachable(Addr(8)));
    assert_eq!(verified.locations().addresses(ProcessId(0)), [Addr(0), Addr(6)]);
    assert_eq!(verified.clone().into_program(), *verified.program());
    assert!(verify(Program::default()).is_ok(), "the empty program is valid");
}

// V-TABLES

#[test]
fn names_are_unique() {
    let duplicate = |table, name: &str| Kind::DuplicateName { table, name: name.to_owned() };
    assert_eq!(tables(|p| p.globals[1].name = "x".into()), duplicate(Table::Globals, "x"));
    assert_eq!(tables(|p| p.processes[0].locals[1].name = "n".into()), duplicate(Table::Locals, "n"));
    assert_eq!(tables(|p| p.channel_types.push(p.channel_types[0].clone())), duplicate(Table::ChannelTypes, "ty"));
    assert_eq!(tables(|p| p.channels.push(p.channels[0].clone())), duplicate(Table::Channels, "c"));
    assert_eq!(tables(|p| p.processes.push(process("P", 1))), duplicate(Table::Processes, "P"));
    assert_eq!(tables(|p| p.files.push("f.epa".into())), duplicate(Table::Files, "f.epa"));
    assert_eq!(tables(|p| p.symbols.push((2, "red".into()))), duplicate(Table::Symbols, "red"));
    assert_eq!(tables(|p| p.labels = vec![label("l", 0), label("l", 1)]), duplicate(Table::Labels, "l"));
    // Two process types may use the same labels.
    let mut two = program([N, T, N, T]);
    two.processes.push(process("Q", 2));
    two.labels = vec![label("l", 0), label("l", 2)];
    assert!(verify(two).is_ok());
}

#[test]
fn tables_have_limits() {
    assert_eq!(tables(|p| p.instances = vec![ProcessId(0); 256]), Kind::TooMany { table: Table::Instances, limit: 255 });
    let many = |n: usize| (0..n).map(|i| i.to_string());
    assert_eq!(
        tables(|p| p.channels = many(256).map(|name| StaticChannel { name, ty: ChannelTypeId(0) }).collect()),
        Kind::TooMany { table: Table::Channels, limit: 255 }
    );
    assert_eq!(
        tables(|p| {
            p.code = [N, T].repeat(255);
            p.processes = many(255).enumerate().map(|(i, name)| process(&name, 2 * i as u32)).collect();
        }),
        Kind::TooMany { table: Table::Processes, limit: 255 }
    );
    assert_eq!(tables(|p| p.code = vec![T; 1 << 24]), Kind::TooMany { table: Table::Code, limit: (1 << 24) - 1 });
}

#[test]
fn variables_are_well_formed() {
    let x = || "x".to_owned();
    assert_eq!(tables(|p| p.globals[0].ty = Type::Unsigned(0)), Kind::Width { name: x() });
    assert_eq!(tables(|p| p.globals[0].ty = Type::Unsigned(33)), Kind::Width { name: x() });
    assert_eq!(tables(|p| p.channel_types[0].fields[1].ty = Type::Unsigned(0)), Kind::Width { name: "ty".into() });
    assert_eq!(tables(|p| p.processes[0].locals[1].length = Some(0)), Kind::Length { name: "P.a".into() });
    assert_eq!(tables(|p| p.globals[1].length = Some((1 << 19) + 1)), Kind::Length { name: "y".into() });
    assert_eq!(tables(|p| p.globals[1].length = Some(u32::MAX)), Kind::Length { name: "y".into() });
    assert_eq!(tables(|p| p.globals[0].init = vec![256]), Kind::Initial { name: x() });
    assert_eq!(tables(|p| p.globals[0].init = vec![-1]), Kind::Initial { name: x() });
    assert_eq!(tables(|p| p.globals[1].init = vec![1, 2]), Kind::Initial { name: "y".into() });
    assert_eq!(tables(|p| p.globals[1].init = vec![1, 2, 3, 40_000]), Kind::Initial { name: "y".into() });
    let mut good = program([N, T]);
    good.globals[1].init = vec![1, 2, 3, -4];
    good.globals[0].init = vec![255];
    good.processes[0].locals[1].init = vec![7];
    assert!(verify(good).is_ok());
}

#[test]
fn channels_are_well_formed() {
    let ty = || "ty".to_owned();
    assert_eq!(tables(|p| p.channel_types[0].fields.clear()), Kind::Fields { name: ty() });
    assert_eq!(tables(|p| p.channel_types[0].fields = vec![p.channel_types[0].fields[0]; 33]), Kind::Fields { name: ty() });
    assert_eq!(tables(|p| p.channels[0].ty = ChannelTypeId(1)), Kind::Unknown { table: Table::ChannelTypes });
}

#[test]
fn process_types_share_the_code() {
    let range = |name: &str| Kind::CodeRange { process: name.to_owned() };
    assert_eq!(tables(|p| p.processes[0].start = Addr(1)), range("P"));
    assert_eq!(tables(|p| p.processes.push(process("Q", 0))), range("Q"));
    assert_eq!(tables(|p| p.processes.push(process("Q", 2))), range("Q"));
    assert_eq!(tables(|p| p.code.clear()), range("P"));
    assert_eq!(tables(|p| p.processes.clear()), range(""));
    let outside = || Kind::Outside { process: "P".to_owned() };
    assert_eq!(tables(|p| p.processes[0].entry = Addr(2)), outside());
    assert_eq!(tables(|p| p.processes[0].prologue = Some(Addr(2))), outside());
    assert_eq!(tables(|p| p.processes[0].priority = 0), Kind::Priority { process: "P".into() });
    assert_eq!(tables(|p| p.processes[0].params = 3), Kind::Parameters { process: "P".into() });
    assert_eq!(tables(|p| p.processes[0].params = 2), Kind::Parameters { process: "P".into() });
    assert_eq!(tables(|p| p.instances = vec![ProcessId(1)]), Kind::Unknown { table: Table::Processes });
}

#[test]
fn labels_and_positions_are_in_order() {
    let order = |table| Kind::Order { table };
    assert_eq!(tables(|p| p.labels = vec![label("a", 1), label("b", 0)]), order(Table::Labels));
    assert_eq!(tables(|p| p.labels = vec![label("a", 2)]), order(Table::Labels));
    assert_eq!(tables(|p| p.spans = vec![span(1, 0), span(0, 0)]), order(Table::Spans));
    assert_eq!(tables(|p| p.spans = vec![span(2, 0)]), order(Table::Spans));
    assert_eq!(tables(|p| p.spans = vec![span(1, 1)]), Kind::Unknown { table: Table::Files });
}

#[test]
fn operands_name_what_exists() {
    let unknown = |code: &[Op], table| assert_eq!(wrong(code), (Kind::Unknown { table }, Some(code.len() as u32 - 3)));
    unknown(&[Op::Ldg { var: GlobalId(2) }, Op::Drop {}, T], Table::Globals);
    unknown(&[ldc(0), Op::Stl { var: LocalId(2) }, N, T], Table::Locals);
    unknown(&[ldc(0), Op::Ldr { var: (ProcessId(1), LocalId(0)) }, Op::Drop {}, T], Table::Processes);
    unknown(&[ldc(0), Op::Ldr { var: (ProcessId(0), LocalId(2)) }, Op::Drop {}, T], Table::Locals);
    unknown(&[ldc(0), Op::At { place: (ProcessId(1), Addr(0)) }, Op::Drop {}, T], Table::Processes);
    unknown(&[ldc(0), Op::At { place: (ProcessId(0), Addr(4)) }, Op::Drop {}, T], Table::Code);
    unknown(&[ldc(0), pop(32), N, T], Table::Registers);
    unknown(&[Op::Run { args: 0, process: ProcessId(1) }, Op::Drop {}, T], Table::Processes);
    unknown(&[Op::Chnew { ty: ChannelTypeId(1) }, Op::Drop {}, T], Table::ChannelTypes);
    unknown(&[ldc(0), Op::Print { format: FormatId(1), args: 1 }, N, T], Table::Formats);
    // Code that is never executed is checked too.
    assert_eq!(wrong([T, Op::Ldg { var: GlobalId(2) }, Op::Nex {}]), (Kind::Unknown { table: Table::Globals }, Some(1)));
    // An address whose jumps form a cycle is not a location.
    assert_eq!(wrong([ldc(0), Op::At { place: (ProcessId(0), Addr(4)) }, Op::Drop {}, T, jmp(4)]), (Kind::NoLocation, Some(1)));
}

#[test]
fn operands_have_the_right_kind() {
    let array = |name: &str| Kind::NotScalar { name: name.to_owned() };
    assert_eq!(wrong([Op::Ldg { var: GlobalId(1) }, Op::Drop {}, T]), (array("y"), Some(0)));
    assert_eq!(wrong([ldc(1), Op::Stg { var: GlobalId(1) }, T]), (array("y"), Some(1)));
    assert_eq!(wrong([Op::Ldl { var: LocalId(1) }, Op::Drop {}, T]), (array("a"), Some(0)));
    assert_eq!(wrong([ldc(1), Op::Stl { var: LocalId(1) }, T]), (array("a"), Some(1)));
    assert_eq!(wrong([ldc(0), Op::Ldr { var: (ProcessId(0), LocalId(1)) }, Op::Drop {}, T]), (array("a"), Some(1)));
    // A scalar is an array of one.
    let code = [ldc(0), Op::Ldgx { var: GlobalId(0) }, ldc(0), Op::Ldrx { var: (ProcessId(0), LocalId(0)) }, Op::Drop {}, T];
    assert!(verify(program(code)).is_ok());

    let arguments = |expected, found| Kind::Arguments { expected, found };
    assert_eq!(wrong([ldc(0), Op::Run { args: 1, process: ProcessId(0) }, Op::Drop {}, T]), (arguments(0, 1), Some(1)));
    assert_eq!(wrong([Op::Print { format: FormatId(0), args: 0 }, T]), (arguments(1, 0), Some(0)));
    let mut unreadable = program([Op::Print { format: FormatId(0), args: 0 }, T]);
    unreadable.formats[0] = "100%".into();
    assert!(matches!(error(unreadable).kind, Kind::Format(_)));

    assert_eq!(wrong([ldc(1), Op::Send { fields: 0 }, T]), (Kind::FieldCount { count: 0 }, Some(1)));
    let send: Vec<Op> = [ldc(1)].repeat(34).into_iter().chain([Op::Sends { fields: 33 }, T]).collect();
    assert_eq!(wrong(send), (Kind::FieldCount { count: 33 }, Some(34)));
    let receive = |fields, mask| Op::Recv { fields, mask: FieldMask(mask), how: Receive::First };
    assert_eq!(wrong([ldc(1), ldc(1), receive(2, 4), T]), (Kind::Mask, Some(2)));
    let poll = Op::Poll { fields: 1, mask: FieldMask(2), how: Receive::Any };
    assert_eq!(wrong([ldc(1), ldc(1), poll, pop(0), T]), (Kind::Mask, Some(2)));
    assert!(verify(program([ldc(1), ldc(1), receive(2, 2), T])).is_ok());
}

#[test]
fn states_must_fit() {
    let large = |n: usize| (0..n).map(|i| Variable::array(i.to_string(), Type::Byte, 1 << 20)).collect::<Vec<_>>();
    assert_eq!(tables(|p| p.globals = large(2)), Kind::Layout(LayoutError::TooLarge));
    assert_eq!(tables(|p| p.processes[0].locals = large(1)), Kind::Layout(LayoutError::TooLarge));
    assert_eq!(tables(|p| p.code = [vec![N; 1 << 16], vec![T]].concat()), Kind::TooManyLocations { process: "P".into() });
    let mut just = program([vec![N; (1 << 16) - 1], vec![T]].concat());
    just.globals = large(1);
    just.channels.clear();
    assert!(verify(just).is_ok());
}

// V-JUMP

#[test]
fn jumps_stay_inside() {
    assert_eq!(wrong([ldc(0), jmpz(3), T]), (Kind::BadJump { target: Addr(3) }, Some(1)));
    let mut two = program([ndet(2), T, N, T]);
    two.processes.push(process("Q", 2));
    let error = error(two);
    assert_eq!((error.kind.clone(), error.rule()), (Kind::BadJump { target: Addr(2) }, "V-JUMP"));
}

#[test]
fn nothing_falls_through() {
    assert_eq!(wrong([T, N]), (Kind::FallsThrough, Some(1)));
    let mut two = program([T, ldc(1), T]);
    two.processes.push(process("Q", 2));
    assert_eq!(error(two).kind, Kind::FallsThrough);
    // A call at the end would return after it.
    assert_eq!(wrong([jmp(2), Op::Ret {}, call(1)]), (Kind::FallsThrough, Some(2)));
}

// V-STACK

#[test]
fn the_stack_neither_underflows_nor_overflows() {
    assert_eq!(wrong([ldc(1), Op::Add {}, Op::Drop {}, T]), (Kind::Underflow { needed: 2, found: 1 }, Some(1)));
    assert_eq!(wrong([Op::Drop {}, T]), (Kind::Underflow { needed: 1, found: 0 }, Some(0)));
    let deep = |n| [vec![ldc(1); n], vec![Op::Drop {}; n], vec![T]].concat();
    assert_eq!(verify(program(deep(256))).expect("just").max_stack(), 256);
    assert_eq!(wrong(deep(257)), (Kind::Overflow, Some(256)));
    // A return address counts as a value.
    let calls = |n: usize| {
        let sub = 2 * n as u32 + 2;
        [vec![ldc(1); n], vec![call(sub)], vec![Op::Drop {}; n], vec![T, Op::Ret {}]].concat()
    };
    assert_eq!(verify(program(calls(255))).expect("just").max_stack(), 256);
    assert_eq!(wrong(calls(256)), (Kind::Overflow, Some(256)));
    // Recursion grows the stack on every path.
    assert_eq!(wrong([call(0), T]), (Kind::Overflow, Some(0)));
}

#[test]
fn one_depth_at_each_instruction() {
    assert_eq!(wrong([ldc(0), jmpz(3), ldc(1), N, T]), (Kind::Depth { first: 0, second: 1 }, Some(3)));
    // The subroutine at 5 is called with one value below it, and with none: each call is a context
    // of its own.
    let code = [ldc(0), call(5), Op::Drop {}, call(5), T, ldc(1), Op::Drop {}, Op::Ret {}];
    assert!(verify(program(code)).is_ok());
}

#[test]
fn return_addresses_are_for_returns() {
    assert_eq!(wrong([Op::Ret {}]), (Kind::NoReturn, Some(0)));
    assert_eq!(wrong([ldc(1), Op::Ret {}]), (Kind::NoReturn, Some(1)));
    assert_eq!(wrong([call(2), T, ldc(1), Op::Ret {}]), (Kind::ReturnBuried { depth: 1 }, Some(3)));
    assert_eq!(wrong([call(2), T, Op::Drop {}, N, T]), (Kind::ReturnTaken, Some(2)));
    assert_eq!(wrong([ldc(1), call(3), T, Op::Drop {}, N, T]), (Kind::ReturnTaken, Some(3)));
}

#[test]
fn subroutines_in_too_many_contexts_are_refused() {
    // Each level calls the next one twice: 2^levels ways to reach the innermost.
    let levels = 40;
    let mut code = vec![call(2), T];
    for level in 1..=levels {
        let next = 2 + 3 * level;
        code.extend([call(next), call(next), Op::Ret {}]);
    }
    code.push(Op::Ret {});
    assert_eq!(wrong(code).0, Kind::TooManyContexts);
}

// V-ALIVE

#[test]
fn nothing_lies_on_the_stack_at_a_step() {
    assert_eq!(wrong([ldc(1), N, T]), (Kind::AliveAtStep { depth: 1 }, Some(1)));
    assert_eq!(wrong([ldc(1), T]), (Kind::AliveAtStep { depth: 1 }, Some(1)));
    assert_eq!(wrong([call(2), T, N, Op::Ret {}]), (Kind::AliveAtStep { depth: 1 }, Some(2)));
}

#[test]
fn registers_are_written_before_they_are_read() {
    let unwritten = |r| Kind::Unwritten { register: Register(r) };
    assert_eq!(wrong([push(3), Op::Drop {}, T]), (unwritten(3), Some(0)));
    // A write before the STEP does not count.
    assert_eq!(wrong([ldc(1), pop(0), N, push(0), Op::Drop {}, T]), (unwritten(0), Some(3)));
    // The register is written on one of two paths.
    assert_eq!(wrong([ndet(3), ldc(1), pop(31), push(31), Op::Drop {}, T]), (unwritten(31), Some(3)));
    // The same, with the other path first.
    assert_eq!(wrong([ndet(2), jmp(4), ldc(1), pop(0), push(0), Op::Drop {}, T]), (unwritten(0), Some(4)));
    let receive = Op::Recv { fields: 2, mask: FieldMask(0), how: Receive::First };
    assert!(verify(program([ldc(1), receive, push(0), push(1), Op::Drop {}, Op::Drop {}, T])).is_ok());
    assert_eq!(wrong([ldc(1), receive, push(2), Op::Drop {}, T]), (unwritten(2), Some(2)));
    // A subroutine may write for its caller.
    assert!(verify(program([call(4), push(7), Op::Drop {}, T, ldc(1), pop(7), Op::Ret {}])).is_ok());
}

// V-LOOP

#[test]
fn every_cycle_passes_a_step() {
    assert_eq!(wrong([jmp(0)]), (Kind::Loop, Some(0)));
    assert_eq!(wrong([N, ldc(1), jmpz(1), T]), (Kind::Loop, Some(2)));
    assert_eq!(wrong([ndet(2), T, jmp(0)]), (Kind::Loop, Some(2)));
    assert!(verify(program([N, jmp(0)])).is_ok());
    // A cycle that is never entered is not a cycle of a path.
    assert!(verify(program([N, T, jmp(2)])).is_ok());
}

// V-PATHS

#[test]
fn paths_are_counted() {
    // Each NDET doubles the number of paths through it, because both alternatives continue after
    // it.
    let doubling = |n: u32, op: fn(Addr) -> Op| -> Vec<Op> { (0..n).map(|i| op(Addr(i + 1))).chain([N, T]).collect() };
    let ways = |target| Op::Ndet { target };
    assert_eq!(verify(program(doubling(16, ways))).expect("just").max_paths(), 1 << 16);
    assert_eq!(wrong(doubling(17, ways)).0, Kind::TooManyPaths { limit: 1 << 16 });
    assert_eq!(wrong(doubling(17, |target| Op::Else { target })).0, Kind::TooManyPaths { limit: 1 << 16 });
    assert_eq!(wrong(doubling(17, |target| Op::Unless { target })).0, Kind::TooManyPaths { limit: 1 << 16 });
    // Only one branch of a conditional jump is taken.
    let conditions: Vec<Op> = (0..40).flat_map(|i| [ldc(1), jmpz(2 * i + 2)]).chain([N, T]).collect();
    assert_eq!(verify(program(conditions)).expect("one path").max_paths(), 1);
    // A saturated count is still an error.
    assert_eq!(wrong(doubling(2000, ways)).0, Kind::TooManyPaths { limit: 1 << 16 });
}

#[test]
fn instructions_along_paths_are_counted() {
    let long = |n: usize| [[Op::Ldc { value: 1 }, Op::Drop {}].repeat(n), vec![T]].concat();
    assert!(verify(program(long(1 << 19))).is_err());
    assert!(verify(program(long((1 << 19) - 1))).is_ok());
    // Sixteen doublings before 32 instructions: the paths are few and short, but the instructions
    // too many.
    let mut code: Vec<Op> = (0..16).map(|i| ndet(i + 1)).collect();
    code.extend([ldc(1), Op::Drop {}].repeat(16));
    code.extend([N, T]);
    assert_eq!(wrong(code).0, Kind::TooManyInstructions { limit: 1 << 20 });
    // The instructions that RUN executes count too.
    let prologue = [[Op::Ldc { value: 1 }, Op::Drop {}].repeat(1 << 18), vec![Op::Ret {}]].concat();
    let runs = |n: usize| [[Op::Run { args: 0, process: ProcessId(0) }, Op::Drop {}].repeat(n), vec![T]].concat();
    let with = |n: usize| {
        let mut p = program([prologue.clone(), runs(n)].concat());
        p.processes[0].prologue = Some(Addr(0));
        p.processes[0].entry = Addr(prologue.len() as u32);
        p
    };
    assert!(verify(with(1)).is_ok());
    assert_eq!(error(with(2)).rule(), "V-PATHS");
}

// V-PROLOGUE

#[test]
fn prologues_are_plain() {
    let with = |code: &[Op]| {
        let mut p = program([&[N, T], code].concat());
        p.processes[0].prologue = Some(Addr(2));
        verify(p)
    };
    let set = [ldc(1), Op::Stl { var: LocalId(0) }];
    assert!(with(&[&set[..], &[Op::Ret {}]].concat()).is_ok());
    assert!(with(&[ldc(0), jmpz(5), Op::Ret {}, Op::Chnew { ty: ChannelTypeId(0) }, Op::Stl { var: LocalId(0) }, Op::Ret {}]).is_ok());
    assert!(with(&[call(4), Op::Ret {}, Op::Ret {}]).is_ok());
    let refused = |code: &[Op]| {
        let error = with(code).expect_err("not in a prologue");
        assert_eq!((error.kind.clone(), error.rule()), (Kind::NotInPrologue, "V-PROLOGUE"), "{error}");
    };
    refused(&[jmp(2)]);
    refused(&[ldc(1), Op::Drop {}, jmp(2)]);
    refused(&[ndet(3), Op::Ret {}]);
    refused(&[Op::Else { target: Addr(3) }, Op::Ret {}]);
    refused(&[Op::Unless { target: Addr(3) }, Op::Ret {}]);
    refused(&[N, Op::Ret {}]);
    refused(&[Op::Nex {}]);
    refused(&[ldc(1), Op::Nexz {}, Op::Ret {}]);
    refused(&[ldc(1), ldc(1), Op::Send { fields: 1 }, Op::Ret {}]);
    refused(&[ldc(1), ldc(1), Op::Sends { fields: 1 }, Op::Ret {}]);
    refused(&[ldc(1), Op::Recv { fields: 1, mask: FieldMask(0), how: Receive::First }, Op::Ret {}]);
    refused(&[Op::Run { args: 0, process: ProcessId(0) }, Op::Drop {}, Op::Ret {}]);
    // It ends in RET, with nothing left on the stack.
    assert_eq!(with(&[ldc(1), Op::Ret {}]).expect_err("a value is left").kind, Kind::ReturnBuried { depth: 1 });
    assert_eq!(with(&[ldc(1)]).expect_err("no end").kind, Kind::FallsThrough);
}

// V-REACH

#[test]
fn steps_that_are_never_executed_are_refused() {
    assert_eq!(wrong([T, N, T]), (Kind::Unreachable, Some(1)));
    assert_eq!(wrong([N, jmp(0), T]), (Kind::Unreachable, Some(2)));
    assert!(verify(program([T, ldc(1), Op::Nex {}])).is_ok());
}

// Positions

#[test]
fn errors_say_where() {
    let mut p = program([N, ldc(1), N, T]);
    p.labels = vec![label("first", 0), label("second", 1)];
    p.spans = vec![span(0, 0), span(1, 0)];
    let error = error(p);
    assert_eq!(error.addr, Some(Addr(2)));
    let place = error.place.as_deref().expect("a place");
    assert_eq!(place.process.as_deref(), Some("P"));
    assert_eq!(place.label, Some(("second".to_owned(), 1)));
    assert_eq!((place.file.as_deref(), place.line, place.column), (Some("f.epa"), 3, 5));
    assert_eq!(place.statement, "x = 1");
    assert!(error.to_string().starts_with("f.epa:3:5: in `P` 1 behind `second`: "), "{error}");

    let mut map = source::SourceMap::new();
    map.add("other", "");
    assert!(error.diagnostic(&map).message.contains("f.epa:3:5"), "a file that is not there is named in words");
    let id = map.add("f.epa", "\n\n    x = 1 ; set\n");
    let diagnostic = error.diagnostic(&map);
    assert_eq!(diagnostic.span.file, id);
    assert_eq!(map.snippet(diagnostic.span), "x = 1");
}
