//! Several processes that share a search: child processes, and processes on other machines.

use crate::alternatives::one_of;
use crate::args::EngineArguments;
use crate::failure::Failure;
use crate::progress::Ticker;
use crate::{input, interrupt, memory, quantity};
use check::{Crew, Errand, FarCycles, FarStart, Levels, Owner, Plan, Reply, Spread, Subject};
use clap::Args;
use contract::Observer;
use distribute::{Assembly, Place, SECRET_MIN, Secret, Serve, join, may_be_part};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// Options for several processes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Several processes")]
pub struct TeamArguments {
    /// Share the search with N processes on this machine, this one included. `--threads` and
    /// `--memory` are for each of them [threads: all cores together]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), conflicts_with = "hosts")]
    pub processes: Option<u16>,
    /// Share the search with processes on several machines: FILE has a line `HOST:PORT` for each,
    /// in the order of their ranks. The same command is started on each of them with its own
    /// `--rank`; rank 0 reads the model and prints the answer
    #[arg(long, value_name = "FILE", requires = "rank", requires = "secret")]
    pub hosts: Option<PathBuf>,
    /// The line of the hosts file for this process, from 0
    #[arg(long, value_name = "I", requires = "hosts")]
    pub rank: Option<u32>,
    /// A file with the shared secret of all processes, the same on all machines
    #[arg(long, value_name = "FILE", requires = "hosts")]
    pub secret: Option<PathBuf>,
    /// How long to wait for the other processes [default: 60s]
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration, requires = "hosts")]
    pub wait: Option<Duration>,
    /// The part of a state that decides which process owns it: `state`, all of it; `counters`, the
    /// control locations; `process:N`, the process with this number [default: state]
    #[arg(long, value_name = "PART")]
    pub owner: Option<Owner>,
    /// Who owns states at the beginning
    #[arg(long, value_name = "NAME", value_parser = one_of::<FarStart>())]
    pub start: Option<FarStart>,
    /// How several processes look for cycles
    #[arg(long, value_name = "NAME", value_parser = one_of::<FarCycles>())]
    pub distributed_cycles: Option<FarCycles>,
    /// The number of sent states that a worker remembers, so that it does not send them again. They
    /// take at most a thirty-second of its memory [default: 4096]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=1 << 24))]
    pub remember: Option<u32>,
    /// Before a process sends a state, it searches the state's successors for its own states, which
    /// need not be sent back
    #[arg(long)]
    pub lookahead: bool,
}

/// The time limit for connecting the processes of one machine.
const PATIENCE: Duration = Duration::from_secs(60);
const LOOPBACK: &str = "127.0.0.1:0";

impl TeamArguments {
    /// Whether this process works for one of rank 0, which prints the answer.
    pub fn follows(&self) -> bool {
        self.rank.is_some_and(|rank| rank > 0)
    }

    /// Whether the user has requested several processes.
    pub fn is_several(&self) -> bool {
        self.processes.is_some() || self.hosts.is_some()
    }

    /// How the search is distributed.
    pub fn spread(&self) -> Spread {
        let usual = Spread::default();
        Spread {
            owner: self.owner.unwrap_or(usual.owner),
            remembered: self.remember.unwrap_or(usual.remembered),
            lookahead: self.lookahead,
            cycles: self.distributed_cycles.unwrap_or_default(),
            start: self.start.unwrap_or_default(),
        }
    }

    /// Whether some option says how the search is distributed, even if it names the default.
    fn says_how(&self) -> bool {
        let given = [self.owner.is_some(), self.remember.is_some(), self.distributed_cycles.is_some(), self.start.is_some()];
        self.lookahead || given.contains(&true)
    }

    /// The number of processes, if there may be several.
    fn ranks(&self) -> Result<Option<(usize, Vec<String>)>, Failure> {
        match (&self.hosts, self.processes) {
            (Some(path), _) => hosts(path).map(|hosts| Some((hosts.len(), hosts))),
            (None, Some(processes)) => Ok(Some((usize::from(processes), Vec::new()))),
            (None, None) if self.says_how() => Err(Failure::Call(
                "`--owner`, `--start`, `--remember`, `--lookahead` and `--distributed-cycles` are for `--processes` and `--hosts`"
                    .to_owned(),
            )),
            (None, None) => Ok(None),
        }
    }

