"""Runs one script as `python3 script.py` would, once in the life of an instance.

The host runs these files one after the other, takes an image of the memory, and starts every
call from it. A call is one `turn` whose text is a JSON object:
{"name": str, "source": str, "args": [str], "env": {str: str}, "cwd": str}.
Any other text is a user's own warm-up, after which the host takes another image.
"""

import atexit
import builtins
import gc
import importlib.machinery
import json
import linecache
import os
import sys
import threading
import time
import types
import warnings
import weakref

import _imp
import _reactor

scan_request = json.JSONDecoder().scan_once


def turn(source, environ):
    """What the host calls, in the place of the reactor's own: (exit status, session is over)."""
    # No warm-up begins with a brace, and every request does.
    if source[:1] == b"{":
        return _run(source.decode()), False
    return _warm_up(source), False


def run(request):
    """Run the script that `request` describes, to the end, and return its exit status."""
    loader, failure = execute(request)
    if sys.gettrace() or sys.getprofile():  # what the script traces or profiles ends with it
        sys.settrace(None)
        sys.setprofile(None)
    status = 0 if failure is None else report(failure)
    failure = None  # it holds the script's frames
    run_exit_functions()
    return finish(loader, status)


def execute(request):
    """Run the script itself: a weak reference to its loader, and the exception that ended it."""
    job, _ = scan_request(request, 0)
    name, cwd = job["name"], job["cwd"]
    path = name if name.startswith("/") else f"{cwd}/{name}"
    source = job["source"].encode()

    set_environment(job["env"])
    os.chdir(cwd)
    sys.path.insert(0, cwd)
    folder = path[: path.rindex("/")]
    if folder != cwd:
        sys.path.insert(0, folder)
    sys.argv = [name, *job["args"]]
    sys.orig_argv = [sys.executable, *sys.argv]

    main = types.ModuleType("__main__")
    loader = ScriptLoader(path, source)
    main.__dict__.update(__loader__=loader, __builtins__=builtins, __file__=path)
    sys.modules["__main__"] = main
    global script
    script = loader = weakref.ref(loader)
    try:
        exec(compile_script(source, path), main.__dict__)
    except BaseException as exc:
        exc.__traceback__ = script_frames(exc.__traceback__)
        # In a name of this frame, which the script's frame leads back to, it would be in a cycle.
        return loader, exc
    return loader, None


def script_frames(traceback):
    """What is left of a traceback without the frames of execute() and compile_script()."""
    while traceback is not None and traceback.tb_frame.f_globals is globals():
        traceback = traceback.tb_next
    return traceback


def compile_script(source, path):
    """compile() whose fuel does not depend on the path, which is another in every call.

    compile() hashes the path, and how long a look-up takes depends on the hash.
    """
    code = None
    try:
        code = compile(source, "script", "exec", dont_inherit=True)
    except BaseException:
        pass  # it has to name the path, and so has a warning
    del warnings.filters[0]
    warnings._filters_mutated()
    if code is None:
        return compile(source, path, "exec", dont_inherit=True)
    _imp._fix_co_filename(code, path)
    return code


def warnings_are_errors():
    """Prepare for compile_script(), which takes the filter away again."""
    warnings.filters.insert(0, ("error", None, Warning, None, 0))
    warnings._filters_mutated()


script = lambda: None
update_cache = linecache.updatecache


def update_script_lines(filename, module_globals=None):
    """linecache.updatecache() that knows the script, too."""
    loader = script()
    if loader is not None and filename == loader.path:
        # The one-element form is linecache's own for a text to be fetched when first asked for.
        linecache.cache.setdefault(filename, (lambda: loader.get_source(loader.name),))
    return update_cache(filename, module_globals)


linecache.updatecache = update_script_lines


class ScriptLoader(importlib.machinery.SourceFileLoader):
    """The loader of a script whose text came with the call and may not be on disk."""

    __module__ = "importlib.machinery"

    def __init__(self, path, source):
        super().__init__("__main__", path)
        self._source = source

    def get_data(self, path):
        return self._source if path == self.path else super().get_data(path)


def set_environment(variables):
    """os.environ.update() without its checks of every name and value."""
    data = os.environ._data
    for name, value in variables.items():
        os.putenv(name, value)
        data[name.encode()] = value.encode()


# --- Modules whose state at import the image would repeat in every call ---


class Unstarted(types.ModuleType):
    """A module that makes that state anew when it is first touched, and is a plain one then.

    importlib.util.LazyLoader works in the same way.
    """

    def __getattribute__(self, name):
        self.__class__ = types.ModuleType
        starts[self.__name__](self)
        return getattr(self, name)


def start_logging(logging):
    logging._startTime = time.time_ns()
    atexit.register(logging.shutdown)


def start_random(random):
    random.seed()


starts = {"logging": start_logging, "random": start_random, "numpy.random": start_random}
