//! The FTP server of `examples/ftpd`: its model holds, the program generated from it answers stock
//! clients as vsftpd does, and what it does is a path of the model.

use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

fn everypath(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_everypath")).args(arguments).current_dir(folder).output().expect("the command")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ftpd")
}

fn has(commands: &[&str]) -> bool {
    let missing = commands.iter().find(|command| {
        let found = Command::new("sh").args(["-c", &format!("command -v {command} || test -x /usr/sbin/{command}")]).output();
        !found.is_ok_and(|out| out.status.success())
    });
    if let Some(missing) = missing {
        testkit::passed_over(&format!("no {missing}"));
    }
    missing.is_none()
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("everypath-ftpd-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server that is ended at the end.
struct Server(Child, u16);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    /// Starts a server that listens on a free port.
    fn start(mut make: impl FnMut(u16) -> Command) -> Server {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let mut command = make(port);
        let mut server = Server(command.stdout(Stdio::null()).spawn().expect("the server"), port);
        for _ in 0..200 {
            std::thread::sleep(Duration::from_millis(50));
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return server;
            }
            assert!(server.0.try_wait().expect("a child").is_none(), "the server ended");
        }
        panic!("the server does not listen");
    }
}

/// What a server serves: a file, an empty one, a folder, a folder to write into, links that lead
/// out.
fn served(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(folder.join("sub")).expect("a folder");
    std::fs::create_dir_all(folder.join("up")).expect("a folder");
    std::fs::write(folder.join("file"), vec![b'a'; 318_000]).expect("a file");
    std::fs::write(folder.join("empty"), "").expect("a file");
    std::fs::write(folder.join("sub/inner"), "deep\n").expect("a file");
    std::fs::set_permissions(folder.join("up"), std::fs::Permissions::from_mode(0o777)).expect("rights");
}

/// The generated server, built.
fn built(folder: &Path) -> PathBuf {
    for file in ["ftpd.pch", "ftp.h"] {
        std::fs::copy(example().join(file), folder.join(file)).expect("a copy");
    }
    let out = everypath(&["generate", "ftpd.pch", "-o", "out"], folder);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(out.stderr.is_empty(), "pieces of model and program fit each other: {}", text(&out.stderr));
    let made = folder.join("out");
    std::fs::copy(folder.join("ftp.h"), made.join("ftp.h")).expect("a copy");
    let out = Command::new("make").args(["-s", "CFLAGS=-O1 -Wall -Werror"]).current_dir(&made).output().expect("make");
    assert!(out.status.success(), "{}", text(&out.stderr));
    std::fs::write(folder.join("users"), "other:word\nuser:secret\n").expect("a file");
    made
}

fn generated(made: &Path, root: &Path, more: &[(&str, &str)]) -> Server {
    let _ = std::fs::remove_file(made.join("trace"));
    Server::start(|port| {
        let mut command = Command::new("./init");
        command.envs([("FTP_ANONYMOUS", "1"), ("FTP_ANONYMOUS_WRITES", "1"), ("EP_TRACE", "trace"), ("FTP_USERS", "../users")]);
        command.envs(more.iter().copied());
        command.env("FTP_PORT", port.to_string()).env("FTP_ROOT", root).current_dir(made);
        command
    })
}

fn vsftpd(folder: &Path, root: &Path) -> Server {
    std::fs::create_dir_all(folder.join("nothing")).expect("a folder");
    Server::start(|port| {
        let settings = format!(
            "listen=YES\nlisten_port={port}\nlisten_address=127.0.0.1\nanonymous_enable=YES\nlocal_enable=YES\nwrite_enable=YES\n\
             anon_root={}\nanon_upload_enable=YES\nanon_mkdir_write_enable=YES\nanon_other_write_enable=YES\nanon_umask=022\n\
             anon_world_readable_only=NO\nbackground=NO\nseccomp_sandbox=NO\nsecure_chroot_dir={}\nxferlog_enable=NO\nconnect_from_port_20=NO\n",
            root.display(),
            folder.join("nothing").display()
        );
        std::fs::write(folder.join("vsftpd.conf"), settings).expect("a file");
        let mut command = Command::new("/usr/sbin/vsftpd");
        command.arg(folder.join("vsftpd.conf"));
        command
    })
}

