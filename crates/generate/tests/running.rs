//! Generated programs do what the model does: shared variables, channels, rendezvous, timeouts.

mod common;

use common::{Folder, generate, has, output};

#[test]
fn processes_share_what_the_model_shares() {
    let text = "byte turn, done;\nactive [3] proctype P() { byte i; do :: i < 50 -> atomic { turn = turn + 1; i++ } :: else -> break od; done++ }\n\
                active proctype Last() { done == 3; printf(\"%d\\n\", turn) }";
    assert_eq!(output("shared", text).as_deref().unwrap_or("150\n"), "150\n");
}

#[test]
fn messages_arrive_in_order() {
    let text = "mtype = { data, stop };\nchan q = [2] of { mtype, byte };\n\
                active proctype S() { byte i; do :: i < 5 -> q!data,i; i++ :: else -> q!stop,0; break od }\n\
                active proctype R() { byte v; do :: q?data,v -> printf(\"%d \", v) :: q?stop,_ -> break od; printf(\"end\\n\") }";
    assert_eq!(output("messages", text).as_deref().unwrap_or("0 1 2 3 4 end\n"), "0 1 2 3 4 end\n");
}

#[test]
fn a_rendezvous_is_taken_by_one() {
    let text = "chan q = [0] of { byte };\nchan done = [3] of { byte };\n\
                active proctype S() { byte i; do :: i < 4 -> q!(i + 1); i++ :: i == 4 -> break od }\n\
                active [2] proctype R() { byte v, sum, n; do :: n < 2 -> q?v; sum = sum + v; n++ :: else -> break od; done!sum }\n\
                active proctype Sum() { byte a, b; done?a; done?b; printf(\"%d\\n\", a + b) }";
    assert_eq!(output("rendezvous", text).as_deref().unwrap_or("10\n"), "10\n");
}

#[test]
fn a_choice_of_rendezvous_takes_what_is_wanted() {
    let text = "chan a = [0] of { byte };\nchan b = [0] of { byte };\n\
                active proctype S() { if :: a!1 -> printf(\"a\\n\") :: b!2 -> printf(\"b\\n\") fi }\n\
                active proctype R() { byte v; b?v; printf(\"%d\\n\", v) }";
    if let Some(printed) = output("choice", text) {
        let mut lines: Vec<&str> = printed.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["2", "b"]);
    }
}

/// Both offer and both receive: what one has sent the other has got, however their choices cross.
#[test]
fn choices_between_sending_and_receiving_agree() {
    let text = "chan a = [0] of { byte };\nchan b = [0] of { byte };\nchan sums = [2] of { int, int };\n\
                active proctype P() { byte v, n; int sent, got; do :: n == 200 -> break :: n < 200 -> n++; \
                if :: b?v -> got = got + v :: a!n -> sent = sent + n fi od; sums!sent,got }\n\
                active proctype Q() { byte v, n; int sent, got; do :: n == 200 -> break :: n < 200 -> n++; \
                if :: a?v -> got = got + v :: b!n -> sent = sent + n fi od; sums!got,sent }\n\
                active proctype R() { int s, t, u, w; sums?s,t; sums?u,w; printf(\"%d\\n\", s == u && t == w) }";
    assert_eq!(output("crossing", text).as_deref().unwrap_or("1\n"), "1\n");
}

#[test]
fn a_timeout_is_a_timer() {
    let text =
        "chan q = [1] of { byte };\nactive proctype P() { byte v; if :: q?v -> printf(\"got\\n\") :: timeout -> printf(\"late\\n\") fi }";
    assert_eq!(output("timeout", text).as_deref().unwrap_or("late\n"), "late\n");
}

#[test]
fn values_are_cut_as_in_the_model() {
    let text = "active proctype P() { bit a; byte b; short c; unsigned d : 3; a = 3; b = 300; c = 70000; d = 13; printf(\"%d %d %d %d\\n\", a, b, c, d) }";
    assert_eq!(output("cut", text).as_deref().unwrap_or("1 44 4464 5\n"), "1 44 4464 5\n");
}

#[test]
fn structures_are_sent_field_by_field() {
    let text = "typedef Msg { bit alt; byte data; c_decl_IS { long only_here; } };\nchan q = [1] of { Msg };\n\
                active proctype S() { Msg m; m.alt = 1; m.data = 9; q!m }\nactive proctype R() { Msg m; q?m; printf(\"%d %d\\n\", m.alt, m.data) }";
    assert_eq!(output("structures", text).as_deref().unwrap_or("1 9\n"), "1 9\n");
}

#[test]
fn jumps_loops_and_nested_choices() {
    let text = "active proctype P() { byte i, n; again: if :: i < 3 -> i++; goto again :: else fi; for (n : 1 .. 3) { i = i + n }; \
                do :: if :: i > 5 -> i = i - 2 :: i <= 5 -> break fi od; printf(\"%d\\n\", i) }";
    assert_eq!(output("jumps", text).as_deref().unwrap_or("5\n"), "5\n");
}

#[test]
fn a_missing_program_is_an_answer_and_no_crash() {
    if !has("cc") || !has("make") {
        testkit::passed_over("no C compiler");
        return;
    }
    let made = generate("proctype A() { skip }\ninit { byte p; p = run A(); printf(\"%d\\n\", p) }").expect("right");
    let folder = Folder::new("missing");
    folder.write(&made);
    folder.make();
    std::fs::remove_file(folder.0.join("A")).expect("there");
    let out = folder.run("init", &[]);
    // The model's `run` gives 0, and the program says that it has failed.
    assert!(!out.status.success());
    assert_eq!(String::from_utf8_lossy(&out.stdout), "0\n");
    assert!(!out.stderr.is_empty());
}

#[test]
fn a_process_that_waits_uses_no_time() {
    if !has("cc") || !has("make") {
        testkit::passed_over("no C compiler");
        return;
    }
    let text = "chan q = [1] of { byte };\nactive proctype P() { byte v; if :: q?v :: timeout fi }";
    let made = generate(text).expect("right");
    let folder = Folder::new("waits");
    folder.write(&made);
    folder.make();
    let script = "EP_TIMEOUT=5000 ./init & sleep 1; p=$(pgrep -P $! P); awk '{ print $14 + $15 }' /proc/$p/stat; kill $!";
    let out = std::process::Command::new("sh").args(["-c", script]).current_dir(&folder.0).output().expect("sh");
    let ticks: u32 = String::from_utf8_lossy(&out.stdout).trim().parse().expect("the process waits");
    assert!(ticks < 20, "{ticks} hundredths of a second in one that waits");
}
