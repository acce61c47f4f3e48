//! Statements from macros and inlines are shown with actual names, with the position at which they
//! are executed and their own position.

mod common;

use source::SourceMap;

/// The statements of a program: the line at which each is executed, its text, and its own line if
/// that is different.
fn statements(text: &str) -> Vec<(u32, String, Option<u32>)> {
    let mut map = SourceMap::new();
    let file = map.add("model.pml", text);
    let compiled = promela::compile(&mut map, file, &mut promela::NoFiles, &[]);
    let program = compiled.program.unwrap_or_else(|| panic!("{}", source::render_all(&map, &compiled.diagnostics)));
    assert_eq!(program.files, ["model.pml"]);
    let mut found = Vec::new();
    for span in &program.spans {
        let told = program.span_at(span.addr).expect("it has a position");
        let origin = program.origin_at(span.addr).map(|origin| origin.line);
        let entry = (told.line, told.text.clone(), origin);
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

fn has(text: &str, wanted: &[(u32, &str, Option<u32>)]) {
    let found = statements(text);
    for &(line, statement, origin) in wanted {
        assert!(found.contains(&(line, statement.to_owned(), origin)), "{line} `{statement}` {origin:?} is not in {found:?}");
    }
}

#[test]
fn a_macro_of_several_statements_shows_each() {
    has(
        "#define MOVE(a, b) b = a + ONE; \\\n  a = 0\n#define ONE 1\nbyte x, y;\ninit {\n\tMOVE(x, y);\n\tx = ONE\n}\n",
        &[(6, "y = x + 1", Some(1)), (6, "x = 0", Some(2)), (7, "x = ONE", None)],
    );
    // A macro for a single statement is shown as it was written.
    has(
        "#define INC(v) v++\n#define free (x == 0)\nbyte x;\ninit {\n\tINC(x);\n\tfree -> x = 2\n}\n",
        &[(5, "INC(x)", None), (6, "free", None), (6, "x = 2", None)],
    );
    // For nested macros, the line is that of the text itself.
    has(
        "#define SET(v, n) v = n\n#define BOTH(a, b) SET(a, 1); \\\n\tSET(b, 2)\nbyte x, y;\ninit {\n\tBOTH(x, y)\n}\n",
        &[(6, "x = 1", Some(1)), (6, "y = 2", Some(1))],
    );
}

#[test]
fn an_inline_shows_its_arguments() {
    has(
        "byte x, a[3];\nchan q = [1] of { byte, byte };\ninline work(c, v) {\n\tc!v,1;\n\tif\n\t:: v > 2 -> v = (v+1) % 3\n\t:: else\n\tfi;\n\tassert( c?[v,_] );\n\tskip\n}\ninit {\n\twork(q, a[x + 1]);\n\twork(q, x)\n}\n",
        &[
            (13, "q!a[x + 1],1", Some(4)),
            (13, "a[x + 1] > 2", Some(6)),
            (13, "a[x + 1] = (a[x + 1]+1) % 3", Some(6)),
            (13, "else", Some(7)),
            (13, "assert( q?[a[x + 1],_] )", Some(9)),
            (14, "q!x,1", Some(4)),
            (14, "x = (x+1) % 3", Some(6)),
        ],
    );
    // For nested inlines, the line of the outermost call and the statement's own line.
    has(
        "byte x, y;\ninline inner(p) { p = 1 }\ninline outer(p, r) {\n\tinner(p);\n\tinner(r)\n}\ninit {\n\touter(x, y)\n}\n",
        &[(8, "x = 1", Some(2)), (8, "y = 1", Some(2))],
    );
    // A loop's own steps, a declaration, a result.
    has(
        "byte x, s;\ninline sum(n, to) {\n\tbyte i = n;\n\tfor (i : 1 .. n) { to = to + i }\n}\ninline twice(v) { return v * 2 }\ninit {\n\tsum(x, s);\n\tx = twice(s)\n}\n",
        &[(8, "i <= x", Some(4)), (8, "i++", Some(4)), (8, "s = s + i", Some(4)), (9, "return s * 2", Some(6))],
    );
}

#[test]
fn mistakes_are_still_shown_where_they_were_written() {
    let found = common::findings("chan q = [1] of { byte };\ninline send(v) {\n\tq!v,v,v\n}\nbyte x;\ninit {\n\tsend(x)\n}\n");
    assert!(found.contains("model.pml:3:2") && found.contains("q!v,v,v"), "{found}");
    let found = common::findings("chan q = [1] of { byte };\n#define SEND(v) x = 1; q!v,v,v\nbyte x;\ninit {\n\tSEND(x)\n}\n");
    assert!(found.contains("model.pml:5:2") && found.contains("SEND(x)"), "{found}");
}
