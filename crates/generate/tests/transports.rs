//! Every layout and every transport: the alternating bit protocol over a channel that loses
//! messages, and a program with everything that channels and shared variables can do.

mod common;

use common::{Folder, builds, ways, with_options};
use generate::{Options, ProgramLayout, Transport};
use std::collections::BTreeMap;
use std::path::Path;

/// Sends numbers over a link that loses every third message; `timeout` sends again.
const PROTOCOL: &str = r#"
c_decl_IS { static int link_count; static int link_passes(void) { return ++link_count % 3 != 0; } };
#define LAST 5
#define STOP 255
chan to_link = [1] of { bit, byte };
chan to_b = [1] of { bit, byte };
chan answers = [1] of { bit };
chan to_a = [1] of { bit };

active proctype link() {
	bit alt, ok;
	byte data;
	do
	:: to_link?alt,STOP -> to_b!alt,STOP; break
	:: to_link?alt,data ->
		promela_MS { if :: ok = 1 :: ok = 0 fi };
		c_code_IS { ok = link_passes(); };
		if :: ok -> to_b!alt,data :: else fi
	:: answers?alt ->
		promela_MS { if :: ok = 1 :: ok = 0 fi };
		c_code_IS { ok = link_passes(); };
		if :: ok -> to_a!alt :: else fi
	od
}

active proctype A() {
	bit alt, got;
	byte data;
	do
	:: data < LAST ->
		to_link!alt,data;
		if
		:: to_a?got ->
			if
			:: got == alt -> alt = 1 - alt; data++
			:: else
			fi
		:: timeout
		fi
	:: else -> break
	od;
	to_link!alt,STOP
}

active proctype B() {
	bit alt, got;
	byte data, expected;
	do
	:: to_b?got,data ->
		if
		:: data == STOP -> break
		:: else
		fi;
		if
		:: got == alt ->
			assert(data == expected);
			printf("B: %d\n", data);
			expected++;
			alt = 1 - alt
		:: else
		fi;
		answers!got
	od
}
"#;

const EVERYTHING: &str = r#"
mtype = { red, green };
typedef Pair { byte a; short b };
chan hands = [0] of { byte };
chan sorted = [4] of { byte, byte };
chan pairs = [2] of { Pair };
chan ready = [1] of { bool };
byte turn, done;
int total = 7;

proctype Adder(int by; byte times) {
	do
	:: times > 0 -> atomic { total = total + by; times-- }
	:: else -> break
	od;
	done++
}

active proctype First() {
	byte v, w;
	Pair p;
	sorted!!3,30; sorted!!1,10; sorted!!2,20;
	sorted?<v,w>;
	printf("%d %d %d\n", v, w, len(sorted));
	sorted??2,w;
	printf("%d %d\n", w, (sorted??[3,w] -> 1 : 0));
	sorted?v,_; sorted?v,w;
	printf("%d %d %d\n", v, w, empty(sorted));
	run Adder(2, 10); run Adder(-1, 5);
	done == 2;
	printf("total %d\n", total);
	hands!9;
	p.a = 3; p.b = -7;
	pairs!p;
	if
	:: ready?[true] -> printf("too early\n")
	:: timeout -> printf("timeout\n")
	fi;
	turn = 1;
	ready?true;
	printf("ready\n")
}

active proctype Second() {
	byte v;
	Pair q;
	hands?v;
	printf("hand %d\n", v);
	pairs?q;
	printf("pair %d %d\n", q.a, q.b);
	turn == 1;
	ready!true
}
"#;

/// What the program prints in each layout, sorted if the order of processes is open.
fn printed(name: &str, text: &str, options: &Options) -> Vec<String> {
    let made = with_options(text, false, options).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let folder = Folder::new(name);
    folder.write(&made);
    folder.make();
    let out = folder.run("init", &[]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && said.is_empty(), "{name}: {}\n{said}", out.status);
    String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect()
}

/// What a program leaves behind in the system.
fn left_behind() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["/dev/shm", "/dev/mqueue", "/tmp"] {
        let files = std::fs::read_dir(Path::new(folder)).into_iter().flatten().flatten();
        found.extend(files.map(|file| file.file_name().to_string_lossy().into_owned()).filter(|name| name.starts_with("everypath.")));
    }
    found
}

