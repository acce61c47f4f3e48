//! Processes that search together: how they find each other, the messages of rank 0, and the
//! handling of lost processes.
//!
//! Rank 0 listens. Each other process opens a control connection to it, receives the number of
//! processes, and reports the address at which it listens itself. Then each process connects to all
//! of lower rank, and these connections carry the dataflow. Every connection is first admitted by
//! [`trust`](crate::trust). From then on the control connections carry jobs, requests to stop, and
//! a beat a few times a second. A process that is silent or whose connection ends is lost: rank 0
//! tells all others, and the run is given up.

use crate::control::{BEAT, Message, SILENCE};
use crate::line::{Line, LineState};
use crate::seat::Seat;
use crate::shared::Shared;
use crate::trust::{Greeting, Purpose, Refused, Secret, admit, greet, random};
use contract::{Cancel, Observer, Progress, StopReason};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use timely::WorkerConfig;
use timely::communication::allocator::generic::AllocatorBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::allocator::{ProcessBuilder, thread::ThreadBuilder};
use timely::communication::{Hooks, WorkerGuards};

/// The most greetings that are processed at the same time. Other connections wait in the queue of
/// the listener, so one that says nothing keeps nobody out: it is refused after a while, and a
/// process that has waited too long meanwhile tries again.
const GREETINGS: usize = 64;
/// The most refusals that are reported, so that a flood of strangers is not.
const TOLD: usize = 20;
const NAP: Duration = Duration::from_millis(20);

/// Why processes cannot work together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamError(pub String);

impl fmt::Display for TeamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TeamError {}

fn failed(what: impl fmt::Display) -> TeamError {
    TeamError(what.to_string())
}

/// The function with which a worker executes a job; it is the same on all of them.
pub type Serve<R> = Arc<dyn Fn(&mut Seat<'_>, &[u8]) -> R + Send + Sync>;

/// A listener for connections that admits processes with the secret.
struct Door {
    address: SocketAddr,
    closed: Arc<AtomicBool>,
    guests: Receiver<Guest>,
}

enum Guest {
    Admitted(Greeting, TcpStream),
    Refused(String),
}

impl Drop for Door {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
    }
}

impl Door {
    fn open(address: &str, secret: &Secret) -> io::Result<Door> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (sender, guests) = channel();
        let closed = Arc::new(AtomicBool::new(false));
        let (ends, secret) = (Arc::clone(&closed), secret.clone());
        thread::Builder::new().name("everypath-door".to_owned()).spawn(move || {
            let busy = Arc::new(AtomicUsize::new(0));
            while !ends.load(Ordering::Acquire) {
                let may_accept = busy.load(Ordering::Acquire) < GREETINGS;
                let Some((stream, from)) = may_accept.then(|| listener.accept().ok()).flatten() else {
                    thread::sleep(NAP);
                    continue;
                };
                busy.fetch_add(1, Ordering::AcqRel);
                let (sender, secret, done) = (sender.clone(), secret.clone(), Arc::clone(&busy));
                let hear = move || {
                    let mut stream = stream;
                    let guest = match admit(&mut stream, &secret) {
                        Ok(greeting) => Guest::Admitted(greeting, stream),
                        Err(why) => Guest::Refused(format!("a connection from {from} was refused: {why}")),
                    };
                    done.fetch_sub(1, Ordering::AcqRel);
                    // If no thread waits any more, the error does not matter.
                    let _ = sender.send(guest);
                };
                if thread::Builder::new().name("everypath-greeting".to_owned()).spawn(hear).is_err() {
                    busy.fetch_sub(1, Ordering::AcqRel);
                }
            }
        })?;
        Ok(Door { address, closed, guests })
    }
}

/// Reports refusals, up to a limit.
#[derive(Default)]
struct Told(usize);

impl Told {
    fn tell(&mut self, observer: &dyn Observer, text: &str) {
        self.0 += 1;
        match self.0 {
            ..TOLD => observer.notice(text),
            TOLD => observer.notice(&format!("{text}; further ones are not told")),
            _ => {}
        }
    }
}

/// The process of rank 0, before the others are there.
pub struct Assembly {
    door: Door,
    secret: Secret,
}

