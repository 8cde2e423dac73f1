"""Measures `ampoule serve` over loopback, and prints what the README and docs/performance.md say of it.

    cargo build --release
    python3 benches/serve.py target/release/ampoule

Needs Python 3.9 or later and the installed runtime `python`. One connection that is kept open posts `print("hi")` 2,000
times; then 64 connections post 2,000 scripts that each answer their own number.
"""

import json
import re
import socket
import statistics
import subprocess
import sys
import threading
import time

ROUNDS, CONNECTIONS = 2000, 64


class Connection:
    """HTTP/1.1 with as little of the client's own time in it as Python can do."""

    def __init__(self, address):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(self, request):
        self.socket.sendall(request)
        answer = self.socket.recv(65536)
        head, _, body = answer.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head, re.I)[1])
        while len(body) < length:
            body += self.socket.recv(65536)
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"an answer that is none: {answer!r}")
        return head, body


def post(body):
    encoded = json.dumps(body).encode()
    head = f"POST /runs HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(encoded)}\r\n\r\n"
    return head.encode() + encoded


def resident(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1]) / 1024
    except OSError:
        return float("nan")


def metrics(address):
    _, body = Connection(address).exchange(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    values = {}
    for line in body.decode().splitlines():
        name, _, value = line.rpartition(" ")
        if name and not name.startswith("#"):
            values[name] = float(value)
    return values


def one_by_one(address):
    connection, request = Connection(address), post({"runtime": "python", "source": 'print("hi")'})
    for _ in range(200):
        connection.exchange(request)
    before, whole, sandbox = metrics(address), [], []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        head, body = connection.exchange(request)
        whole.append((time.perf_counter() - begin) * 1000)
        sandbox.append(float(re.search(rb"sandbox;dur=([\d.]+)", head)[1]))
        assert json.loads(body)["standardOutput"] == "hi\n"
    after = metrics(address)

    def grown(name):
        return (after[name] - before.get(name, 0)) * 1000

    answering = grown('ampoule_http_response_seconds_sum{route="/runs"}')
    calls = grown('ampoule_call_seconds_sum{runtime="python"}') + grown('ampoule_cold_start_seconds_sum{runtime="python"}')
    outside = [a - b for a, b in zip(whole, sandbox)]
    print(f'POST /runs of print("hi"), {ROUNDS} on one connection, in milliseconds:')
    print(f"  whole:     median {statistics.median(whole):.3f}, p99 {statistics.quantiles(whole, n=100)[98]:.3f}")
    print(f"  sandbox:   median {statistics.median(sandbox):.3f}")
    print(f"  the rest:  median {statistics.median(outside):.3f} (loopback, this client, and the service's own part)")
    print(f"  service's own part: mean {(answering - calls) / ROUNDS:.3f} (its handler, without the sandbox)")


def many_at_once(address, pid):
    source = "import sys; n = sys.stdin.read(); print('out', n); sys.exit(int(n) % 200)"
    numbers, lock, wrong, times = iter(range(ROUNDS)), threading.Lock(), [], []

    def work():
        connection = Connection(address)
        while True:
            with lock:
                number = next(numbers, None)
            if number is None:
                return
            body = {"runtime": "python", "source": source, "standardInput": str(number)}
            begin = time.perf_counter()
            outcome = json.loads(connection.exchange(post(body))[1])
            took = (time.perf_counter() - begin) * 1000
            right = (outcome["standardOutput"], outcome["exitCode"]) == (f"out {number}\n", number % 200)
            with lock:
                times.append(took)
                if not right:
                    wrong.append(number)

    before, begin = resident(pid), time.perf_counter()
    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - begin
    print(f"{ROUNDS} requests on {CONNECTIONS} connections: {len(times)} answered, {len(wrong)} mixed up")
    print(f"  {len(times) / took:.0f} a second, median {statistics.median(times):.1f} ms")
    print(f"  resident: {before:.0f} MiB before, {resident(pid):.0f} MiB after")


def main():
    command = [sys.argv[1], "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            host, _, port = server.stdout.readline().strip().removeprefix("listening on http://").rpartition(":")
            address = (host, int(port))
            one_by_one(address)
            for _ in range(3):
                many_at_once(address, server.pid)
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
