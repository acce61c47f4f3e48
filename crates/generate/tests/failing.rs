//! A program that cannot go on says so: the exit status, the position, and what was printed before.
//! Processes have the numbers of the model, and names that C has for itself are no obstacle.

mod common;

use common::{Folder, builds, generate, main_ways, output_of, with_options};

/// Builds a program and runs it: whether it succeeds, what it prints, what it complains about.
fn ran(name: &str, text: &str, options: &generate::Options) -> (bool, String, String) {
    let made = with_options(text, false, options).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let folder = Folder::new(name);
    folder.write(&made);
    folder.make();
    let out = folder.run("init", &[]);
    assert_ne!(out.status.code(), Some(124), "{name} does not end");
    (out.status.success(), String::from_utf8_lossy(&out.stdout).into_owned(), String::from_utf8_lossy(&out.stderr).into_owned())
}

#[test]
fn violations_end_the_program_with_their_places() {
    if !builds() {
        return;
    }
    let cases = [
        ("assert", "int x;\nactive proctype P() { printf(\"before\\n\");\n x = 3; assert(x <= 1) }\nactive proctype Q() { x == 9 }", ":3:"),
        ("divide", "int x;\nactive proctype P() { printf(\"before\\n\");\n x = 7 / x }\nactive proctype Q() { x == 9 }", ":3:"),
        ("remainder", "int x;\nactive proctype P() { printf(\"before\\n\");\n x = 7 % x }\nactive proctype Q() { x == 9 }", ":3:"),
        (
            "index",
            "int x = 5; byte a[3];\nactive proctype P() { printf(\"before\\n\");\n a[x] = 1 }\nactive proctype Q() { x == 9 }",
            ":3:",
        ),
        (
            "read",
            "int x = -1; byte a[3];\nactive proctype P() { printf(\"before\\n\");\n x = a[x] }\nactive proctype Q() { x == 9 }",
            ":3:",
        ),
        (
            "guard",
            "int x;\nactive proctype P() { printf(\"before\\n\");\n if :: 1 / x > 2 -> skip :: else fi }\nactive proctype Q() { x == 9 }",
            ":3:",
        ),
        (
            "piece",
            "int x;\nactive proctype P() { printf(\"before\\n\");\n c_code [ now.x == 2 ] { now.x = 9; } }\nactive proctype Q() { x == 9 }",
            ":3:",
        ),
    ];
    for (name, text, place) in cases {
        // Every violation in the first layout, and the first violation in every layout.
        let ways = if name == "assert" { main_ways() } else { main_ways().into_iter().take(1).collect() };
        for (way, options) in ways {
            let (success, printed, said) = ran(&format!("{name}-{way}"), text, &options);
            assert!(!success && said.contains(&format!("model.pch{place}")), "{name} {way}: {said}");
            assert_eq!(printed, "before\n", "{name} {way}");
        }
    }
}

#[test]
fn what_is_right_is_no_violation() {
    if !builds() {
        return;
    }
    let text = "int x = -2147483647, y = -1; byte a[3];\ninit { x = x - 1; printf(\"%d %d %d\\n\", x / y, x % y, 7 / -2); x = 2; a[x] = 9; \
                printf(\"%d %d\\n\", a[x], 2147483647 + x) }";
    for (way, options) in main_ways() {
        let printed = output_of(&format!("right-{way}"), text, &options).expect("a compiler");
        assert_eq!(printed, "-2147483648 0 -3\n9 -2147483647\n", "{way}");
    }
}

#[test]
fn a_deadlock_is_said_and_a_valid_end_is_none() {
    if !builds() {
        return;
    }
    let dead = "chan a = [0] of { byte }; chan b = [0] of { byte };\nactive proctype P() { byte v; printf(\"P\\n\"); a?v; b!1 }\n\
                active proctype Q() { byte v; b?v; a!1 }";
    let fine = "chan a = [1] of { byte };\nactive proctype P() { byte v; end: do :: a?v -> printf(\"%d\\n\", v) od }\n\
                active proctype Q() { a!1; a!2 }";
    for (way, options) in main_ways() {
        let (success, printed, said) = ran(&format!("dead-{way}"), dead, &options);
        assert!(!success && said.contains("every process waits"), "{way}: {said}");
        assert_eq!(printed, "P\n", "{way}");
        let (success, printed, said) = ran(&format!("fine-{way}"), fine, &options);
        assert!(success && said.is_empty(), "{way}: {said}");
        assert_eq!(printed, "1\n2\n", "{way}");
    }
}

#[test]
fn a_piece_that_crashes_fails_and_releases_the_others() {
    if !builds() {
        return;
    }
    let text = "byte x;\nactive proctype P() { skip; c_code_IS { volatile int *p = 0; *p = 1; }; x = 1 }\nactive proctype Q() { x == 1 }";
    let (success, _, said) = ran("crash", text, &generate::Options::default());
    assert!(!success && said.contains("P ended"), "{said}");
    // The parent notices the crash in the middle of a step, when it starts the next process.
    let text = "c_decl {\n\\#include <sys/wait.h>\n}\nbyte x;\nproctype P() { c_code { volatile int *p = 0; *p = 1; }; x = 1 }\n\
                proctype Q() { x == 1 }\ninit { run P(); c_code { siginfo_t end; waitid(P_ALL, 0, &end, WEXITED | WNOWAIT); }; run Q() }";
    for (way, options) in main_ways().into_iter().filter(|(way, _)| !way.contains("loop")) {
        let (success, _, said) = ran(&format!("crash-early-{way}"), text, &options);
        assert!(!success && said.contains("P ended"), "{way}: {said}");
    }
}

