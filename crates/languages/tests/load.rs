//! Every language is recognised by its name and by its content, and a file in no language is
//! refused.

use languages::{Expression, Files, Input, LANGUAGES, Loaded, Model, NoFiles, Rejected, language, load};

const ASSEMBLY: &str = "process P() {\n STEP T\n}\nstart P\n";
const PROMELA: &str = "active proctype P() { skip }\n";
const GRAPH: &str = "% a comment\ndes (0, 1, 2)\n(0, \"a\", 1)\n";

fn read(name: &str, bytes: &[u8], defines: &[(&str, &str)], files: &mut dyn Files) -> Result<Loaded, Rejected> {
    let defines: Vec<(String, String)> = defines.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    load(Input { name, bytes, defines: &defines, formulas: &[], files })
}

/// The rejection, with at least one error and text that can be shown.
fn rejected(name: &str, bytes: &[u8], defines: &[(&str, &str)]) -> String {
    let rejected = read(name, bytes, defines, &mut NoFiles).expect_err("a rejection");
    assert!(rejected.diagnostics.iter().any(|diagnostic| diagnostic.is_error()));
    source::render_all(&rejected.map, &rejected.diagnostics)
}

#[test]
fn languages_are_told_by_ending_or_content() {
    fn named(name: &str, bytes: &[u8]) -> Option<&'static str> {
        language(name, bytes).map(|language| language.name)
    }
    assert_eq!(named("a.epa", b""), Some("byte-code assembly"));
    assert_eq!(named("dir.x/A.EPA", b""), Some("byte-code assembly"));
    for ending in ["pml", "pm", "prom", "promela"] {
        assert_eq!(named(&format!("a.{ending}"), b""), Some("Promela"));
    }
    assert_eq!(named("a.epb", b""), Some("byte-code"));
    assert_eq!(named("anything", &bytecode::binary::MAGIC), Some("byte-code"));
    assert_eq!(named("anything", b""), None);
    assert_eq!(named("epa", b""), None);
    // If neither the bytes nor the name tell, the content does.
    assert_eq!(named("-", ASSEMBLY.as_bytes()), Some("byte-code assembly"));
    assert_eq!(named("model.txt", PROMELA.as_bytes()), Some("Promela"));
    assert_eq!(named("model", b"byte process1;\ninit { skip }"), Some("Promela"));
    assert_eq!(named("model", GRAPH.as_bytes()), Some("explicit graph"));
    assert_eq!(named("model", b"initial process1 \xff"), None);
    assert_eq!(named("model", b"init \xff"), None, "no text at all");
}

