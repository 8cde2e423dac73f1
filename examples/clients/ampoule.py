"""Runs a script on a served runner. Needs Python 3.9 or later and nothing else.

    ampoule serve --listen 127.0.0.1:8085 &
    python3 examples/clients/ampoule.py python -c 'print(6 * 7)'
    python3 examples/clients/ampoule.py sh script.sh --file data.csv --keep out
    python3 examples/clients/ampoule.py python long.py --stream
    python3 examples/clients/ampoule.py javascript script.ts

The exit code is the script's own, 124 where it was stopped, 125 where it did not run.
The address is $AMPOULE_URL, else http://127.0.0.1:8085; $AMPOULE_TOKEN is the bearer token, where one is needed.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import http.client
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Iterator, Optional
from urllib.parse import urlsplit


@dataclass
class Outcome:
    """How a script ended. `exit_code` is None where it was stopped at its timeout or ran out of fuel."""

    exit_code: Optional[int]
    stdout: str
    stderr: str
    truncated: bool
    timed_out: bool
    files: dict[str, bytes] = field(default_factory=dict)

    @classmethod
    def from_wire(cls, wire: dict) -> "Outcome":
        return cls(
            wire["exitCode"],
            wire["standardOutput"],
            wire["standardError"],
            wire["truncated"],
            wire["timedOut"],
            {file["path"]: base64.b64decode(file["contentBase64"]) for file in wire.get("files", [])},
        )


class Problem(Exception):
    """The service refused the request or failed. `status` is 0 where there was no answer."""

    def __init__(self, status: int, document: dict, retry_after: Optional[int] = None):
        self.status, self.document, self.retry_after = status, document, retry_after
        where = f" ({document['field']})" if document.get("field") else ""
        super().__init__(f"{document.get('title', 'no outcome')}{where}: {document.get('detail', status)}")


class Runner:
    """A client of one service. It keeps its connection, so it is for one thread at a time."""

    def __init__(self, url: str = "http://127.0.0.1:8085", token: Optional[str] = None, patience: float = 90.0):
        parts = urlsplit(url)
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        if parts.scheme not in kinds or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a service: write http://127.0.0.1:8085")
        self._connection = kinds[parts.scheme](parts.hostname, parts.port, timeout=patience)
        self._path = parts.path.rstrip("/") + "/runs"
        self._headers = {"Content-Type": "application/json"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def run(self, runtime: str, source: str, **options) -> Outcome:
        """Runs a script to its end. Options: see `request`."""
        response = self._send(request(runtime, source, **options), "application/json")
        return Outcome.from_wire(json.loads(response.read()))

    def stream(self, runtime: str, source: str, **options) -> Iterator[tuple[str, object]]:
        """Yields ("stdout", text) and ("stderr", text) as they come, then ("outcome", Outcome).

        Closing the generator before its end closes the connection, which ends the script.
        """
        response = self._send(request(runtime, source, **options), "text/event-stream")
        ended = False
        try:
            for name, data in _events(response):
                ended = name in ("outcome", "problem")
                if name == "problem":
                    raise Problem(data["status"], data)
                yield name, Outcome.from_wire(data) if name == "outcome" else data["text"]
        finally:
            if not ended:
                self._connection.close()

    def close(self) -> None:
        self._connection.close()

    def _send(self, body: dict, accept: str) -> http.client.HTTPResponse:
        encoded = json.dumps(body).encode()
        try:
            self._connection.request("POST", self._path, encoded, {**self._headers, "Accept": accept})
            response = self._connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise Problem(0, {"title": "The service cannot be reached", "detail": str(error)}) from error
        if response.status == 200:
            return response
        try:
            document = json.loads(response.read())
        except ValueError:
            document = {}
        after = response.getheader("Retry-After", "")
        raise Problem(response.status, document, int(after) if after.isdigit() else None)


def request(
    runtime: str,
    source: str,
    *,
    name: Optional[str] = None,
    tenant: Optional[str] = None,
    stdin: Optional[str] = None,
    arguments: tuple[str, ...] = (),
    files: Optional[dict[str, bytes]] = None,
    timeout: Optional[float] = None,
    max_output: Optional[int] = None,
    keep_files: bool = False,
) -> dict:
    """The wire request. `name` is the script's file name: JavaScript whose name ends in .ts is TypeScript."""
    wire = {
        "tenant": tenant,
        "runtime": runtime,
        "source": source,
        "scriptName": name,
        "sourceSha256": hashlib.sha256(source.encode()).hexdigest().upper(),
        "standardInput": stdin,
        "timeoutSeconds": timeout,
        "maxOutputBytes": max_output,
        "arguments": list(arguments),
        "files": [
            {"path": path, "contentBase64": base64.b64encode(content).decode()}
            for path, content in (files or {}).items()
        ],
        "keepFiles": keep_files,
    }
    return {name: value for name, value in wire.items() if value is not None}