impl Assembly {
    /// Listens at an address; port 0 means any port.
    pub fn open(address: &str, secret: Secret) -> Result<Assembly, TeamError> {
        let door = Door::open(address, &secret).map_err(|error| failed(format_args!("cannot listen at {address}: {error}")))?;
        Ok(Assembly { door, secret })
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.door.address
    }

    /// The secret for the other processes.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Waits for all others, and begins. `missing` may report that a process will not come.
    pub fn gather<R: Send + 'static>(
        self,
        ranks: usize,
        threads: usize,
        patience: Duration,
        observer: &dyn Observer,
        missing: &mut dyn FnMut() -> Option<String>,
        serve: Serve<R>,
    ) -> Result<Team<R>, TeamError> {
        let until = Instant::now() + patience;
        let session = random::<16>().map_err(failed)?;
        let mut told = Told::default();
        let mut controls: BTreeMap<u32, (TcpStream, String)> = BTreeMap::new();
        let mut data: BTreeMap<u32, TcpStream> = BTreeMap::new();
        let mut ready = false;
        while !ready || data.len() + 1 < ranks {
            if let Some(why) = missing() {
                return Err(TeamError(why));
            }
            if Instant::now() >= until {
                let absent: Vec<String> =
                    (1..ranks as u32).filter(|rank| !controls.contains_key(rank)).map(|rank| rank.to_string()).collect();
                return Err(failed(format_args!("not all workers came in time; missing: rank {}", absent.join(", "))));
            }
            match self.door.guests.recv_timeout(NAP) {
                Ok(Guest::Refused(text)) => told.tell(observer, &text),
                Ok(Guest::Admitted(greeting, stream)) => {
                    let known = (1..ranks as u32).contains(&greeting.rank);
                    match greeting.purpose {
                        Purpose::Control if known && !controls.contains_key(&greeting.rank) => {
                            match welcome(stream, session, ranks, threads) {
                                Ok(control) => drop(controls.insert(greeting.rank, control)),
                                Err(error) => told.tell(observer, &format!("rank {} did not join: {error}", greeting.rank)),
                            }
                        }
                        Purpose::Data if known && greeting.session == session => drop(data.insert(greeting.rank, stream)),
                        _ => told
                            .tell(observer, &format!("a worker of rank {} was refused: it is not wanted, or there already", greeting.rank)),
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(failed("nobody listens any more")),
            }
            if !ready && controls.len() + 1 == ranks {
                let mut addresses = vec![self.door.address.to_string()];
                addresses.extend(controls.values().map(|(_, address)| address.clone()));
                for (rank, (control, _)) in &mut controls {
                    Message::Addresses(addresses.clone())
                        .write(control)
                        .map_err(|error| failed(format_args!("rank {rank} is gone: {error}")))?;
                }
                ready = true;
            }
        }
        for (rank, (control, _)) in &mut controls {
            let left = until.saturating_duration_since(Instant::now()).max(NAP);
            let answer = control.set_read_timeout(Some(left)).and_then(|()| Message::read(control));
            if !matches!(answer, Ok(Message::Ready)) {
                return Err(failed(format_args!("rank {rank} did not connect to the others")));
            }
        }
        for (rank, (control, _)) in &mut controls {
            Message::Start.write(control).map_err(|error| failed(format_args!("rank {rank} is gone: {error}")))?;
        }
        let lines = (0..ranks as u32).map(|rank| data.remove(&rank)).collect();
        let seats = Seats::new(0, lines, threads, serve)?;
        let controls = controls.into_iter().map(|(rank, (control, _))| (rank, control)).collect();
        Team::lead(controls, seats)
    }
}

/// Tells a new process about the run, and receives its address.
fn welcome(mut stream: TcpStream, session: [u8; 16], ranks: usize, threads: usize) -> io::Result<(TcpStream, String)> {
    stream.set_read_timeout(Some(SILENCE))?;
    Message::Welcome { session, ranks: ranks as u32, threads: threads as u32 }.write(&mut stream)?;
    match Message::read(&mut stream)? {
        Message::Listening(address) => Ok((stream, address)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The workers of a process, each in a thread of its own.
struct Seats<R: Send + 'static> {
    shared: Arc<Shared>,
    jobs: Vec<Sender<Arc<Vec<u8>>>>,
    results: Receiver<(usize, R)>,
    guards: Option<WorkerGuards<()>>,
    lines: Vec<Option<Arc<LineState>>>,
}

impl<R: Send + 'static> Seats<R> {
    fn new(rank: usize, sockets: Vec<Option<TcpStream>>, threads: usize, serve: Serve<R>) -> Result<Seats<R>, TeamError> {
        let threads = threads.max(1);
        let shared = Shared::new(threads);
        let lines: Vec<_> = sockets.iter().map(|socket| socket.as_ref().map(|_| Arc::<LineState>::default())).collect();
        let (builders, others): (Vec<AllocatorBuilder>, Box<dyn Any + Send>) = if sockets.len() > 1 {
            let line = |(socket, state): (TcpStream, Arc<LineState>)| Line { stream: socket, state };
            let sockets = sockets.into_iter().zip(&lines).map(|(socket, state)| socket.zip(state.clone()).map(line)).collect();
            let hooks = Hooks::default();
            let inside = ProcessBuilder::new_typed_vector(threads, hooks.refill.clone(), hooks.spill.clone());
            let (tcp, guard) = initialize_networking_from_sockets::<Line>(inside, sockets, rank, threads, hooks).map_err(failed)?;
            (tcp.into_iter().map(AllocatorBuilder::Tcp).collect(), Box::new(guard))
        } else if threads > 1 {
            let hooks = Hooks::default();
            let inside = ProcessBuilder::new_typed_vector(threads, hooks.refill, hooks.spill);
            (inside.into_iter().map(AllocatorBuilder::Process).collect(), Box::new(()))
        } else {
            (vec![AllocatorBuilder::Thread(ThreadBuilder)], Box::new(()))
        };
        let (jobs, receivers): (Vec<_>, Vec<_>) = (0..threads).map(|_| channel::<Arc<Vec<u8>>>()).unzip();
        let receivers = Mutex::new(receivers.into_iter().map(Some).collect::<Vec<_>>());
        let (sender, results) = channel();
        let sender = Mutex::new(sender);
        let inside = Arc::clone(&shared);
        let guards = timely::execute::execute_from(builders, others, WorkerConfig::default(), move |worker| {
            let number = worker.index() % threads;
            let lock =
                |receivers: &Mutex<Vec<Option<Receiver<_>>>>| receivers.lock().unwrap_or_else(PoisonError::into_inner)[number].take();
            let Some(mine) = lock(&receivers) else { return };
            let answers = sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
            while let Ok(job) = mine.recv() {
                let mut seat = Seat::new(worker, Arc::clone(&inside));
                let answer = serve(&mut seat, &job);
                if answers.send((number, answer)).is_err() {
                    break;
                }
            }
        })
        .map_err(TeamError)?;
        Ok(Seats { shared, jobs, results, guards: Some(guards), lines })
    }

    fn give(&self, job: &Arc<Vec<u8>>) {
        self.shared.begin();
        // A lost thread is noticed because its answer is missing.
        self.jobs.iter().for_each(|jobs| drop(jobs.send(Arc::clone(job))));
    }

    /// The process to which a connection broke.
    fn broken(&self) -> Option<u32> {
        let broken = |line: &Option<Arc<LineState>>| line.as_ref().is_some_and(|line| line.broken.load(Ordering::Acquire));
        self.lines.iter().position(broken).map(|rank| rank as u32)
    }

    /// Ends the threads. If other processes are gone, the threads are left to the end of the
    /// process, because a thread that waits for a lost connection cannot be ended.
    fn end(&mut self) {
        self.jobs.clear();
        let Some(guards) = self.guards.take() else { return };
        if self.shared.is_abandoned() {
            std::mem::forget(guards);
            return;
        }
        self.lines.iter().flatten().for_each(|line| line.closing.store(true, Ordering::Release));
        drop(guards);
    }
}

/// All processes, as rank 0 sees them.
pub struct Team<R: Send + 'static> {
    seats: Seats<R>,
    members: BTreeMap<u32, Arc<Mutex<TcpStream>>>,
    events: Receiver<(u32, Result<Message, String>)>,
    /// Why the run was given up, if it was.
    lost: Option<Lost>,
    /// The progress that the processes have reported for the current job.
    progress: BTreeMap<u32, Progress>,
    beat: Instant,
}

/// A job that failed because a process was lost.
#[derive(Clone, Debug, PartialEq)]
pub struct Lost {
    /// What happened.
    pub why: String,
    /// The progress of the search, as the processes have reported it.
    pub progress: Progress,
}

fn send(to: &Mutex<TcpStream>, message: &Message) {
    // An unreachable process is noticed by its silence.
    let _ = message.write(&mut to.lock().unwrap_or_else(PoisonError::into_inner));
}

/// An error of a connection, as users are told.
fn told_as(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "it ended".to_owned(),
        _ => error.to_string(),
    }
}