#[test]
fn programs_are_found_from_any_folder() {
    if !builds() {
        return;
    }
    let made = generate("active proctype A() { printf(\"here\\n\") }").expect("right");
    let folder = Folder::new("elsewhere");
    folder.write(&made);
    folder.make();
    let out = std::process::Command::new(folder.0.join("init")).current_dir("/").output().expect("the program");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(String::from_utf8_lossy(&out.stdout), "here\n");
}

#[test]
fn processes_have_the_numbers_of_the_model() {
    if !builds() {
        return;
    }
    let cases = [
        // Without `init` the first process has the number 0.
        (
            "byte owner = 255;\nactive [2] proctype P() { printf(\"%d\\n\", _pid); if :: _pid == 0 -> owner = _pid :: else -> owner == 0 fi }",
            vec!["0", "1"],
        ),
        (
            "active proctype P() { printf(\"P %d\\n\", _pid) }\ninit { printf(\"init %d\\n\", _pid); run Q() }\n\
          proctype Q() { printf(\"Q %d\\n\", (_pid > 0)) }",
            vec!["P 0", "Q 1", "init 1"],
        ),
        ("init { printf(\"init %d\\n\", _pid) }\nactive proctype P() { printf(\"P %d\\n\", _pid) }", vec!["P 1", "init 0"]),
        // A process that has ended is counted until those after it have ended.
        (
            "byte go;\nproctype Q() { go == 1 }\nproctype R() { skip }\ninit { byte p; p = run Q(); p = p + run R(); _nr_pr == 2; go = 1; \
          _nr_pr == 1; printf(\"%d %d\\n\", p, _nr_pr) }",
            vec!["3 1"],
        ),
    ];
    for (number, (text, wanted)) in cases.iter().enumerate() {
        for (way, options) in main_ways() {
            let printed = output_of(&format!("pid{number}-{way}"), text, &options).expect("a compiler");
            let mut lines: Vec<&str> = printed.lines().collect();
            lines.sort_unstable();
            assert_eq!(lines, *wanted, "{way}: {text}");
        }
    }
}

#[test]
fn names_of_c_are_names_of_variables() {
    if !builds() {
        return;
    }
    let text = "mtype = { read, write, errno_, exit };\nbyte register, float, stdin, EOF, linux, main, errno, globals, ep_pid;\n\
                typedef FILE { byte default; byte union };\n\
                proctype volatile(byte while) { FILE s; mtype m = write; byte sizeof = 7, argc; bit NULL; s.default = 1; s.union = while; \
                float = 2; register++; NULL = 3; ep_pid = 4; goto switch; register = 9; \
                switch: if :: m == read -> argc = 1 :: m == write -> argc = 2 fi; \
                printf(\"%d %d %d %d %d %d %d\\n\", float, s.default + s.union, register, sizeof, NULL, ep_pid, argc) }\n\
                init { run volatile(5); linux = 3; main = 1; errno = exit; globals = 2 }";
    for (way, options) in main_ways() {
        assert_eq!(output_of(&format!("keywords-{way}"), text, &options).expect("a compiler"), "2 6 1 7 1 4 2\n", "{way}");
    }
    for name in ["all", "clean", "everypath", "test", "memory"] {
        let errors = generate(&format!("active proctype {name}() {{ skip }}")).err().unwrap_or_else(|| panic!("{name}"));
        assert!(errors.iter().any(|error| error.starts_with("1:17") && error.contains(name)), "{errors:?}");
    }
}

/// The tables of names contain what the headers of this machine have.
#[test]
fn every_name_of_the_headers_is_known() {
    if !builds() {
        return;
    }
    let runtime = concat!(env!("CARGO_MANIFEST_DIR"), "/src/runtime");
    let script = format!("echo '#include \"{runtime}/everypath.h\"' | cc -D_GNU_SOURCE -E -dM - | awk '{{ print $2 }}' | sed 's/(.*//'");
    let out = std::process::Command::new("sh").args(["-c", &script]).output().expect("cc");
    let names = String::from_utf8_lossy(&out.stdout).into_owned();
    let names: Vec<&str> = names.lines().filter(|name| !name.starts_with(['_']) && !name.starts_with("EP_")).collect();
    assert!(names.len() > 100, "{names:?}");
    let table = std::fs::read_to_string(format!("{runtime}/macros.txt")).expect("a file");
    let unknown: Vec<&&str> =
        names.iter().filter(|name| **name != "EVERYPATH_H" && !table.split_whitespace().any(|known| known == **name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// A piece of C that ends its process, whatever its exit status, leaves nobody waiting for ever.
#[test]
fn a_process_that_a_piece_ends_is_noticed() {
    if !builds() {
        return;
    }
    let text = |how: &str| {
        format!(
            "c_decl_IS {{ \\#include <unistd.h>\n}}\nbyte x;\nactive proctype P() {{ x = 1; c_code_IS {{ {how}; }}; x = 2 }}\n\
             active proctype Q() {{ x == 2 }}"
        )
    };
    for how in ["exit(3)", "exit(0)", "_exit(4)", "abort()"] {
        for (way, options) in main_ways().into_iter().filter(|(way, _)| *way != "loop") {
            let (success, _, said) =
                ran(&format!("left-{}-{way}", how.len() + how.as_bytes()[how.len() - 2] as usize), &text(how), &options);
            assert!(!success && !said.is_empty(), "{how} {way}: {said}");
        }
    }
}
