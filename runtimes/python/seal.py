"""The last turn before the image is taken: rehearse, and leave nothing of the warm-up behind."""

import inspect
import io
import itertools
import tempfile
import traceback

import _sitebuiltins

# `warnings` passes over frames of files so named: a stack level beyond the script's first frame
# then means what it does natively. The frames of a script's stack below it all have this name.
BELOW_SCRIPT = "<ampoule importlib._bootstrap>"


def hide_own_frames():
    for function in list(globals().values()):
        if isinstance(function, types.FunctionType):
            function.__code__ = function.__code__.replace(co_filename=BELOW_SCRIPT)
    walk_stack, getouterframes = traceback.walk_stack, inspect.getouterframes

    def walk_script_stack(frame):
        steps = walk_stack(sys._getframe().f_back if frame is None else frame)
        return itertools.takewhile(lambda step: step[0].f_code.co_filename != BELOW_SCRIPT, steps)

    def get_script_frames(frame, context=1):
        frames = getouterframes(frame, context)
        return [info for info in frames if info.filename != BELOW_SCRIPT]

    traceback.walk_stack, inspect.getouterframes = walk_script_stack, get_script_frames


def take_over_turn():
    _reactor._run, _reactor._warm_up = run, warm_up
    # The host holds the function itself, so it is the function's code that changes.
    _reactor.turn.__code__ = turn.__code__
    del sys.modules["_reactor"]


def rehearse(script):
    """Take the way of a call, so that its code is specialized and what it imports is there."""
    path, streams = sys.path.copy(), (sys.stdout, sys.stderr)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = io.StringIO()
    job = {"name": "script.py", "source": script, "args": [], "env": {"A": "b"}, "cwd": "/tmp"}
    warnings_are_errors()
    loader, failure = execute(json.dumps(job))
    status = failure and report(failure)
    failure = None
    finish(loader, status)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = streams
    sys.path[:] = path


def warm_up(source):
    """Run a user's own warm-up as the module `ampoule_image`, and return its exit status."""
    del warnings.filters[0]  # compile_script()'s
    warnings._filters_mutated()
    module = types.ModuleType("ampoule_image")
    module.__builtins__ = builtins
    sys.modules[module.__name__] = module
    os.chdir("/tmp")
    sys.path.insert(0, "/tmp")
    try:
        exec(compile(source, "<warm-up>", "exec", dont_inherit=True), module.__dict__)
    except BaseException as exc:
        traceback.print_exception(exc.with_traceback(script_frames(exc.__traceback__)))
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    sys.path.remove("/tmp")
    forget_warm_up()
    gc.collect()
    gc.freeze()
    return 0


def forget_warm_up():
    for name in ("exit", "quit"):  # the reactor's own would tell the host to end a session
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    for name in os.environ.keys() - environment_at_start.keys():
        del os.environ[name]
    os.environ.update(environment_at_start)
    sys.argv, sys.orig_argv = [""], [sys.executable]
    tempfile.tempdir = tempfile._name_sequence = None
    for folder in list(sys.path_importer_cache):
        if not folder.startswith(sys.path[0]):  # the standard library's archive
            del sys.path_importer_cache[folder]
    linecache.clearcache()
    linecache._interactive_cache.clear()
    atexit.unregister(sys.modules["logging"].shutdown)  # start_logging registers it
    threading._threading_atexits.clear()  # concurrent.futures waits for threads, of which there are none
    for name in starts.keys() & sys.modules.keys():
        sys.modules[name].__class__ = Unstarted
    warnings_are_errors()


hide_own_frames()
take_over_turn()
linecache.clearcache()
linecache._interactive_cache.clear()
gc.collect()
gc.freeze()  # the collector passes over the image, and so does not write to its pages
warm_up_main = sys.modules["__main__"]
image_modules = frozenset(sys.modules)
for script in ["print('hi')\n", "1/0\n", "def f(:\n", "import sys\nsys.exit('no')\n"] * 5:
    rehearse(script)
sys.modules["__main__"] = warm_up_main  # the end of this turn looks for it
forget_warm_up()
gc.collect()
gc.freeze()
if open_descriptors() != descriptors_at_start:
    raise RuntimeError("the warm-up left a file open, and the image would hold a dead descriptor")