/// Forwards the messages of a control connection.
fn listen(rank: u32, stream: &TcpStream, to: Sender<(u32, Result<Message, String>)>) -> io::Result<()> {
    let mut stream = stream.try_clone()?;
    stream.set_read_timeout(Some(SILENCE))?;
    let hear = move || {
        loop {
            let heard = Message::read(&mut stream).map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => format!("it was silent for {} seconds", SILENCE.as_secs()),
                _ => told_as(&error),
            });
            let ends = heard.is_err();
            if to.send((rank, heard)).is_err() || ends {
                return;
            }
        }
    };
    thread::Builder::new().name(format!("everypath-control-{rank}")).spawn(hear).map(drop)
}

impl<R: Send + 'static> Team<R> {
    /// Workers of this process alone.
    pub fn alone(threads: usize, serve: Serve<R>) -> Result<Team<R>, TeamError> {
        Team::lead(BTreeMap::new(), Seats::new(0, vec![None], threads, serve)?)
    }

    fn lead(controls: BTreeMap<u32, TcpStream>, seats: Seats<R>) -> Result<Team<R>, TeamError> {
        let (sender, events) = channel();
        let mut members = BTreeMap::new();
        for (rank, control) in controls {
            control.set_write_timeout(Some(SILENCE)).map_err(failed)?;
            listen(rank, &control, sender.clone()).map_err(failed)?;
            members.insert(rank, Arc::new(Mutex::new(control)));
        }
        Ok(Team { seats, members, events, lost: None, progress: BTreeMap::new(), beat: Instant::now() })
    }

    /// The number of processes.
    pub fn ranks(&self) -> usize {
        self.members.len() + 1
    }

    fn tell_all(&self, message: &Message) {
        self.members.values().for_each(|member| send(member, message));
    }

    fn give_up(&mut self, why: String) -> Lost {
        self.seats.shared.abandon();
        self.tell_all(&Message::Abort(why.clone()));
        self.progress.insert(0, self.seats.shared.progress());
        let lost = Lost { why, progress: together(&self.progress, Duration::ZERO) };
        self.lost = Some(lost.clone());
        lost
    }

    /// Lets all workers execute a job, and returns the answer of worker 0. The observer gets their
    /// combined progress.
    pub fn ask(&mut self, job: Vec<u8>, time: Option<Duration>, cancel: &Cancel, observer: &dyn Observer) -> Result<R, Lost> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let begun = Instant::now();
        self.tell_all(&Message::Job(job.clone()));
        self.seats.give(&Arc::new(job));
        self.progress.clear();
        let (mut here, mut there, mut told) = (self.seats.jobs.len(), self.members.len(), false);
        let mut answer = None;
        while here > 0 || there > 0 {
            match self.seats.results.recv_timeout(NAP / 4) {
                Ok((number, result)) => {
                    here -= 1;
                    if number == 0 {
                        answer = Some(result);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(self.give_up("a worker of rank 0 failed".to_owned())),
            }
            while let Ok((rank, heard)) = self.events.try_recv() {
                match heard {
                    Ok(Message::Beat(beat)) => drop(self.progress.insert(rank, beat)),
                    Ok(Message::Stop(reason)) => self.seats.shared.stop(reason),
                    Ok(Message::Ended) => there = there.saturating_sub(1),
                    Ok(Message::Lost(other)) => {
                        return Err(self.give_up(format!("the connection between rank {rank} and rank {other} is lost")));
                    }
                    Ok(Message::Abort(why)) => return Err(self.give_up(format!("the worker of rank {rank} gave up: {why}"))),
                    Ok(_) => return Err(self.give_up(format!("the worker of rank {rank} broke the protocol"))),
                    Err(why) => return Err(self.give_up(format!("the worker of rank {rank} is gone: {why}"))),
                }
            }
            if let Some(rank) = self.seats.broken() {
                return Err(self.give_up(format!("the worker of rank {rank} is gone: its connection is lost")));
            }
            let shared = &self.seats.shared;
            if cancel.is_cancelled() {
                shared.stop(StopReason::Interrupted);
            } else if time.is_some_and(|time| begun.elapsed() >= time) {
                shared.stop(StopReason::Time);
            }
            if shared.is_stopped() && !told {
                told = true;
                self.tell_all(&Message::Stop(shared.reason().unwrap_or(StopReason::Interrupted)));
            }
            self.seats.shared.told().iter().for_each(|text| observer.notice(text));
            if self.beat.elapsed() >= BEAT {
                self.beat = Instant::now();
                self.tell_all(&Message::Beat(Progress::default()));
                self.progress.insert(0, self.seats.shared.progress());
                observer.progress(&together(&self.progress, begun.elapsed()));
            }
        }
        answer.ok_or_else(|| self.give_up("no worker answered".to_owned()))
    }
}

