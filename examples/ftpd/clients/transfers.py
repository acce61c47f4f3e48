"""Transfers as a strict client sees them: patterns, types, structures, and ABOR in the middle.

    python3 transfers.py PORT ROOT

The server has the user `user` with the password `secret`, and serves the folder ROOT, which this
script prepares and looks into. The first line that is wrong ends it with a failure.
"""

import pathlib
import socket
import sys
import time

port, root = int(sys.argv[1]), pathlib.Path(sys.argv[2])


class Client:
    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", port), 30)
        self.lines = self.socket.makefile("rb")
        self.expect(220)

    def expect(self, code):
        line = self.lines.readline().decode("latin1").strip()
        assert line[:3] == str(code), f"{code} was expected: {line!r}"
        return line

    def command(self, line, code):
        self.socket.sendall(line if isinstance(line, bytes) else line.encode() + b"\r\n")
        return self.expect(code)

    def data(self):
        target = int(self.command("EPSV", 229).split("|")[3])
        return socket.create_connection(("127.0.0.1", target), 30)

    def receive(self, line):
        data = self.data()
        self.command(line, 150)
        found = rest_of(data)
        self.expect(226)
        return found

    def store(self, line, parts):
        data = self.data()
        self.command(line, 150)
        for part in parts:
            data.sendall(part)
            time.sleep(0.02)
        data.close()


def rest_of(data):
    found = b""
    while True:
        part = data.recv(1 << 20)
        if not part:
            return found
        found += part


def listings(client):
    cases = [
        ("NLST l?s*", b"list-a\r\nlist-b\r\n"),
        ("NLST *-a", b"list-a\r\n"),
        ("NLST list-a", b"list-a\r\n"),
        ("NLST down/*", b"down/one\r\ndown/two\r\n"),
        ("NLST -la down/t*", b"down/two\r\n"),
        ("NLST down/absent", b""),
        ("NLST absent/*", b""),
        ("NLST *a*a*a*a*a*a*a*a*a*a*a*b", b""),
    ]
    for line, wanted in cases:
        found = client.receive(line)
        assert found == wanted, f"{line}: {found!r}"
    found = client.receive("LIST down/one").decode().split()
    assert found[0].startswith("-rw") and found[4] == "3" and found[-1] == "one", found
    print(f"listings: {len(cases) + 1}")


def forms(client):
    """A file in each type and structure, and back."""
    text = b"a\nb\xff\n\r\nc\r"
    cases = [
        ("A", "F", b"a\r\nb\xff\r\n\r\r\nc\r"),
        ("A", "R", b"a\xff\x01b\xff\xff\xff\x01\r\xff\x01c\r\xff\x02"),
        ("I", "F", text),
        ("I", "R", b"a\nb\xff\xff\n\r\nc\r\xff\x02"),
    ]
    (root / "form").write_bytes(text)
    for kind, structure, wanted in cases:
        client.command(f"TYPE {kind}", 200)
        client.command(f"STRU {structure}", 200)
        found = client.receive("RETR form")
        assert found == wanted, f"{kind} {structure}: {found!r}"
        # In one part, and byte by byte.
        for parts in [[wanted], [wanted[i : i + 1] for i in range(len(wanted))]]:
            client.store("STOR up/form", parts)
            client.expect(226)
            kept = (root / "up/form").read_bytes()
            assert kept == text, f"{kind} {structure}: {kept!r}"
    # Without the mark at its end, a file of records is not whole.
    client.command("TYPE I", 200)
    client.command("STRU R", 200)
    client.store("STOR up/form", [b"abc"])
    client.expect(426)
    client.command("STRU F", 200)
    client.command("STRU P", 504)
    print(f"forms: {len(cases)}")


def aborts(client):
    with open(root / "large", "wb") as file:
        file.truncate(64 << 20)
    for abort in [b"ABOR\r\n", b"abor\n", b"\xff\xf4\xff\xf2ABOR\r\n"]:
        for line in ["RETR large", "STOR up/part"]:
            data = client.data()
            client.command(line, 150)
            time.sleep(0.1)
            client.command(abort, 426)
            client.expect(226)
            data.close()
    # It came too late.
    data = client.data()
    client.command("RETR form", 150)
    client.expect(226)
    client.command("ABOR", 225)
    # It came with the command itself, and another command waits for the end.
    data = client.data()
    client.command(b"RETR large\r\nABOR\r\n", 150)
    client.expect(426)
    client.expect(226)
    data = client.data()
    client.command(b"RETR large\r\nNOOP\r\nABOR\r\n", 150)
    assert len(rest_of(data)) == 64 << 20
    for code in [226, 200, 225]:
        client.expect(code)
    # A client that goes away in a transfer leaves nothing behind.
    client.data()
    client.command("RETR large", 150)
    client.socket.close()
    print("aborts: 9")


def main():
    (root / "down").mkdir()
    for name in ["list-a", "list-b", ".hidden", "down/one", "down/two"]:
        (root / name).write_text("abc")
    client = Client()
    client.command("USER user", 331)
    client.command("PASS wrong", 530)
    client.command("RETR form", 530)
    client.command("USER user", 331)
    client.command("PASS secret", 230)
    listings(client)
    forms(client)
    aborts(client)


main()
