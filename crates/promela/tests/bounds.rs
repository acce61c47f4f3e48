//! A short text never needs much memory or time, whatever sizes it asks for: it is compiled, or
//! refused with a reason and a position.
//!
//! This is a single test, so that nothing else in this process takes memory meanwhile.

mod common;

use common::compile_text;

/// The most memory that this process may ever use, in megabytes. Time is not measured: a loop over
/// a size taken from the text would take for ever.
const MEMORY: u64 = 300;

/// Definitions that use each other: `first` for number 0, and `other` for the others, with the
/// number before in place of `@`.
fn chain(count: usize, head: &str, first: &str, other: &str) -> String {
    let line = |i: usize| {
        let body = if i == 0 { first.to_owned() } else { other.replace('@', &(i - 1).to_string()) };
        format!("{}{body}\n", head.replace('@', &i.to_string()))
    };
    (0..count).map(line).collect()
}

/// The models, with a part of the message about each that must be refused.
fn models() -> Vec<(String, Option<&'static str>)> {
    let mut models: Vec<(String, Option<&'static str>)> = Vec::new();
    let mut accepted = |text: &str| models.push((text.to_owned(), None));
    accepted("int x; init { select(x : -2147483648 .. 2147483647) }");
    accepted("int x; init { select(x : -2147483648 .. 5) }");
    accepted("int x, y; init { for (x : -2147483648 .. 2147483647) { y = x } }");
    accepted("byte a[1048576]; init { skip }");
    // A value for each element, a label and a jump for each copy of an inline, one choice made of
    // 2^15, a d_step of 20,000 options.
    accepted("int g; init { skip; int a[100000] = g + 1 }");
    accepted(&(chain(15, "inline f@() {", "L: x = 1; goto L }", "f@(); f@() }") + "int x; init { f14() }"));
    accepted(&(chain(15, "inline f@() {", "x = 1 }", "if :: f@() :: f@() fi }") + "int x; init { f14() }"));
    accepted(&format!("int x; init {{ d_step {{ if {} fi }} }}", ":: x == 1 -> x = 2 ".repeat(20_000)));
    let mut refused = |text: &str, why| models.push((text.to_owned(), Some(why)));
    refused("active [2147483647] proctype P() { skip }", "255 processes");
    refused("chan q = [2147483647] of { int }; init { skip }", "cannot hold");
    refused("chan q[1048576] = [1] of { int }; init { skip }", "1048576 channels");
    refused("init { chan q[1048576] = [1] of { int }; skip }", "instructions");
    refused("chan q[1048576]; init { xr q; skip }", "claimed");
    refused("unsigned x : 2147483647; init { skip }", "width");
    refused("int a[2147483647]; init { skip }", "too large");
    refused("typedef A { byte x[1000] }; typedef B { A a[1000] }; B b[1000]; init { skip }", "too large");
    refused("int g; typedef A { int x[4] = { g, g + 1 } }; typedef B { A a[512] }; init { B b[512]; skip }", "too large");
    refused(&format!("int g; init {{ skip; int a[1000000] = {} }}", "(g + 1) * ".repeat(30) + "g"), "more than 4194304 instructions");
    let arrays: String = (0..100).map(|i| format!("proctype P{i}() {{ int a[1000000] = 1; skip }}\n")).collect();
    refused(&(arrays + "init { skip }"), "too large");
    let types = chain(15, "typedef T@ {", "int a; int b };", "T@ a; T@ b };");
    let processes: String = (0..100).map(|i| format!("proctype P{i}(T14 a) {{ T14 b; skip }}\n")).collect();
    refused(&(types.clone() + &processes + "init { skip }"), "variables in a process");
    refused(&(types.replace(" a;", &format!(" {};", "a".repeat(2000))) + "T14 t; init { skip }"), "names of the variables");
    refused(&(chain(64, "#define m@ ", "x = 1;", "m@ m@") + "int x; init { m63 }"), "too many tokens");
    refused(&(chain(64, "#define m@ ", "", "m@ m@") + "int x; init { m63 }"), "too many tokens");
    refused(&(chain(64, "#define m@(a) ", "a", "m@(a a)") + "int x; init { m63(x = 1;) }"), "too many tokens");
    refused(&(chain(64, "#define m@ ", "1", "m@ + m@") + "#if m63\n#endif\ninit { skip }"), "too many tokens");
    refused(&(chain(64, "#define m@(a) ", "a", "m@(a##a)") + "int x; init { m63(x) = 1 }"), "token of");
    let text = format!("\"{}\"", "\\\\".repeat(10));
    let (open, close) = ("t(".repeat(60), ")".repeat(60));
    refused(&format!("#define s(a) #a\n#define t(a) s(a)\ninit {{ printf({open}{text}{close}) }}"), "token of");
    refused(&(chain(16, "inline f@() {", "x = 1; x = 2 }", &("f@(); ".repeat(8) + "}")) + "int x; init { f15() }"), "too many statements");
    refused(&(chain(16, "inline f@(a) {", "x = a }", "f@((a) + (a) * (a)) }") + "int x; init { f15(x) }"), "too much text");
    refused(
        &format!("int x; init {{ {{ {} }} unless {{ if {} fi }} }}", "x = 1; ".repeat(2000), ":: x == 1 ".repeat(2000)),
        "transitions in a process",
    );
    models
}

#[test]
fn sizes_in_the_text_are_bounded() {
    for (text, why) in models() {
        let (map, compiled) = compile_text(&text);
        let shown: String = text.chars().take(80).collect();
        let messages = source::render_all(&map, &compiled.diagnostics);
        match why {
            Some(why) => {
                let says = |d: &source::Diagnostic| d.is_error() && d.message.contains(why) && d.span != source::Span::default();
                assert!(compiled.program.is_none(), "{shown} is accepted");
                assert!(compiled.diagnostics.iter().any(says), "{shown}: {messages}");
            }
            None => assert!(compiled.program.is_some(), "{shown}: {messages}"),
        }
        if let Some(used) = peak() {
            assert!(used < MEMORY, "{used} MB after {shown}");
        }
    }
}

/// The peak memory of this process in megabytes, if the system reports it.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kilobytes| kilobytes >> 10)
}