def _events(response: http.client.HTTPResponse) -> Iterator[tuple[str, dict]]:
    """Server-sent events, each of whose data is one line of JSON."""
    name, data = None, None
    for line in response:
        key, _, value = line.decode().rstrip("\r\n").partition(":")
        if key == "event":
            name = value.strip()
        elif key == "data":
            data = json.loads(value)
        elif not key and name is not None and data is not None:
            yield name, data
            name, data = None, None


def save(files: dict[str, bytes], folder: Path) -> None:
    """Writes files that a script left. Their names are a stranger's: none may leave the folder."""
    for path, content in files.items():
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\\" in path or ":" in path:
            raise ValueError(f"the file name {path!r} leads out of the folder")
        target = folder.joinpath(*parts)
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "xb") as file:
            file.write(content)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs a script on a served runner.")
    parser.add_argument("runtime", help="a value on the service's allow-list, such as python")
    parser.add_argument("script", nargs="?", help="the script's file")
    parser.add_argument("arguments", nargs="*", help="the script's arguments")
    parser.add_argument("-c", dest="code", help="code to run instead of a file")
    parser.add_argument("--name", help="the script's name, such as main.ts; default: its file's")
    parser.add_argument("--tenant")
    parser.add_argument("--stdin", help="a text for standard input")
    parser.add_argument("--file", action="append", default=[], help="a file for the script's directory")
    parser.add_argument("--timeout", type=float, help="seconds")
    parser.add_argument("--keep", type=Path, help="a folder for the files that the script leaves")
    parser.add_argument("--stream", action="store_true", help="show output as it comes")
    given = parser.parse_intermixed_args()
    arguments = given.arguments
    if given.code is not None and given.script is not None:
        arguments = [given.script, *arguments]
    if given.code is None and given.script is None:
        parser.error("a script is needed: a file, or -c CODE")
    source = given.code if given.code is not None else Path(given.script).read_text(encoding="utf-8")
    options = dict(
        name=given.name or (Path(given.script).name if given.code is None else None),
        tenant=given.tenant,
        stdin=given.stdin,
        arguments=tuple(arguments),
        files={Path(path).name: Path(path).read_bytes() for path in given.file},
        timeout=given.timeout,
        keep_files=given.keep is not None,
    )
    runner = Runner(os.environ.get("AMPOULE_URL", "http://127.0.0.1:8085"), os.environ.get("AMPOULE_TOKEN"))
    try:
        if given.stream:
            for name, value in runner.stream(given.runtime, source, **options):
                if name == "outcome":
                    outcome = value
                else:
                    print(value, end="", flush=True, file=sys.stderr if name == "stderr" else sys.stdout)
        else:
            outcome = runner.run(given.runtime, source, **options)
            sys.stdout.write(outcome.stdout)
            sys.stderr.write(outcome.stderr)
    except Problem as problem:
        print(f"ampoule: {problem}", file=sys.stderr)
        return 125
    finally:
        runner.close()
    if given.keep is not None:
        save(outcome.files, given.keep)
    if outcome.truncated:
        print("ampoule: output was cut", file=sys.stderr)
    return 124 if outcome.exit_code is None else outcome.exit_code


if __name__ == "__main__":
    sys.exit(main())