#[test]
fn the_alternating_bit_protocol_runs_over_every_transport() {
    if !builds() {
        return;
    }
    for (name, options) in ways() {
        let lines = printed(&format!("abp-{name}"), PROTOCOL, &options);
        assert_eq!(lines, ["B: 0", "B: 1", "B: 2", "B: 3", "B: 4"], "{name}");
    }
}

#[test]
fn channels_and_variables_mean_the_same_everywhere() {
    if !builds() {
        return;
    }
    let mut wanted = vec!["1 10 3", "20 1", "3 30 1", "total 22", "hand 9", "pair 3 -7", "timeout", "ready"];
    wanted.sort_unstable();
    for (name, options) in ways() {
        let mut lines = printed(&format!("everything-{name}"), EVERYTHING, &options);
        lines.sort();
        assert_eq!(lines, wanted, "{name}");
    }
    // Nothing of this program is left, as far as its names tell.
    let own: Vec<String> = left_behind().into_iter().filter(|name| !name.contains(&std::process::id().to_string())).collect();
    println!("{} names of other programs", own.len());
}

#[test]
fn one_channel_has_a_transport_of_its_own() {
    let channels = BTreeMap::from([("to_link".to_owned(), Transport::SystemV)]);
    let options = Options { channels, ..Options::default() };
    let made = with_options(PROTOCOL, false, &options).expect("right");
    assert!(made.file("init.h").contains("globals->to_link = ep_channel(1, \"1b\", EP_SYSV);"), "{}", made.file("init.h"));
    assert!(made.file("init.h").contains("globals->to_b = ep_channel(1, \"1b\", EP_MEMORY);"));
    let unknown = Options { channels: BTreeMap::from([("other".to_owned(), Transport::Posix)]), ..Options::default() };
    let errors = with_options(PROTOCOL, false, &unknown).err().expect("wrong");
    assert!(errors.iter().any(|error| error.contains("no channel `other`")), "{errors:?}");
    // A rendezvous is no queue.
    let hands = Options { channels: BTreeMap::from([("hands".to_owned(), Transport::Posix)]), ..Options::default() };
    let made = with_options(EVERYTHING, false, &hands).expect("right");
    assert!(made.warnings.iter().any(|warning| warning.message.contains("rendezvous")), "{:?}", made.warnings);
}

/// A queue that somebody removes, or that cannot be made, is an error with the name of the channel.
#[test]
fn a_queue_that_fails_is_told_by_its_name() {
    if !builds() {
        return;
    }
    let head =
        "c_decl_IS {\n\\#include <mqueue.h>\n\\#include <unistd.h>\n};\nchan other = [0] of { byte };\nchan letters = [2] of { byte };\n";
    let remove = "c_code_IS { char name[64]; snprintf(name, sizeof name, \"/everypath.%ld.2\", (long) getppid()); mq_unlink(name); };";
    let cases = [
        (
            format!("{head}active proctype P() {{ {remove} letters!1 }}\nactive proctype Q() {{ byte v; other?v }}\n"),
            "a message cannot be sent",
        ),
        (
            format!(
                "{head}active proctype P() {{ byte v; letters!1; letters!2; other!1 }}\nactive proctype Q() {{ byte v; other?v; {remove} letters?v }}\n"
            ),
            "a message cannot be received",
        ),
    ];
    let options = Options { transport: Transport::Posix, ..Options::default() };
    for (text, said) in cases {
        let made = with_options(&text, false, &options).unwrap_or_else(|errors| panic!("{errors:?}"));
        let folder = Folder::new("broken-queue");
        folder.write(&made);
        folder.make();
        let mut command = std::process::Command::new("timeout");
        let out = command.args(["20", "./init"]).env("EP_TRACE", "trace").current_dir(&folder.0).output().expect("the program");
        let errors = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{errors}");
        assert!(errors.contains(&format!("channel `letters`: {said}")), "{errors}");
        let trace = std::fs::read_to_string(folder.0.join("trace")).expect("the trace");
        assert!(trace.lines().any(|line| line.starts_with("fail ")), "{trace}");
    }
    let text = "chan wide = [250] of { int };\nactive proctype P() { wide!1 }\n";
    let made = with_options(text, false, &options).unwrap_or_else(|errors| panic!("{errors:?}"));
    let folder = Folder::new("wide-queue");
    folder.write(&made);
    folder.make();
    let most = std::fs::read_to_string("/proc/sys/fs/mqueue/msg_max").ok().and_then(|most| most.trim().parse::<u32>().ok());
    if most.is_some_and(|most| most < 250) && !is_privileged() {
        let out = folder.run("init", &[]);
        assert!(
            !out.status.success() && String::from_utf8_lossy(&out.stderr).contains("channel `wide`"),
            "{}",
            String::from_utf8_lossy(&out.stderr)
        );
    }
}

