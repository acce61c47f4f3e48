"""A session of many commands by Python's ftplib, with a transcript on standard output.

    python3 session.py PORT

The server has an anonymous user who may write below `up`. What differs from server to server (ports,
times, owners) is left out of the transcript, so that those of two servers can be compared.
"""

import ftplib
import io
import re
import sys

lines = 0


def note(text):
    global lines
    lines += 1
    text = re.sub(r"\((\d+,){5}\d+\)", "(PORT)", text)
    text = re.sub(r"\(\|\|\|\d+\|\)", "(PORT)", text)
    print(text)


def connect(port):
    ftp = ftplib.FTP()
    ftp.connect("127.0.0.1", port, 20)
    return ftp


def command(ftp, line):
    try:
        answer = ftp.sendcmd(line)
    except ftplib.Error as error:
        answer = str(error)
    note(f"{line} -> {answer}")
    return answer


def listing(lines):
    """A listing without owners and times."""
    out = []
    for line in lines:
        words = line.split()
        out.append(" ".join([words[0], words[1], words[4], words[-1]]) if len(words) > 8 else line)
    return sorted(out)


def receive(ftp, line, rest=None):
    data = io.BytesIO()
    try:
        answer = ftp.retrbinary(line, data.write, rest=rest)
    except ftplib.Error as error:
        answer = str(error)
    value = data.getvalue()
    note(f"{line} -> {answer} {len(value)} bytes, sum {sum(value) % 65521}")


def store(ftp, line, data, rest=None):
    try:
        answer = ftp.storbinary(line, io.BytesIO(data), rest=rest)
    except ftplib.Error as error:
        answer = str(error)
    note(f"{line} -> {answer}")


def main():
    port = int(sys.argv[1])
    ftp = connect(port)
    note(f"greeting {ftp.getwelcome()[:3]}")
    for line in ["PWD", "NOOP", "LIST", "PASS early", "USER nobody-here", "PASS wrong", "USER anonymous", "PASS me@here"]:
        command(ftp, line)
    for line in [
        "PWD", "SYST", "NOOP", "TYPE I", "TYPE A", "TYPE L", "TYPE Q", "MODE S", "MODE B", "STRU F", "STRU P", "CWD sub", "PWD",
        "CWD ..", "PWD", "CWD absent", "CWD /sub", "CWD /", "CWD ../../..", "PWD", "CDUP", "MKD up/new", "MKD up/new", "CWD up/new", "PWD", "CWD /",
        "RMD up/new", "RMD up/new", "SIZE file", "SIZE absent", "SIZE sub", "REST 100", "REST 0", "REST x", "ABOR", "DELE absent",
        "RETR file", "LIST", "NLST", "STOR up/x", "PORT 1,2,3", "PORT 300,1,1,1,1,1", "XYZZY", "noop", "syst",
    ]:
        command(ftp, line)
    ftp.voidcmd("TYPE I")
    receive(ftp, "RETR file")
    receive(ftp, "RETR file", rest=317990)
    receive(ftp, "RETR absent")
    receive(ftp, "RETR sub")
    receive(ftp, "RETR empty")
    store(ftp, "STOR up/stored", bytes(range(256)) * 100)
    receive(ftp, "RETR up/stored")
    command(ftp, "SIZE up/stored")
    store(ftp, "STOR sub/refused/deep", b"x")
    command(ftp, "DELE up/stored")
    command(ftp, "DELE up/stored")
    for active in [False, True]:
        ftp.set_pasv(not active)
        note("names " + " ".join(sorted(ftp.nlst())))
        note("names of sub " + " ".join(sorted(ftp.nlst("sub"))))
        found = []
        ftp.retrlines("LIST", found.append)
        note("listing " + "; ".join(listing(found)))
    command(ftp, "EPSV")
    command(ftp, "PASV")
    command(ftp, "USER anonymous")
    command(ftp, "PASS again")
    note(f"QUIT -> {ftp.quit()}")
    print(f"{lines} exchanges", file=sys.stderr)


main()
