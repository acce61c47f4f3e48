//! Throughput of retrieval over the loopback interface beside vsftpd and proftpd, in one run: the
//! sizes of table 1 of W. Bezuidenhout's thesis. The servers take turns, so that a busy moment of
//! the machine meets all of them.

use super::client::Client;
use super::record::Record;
use super::server::{Built, Server, wrong};
use crate::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Medians that differ by less than this are the same: the loopback interface is no steadier.
const TOLERANCE: f64 = 0.03;

const SIZES: [(&str, u64); 4] = [("318 KB", 318_000), ("112 MB", 112 << 20), ("500 MB", 500 << 20), ("1 GB", 1 << 30)];

pub fn run(built: &Built, runs: usize, most: u64, record: &mut Record) -> Result<(), Failure> {
    let root = built.folder.join("root");
    let sizes: Vec<(&str, u64)> = SIZES.into_iter().filter(|(_, size)| *size <= most << 20).collect();
    for (_, size) in &sizes {
        let file = fs::File::create(root.join(size.to_string())).map_err(wrong("a file"))?;
        file.set_len(*size).map_err(wrong("a file"))?;
    }
    let mut servers = vec![("generated", built.start(None)?)];
    match vsftpd(&built.folder, &root) {
        Ok(server) => servers.push(("vsftpd", server)),
        Err(why) => record.say(&format!("vsftpd: passed over, {why}")),
    }
    match proftpd(&built.folder, &root) {
        Ok(server) => servers.push(("proftpd", server)),
        Err(why) => record.say(&format!("proftpd: passed over, {why}")),
    }
    let others: Vec<&str> = servers.iter().skip(1).map(|(name, _)| *name).collect();
    let others = if others.is_empty() { "nothing, because no other server could be had".to_owned() } else { others.join(" and ") };
    let mut slower = Vec::new();
    record.say("size\tserver\truns\tleast (s)\tmedian (s)\tmean (s)\tmost (s)\tMB/s at the median");
    let mut buffer = vec![0; 1 << 20];
    for (name, size) in sizes {
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); servers.len()];
        for round in 0..=runs.max(1) {
            for turn in 0..servers.len() {
                let which = (turn + round) % servers.len();
                let mut client = Client::connect(servers[which].1.port)?;
                client.login()?;
                client.command("TYPE I")?;
                let begun = Instant::now();
                let length = client.retrieve(&size.to_string(), None, &mut buffer)?;
                let time = begun.elapsed().as_secs_f64();
                client.command("QUIT")?;
                if length != size {
                    return Err(format!("{}: {length} bytes instead of {size}", servers[which].0));
                }
                // The first round brings the file into memory.
                if round > 0 {
                    times[which].push(time);
                }
            }
        }
        let mut medians = Vec::new();
        for ((server, _), times) in servers.iter().zip(&mut times) {
            times.sort_by(f64::total_cmp);
            let (least, most) = (times.first().copied().unwrap_or_default(), times.last().copied().unwrap_or_default());
            let middle = times.len() / 2;
            // Of an even number of runs, the two in the middle count.
            let median = if times.len().is_multiple_of(2) { f64::midpoint(times[middle - 1], times[middle]) } else { times[middle] };
            let mean = times.iter().sum::<f64>() / times.len() as f64;
            medians.push(median);
            let speed = size as f64 / median / 1e6;
            record.say(&format!("{name}\t{server}\t{}\t{least:.4}\t{median:.4}\t{mean:.4}\t{most:.4}\t{speed:.0}", times.len()));
        }
        for ((server, _), median) in servers.iter().zip(&medians).skip(1) {
            if medians[0] > median * (1.0 + TOLERANCE) {
                slower.push(format!("{name}: {:.1} % slower than {server}", (medians[0] / median - 1.0) * 100.0));
            }
        }
    }
    // The record is kept in any case.
    match slower.as_slice() {
        [] => record.say(&format!("At every size at least as fast as {others}, up to {:.0} %.", TOLERANCE * 100.0)),
        _ => record.fail(&slower.join("; ")),
    }
    Ok(())
}

fn vsftpd(folder: &Path, root: &Path) -> Result<Server, Failure> {
    let program = program(folder, "vsftpd", "vsftpd")?;
    let nothing = folder.join("nothing");
    fs::create_dir_all(&nothing).map_err(wrong("a folder"))?;
    let settings = folder.join("vsftpd.conf");
    Server::start(|port| {
        let text = format!(
            "listen=YES\nlisten_port={port}\nlisten_address=127.0.0.1\nanonymous_enable=YES\nanon_root={}\nanon_world_readable_only=NO\n\
             background=NO\nseccomp_sandbox=NO\nsecure_chroot_dir={}\nxferlog_enable=NO\nconnect_from_port_20=NO\n",
            root.display(),
            nothing.display()
        );
        let _ = fs::write(&settings, text);
        let mut command = Command::new(&program);
        command.arg(&settings);
        command
    })
}

fn proftpd(folder: &Path, root: &Path) -> Result<Server, Failure> {
    let program = program(folder, "proftpd", "proftpd-core")?;
    let settings = folder.join("proftpd.conf");
    let modules = program.parent().and_then(Path::parent).map(|usr| usr.join("lib/proftpd")).unwrap_or_default();
    Server::start(|port| {
        let text = format!(
            "ServerName \"bench\"\nServerType standalone\nDefaultServer on\nPort {port}\nDefaultAddress 127.0.0.1\nUseIPv6 off\nUser nobody\nGroup nogroup\n\
             ScoreboardFile {0}/scoreboard\nDelayTable none\nPidFile {0}/proftpd.pid\nSystemLog none\nTransferLog none\nWtmpLog off\nUseReverseDNS off\n\
             ModulePath {1}\nRequireValidShell off\nAuthPAM off\nUseFtpUsers off\n\
             <Anonymous {2}>\n  User nobody\n  Group nogroup\n  UserAlias anonymous nobody\n  RequireValidShell off\n  AnonRequirePassword off\n</Anonymous>\n",
            folder.display(),
            modules.display(),
            root.display()
        );
        let _ = fs::write(&settings, text);
        let mut command = Command::new(&program);
        command.arg("-n").arg("-c").arg(&settings).stderr(Stdio::null());
        command
    })
}

/// A server that is installed, or its package in a folder of its own: the packages of the two
/// servers exclude each other in Debian.
fn program(folder: &Path, name: &str, package: &str) -> Result<PathBuf, Failure> {
    let installed = ["/usr/sbin", "/usr/local/sbin"].into_iter().map(|place| Path::new(place).join(name)).find(|path| path.exists());
    if let Some(installed) = installed {
        return Ok(installed);
    }
    let place = folder.join(package);
    fs::create_dir_all(&place).map_err(wrong("a folder"))?;
    let mut download = Command::new("apt-get");
    download.args(["download", "-qq", package]).current_dir(&place).output().map_err(wrong("apt-get"))?;
    let files = fs::read_dir(&place).map_err(wrong("a folder"))?.flatten().map(|file| file.path());
    for file in files.filter(|file| file.extension().is_some_and(|ending| ending == "deb")) {
        let _ = Command::new("dpkg-deb").arg("-x").arg(&file).arg(&place).output();
    }
    let program = place.join("usr/sbin").join(name);
    if program.exists() { Ok(program) } else { Err("it is not installed, and its package cannot be had".to_owned()) }
}