impl<R: Send + 'static> Drop for Team<R> {
    fn drop(&mut self) {
        if self.lost.is_none() {
            self.tell_all(&Message::Bye);
        }
        self.seats.end();
    }
}

fn together(parts: &BTreeMap<u32, Progress>, elapsed: Duration) -> Progress {
    let sum = |number: fn(&Progress) -> u64| parts.values().map(number).sum();
    Progress {
        states: sum(|part| part.states),
        transitions: sum(|part| part.transitions),
        waiting: sum(|part| part.waiting),
        depth: parts.values().map(|part| part.depth).max().unwrap_or(0),
        bytes: sum(|part| part.bytes),
        elapsed,
        ..Progress::default()
    }
}

/// The addresses of a process with a rank other than 0.
#[derive(Clone, Debug)]
pub struct Place<'a> {
    /// Its rank.
    pub rank: u32,
    /// The address of rank 0.
    pub leader: &'a str,
    /// The address at which it listens; port 0 means any port.
    pub listen: &'a str,
    /// The address by which others reach it, if it is different.
    pub known_as: Option<&'a str>,
}

/// Joins a run and works until rank 0 ends it. The error says why it ended early.
pub fn join<R: Send + 'static>(
    place: &Place<'_>,
    secret: &Secret,
    patience: Duration,
    cancel: &Cancel,
    observer: &dyn Observer,
    serve: Serve<R>,
) -> Result<(), TeamError> {
    let until = Instant::now() + patience;
    let door = Door::open(place.listen, secret).map_err(|error| failed(format_args!("cannot listen at {}: {error}", place.listen)))?;
    let greeting = Greeting { purpose: Purpose::Control, rank: place.rank, session: [0; 16] };
    let mut control = reach(place.leader, secret, &greeting, until, cancel)?;
    control.set_read_timeout(Some(patience)).map_err(failed)?;
    let gone = |error: io::Error| failed(format_args!("rank 0 is gone: {}", told_as(&error)));
    let Message::Welcome { session, ranks, threads } = Message::read(&mut control).map_err(gone)? else {
        return Err(failed("rank 0 broke the protocol"));
    };
    let mine = place.known_as.map_or_else(|| door.address.to_string(), str::to_owned);
    Message::Listening(mine).write(&mut control).map_err(gone)?;
    let Message::Addresses(addresses) = Message::read(&mut control).map_err(gone)? else {
        return Err(failed("rank 0 broke the protocol"));
    };
    if addresses.len() != ranks as usize || place.rank >= ranks {
        return Err(failed(format_args!("rank {} is not one of {ranks}", place.rank)));
    }
    let mut lines: Vec<Option<TcpStream>> = addresses.iter().map(|_| None).collect();
    let greeting = Greeting { purpose: Purpose::Data, rank: place.rank, session };
    for (line, address) in lines.iter_mut().zip(&addresses).take(place.rank as usize) {
        *line = Some(reach(address, secret, &greeting, until, cancel)?);
    }
    let mut told = Told::default();
    while lines.iter().skip(place.rank as usize + 1).any(Option::is_none) {
        if Instant::now() >= until || cancel.is_cancelled() {
            return Err(failed("not all workers came in time"));
        }
        match door.guests.recv_timeout(NAP) {
            Ok(Guest::Admitted(Greeting { purpose: Purpose::Data, rank, session: theirs }, stream))
                if rank > place.rank && rank < ranks && theirs == session =>
            {
                lines[rank as usize] = Some(stream);
            }
            Ok(Guest::Admitted(..)) => told.tell(observer, "a worker of another run was refused"),
            Ok(Guest::Refused(text)) => told.tell(observer, &text),
            Err(_) => {}
        }
    }
    drop(door);
    Message::Ready.write(&mut control).map_err(gone)?;
    if Message::read(&mut control).map_err(gone)? != Message::Start {
        return Err(failed("rank 0 broke the protocol"));
    }
    let mut seats = Seats::new(place.rank as usize, lines, threads as usize, serve)?;
    let served = follow(&mut seats, control, cancel);
    if served.is_err() {
        seats.shared.abandon();
    }
    seats.end();
    served
}