/// Each model of the project is recognised by its content alone, and so is the assembly compiled
/// from it.
#[test]
fn models_without_a_name_are_told() {
    struct Beside(std::path::PathBuf);
    impl Files for Beside {
        fn read(&mut self, wanted: &str, _: &str) -> Result<(String, String), String> {
            std::fs::read_to_string(self.0.join(wanted)).map(|text| (wanted.to_owned(), text)).map_err(|error| error.to_string())
        }
    }
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut seen = 0;
    for folder in ["asm", "aut", "promela/chains", "promela/classic", "promela/differences", "promela/language"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("models").flatten() {
            let path = entry.path();
            let bytes = std::fs::read(&path).expect("readable");
            let Some(by_name) = language(&path.to_string_lossy(), b"") else { continue };
            let told = language("standard input", &bytes).map(|language| language.name);
            assert_eq!(told, Some(by_name.name), "{}", path.display());
            let Ok(loaded) = read(&path.to_string_lossy(), &bytes, &[], &mut Beside(root.join(folder))) else { continue };
            let Some(program) = loaded.model.into_program() else { continue };
            let assembly = bytecode::asm::disassemble(program.program());
            let told = language("standard input", assembly.as_bytes()).map(|language| language.name);
            assert_eq!(told, Some("byte-code assembly"), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 150, "only {seen} models");
}

#[test]
fn no_ending_belongs_to_two_languages() {
    let mut endings: Vec<&str> = LANGUAGES.iter().flat_map(|language| language.endings).copied().collect();
    let all = endings.len();
    endings.sort_unstable();
    endings.dedup();
    assert_eq!(endings.len(), all);
}

#[test]
fn each_language_gives_a_program() {
    let assembled = read("a.epa", ASSEMBLY.as_bytes(), &[], &mut NoFiles).expect("a program");
    let assembled = assembled.model.into_program().expect("a program");
    assert_eq!(assembled.program().processes[0].name, "P");
    let binary = bytecode::binary::encode(assembled.program());
    let decoded = read("a.epb", &binary, &[], &mut NoFiles).expect("a program").model.into_program().expect("a program");
    assert_eq!(decoded.program(), assembled.program());
    let compiled = read("a.pml", PROMELA.as_bytes(), &[], &mut NoFiles).expect("a program").model.into_program().expect("a program");
    assert_eq!(compiled.program().processes[0].name, "P");
    let graph = read("a.aut", GRAPH.as_bytes(), &[], &mut NoFiles).expect("a graph");
    assert!(matches!(graph.model, Model::Graph(graph) if graph.states() == 2));
}

#[test]
fn definitions_and_included_files_reach_the_preprocessor() {
    struct One;
    impl Files for One {
        fn read(&mut self, wanted: &str, from: &str) -> Result<(String, String), String> {
            match (wanted, from) {
                ("common.h", "a.pml") => Ok(("common.h".to_owned(), "byte shared = N;\n".to_owned())),
                _ => Err("there is only one".to_owned()),
            }
        }
    }
    let model = b"#include \"common.h\"\nactive proctype P() { shared++ }\n";
    let loaded = read("a.pml", model, &[("N", "7")], &mut One).expect("a program");
    let program = loaded.model.into_program().expect("a program");
    assert_eq!(program.program().globals[0].init, [7]);
    assert!(read("a.pml", model, &[("N", "7")], &mut NoFiles).is_err());
    assert!(read("a.pml", b"#include \"other.h\"\n", &[], &mut One).is_err());
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    struct Marked;
    impl Files for Marked {
        fn read(&mut self, _: &str, _: &str) -> Result<(String, String), String> {
            Ok(("marked.h".to_owned(), "\u{feff}byte shared;\n".to_owned()))
        }
    }
    let marked = |text: &str| format!("\u{feff}{text}");
    assert!(read("a.epa", marked(ASSEMBLY).as_bytes(), &[], &mut NoFiles).is_ok());
    assert!(read("a.pml", marked(&format!("#include \"marked.h\"\n{PROMELA}")).as_bytes(), &[], &mut Marked).is_ok());
    assert!(rejected("a.pml", marked("byte 3;").as_bytes(), &[]).contains("a.pml:1:6"), "columns do not count it");
}

#[test]
fn rejections_say_why() {
    assert!(rejected("a.doc", b"x", &[]).contains(".pml"));
    assert!(rejected("a.epa", b"\xff\0", &[]).contains("UTF-8"));
    assert!(rejected("a.pml", b"\xff\0", &[]).contains("UTF-8"));
    assert!(rejected("a.epb", b"", &[]).contains("a.epb"));
    assert!(rejected("a.epa", ASSEMBLY.as_bytes(), &[("N", "1")]).contains("-D"));
    assert!(rejected("a.pml", b"active proctype P( {", &[]).contains("a.pml:1:"));
    assert!(rejected("a.aut", b"des (0, 1, 2)\n(0, a, 7)\n", &[]).contains("a.aut:2:8"));
    assert!(rejected("a.aut", GRAPH.as_bytes(), &[("N", "1")]).contains("-D"));
    // An error of the verifier is shown at the position in the source.
    assert!(rejected("a.epa", b"process P() {\n LDC 1\n STEP N\n STEP T\n}\n", &[]).contains("a.epa:3:"));
}

/// Models from before UTF-8: a byte that is not UTF-8 is read as the Latin-1 character.
#[test]
fn text_in_latin_1_is_read() {
    let model = b"/* f\xfcr \xe9t\xe9 */ byte x;\nactive proctype P() { printf(\"gr\xfc\xdfe \xc3\xa9\\n\"); /* \xe4 */ x = y }";
    let found = rejected("a.pml", model, &[]);
    // The column counts characters: the letters before it are one each.
    assert!(found.contains("a.pml:2:56") && found.contains("`y` is not declared"), "{found}");
    assert!(found.contains("gr\u{fc}\u{df}e \u{e9}"), "{found}");
    let told = languages::language("no_ending", b"// \xe9\ninit { skip }").map(|language| language.name);
    assert_eq!(told, Some("Promela"));
    assert_eq!(languages::decode(b"\xe9\xc3\xa9").as_deref(), Some("\u{e9}\u{e9}"));
    assert_eq!(languages::decode(b"\xe9\0"), None);
    // In code such a letter is not part of the language, and is shown.
    assert!(rejected("a.pml", b"byte \xe9;", &[]).contains('\u{e9}'));
}

/// Expressions over the states of a model become atoms of it, in every language.
#[test]
fn expressions_become_atoms() {
    let model = "#define TWICE(x) (2*x)\nbyte n; chan c = [2] of { byte };\nactive proctype P() { byte i; here: n++; i = n; c!i }\n";
    let with = |name: &str, text: &str, expressions: &[&str]| {
        let expressions: Vec<Expression> = expressions.iter().map(|text| Expression::new("--measure", *text)).collect();
        let source = Input { name, bytes: text.as_bytes(), defines: &[], formulas: &[], files: &mut NoFiles };
        languages::load_with(source, &expressions)
    };
    let loaded = with("m.pml", model, &["TWICE(n) - 3, len(c), P:i", "P@here", "n"]).expect("a good model");
    let lengths: Vec<usize> = loaded.expressions.iter().map(Vec::len).collect();
    assert_eq!(lengths, [3, 1, 1]);
    let program = loaded.model.into_program().expect("a program");
    assert!(program.program().properties.is_empty(), "nothing is stated");
    let names: Vec<&str> = program.program().atoms.iter().map(|atom| atom.name.as_str()).collect();
    assert_eq!(names.len(), 5, "{names:?}");

    // In assembly and in graphs, atoms are given by their names.
    let assembly = bytecode::asm::disassemble(program.program());
    let again = with("m.epa", &assembly, &["n, len(c)"]).expect("a good program");
    assert_eq!(again.expressions[0].len(), 2);
    let graph = with("g.aut", "des (0, 1, 2)\n(0, \"a\", 1)\nstate (1, \"p\")\n", &["p"]).expect("a good graph");
    assert_eq!(graph.expressions, [[0]]);
    for (name, text, wrong) in [
        ("m.pml", model, "n +"),
        ("m.pml", model, "m"),
        ("m.pml", model, "_pid"),
        ("m.pml", model, "n } ltl = { n"),
        ("m.epa", &*assembly, "q"),
    ] {
        let rejected = with(name, text, &[wrong]).expect_err(wrong);
        assert!(rejected.diagnostics.iter().any(source::Diagnostic::is_error), "{wrong}");
        // The message shows the given text, without the words around it.
        let told = source::render_all(&rejected.map, &rejected.diagnostics);
        assert!(told.contains("--measure:1:") && (wrong.contains("ltl") || !told.contains("ltl")), "{wrong}: {told}");
    }
}

/// A message about a given text shows that text, with its own columns.
#[test]
fn messages_about_given_texts_show_them() {
    let model = "byte n;\nactive proctype P() { n++ }\n";
    let told = |name: &str, text: &str, formulas: &[(&str, &str)], expressions: &[(&str, &str)]| {
        let formulas: Vec<(String, String)> = formulas.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let expressions: Vec<Expression> = expressions.iter().map(|(by, text)| Expression::new(*by, *text)).collect();
        let source = Input { name, bytes: text.as_bytes(), defines: &[], formulas: &formulas, files: &mut NoFiles };
        let rejected = languages::load_with(source, &expressions).expect_err("it is wrong");
        source::render_all(&rejected.map, &rejected.diagnostics)
    };
    let found = told("m.pml", model, &[], &[("--measure", "n"), ("--heuristic", "3 - nn")]);
    assert!(found.contains("--heuristic:1:5") && found.contains("3 - nn") && !found.contains('{'), "{found}");
    let found = told("m.pml", model, &[], &[("--measure", "n +"), ("--heuristic", "n")]);
    assert!(found.contains("--measure:1:4") && found.contains("the end") && !found.contains('}'), "{found}");
    let found = told("m.pml", model, &[("f", "[] (n < m)")], &[]);
    assert!(found.contains("--ltl:1:9") && !found.contains("ltl f"), "{found}");
    let found = told("m.pml", model, &[], &[("--ctl", "n } ltl = { n")]);
    assert!(found.contains("--ctl:1:3") && !found.contains("m.pml"), "{found}");
}
