//! Every connection begins with a proof that both ends know the same secret.
//!
//! The connecting process sends a greeting of fixed length with a random number. The other process
//! answers with a random number of its own and a code (HMAC-SHA256) over both, which proves that it
//! knows the secret; then the first one does the same. Until then nothing else is read, no memory
//! is allocated for a stranger's data, and the whole exchange has a time limit. The codes contain
//! their direction, so that none can be sent back. The data that follows is not encrypted: the
//! network between the machines must be trusted, or a tunnel.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The version of the protocol between processes.
pub const VERSION: u32 = 1;

const MAGIC: &[u8; 16] = b"everypath-team\r\n";
const NONCE: usize = 32;
const CODE: usize = 32;
/// Magic, version, purpose, rank, session, nonce.
const GREETING: usize = 16 + 4 + 4 + 4 + 16 + NONCE;
/// The time limit of a greeting.
const PATIENCE: Duration = Duration::from_secs(5);
/// The shortest secret; a shorter one could be guessed.
pub const SECRET_MIN: usize = 16;

/// The secret of all processes of a run.
#[derive(Clone)]
pub struct Secret(Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// A secret of at least [`SECRET_MIN`] bytes.
    pub fn new(bytes: &[u8]) -> Option<Secret> {
        (bytes.len() >= SECRET_MIN).then(|| Secret(bytes.to_vec()))
    }

    /// A new secret, which cannot be guessed.
    pub fn random() -> io::Result<Secret> {
        Ok(Secret(random::<32>()?.to_vec()))
    }

    /// The bytes, to pass them on.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn code(&self, parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        parts.iter().for_each(|part| code.update(part));
        Some(code)
    }
}

pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// The purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Control,
    Data,
}

/// The process that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Greeting {
    pub purpose: Purpose,
    pub rank: u32,
    pub session: [u8; 16],
}

/// Why a connection is refused.
#[derive(Debug)]
pub(crate) enum Refused {
    Stranger,
    Version(u32),
    Secret,
    Io(io::Error),
    /// It ended the connection when it was to prove that it knows the secret.
    BrokeOff,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Stranger => f.write_str("it does not use the protocol of workers"),
            Refused::Version(version) => write!(f, "it has version {version} of the protocol, and this is version {VERSION}"),
            Refused::Secret => f.write_str("it does not know the secret"),
            Refused::BrokeOff => f.write_str("it broke off when it was to prove the secret: its secret is probably another one"),
            Refused::Io(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                f.write_str("it did not introduce itself in time")
            }
            Refused::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => f.write_str("it ended before it had introduced itself"),
            Refused::Io(error) => error.fmt(f),
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        Refused::Io(error)
    }
}

