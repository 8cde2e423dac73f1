"""Claims about `ampoule mcp`, each a function that is called with a session. The first argument names the claim; the
others are `stdio` and a command, or `http` and an address."""

import asyncio
import base64
import os
import sys
import time
from contextlib import asynccontextmanager
from datetime import timedelta

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification


@asynccontextmanager
async def connected(kind, *where):
    if kind == "stdio":
        # Left to itself the client passes on a few variables only, and not the one that says where the runtimes are.
        streams = stdio_client(StdioServerParameters(command=where[0], args=list(where[1:]), env=dict(os.environ)))
    else:
        streams = streamablehttp_client(where[0])
    async with streams as (read, write, *_):
        async with ClientSession(read, write, read_timeout_seconds=timedelta(seconds=60)) as session:
            answer = await session.initialize()
            assert answer.serverInfo.name == "ampoule", answer
            assert "sandbox" in answer.instructions, answer
            yield session


async def run(session, language, code, **more):
    return await session.call_tool("run_script", {"language": language, "code": code, **more})


def text(result):
    return "\n".join(block.text for block in result.content if block.type == "text")


async def the_tools_are_listed_with_their_schemas(session):
    tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert set(tools) == {"run_script", "list_runtimes"}, tools
    schema = tools["run_script"].inputSchema
    assert schema["required"] == ["language", "code"], schema
    assert schema["properties"]["language"]["enum"] == ["javascript", "python", "sh"], schema
    assert set(schema["properties"]) == {"language", "name", "code", "stdin", "args", "files", "timeout"}, schema
    listed = text(await session.call_tool("list_runtimes", {}))
    for part in ["python: CPython", "javascript: ", "sh: ", "256 MiB", "20 s"]:
        assert part in listed, listed


async def a_script_runs_and_what_it_prints_comes_back(session):
    for language, code in [("python", "print(6 * 7)"), ("sh", "echo 42"), ("javascript", "console.log(42)")]:
        result = await run(session, language, code)
        assert (result.isError, text(result)) == (False, "42\n"), result
        assert result.structuredContent["exitCode"] == 0, result
    typed = "const n: number = 42; console.log(n)"
    assert text(await run(session, "javascript", typed, name="main.ts")) == "42\n"
    assert (await run(session, "javascript", typed)).isError
    result = await run(session, "sh", "echo out; echo err >&2; exit 3")
    assert result.isError and "out\n" in text(result) and "[standard error]\nerr\n" in text(result), result
    assert "[exit code 3]" in text(result), result
    assert "printed nothing" in text(await run(session, "sh", ":"))


async def input_arguments_and_files_reach_the_script(session):
    code = "import sys\nprint(sys.stdin.read(), sys.argv[1:], open('a/b.txt').read(), open('c', 'rb').read())"
    files = [
        {"path": "a/b.txt", "content": "grüß"},
        {"path": "c", "content_base64": base64.b64encode(b"\x00\xff").decode()},
    ]
    result = await run(session, "python", code, stdin="in", args=["x", "y z"], files=files)
    assert text(result) == "in ['x', 'y z'] grüß b'\\x00\\xff'\n", result
    # What it was given and did not change does not come back.
    assert len(result.content) == 1, result


async def a_plot_arrives_as_an_image(session):
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.savefig('squares.png')"
    result = await run(session, "python", code)
    images = [block for block in result.content if block.type == "image"]
    assert len(images) == 1 and images[0].mimeType == "image/png", result
    assert base64.b64decode(images[0].data).startswith(b"\x89PNG\r\n\x1a\n")


async def files_come_back_in_the_form_that_fits_them(session):
    code = "open('a.txt', 'w').write('some text')\nopen('b.bin', 'wb').write(bytes([0, 255]))\nopen('c.bin', 'wb').write(bytes(5 << 20))"
    result = await run(session, "python", code)
    resources = {str(block.resource.uri): block.resource for block in result.content if block.type == "resource"}
    assert resources["sandbox:/a.txt"].text == "some text", result
    assert base64.b64decode(resources["sandbox:/b.bin"].blob) == bytes([0, 255]), result
    assert "c.bin (5242880 bytes)" in text(result), result


async def what_an_agent_can_mend_is_said(session):
    for language, code, said in [
        ("python", "x = bytearray(300 << 20)", "MemoryError: the limit is 256 MiB"),
        ("javascript", "const a = []; for (;;) a.push(new Uint8Array(1 << 20))", "the limit is 256 MiB"),
        ("python", "import urllib.request as r; r.urlopen('http://127.0.0.1:9')", "no network in this sandbox"),
        ("javascript", "require('net').connect(9)", "no network in this sandbox"),
        ("sh", "curl http://127.0.0.1:9", "no network in this sandbox"),
        ("python", "import subprocess; subprocess.run(['ls'])", "no processes in this sandbox"),
        ("python", "import nothing_like_it", "no packages can be installed"),
        ("ruby", "", "there are: javascript, python, sh"),
    ]:
        result = await run(session, language, code)
        assert result.isError and said in text(result), (said, result)
    for arguments, said in [
        ({"language": "sh"}, "missing field `code`"),
        ({"language": "sh", "code": ":", "tiemout": 1}, "`tiemout`"),
        ({"language": "sh", "code": ":", "timeout": -1}, "above 0"),
        ({"language": "sh", "code": ":", "files": [{"path": "../x", "content": ""}]}, "`../x`"),
        ({"language": "sh", "code": ":", "files": [{"path": "x", "content": ""}] * 2}, "`x` cannot be placed"),
    ]:
        result = await session.call_tool("run_script", arguments)
        assert result.isError and said in text(result), (said, result)
    assert text(await run(session, "sh", "echo still here")) == "still here\n"


async def a_script_that_takes_too_long_is_stopped(session):
    begin = time.monotonic()
    result = await run(session, "sh", "echo before; while :; do :; done", timeout=0.5)
    assert result.isError and "before\n" in text(result) and "stopped at its timeout" in text(result), result
    assert time.monotonic() - begin < 5
    assert result.structuredContent["exitCode"] is None, result


async def progress_is_told_while_a_script_runs(session):
    told = []

    async def tell(progress, total, message):
        told.append((progress, total, message))

    arguments = {"language": "sh", "code": "sleep 2.5; echo done"}
    result = await session.call_tool("run_script", arguments, progress_callback=tell)
    assert text(result) == "done\n", result
    # One may still be on its way.
    assert len(told) >= 2 and "running" in told[-1][2], told
    assert [each[0] for each in told] == sorted(each[0] for each in told), told
    assert all(each[1] == 20.0 for each in told), told


async def a_run_that_is_cancelled_ends(session):
    # All slots are taken by endless runs, which are then cancelled: only if they ended is there one for the last.
    number = session._request_id
    runs = [asyncio.create_task(run(session, "sh", "while :; do :; done")) for _ in range(8)]
    await asyncio.sleep(1)
    for request in range(number, number + 8):
        params = CancelledNotificationParams(requestId=request, reason="not needed any more")
        await session.send_notification(
            ClientNotification(CancelledNotification(method="notifications/cancelled", params=params))
        )
    begin = time.monotonic()
    assert text(await run(session, "sh", "echo free")) == "free\n"
    assert time.monotonic() - begin < 10
    for each in runs:
        each.cancel()
    await asyncio.gather(*runs, return_exceptions=True)


async def main():
    claim, *how = sys.argv[1:]
    async with connected(*how) as session:
        await asyncio.wait_for(globals()[claim](session), 90)


asyncio.run(main())
