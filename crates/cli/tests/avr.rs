//! The programs in `models/avr`, built with `avr-gcc` and checked. The head of each file says what
//! must be found. The test is skipped if the compiler or avr-libc is missing.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The head of a file.
struct Head {
    device: String,
    options: Vec<String>,
    /// The level of optimisation.
    level: String,
    expect: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/avr")
}

fn head(text: &str) -> Head {
    let lines = |key: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.trim_start_matches([' ', '*']).strip_prefix(key).map(|rest| rest.trim().to_owned())).collect()
    };
    let mut options: Vec<String> = lines("options:").iter().flat_map(|all| all.split(' ').map(str::to_owned).collect::<Vec<_>>()).collect();
    for formula in lines("ltl:") {
        options.extend(["--ltl".to_owned(), formula]);
    }
    let level = lines("level:").first().cloned().unwrap_or_else(|| "-Os".to_owned());
    Head { device: lines("device:").concat(), options, level, expect: lines("expect:").concat() }
}

/// Builds a program; `None` if that is not possible.
fn build(source: &Path, head: &Head, to: &Path) -> Option<()> {
    let made = Command::new("avr-gcc")
        .args([&format!("-mmcu={}", head.device), &*head.level, "-std=gnu11", "-Wall", "-Werror", "-gdwarf-2", "-o"])
        .arg(to)
        .arg(source.file_name()?)
        .current_dir(source.parent()?)
        .output()
        .ok()?;
    let told = String::from_utf8_lossy(&made.stderr).into_owned();
    if told.contains("avr/io.h") || told.contains("crt") {
        return None;
    }
    assert!(made.status.success(), "{}: {told}", source.display());
    Some(())
}

fn check(program: &Path, options: &[String]) -> Value {
    let told = Command::new(env!("CARGO_BIN_EXE_everypath"))
        .arg("check")
        .arg(program)
        .args(["--json", "--threads", "1", "--time", "120s"])
        .args(options)
        .output()
        .expect("the program runs");
    serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&told.stderr)))
}

/// Checks one example. It is built next to copies of the sources, whose lines a trace shows.
fn example(name: &str) -> Option<Value> {
    let place = std::env::temp_dir().join(format!("everypath-avr-{}-{}", name.replace('/', "-"), std::process::id()));
    std::fs::create_dir_all(place.join("small")).expect("a folder");
    for file in [format!("{name}.c"), "check.h".to_owned()] {
        std::fs::copy(folder().join(&file), place.join(&file)).expect("a copy");
    }
    let source = place.join(format!("{name}.c"));
    let head = head(&std::fs::read_to_string(&source).expect("the example"));
    let program = place.join(format!("{name}.elf"));
    let answer = build(&source, &head, &program).map(|()| {
        let answer = check(&program, &head.options);
        // The verdict must be the same with each reduction of the front-end off, and without
        // partial-order reduction.
        for off in ["points=all", "dead=keep", "below=keep"] {
            let without = ["-D", off, "--no-por"].map(str::to_owned);
            let oracle = check(&program, &[&head.options[..], &without].concat());
            assert_eq!(answer["verdict"], oracle["verdict"], "{name} with {off}: {oracle:#}");
        }
        answer
    });
    let _ = std::fs::remove_dir_all(&place);
    let Some(answer) = answer else {
        testkit::passed_over("avr-gcc or avr-libc is missing");
        return None;
    };
    let verdict = head.expect.split(' ').next().unwrap_or_default();
    assert_eq!(answer["verdict"], verdict, "{name}: {answer:#}");
    if let Some((_, kind)) = head.expect.split_once(' ') {
        assert_eq!(answer["violation"]["kind"], kind, "{name}: {answer:#}");
    }
    Some(answer)
}

#[test]
fn the_traffic_light_holds() {
    example("traffic_light");
}

#[test]
fn the_race_of_the_ring_is_found_in_lines_of_c() {
    let Some(answer) = example("uart_ring_race") else { return };
    assert_eq!(answer["violation"]["kind"], "assertion violated");
    assert_eq!(answer["violation"]["file"], "uart_ring_race.c");
    let steps = answer["trace"].as_array().expect("a trace");
    let shown = |text: &str| steps.iter().any(|step| step["statement"].as_str().is_some_and(|statement| statement.contains(text)));
    assert!(shown("ring.count--"), "{steps:#?}");
    assert!(steps.iter().any(|step| step["process"] == "USART_RX"), "{steps:#?}");
}