    /// Connects the processes, if there are several, and sets the number of workers of each.
    pub fn crew(&self, plan: &mut Plan, engine: &EngineArguments, ticker: &Ticker) -> Result<Option<Gathered>, Failure> {
        let Some((ranks, hosts)) = self.ranks()? else { return Ok(None) };
        plan.spread = self.spread();
        // On one machine the processes share the cores.
        let threads = match engine.threads {
            Some(threads) => usize::from(threads),
            None if hosts.is_empty() => (plan.threads / ranks).max(1),
            None => plan.threads,
        };
        plan.threads = threads;
        let team_error = |error: distribute::TeamError| Failure::Call(format!("the processes cannot be connected: {error}"));
        let secret = match &self.secret {
            Some(path) => read_secret(path)?,
            None => Secret::random().map_err(|error| Failure::Call(format!("random numbers are not available: {error}")))?,
        };
        if hosts.is_empty() && engine.memory.is_none() {
            plan.limits.memory = plan.limits.memory.map(|memory| memory / ranks as u64);
        }
        let listen = hosts.first().map_or(LOOPBACK, String::as_str);
        let assembly = Assembly::open(listen, secret).map_err(team_error)?;
        let mut children = Children(Vec::new());
        if hosts.is_empty() {
            for rank in 1..ranks {
                children.start(rank, &assembly)?;
            }
        }
        let patience = self.wait.unwrap_or(PATIENCE);
        let mut missing = || children.gone();
        let team = assembly.gather(ranks, threads, patience, ticker, &mut missing, serving()).map_err(team_error)?;
        Ok(Some(Gathered { crew: Crew::new(team), _children: children }))
    }

    /// Works for the process of rank 0 until that process has its answer.
    pub fn follow(&self) -> Result<(), Failure> {
        let (Some(path), Some(rank), Some(secret)) = (&self.hosts, self.rank, &self.secret) else {
            return Err(Failure::Call("`--rank` needs `--hosts` and `--secret`".to_owned()));
        };
        let hosts = hosts(path)?;
        let Some(mine) = hosts.get(rank as usize) else {
            return Err(Failure::Call(format!("{} has {} lines, and there is no rank {rank}", path.display(), hosts.len())));
        };
        let place = Place { rank, leader: &hosts[0], listen: mine, known_as: Some(mine) };
        work(&place, &read_secret(secret)?, self.wait.unwrap_or(PATIENCE))
    }
}

/// The other processes, including the child processes.
pub struct Gathered {
    pub crew: Crew,
    /// They end when the crew is dropped, before this field is.
    _children: Children,
}

struct Children(Vec<(usize, Child)>);

impl Children {
    fn start(&mut self, rank: usize, assembly: &Assembly) -> Result<(), Failure> {
        let started = std::env::current_exe().and_then(|program| {
            let mut child = Command::new(program)
                .args(["worker", "--leader", &assembly.address().to_string(), "--rank", &rank.to_string()])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()?;
            // The secret is not visible in a list of processes or in an environment.
            if let Some(mut stdin) = child.stdin.take() {
                stdin.write_all(assembly.secret().bytes())?;
            }
            Ok(child)
        });
        let child = started.map_err(|error| Failure::Call(format!("the process of rank {rank} cannot be started: {error}")))?;
        self.0.push((rank, child));
        Ok(())
    }

    /// A process that has ended, if there is one.
    fn gone(&mut self) -> Option<String> {
        self.0.iter_mut().find_map(|(rank, child)| {
            let status = child.try_wait().ok()??;
            Some(format!("the process of rank {rank} ended ({status})"))
        })
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for (_, child) in &mut self.0 {
            // They were told to end; a process that does not end is not waited for.
            for _ in 0..100 {
                match child.try_wait() {
                    Ok(None) => std::thread::sleep(Duration::from_millis(20)),
                    _ => break,
                }
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The lines of a file of hosts.
fn hosts(path: &Path) -> Result<Vec<String>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| Failure::read(path, error))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or("").trim());
    let hosts: Vec<String> = lines.filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let wrong = hosts.iter().find(|host| host.rsplit_once(':').is_none_or(|(_, port)| port.parse::<u16>().is_err()));
    match wrong {
        Some(host) => Err(Failure::Call(format!("{}: `{host}` is not HOST:PORT", path.display()))),
        None if hosts.is_empty() => Err(Failure::Call(format!("{} names no hosts", path.display()))),
        None => Ok(hosts),
    }
}

fn read_secret(path: &Path) -> Result<Secret, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::read(path, error))?;
    let short = || Failure::Call(format!("{}: a secret has at least {SECRET_MIN} bytes", path.display()));
    Secret::new(bytes.trim_ascii()).ok_or_else(short)
}

/// The function with which a worker serves a job.
fn serving() -> Serve<Reply> {
    Arc::new(|seat, job| {
        let errand = match Errand::read(job) {
            Ok(errand) => errand,
            // The other processes wait for a contribution of this one.
            Err(why) => {
                let _ = seat.gather(why.as_bytes());
                return Err(why);
            }
        };
        let model = input::saved_model(Path::new("the errand"), errand.saved());
        let subject: Result<&dyn Subject, String> = match &model {
            Ok(model) => Ok(&*model.subject),
            Err(failure) => Err(failure.to_string()),
        };
        check::serve(
            subject,
            &errand,
            check::Host { resident: Some(Arc::new(memory::resident)), open: &open_fragment, levels: &Files },
            seat,
        )
    })
}

/// Creates the file for the fragment of a worker.
fn open_fragment(folder: &str, worker: usize) -> std::io::Result<Box<dyn Write>> {
    std::fs::create_dir_all(folder)?;
    let file = std::fs::File::create(Path::new(folder).join(check::fragment_name(worker)))?;
    Ok(Box::new(std::io::BufWriter::with_capacity(1 << 16, file)))
}