/// Executes the messages of rank 0.
fn follow<R: Send + 'static>(seats: &mut Seats<R>, mut control: TcpStream, cancel: &Cancel) -> Result<(), TeamError> {
    let (sender, events) = channel();
    listen(0, &control, sender).map_err(failed)?;
    control.set_write_timeout(Some(SILENCE)).map_err(failed)?;
    let gone = |error: io::Error| failed(format_args!("rank 0 is gone: {}", told_as(&error)));
    let (mut working, mut told, mut beat) = (0, false, Instant::now());
    loop {
        match events.recv_timeout(NAP / 2) {
            Ok((_, Ok(Message::Job(job)))) => {
                (working, told) = (seats.jobs.len(), false);
                seats.give(&Arc::new(job));
            }
            Ok((_, Ok(Message::Stop(reason)))) => {
                told = true;
                seats.shared.stop(reason);
            }
            Ok((_, Ok(Message::Beat(_)))) => {}
            Ok((_, Ok(Message::Abort(why)))) => return Err(TeamError(why)),
            Ok((_, Ok(Message::Bye))) => return Ok(()),
            Ok((_, Ok(_))) => return Err(failed("rank 0 broke the protocol")),
            Ok((_, Err(why))) => return Err(failed(format_args!("rank 0 is gone: {why}"))),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(failed("rank 0 is gone")),
        }
        loop {
            match seats.results.try_recv() {
                Ok(_) => {
                    working -= 1;
                    if working == 0 {
                        Message::Ended.write(&mut control).map_err(gone)?;
                    }
                }
                Err(std::sync::mpsc::TryRecvError::Empty) => break,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                    let _ = Message::Abort("a worker failed".to_owned()).write(&mut control);
                    return Err(failed("a worker failed"));
                }
            }
        }
        if let Some(rank) = seats.broken() {
            let _ = Message::Lost(rank).write(&mut control);
        }
        if cancel.is_cancelled() && !seats.shared.is_stopped() {
            seats.shared.stop(StopReason::Interrupted);
        }
        if working > 0 && seats.shared.is_stopped() && !told {
            told = true;
            Message::Stop(seats.shared.reason().unwrap_or(StopReason::Interrupted)).write(&mut control).map_err(gone)?;
        }
        if beat.elapsed() >= BEAT {
            beat = Instant::now();
            Message::Beat(seats.shared.progress()).write(&mut control).map_err(gone)?;
        }
    }
}

/// Connects to an address and introduces this process. As long as there is no listener, or the
/// listener has no time, it tries again.
fn reach(address: &str, secret: &Secret, greeting: &Greeting, until: Instant, cancel: &Cancel) -> Result<TcpStream, TeamError> {
    loop {
        let connected = address.to_socket_addrs().and_then(|mut all| all.next().ok_or_else(|| io::ErrorKind::NotFound.into()));
        match connected.and_then(|to| TcpStream::connect_timeout(&to, SILENCE)) {
            Ok(mut stream) => match greet(&mut stream, secret, greeting) {
                Ok(()) => return Ok(stream),
                Err(Refused::Io(_)) if Instant::now() < until && !cancel.is_cancelled() => thread::sleep(NAP * 5),
                Err(why) => return Err(failed(format_args!("{address} does not let rank {} in: {why}", greeting.rank))),
            },
            Err(error) if Instant::now() >= until || cancel.is_cancelled() => {
                return Err(failed(format_args!("{address} cannot be reached: {error}")));
            }
            Err(_) => thread::sleep(NAP * 5),
        }
    }
}