/// Reads exactly as many bytes as `buffer` has, before `until`.
fn read_until(stream: &mut TcpStream, buffer: &mut [u8], until: Instant) -> io::Result<()> {
    let mut read = 0;
    while read < buffer.len() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut buffer[read..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn written(greeting: &Greeting) -> io::Result<[u8; GREETING]> {
    let mut bytes = [0; GREETING];
    bytes[..16].copy_from_slice(MAGIC);
    bytes[16..20].copy_from_slice(&VERSION.to_le_bytes());
    bytes[20..24].copy_from_slice(&u32::from(greeting.purpose == Purpose::Data).to_le_bytes());
    bytes[24..28].copy_from_slice(&greeting.rank.to_le_bytes());
    bytes[28..44].copy_from_slice(&greeting.session);
    bytes[44..].copy_from_slice(&random::<NONCE>()?);
    Ok(bytes)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Introduces this process to the one at the other end, which must prove that it knows the secret.
pub(crate) fn greet(stream: &mut TcpStream, secret: &Secret, greeting: &Greeting) -> Result<(), Refused> {
    let until = Instant::now() + PATIENCE;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let hello = written(greeting)?;
    stream.write_all(&hello)?;
    let mut magic = [0; 20];
    read_until(stream, &mut magic, until)?;
    if &magic[..16] != MAGIC {
        return Err(Refused::Stranger);
    }
    if word(&magic, 16) != VERSION {
        return Err(Refused::Version(word(&magic, 16)));
    }
    let mut answer = [0; NONCE + CODE];
    read_until(stream, &mut answer, until)?;
    let (nonce, code) = answer.split_at(NONCE);
    let expected = secret.code(&[b"admits", &hello, nonce]).ok_or(Refused::Secret)?;
    expected.verify_slice(code).map_err(|_| Refused::Secret)?;
    let mine = secret.code(&[b"joins", nonce, &hello]).ok_or(Refused::Secret)?.finalize().into_bytes();
    stream.write_all(&mine)?;
    let mut admitted = [0; 1];
    read_until(stream, &mut admitted, until)?;
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    Ok(())
}

/// Reads the greeting of the other end, and admits it only if it knows the secret.
pub(crate) fn admit(stream: &mut TcpStream, secret: &Secret) -> Result<Greeting, Refused> {
    let until = Instant::now() + PATIENCE;
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut hello = [0; GREETING];
    // A stranger is recognised by its first bytes, and need not send a whole greeting.
    read_until(stream, &mut hello[..20], until)?;
    if &hello[..16] != MAGIC {
        return Err(Refused::Stranger);
    }
    let version = word(&hello, 16);
    if version != VERSION {
        // The other end reports the same to its user.
        let mut answer = MAGIC.to_vec();
        answer.extend_from_slice(&VERSION.to_le_bytes());
        stream.write_all(&answer)?;
        return Err(Refused::Version(version));
    }
    read_until(stream, &mut hello[20..], until)?;
    let nonce = random::<NONCE>()?;
    let code = secret.code(&[b"admits", &hello, &nonce]).ok_or(Refused::Secret)?.finalize().into_bytes();
    let mut answer = MAGIC.to_vec();
    answer.extend_from_slice(&VERSION.to_le_bytes());
    answer.extend_from_slice(&nonce);
    answer.extend_from_slice(&code);
    stream.write_all(&answer)?;
    let mut proof = [0; CODE];
    // The other end breaks off if it does not accept the code of this one.
    read_until(stream, &mut proof, until).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => Refused::BrokeOff,
        _ => Refused::Io(error),
    })?;
    let expected = secret.code(&[b"joins", &nonce, &hello]).ok_or(Refused::Secret)?;
    expected.verify_slice(&proof).map_err(|_| Refused::Secret)?;
    stream.write_all(&[1])?;
    stream.set_read_timeout(None)?;
    stream.set_write_timeout(None)?;
    let purpose = if word(&hello, 20) == 0 { Purpose::Control } else { Purpose::Data };
    let mut session = [0; 16];
    session.copy_from_slice(&hello[28..44]);
    Ok(Greeting { purpose, rank: word(&hello, 24), session })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const GREETING_SENT: Greeting = Greeting { purpose: Purpose::Data, rank: 7, session: [3; 16] };

    fn meet(client: impl FnOnce(TcpStream) + Send + 'static, secret: &[u8]) -> Result<Greeting, Refused> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let other = std::thread::spawn(move || client(TcpStream::connect(address).unwrap()));
        let (mut stream, _) = listener.accept().unwrap();
        let admitted = admit(&mut stream, &Secret::new(secret).unwrap());
        drop(stream);
        other.join().unwrap();
        admitted
    }

    #[test]
    fn who_knows_the_secret_is_let_in() {
        let secret = b"0123456789abcdef";
        let client = |mut stream: TcpStream| greet(&mut stream, &Secret::new(secret).unwrap(), &GREETING_SENT).unwrap();
        assert_eq!(meet(client, secret).unwrap(), GREETING_SENT);
    }

    #[test]
    fn who_does_not_is_refused_on_both_sides() {
        let client = |mut stream: TcpStream| {
            let greeted = greet(&mut stream, &Secret::new(b"another secret..").unwrap(), &GREETING_SENT);
            assert!(matches!(greeted, Err(Refused::Secret)), "{greeted:?}");
        };
        let admitted = meet(client, b"0123456789abcdef");
        assert!(matches!(admitted, Err(Refused::BrokeOff)), "{admitted:?}");
    }

    #[test]
    fn strangers_and_other_versions_are_told_apart() {
        let admitted = meet(|mut stream| stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap(), b"0123456789abcdef");
        assert!(matches!(admitted, Err(Refused::Stranger)), "{admitted:?}");
        let other = |mut stream: TcpStream| {
            let mut hello = written(&GREETING_SENT).unwrap();
            hello[16] = 9;
            stream.write_all(&hello).unwrap();
        };
        let admitted = meet(other, b"0123456789abcdef");
        assert!(matches!(admitted, Err(Refused::Version(9))), "{admitted:?}");
        let admitted = meet(|mut stream| stream.write_all(b"everypath").unwrap(), b"0123456789abcdef");
        assert!(matches!(admitted, Err(Refused::Io(_))), "{admitted:?}");
    }

    #[test]
    fn a_proof_cannot_be_replayed_or_reflected() {
        // The client sends back the code that it received.
        let client = |mut stream: TcpStream| {
            stream.write_all(&written(&GREETING_SENT).unwrap()).unwrap();
            let mut answer = [0; 20 + NONCE + CODE];
            stream.read_exact(&mut answer).unwrap();
            stream.write_all(&answer[20 + NONCE..]).unwrap();
            let _ = stream.read(&mut [0; 1]);
        };
        let admitted = meet(client, b"0123456789abcdef");
        assert!(matches!(admitted, Err(Refused::Secret)), "{admitted:?}");
    }
}