#[test]
fn the_corrected_ring_holds() {
    example("uart_ring");
}

#[test]
fn the_thermometer_holds() {
    example("thermometer");
}

#[test]
fn the_window_lift_holds() {
    example("window_lift");
}

/// A program of the examples that was built, in a folder of its own.
struct Built {
    folder: PathBuf,
    head: Head,
}

impl Drop for Built {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Built {
    /// Builds an example; `None` if that is not possible. `use_of` is part of the name of the
    /// folder.
    fn new(name: &str, use_of: &str) -> Option<Built> {
        let place = std::env::temp_dir().join(format!("everypath-avr-{use_of}-{}", std::process::id()));
        std::fs::create_dir_all(place.join("small")).expect("a folder");
        for file in [format!("{name}.c"), "check.h".to_owned()] {
            std::fs::copy(folder().join(&file), place.join(&file)).expect("a copy");
        }
        let source = place.join(format!("{name}.c"));
        let head = head(&std::fs::read_to_string(&source).expect("the example"));
        let built = Built { folder: place, head };
        let made = build(&source, &built.head, &built.folder.join("program.elf"));
        if made.is_none() {
            testkit::passed_over("avr-gcc or avr-libc is missing");
        }
        made.map(|()| built)
    }

    /// Runs the command in the folder; gives its exit code and what it prints.
    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let told = Command::new(env!("CARGO_BIN_EXE_everypath")).args(arguments).current_dir(&self.folder).output().expect("it runs");
        let said = format!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
        (told.status.code().unwrap_or(-1), said)
    }
}