/// Checkpoints of several processes: the parts of a level are files next to the file that the user
/// names, which contains the number of the level.
struct Files;

/// The path of a part.
fn part(path: &str, depth: u64, worker: u64) -> PathBuf {
    PathBuf::from(format!("{path}.{depth}.{worker}"))
}

/// The mark after the model in the file that the user names: the checkpoint is of several
/// processes.
const LEVEL: &str = "levels of several processes";

impl check::LevelFiles for Files {
    fn write(
        &self,
        path: &str,
        depth: u64,
        worker: usize,
        write: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let name = part(path, depth, worker as u64);
        let written = std::fs::File::create(&name).and_then(|file| {
            let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
            write(&mut out)?;
            out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
        });
        if written.is_err() {
            // The incomplete part may have filled the disk.
            let _ = std::fs::remove_file(&name);
        }
        written
    }

    fn open(&self, path: &str, depth: u64, worker: u64) -> std::io::Result<Box<dyn Read>> {
        let file = std::fs::File::open(part(path, depth, worker))?;
        Ok(Box::new(std::io::BufReader::with_capacity(1 << 20, file)))
    }

    fn complete(&self, levels: &Levels, depth: u64, workers: u64) -> std::io::Result<()> {
        let partial = PathBuf::from(format!("{}.partial", levels.path));
        let mut file = std::fs::File::create(&partial)?;
        file.write_all(&levels.head)?;
        write!(file, "{LEVEL} {depth} {workers}")?;
        file.sync_all()?;
        std::fs::rename(&partial, &levels.path)?;
        // Earlier parts are not needed any more: those that were valid until now, and those of a
        // level that was never complete. Other workers may be writing later ones.
        remove_parts(Path::new(&levels.path), |at, worker| at > depth || at == depth && worker < workers);
        Ok(())
    }
}

/// Removes the parts of the checkpoint `path` except those to `keep`, by level and worker. A file
/// that is not a part is left alone, whatever its name.
fn remove_parts(path: &Path, keep: impl Fn(u64, u64) -> bool) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let numbers = |text: &str| {
            let (depth, worker) = text.strip_prefix(name)?.strip_prefix('.')?.split_once('.')?;
            Some((depth.parse::<u64>().ok()?, worker.parse::<u64>().ok()?))
        };
        let Some((depth, worker)) = entry.file_name().to_str().and_then(numbers) else { continue };
        let mut head = Vec::new();
        let read = std::fs::File::open(entry.path()).and_then(|file| file.take(16).read_to_end(&mut head));
        if !keep(depth, worker)
            && entry.path() == part(&folder.join(name).to_string_lossy(), depth, worker)
            && read.is_ok()
            && may_be_part(&head)
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Removes the parts of a checkpoint that nobody needs when a search has ended: all of them and the
/// checkpoint itself if it has its answer, or else those of levels that were not completed.
pub fn tidy_levels(path: &Path, has_answer: bool) {
    let level = read_level(path).ok().flatten();
    if has_answer && level.is_some() {
        let _ = std::fs::remove_file(path);
    }
    let kept = level.filter(|_| !has_answer);
    remove_parts(path, |depth, worker| kept.is_some_and(|(at, workers)| at == depth && worker < workers));
}

/// The level and the number of workers in a checkpoint of several processes; `None` if the file is
/// another checkpoint.
pub fn read_level(path: &Path) -> std::io::Result<Option<(u64, u64)>> {
    let mut file = std::io::BufReader::new(std::fs::File::open(path)?);
    if check::Saved::read(&mut file).is_err() {
        return Ok(None);
    }
    let mut text = String::new();
    if file.take(1 << 10).read_to_string(&mut text).is_err() {
        return Ok(None);
    }
    let numbers = text.strip_prefix(LEVEL).map(|rest| rest.split_whitespace().map(str::parse));
    let numbers: Option<Vec<u64>> = numbers.and_then(|numbers| numbers.collect::<Result<_, _>>().ok());
    Ok(numbers.and_then(|numbers| if let [depth, workers] = numbers[..] { Some((depth, workers)) } else { None }))
}

/// Prints the notices of a worker on standard error.
struct Aloud(u32);

impl Observer for Aloud {
    fn notice(&self, text: &str) {
        // Standard error may be closed; the work continues.
        let _ = writeln!(std::io::stderr(), "note: rank {}: {text}", self.0);
    }
}

/// Works until rank 0 ends the search.
fn work(place: &Place<'_>, secret: &Secret, patience: Duration) -> Result<(), Failure> {
    let cancel = interrupt::on_signal();
    let ended = join(place, secret, patience, &cancel, &Aloud(place.rank), serving());
    ended.map_err(|error| Failure::Call(format!("rank {}: {error}", place.rank)))
}

/// Works for the process that has started this one, and reads the secret from it.
pub fn work_for(leader: &str, rank: u32) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes).map_err(|error| Failure::Call(format!("there is no secret: {error}")))?;
    let secret = Secret::new(&bytes).ok_or_else(|| Failure::Call("there is no secret".to_owned()))?;
    work(&Place { rank, leader, listen: LOOPBACK, known_as: None }, &secret, PATIENCE)
}