/// A privileged process may make larger queues.
fn is_privileged() -> bool {
    std::process::Command::new("id").arg("-u").output().is_ok_and(|out| out.stdout.starts_with(b"0"))
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |layout, transport, channel: Option<Transport>| {
        let channels = channel.map(|transport| ("q".to_owned(), transport)).into_iter().collect();
        Options { layout, transport, channels }.refusal().is_some()
    };
    assert!(refused(ProgramLayout::Loop, Transport::Tcp, None));
    assert!(refused(ProgramLayout::Processes, Transport::Memory, Some(Transport::Unix)));
    assert!(refused(ProgramLayout::Processes, Transport::Unix, Some(Transport::SystemV)));
    assert!(!refused(ProgramLayout::Processes, Transport::Posix, Some(Transport::SystemV)));
    assert!(!refused(ProgramLayout::Loop, Transport::Memory, Some(Transport::SystemV)));
}

#[test]
fn a_loop_waits_without_using_time_and_ends_when_nobody_can_move() {
    if !builds() {
        return;
    }
    let text = "chan q = [1] of { byte };\nactive proctype P() { byte v; printf(\"waits\\n\"); if :: q?v :: timeout -> printf(\"late\\n\") fi; q?v }";
    let options = Options { layout: ProgramLayout::Loop, ..Options::default() };
    let made = with_options(text, false, &options).expect("right");
    let folder = Folder::new("loop-waits");
    folder.write(&made);
    folder.make();
    let script = "EP_TIMEOUT=1000 ./init & p=$!; sleep 0.7; awk '{ print $14 + $15 }' /proc/$p/stat; wait $p";
    let out = std::process::Command::new("sh").args(["-c", script]).current_dir(&folder.0).output().expect("sh");
    let text = String::from_utf8_lossy(&out.stdout);
    let ticks = text.lines().find_map(|line| line.parse::<u32>().ok()).expect("ticks");
    assert!(ticks < 20, "{ticks} hundredths of a second in one that waits");
    assert!(text.contains("late"), "{text}");
    assert!(String::from_utf8_lossy(&out.stderr).contains("every process waits"));
}

#[test]
fn a_stranger_is_refused_by_the_broker_and_disturbs_nobody() {
    if !builds() {
        return;
    }
    let options = Options { transport: Transport::Tcp, ..Options::default() };
    let made = with_options(PROTOCOL, false, &options).expect("right");
    let folder = Folder::new("stranger");
    folder.write(&made);
    folder.make();
    // A second program with another secret, and bytes that are no question.
    let port = 20_000 + std::process::id() % 20_000;
    let script = format!(
        "EP_LISTEN=tcp:127.0.0.1:{port} EP_TIMEOUT=400 ./init > printed & p=$!; sleep 0.3; \
         EP_SERVER=tcp:127.0.0.1:{port} EP_SECRET=wrong ./B 2> refused; echo $? >> refused; \
         head -c 3000 /dev/urandom > /dev/tcp/127.0.0.1/{port}; wait $p; cat printed"
    );
    let out = std::process::Command::new("timeout").args(["30", "bash", "-c", &script]).current_dir(&folder.0).output().expect("bash");
    assert_eq!(String::from_utf8_lossy(&out.stdout), "B: 0\nB: 1\nB: 2\nB: 3\nB: 4\n");
    let refused = std::fs::read_to_string(folder.0.join("refused")).expect("a file");
    assert!(refused.contains("secret") && refused.ends_with("1\n"), "{refused}");
}