fn client(program: &str, arguments: &[&str], folder: &Path) -> String {
    let out = Command::new("timeout").arg("60").arg(program).args(arguments).current_dir(folder).output().expect("a client");
    assert!(out.status.success(), "{program} {arguments:?}: {}\n{}{}", out.status, text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

#[test]
fn the_model_holds() {
    let check = |more: &[&str]| {
        let arguments: Vec<&str> = ["check", "ftpd.pch", "--json", "--threads", "1"].into_iter().chain(more.iter().copied()).collect();
        let out = everypath(&arguments, &example());
        assert_eq!(out.status.code(), Some(0), "{more:?}: {}{}", text(&out.stdout), text(&out.stderr));
        let found: Value = serde_json::from_slice(&out.stdout).expect("JSON");
        found["states"].as_u64().expect("a number")
    };
    let endless = ["-D", "SESSIONS=1", "-D", "ROUNDS=0"];
    let with = |more: &[&'static str]| endless.iter().copied().chain(more.iter().copied()).collect::<Vec<&str>>();
    // Every command has its answers, nobody reaches files without the password of this session, the
    // session is nobody else's, what is opened is inside the root, nobody is stuck.
    assert_eq!(check(&["-D", "SESSIONS=1"]), 828);
    assert_eq!(check(&with(&[])), 1647);
    assert_eq!(check(&with(&["-D", "EVERY_COMMAND=1"])), 6129);
    // The server accepts infinitely often, who asks is accepted, who asks for a file is answered,
    // if no process is passed over for ever.
    check(&with(&["--ltl", "[] <> (ftpd@end_listen)", "--fair", "weak"]));
    check(&with(&["--ltl", "[] (asked[0] -> <> !asked[0])", "--fair", "weak"]));
    check(&with(&["-D", "EVERY_COMMAND=1", "--ltl", "[] (retrieving[0] -> <> !retrieving[0])", "--fair", "weak"]));
    assert_eq!(check(&["-D", "SESSIONS=2", "-D", "ROUNDS=1"]), 1_578_715);
}

#[test]
fn mistakes_in_the_model_are_found() {
    let model = std::fs::read_to_string(example().join("ftpd.pch")).expect("the model");
    let folder = Folder::new("broken");
    let mistakes = [
        ("an answer too many", "if :: ok -> REPLY(250) ::", "if :: ok -> REPLY(250) REPLY(250) ::"),
        ("an answer too few", ":: state != LOGGED_IN -> REPLY(530)", ":: state != LOGGED_IN -> skip"),
        ("files without a password", "state = AWAIT_USER :: else", "state = LOGGED_IN :: else"),
        ("a session of another", "run handler(session) ::", "run handler((session + 1) % SESSIONS) ::"),
        ("a password that stays", "promela_MS { passed[control] = false; holder", "promela_MS { holder"),
        ("a path above the root", ":: place > 0 -> place-- ::", ":: true -> place-- ::"),
        ("an opened file outside the root", "WALK(place); inside", "place = place - 2; inside"),
        ("an aborted transfer with one answer", "REPLY(426) REPLY(226)", "REPLY(426)"),
        ("an aborted transfer that succeeded", "REPLY(426) REPLY(226)", "REPLY(226) REPLY(226)"),
        ("a refused client that waits for ever", "replies[session] ! 421; busy[session] = false", "replies[session] ! 421"),
        ("a refusal that is a greeting", "replies[session] ! 421; busy", "replies[session] ! 220; busy"),
    ];
    for (what, from, to) in mistakes {
        let broken = model.replacen(from, to, 1);
        assert_ne!(model, broken, "{what}");
        std::fs::write(folder.0.join("broken.pch"), broken).expect("a file");
        let sessions = if what == "a session of another" { "SESSIONS=2" } else { "SESSIONS=1" };
        let out = everypath(&["check", "broken.pch", "-D", sessions, "-D", "ROUNDS=2"], &folder.0);
        assert_eq!(out.status.code(), Some(1), "{what}: {}{}", text(&out.stdout), text(&out.stderr));
    }
}

/// Lines in which the two servers differ on purpose, as they are for the generated one.
const DIFFERENCES: [&str; 1] = ["REST x -> 501 Bad parameter."];

#[test]
fn stock_clients_see_what_they_see_of_vsftpd() {
    if !has(&["cc", "make", "python3"]) {
        return;
    }
    let folder = Folder::new("clients");
    let made = built(&folder.0);
    let (own, other) = (folder.0.join("own"), folder.0.join("other"));
    served(&own);
    served(&other);
    std::os::unix::fs::symlink("/etc", own.join("out")).expect("a link");
    let server = generated(&made, &own, &[]);
    let port = server.1.to_string();
    let script = example().join("clients/session.py").display().to_string();
    // A link that leads out of the root leads nowhere.
    if has(&["curl"]) {
        for path in ["out/passwd", "../../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "//etc/passwd"] {
            let url = format!("ftp://127.0.0.1:{port}/{path}");
            let out = Command::new("curl").args(["-s", "--path-as-is", "--max-time", "20", &url]).output().expect("curl");
            assert!(!out.status.success() && out.stdout.is_empty(), "{url}: {}", text(&out.stdout));
        }
    }
    std::fs::remove_file(own.join("out")).expect("the link");
    let transcript = client("python3", &[&script, &port], &folder.0);
    assert!(transcript.lines().count() >= 70, "{transcript}");
    for line in DIFFERENCES {
        assert!(transcript.lines().any(|found| found == line), "{line} in\n{transcript}");
    }
    let beside = has(&["vsftpd"]).then(|| vsftpd(&folder.0, &other));
    if let Some(beside) = &beside {
        let theirs = client("python3", &[&script, &beside.1.to_string()], &folder.0);
        let different: Vec<(&str, &str)> = transcript.lines().zip(theirs.lines()).filter(|(a, b)| a != b).collect();
        assert_eq!(different.len(), DIFFERENCES.len(), "{different:#?}");
        assert!(different.iter().all(|(own, _)| DIFFERENCES.contains(own)), "{different:#?}");
        assert_eq!(transcript.lines().count(), theirs.lines().count());
    }
    let ports: Vec<String> = [Some(&server), beside.as_ref()].into_iter().flatten().map(|server| server.1.to_string()).collect();
    if has(&["curl"]) {
        let seen: Vec<(String, Vec<String>)> = ports.iter().map(|port| by_curl(port, &folder.0)).collect();
        assert!(seen[0].0.contains("318000 bytes"), "{}", seen[0].0);
        same("curl", &seen);
    }
    if has(&["lftp"]) {
        let seen: Vec<(String, Vec<String>)> = ports.iter().map(|port| by_lftp(port, &folder.0)).collect();
        assert!(seen[0].0.contains("inner"), "{}", seen[0].0);
        same("lftp", &seen);
    }
    conforms(&folder.0, 8);
}

/// The output and the exchanges of a client are the same with every server.
fn same(client: &str, seen: &[(String, Vec<String>)]) {
    assert!(seen[0].1.len() >= 40, "{client}: {:#?}", seen[0].1);
    for other in &seen[1..] {
        assert_eq!(other.0, seen[0].0, "{client}");
        let different: Vec<_> = seen[0].1.iter().zip(&other.1).filter(|(a, b)| a != b).collect();
        assert!(different.is_empty() && other.1.len() == seen[0].1.len(), "{client}: {different:#?}");
    }
}

/// The commands with their answers, from what a client tells about them, without ports and without
/// the name of the server. Left out are the commands that only vsftpd has, and the one that a
/// client uses instead.
fn exchanges(said: &str, sent: &str, got: &str) -> Vec<String> {
    let mut found: Vec<String> = vec![String::new()];
    for line in said.lines().map(str::trim_end) {
        if let Some(command) = line.strip_prefix(sent) {
            found.push(command.trim().to_owned());
        } else if let Some(answer) = line.strip_prefix(got) {
            let answer = answer.trim();
            let cut =
                if answer.starts_with("220") { 3 } else { answer.find('(').filter(|_| answer.starts_with("22")).unwrap_or(answer.len()) };
            if let Some(last) = found.last_mut() {
                last.push_str(" -> ");
                last.push_str(&answer[..cut]);
            }
        }
    }
    found.retain(|exchange| !["EPRT", "PORT", "MDTM"].iter().any(|word| exchange.starts_with(word)));
    found
}

/// Retrieval, a part of a file, a listing, a folder that is made, an upload that goes on, errors.
fn by_curl(port: &str, folder: &Path) -> (String, Vec<String>) {
    let base = format!("ftp://127.0.0.1:{port}");
    std::fs::write(folder.join("upload"), "0123456789").expect("a file");
    let (mut seen, mut said) = (String::new(), String::new());
    let mut run = |arguments: &[&str]| {
        let out = Command::new("curl").args(["-s", "-v", "--max-time", "20"]).args(arguments).current_dir(folder).output().expect("curl");
        let body = if out.stdout.len() > 1000 { format!("{} bytes", out.stdout.len()) } else { text(&out.stdout) };
        seen.push_str(&format!("{:?} {body}\n", out.status.code()));
        said.push_str(&text(&out.stderr));
    };
    run(&[&format!("{base}/file")]);
    run(&["-r", "317995-", &format!("{base}/file")]);
    run(&["-l", &format!("{base}/sub/")]);
    run(&["-T", "upload", &format!("{base}/up/new")]);
    run(&["-T", "upload", "--ftp-create-dirs", &format!("{base}/up/a/b/new")]);
    run(&[&format!("{base}/up/a/b/new")]);
    run(&["-P", "-", &format!("{base}/sub/inner")]);
    run(&["-I", &format!("{base}/up/new")]);
    run(&["-Q", "DELE up/new", "-Q", "DELE up/a/b/new", "-Q", "RMD up/a/b", "-Q", "RMD up/a", "-l", &format!("{base}/up/")]);
    run(&[&format!("{base}/absent")]);
    run(&["-u", "nobody-here:wrong", &format!("{base}/file")]);
    // Only vsftpd tells the time of a file (MDTM).
    while let Some((begin, end)) = seen.find("Last-Modified").and_then(|begin| Some((begin, begin + seen[begin..].find('\n')? + 1))) {
        seen.replace_range(begin..end, "");
    }
    (seen, exchanges(&said, "> ", "< "))
}

fn by_lftp(port: &str, folder: &Path) -> (String, Vec<String>) {
    // What a server says that it can do is not asked for, and what only vsftpd can do is not used.
    let settings = ["use-feat", "use-mdtm", "use-site-utime", "use-site-utime2", "ssl-allow", "use-abor"];
    let settings: String = settings.iter().map(|name| format!("set ftp:{name} no; ")).collect();
    let commands = "set net:max-retries 1; set net:timeout 20; set cmd:fail-exit no; cls -1; ls; cd sub; cls -1; pwd; cd ..; cat sub/inner; mkdir up/l; \
                    put upload -o up/l/new; cls -1 up/l; get up/l/new -o back; rm up/l/new; rmdir up/l; cat absent; cls -1 up; nlist sub; \
                    mget -O . s*/in*; quote NOOP; quote PWD; quote SYST; quote MODE S; quote STRU F; quote TYPE I; cd absent; mkdir up/m; \
                    mkdir up/m; rmdir up/m; du sub; set ftp:passive-mode no; cls -1; cat sub/inner; quit";
    let url = format!("ftp://anonymous:me@127.0.0.1:{port}");
    let _ = std::fs::remove_file(folder.join("back"));
    let _ = std::fs::remove_file(folder.join("inner"));
    let all = format!("{settings}{commands}");
    let out = Command::new("timeout").args(["60", "lftp", "-d", "-e", &all, &url]).current_dir(folder).output().expect("lftp");
    let back = std::fs::read_to_string(folder.join("back")).unwrap_or_default();
    let several = std::fs::read_to_string(folder.join("inner")).unwrap_or_default();
    assert_eq!(several, "deep\n", "a pattern names a file: {}", text(&out.stderr));
    let printed: String =
        text(&out.stdout).lines().filter(|line| line.ends_with("inner") || !line.contains("rw")).map(|line| format!("{line}\n")).collect();
    (format!("{printed}{back}").replace(port, "PORT"), exchanges(&text(&out.stderr), "---> ", "<--- "))
}

/// Patterns, types, structures, a password, and ABOR in the middle of a transfer.
#[test]
fn transfers_are_those_of_the_standard() {
    if !has(&["cc", "make", "python3"]) {
        return;
    }
    let folder = Folder::new("transfers");
    let made = built(&folder.0);
    let root = folder.0.join("root");
    served(&root);
    let server = generated(&made, &root, &[]);
    let script = example().join("clients/transfers.py").display().to_string();
    let said = client("python3", &[&script, &server.1.to_string(), &root.display().to_string()], &folder.0);
    assert_eq!(said, "listings: 9\nforms: 4\naborts: 9\n");
    conforms(&folder.0, 1);
}

/// A client that sends line by line.
struct Lines(std::io::BufReader<TcpStream>);

impl Lines {
    fn connect(port: u16) -> Lines {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        Lines(std::io::BufReader::new(stream))
    }

    /// The code of the next answer; 0 at the end of the connection.
    fn code(&mut self) -> u16 {
        let mut line = String::new();
        let _ = std::io::BufRead::read_line(&mut self.0, &mut line);
        line.get(..3).and_then(|code| code.parse().ok()).unwrap_or(0)
    }

    fn command(&mut self, line: &str) -> u16 {
        let _ = std::io::Write::write_all(self.0.get_mut(), format!("{line}\r\n").as_bytes());
        self.code()
    }
}

/// Connects until the answer is the wanted one.
fn until(port: u16, wanted: u16) -> Lines {
    for _ in 0..200 {
        let mut lines = Lines::connect(port);
        if lines.code() == wanted {
            return lines;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{wanted} does not come");
}

#[test]
fn sessions_have_limits() {
    if !has(&["cc", "make"]) {
        return;
    }
    let folder = Folder::new("limits");
    let made = built(&folder.0);
    let root = folder.0.join("root");
    served(&root);
    // From one address, and at all.
    for limit in ["FTP_PER_ADDRESS", "FTP_SESSIONS"] {
        let server = generated(&made, &root, &[(limit, "2")]);
        let first = until(server.1, 220);
        let second = until(server.1, 220);
        assert_eq!(Lines::connect(server.1).code(), 421, "{limit}");
        drop(first);
        let third = until(server.1, 220);
        drop((second, third));
        // A session that could not be started takes no place.
        std::fs::rename(made.join("handler"), made.join("away")).expect("the program");
        for _ in 0..4 {
            assert_eq!(until(server.1, 421).code(), 0);
        }
        std::fs::rename(made.join("away"), made.join("handler")).expect("the program");
        let both = (until(server.1, 220), until(server.1, 220));
        drop(both);
    }
    let server = generated(&made, &root, &[("FTP_LOGIN", "2"), ("FTP_IDLE", "3")]);
    // Before the login, commands do not prolong the session; after it each has a limit.
    let mut idle = until(server.1, 220);
    while idle.command("NOOP") == 530 {
        std::thread::sleep(Duration::from_millis(200));
    }
    assert_eq!(idle.code(), 0);
    let mut silent = until(server.1, 220);
    assert_eq!((silent.code(), silent.code()), (421, 0));
    let mut user = until(server.1, 220);
    assert_eq!((user.command("USER user"), user.command("PASS secret")), (331, 230));
    assert_eq!((user.command("NOOP"), user.code(), user.code()), (200, 421, 0));
    drop(server);
    // Three wrong passwords end a session.
    let server = generated(&made, &root, &[]);
    let mut guesses = until(server.1, 220);
    let codes: Vec<u16> = (0..3).flat_map(|_| [guesses.command("USER user"), guesses.command("PASS guess")]).collect();
    assert_eq!((codes, guesses.code()), (vec![331, 530, 331, 530, 331, 530], 0));
    drop(server);
    conforms(&folder.0, 1);
}

/// Every session is a path of the model.
fn conforms(folder: &Path, least: u64) {
    let out = everypath(
        &["conform", "ftpd.pch", "out/trace", "-D", "SESSIONS=1", "-D", "EVERY_COMMAND=1", "--each", "handler", "--json"],
        folder,
    );
    assert_eq!(out.status.code(), Some(0), "{}{}", text(&out.stdout), text(&out.stderr));
    let found: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert!(found["processes"].as_u64().is_some_and(|count| count >= least), "{found}");
    // A step too many is none.
    let trace = std::fs::read_to_string(folder.join("out/trace")).expect("the trace");
    let step = trace.lines().filter(|line| line.starts_with("step")).nth(20).expect("a step");
    std::fs::write(folder.join("forged"), trace.replacen(step, &format!("{step}\n{step}"), 1)).expect("a file");
    assert_eq!(
        everypath(&["conform", "ftpd.pch", "forged", "-D", "SESSIONS=1", "-D", "EVERY_COMMAND=1", "--each", "handler"], folder)
            .status
            .code(),
        Some(1)
    );
}