#[test]
fn a_trace_is_replayed_and_drawn_with_lines_of_c() {
    let Some(built) = Built::new("uart_ring_race", "replay") else { return };
    let (code, said) = built.run(&["check", "program.elf", "--trace", "found.trace"]);
    assert_eq!(code, 1, "{said}");
    let (code, said) = built.run(&["replay", "found.trace", "--svg", "found.svg"]);
    assert_eq!(code, 0, "{said}");
    for word in ["uart_ring_race.c:", "ring.count--", "USART_RX", "assertion violated"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let picture = std::fs::read_to_string(built.folder.join("found.svg")).expect("the chart");
    assert!(picture.starts_with("<svg ") && picture.contains("USART_RX"), "{picture}");
}

#[test]
fn registers_are_shown_on_request() {
    let Some(built) = Built::new("uart_ring_race", "registers") else { return };
    let run = |more: &[&str]| {
        let all = [&["simulate", "program.elf", "--steps", "30", "--seed", "3", "--json"], more].concat();
        let (code, said) = built.run(&all);
        assert!(matches!(code, 0 | 1), "{said}");
        said
    };
    let (hidden, shown) = (run(&[]), run(&["-D", "registers=on"]));
    assert!(!hidden.contains("r24") && !hidden.contains("SREG_I"), "{hidden}");
    assert!(shown.contains("r24") && shown.contains("SREG_I"), "{shown}");
    let (code, said) = built.run(&["check", "program.elf", "-D", "registers=on", "--trace", "found.trace"]);
    assert_eq!(code, 1, "{said}");
    let (code, said) = built.run(&["replay", "found.trace"]);
    assert!(code == 0 && said.contains("r24"), "{said}");
}

#[test]
fn a_random_run_shows_lines_and_variables() {
    let Some(built) = Built::new("traffic_light", "simulate") else { return };
    let (code, said) = built.run(&["simulate", "program.elf", "--skip", "100000", "--steps", "20", "--seed", "1"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("traffic_light.c:"), "{said}");
}

#[test]
fn interrupts_for_ever_starve_the_watchdog_unless_runs_are_fair() {
    example("watchdog_interrupted");
    let Some(built) = Built::new("watchdog_interrupted", "fairness") else { return };
    assert_eq!(built.head.options, ["--fair", "weak"]);
    let (code, said) = built.run(&["check", "program.elf"]);
    assert!(code == 1 && said.contains("watchdog") && said.contains("--fair weak"), "{said}");
}

#[test]
fn a_name_that_several_variables_have_is_refused_with_a_list() {
    let Some(built) = Built::new("small/same_name", "names") else { return };
    for (formula, words) in [
        ("[] count < 9", &["first::count", "second::count", "same_name.c::count"][..]),
        ("[] third::count < 9", &["no variable `third::count`"]),
        ("[] lit < 2", &["no variable"]),
    ] {
        let (code, said) = built.run(&["check", "program.elf", "--ltl", formula]);
        assert_eq!(code, 2, "{formula}: {said}");
        assert!(words.iter().all(|word| said.contains(word)), "{formula}: {said}");
    }
}

#[test]
fn indices_are_those_of_the_array() {
    let Some(built) = Built::new("small/grid", "indices") else { return };
    for (formula, word) in [
        ("[] grid[1] == 0", "grid[0][0]"),
        ("[] grid[1][2][0] == 0", "grid[0][0]"),
        ("[] after[1] == 0", "not an array"),
        ("[] cells[i][1].left == 0", "must be a number"),
    ] {
        let (code, said) = built.run(&["check", "program.elf", "--ltl", formula]);
        assert!(code == 2 && said.contains(word), "{formula}: {said}");
    }
    // An index that is too large is a fault, and not another element.
    let (code, said) = built.run(&["check", "program.elf", "--ltl", "[] grid[0][4] == 0"]);
    assert!(code != 0 && said.contains("index"), "{said}");
}

#[test]
fn a_program_that_reads_its_code_asks_for_it() {
    let Some(built) = Built::new("small/code_as_data", "flash") else { return };
    let (code, said) = built.run(&["check", "program.elf"]);
    // A program without constants has its code in the states already.
    assert!(code == 0 || code == 3 && said.contains("flash=all"), "{said}");
}

#[test]
fn registers_that_are_no_inputs_cannot_be_given() {
    let Some(built) = Built::new("traffic_light", "inputs") else { return };
    for name in ["TIFR0", "UCSR0A", "PORTB"] {
        let (code, said) = built.run(&["check", "program.elf", "-D", &format!("{name}=0")]);
        assert!(code == 2 && said.contains("not an input") && said.contains("PIND"), "{name}: {said}");
    }
}

#[test]
fn the_missing_interlock_is_found() {
    let Some(answer) = example("window_lift_broken") else { return };
    let steps = answer["trace"].as_array().expect("a trace");
    // The trace has the lines of the source that move the motor, and the interrupt of the door.
    let shown = |text: &str| steps.iter().any(|step| step["statement"].as_str().is_some_and(|statement| statement.contains(text)));
    assert!(shown("motor"), "{steps:#?}");
    assert!(steps.iter().all(|step| step["file"].is_string() && step["line"].is_number()), "{steps:#?}");
}

#[test]
fn small_programs_have_the_verdicts_of_their_heads() {
    let mut names: Vec<String> = std::fs::read_dir(folder().join("small"))
        .expect("the programs")
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.strip_suffix(".c").map(str::to_owned))
        .collect();
    names.sort();
    assert!(names.len() > 20);
    testkit::in_parallel(&names, |name| example(&format!("small/{name}")));
}

#[test]
fn conditions_that_cannot_be_observed_are_refused_with_a_reason() {
    let place = std::env::temp_dir().join(format!("everypath-avr-refused-{}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a folder");
    let source = place.join("refused.c");
    let text = "#include <avr/io.h>\nvolatile float f; volatile unsigned char n;\nint main(void) { f = 1.5; n = TCNT0; for (;;) ; }\n";
    std::fs::write(&source, text).expect("a file");
    let head = Head { device: "atmega328p".to_owned(), options: Vec::new(), level: "-Os".to_owned(), expect: String::new() };
    let program = place.join("refused.elf");
    if build(&source, &head, &program).is_some() {
        for (formula, word) in
            [("f == 1", "floating"), ("SREG == 0", "SREG_I"), ("SPL == 0", "stack"), ("TCNT0 == 0", "read"), ("x == 0", "n")]
        {
            let told = Command::new(env!("CARGO_BIN_EXE_everypath")).arg("check").arg(&program).args(["--ltl", formula]).output();
            let told = told.expect("the program runs");
            assert_eq!(told.status.code(), Some(2), "{formula}");
            assert!(String::from_utf8_lossy(&told.stderr).contains(word), "{formula}: {}", String::from_utf8_lossy(&told.stderr));
        }
    } else {
        testkit::passed_over("avr-gcc or avr-libc is missing");
    }
    let _ = std::fs::remove_dir_all(&place);
}

#[test]
fn what_is_not_supported_is_unknown_with_a_reason() {
    // The program writes its own code, or uses a register whose reads are inputs through a pointer.
    let writes = "#include <avr/io.h>\nint main(void) { if (PINB & 1) __asm__ volatile(\"spm\"); for (;;) ; }\n";
    let reads = "#include <avr/io.h>\nvolatile unsigned char n; volatile unsigned char *volatile p = &TCNT0;\n\
        int main(void) { n = TCNT0; n = *p; for (;;) ; }\n";
    for (name, text, line) in [("writes", writes, 2), ("reads", reads, 3)] {
        let place = std::env::temp_dir().join(format!("everypath-avr-unsupported-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&place).expect("a folder");
        let source = place.join("unsupported.c");
        std::fs::write(&source, text).expect("a file");
        let head = Head { device: "atmega328p".to_owned(), options: Vec::new(), level: "-Os".to_owned(), expect: String::new() };
        let program = place.join("unsupported.elf");
        if build(&source, &head, &program).is_some() {
            let answer = check(&program, &[]);
            assert_eq!(answer["verdict"], "unknown", "{name}: {answer:#}");
            assert_eq!(answer["reason"], "unsupported", "{name}: {answer:#}");
            let place = format!("unsupported.c, line {line}");
            assert!(answer["message"].as_str().is_some_and(|message| message.contains(&place)), "{name}: {answer:#}");
            let told = Command::new(env!("CARGO_BIN_EXE_everypath")).arg("check").arg(&program).output().expect("the program runs");
            assert_eq!(told.status.code(), Some(3), "{name}");
            // What is not reached does no harm.
            if name == "writes" {
                let answer = check(&program, &["-D".to_owned(), "PINB=0".to_owned()]);
                assert_eq!(answer["verdict"], "holds", "{answer:#}");
            }
        } else {
            testkit::passed_over("avr-gcc or avr-libc is missing");
        }
        let _ = std::fs::remove_dir_all(&place);
    }
}

#[test]
fn the_scheduler_holds() {
    example("scheduler");
}

#[test]
fn a_watchdog_that_starves_is_found() {
    let Some(answer) = example("watchdog") else { return };
    let properties = answer["properties"].as_array().expect("properties");
    assert!(properties.iter().any(|property| property["name"] == "watchdog" && property["verdict"] == "violated"), "{properties:#?}");
}

#[test]
fn an_access_that_an_interrupt_divides_is_found() {
    let Some(answer) = example("torn") else { return };
    assert_eq!(answer["violation"]["kind"], "interrupt race");
    assert!(answer["violation"]["message"].as_str().is_some_and(|message| message.contains("ticks")), "{answer:#}");
}

#[test]
fn a_watchdog_that_is_fed_holds_and_a_reset_is_modelled() {
    let Some(answer) = example("watchdog_fed") else { return };
    assert_eq!(answer["verdict"], "holds");
}

#[test]
fn files_that_are_no_firmware_are_refused_with_a_sentence() {
    let place = std::env::temp_dir().join(format!("everypath-avr-broken-{}.elf", std::process::id()));
    let own = std::fs::read(env!("CARGO_BIN_EXE_everypath")).expect("the program itself");
    let foreign = &own[..own.len().min(100_000)];
    for (bytes, word) in [(&b"\x7fELF"[..], "ELF"), (&foreign[..64], "ELF"), (foreign, "ELF")] {
        std::fs::write(&place, bytes).expect("a file");
        let told = Command::new(env!("CARGO_BIN_EXE_everypath")).arg("check").arg(&place).output().expect("the program runs");
        assert_eq!(told.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&told.stderr).contains(word));
    }
    let _ = std::fs::remove_file(&place);
}
