"""How a script ends: what CPython's pythonrun.c and pylifecycle.c do after its last line."""


def report(failure):
    """Print what ended the script and return the exit status."""
    if isinstance(failure, SystemExit):
        return exit_status(failure)
    sys.last_exc = sys.last_value = failure
    sys.last_type, sys.last_traceback = type(failure), failure.__traceback__
    try:
        sys.excepthook(type(failure), failure, failure.__traceback__)
    except SystemExit as leave:
        return exit_status(leave)
    except BaseException as broken:
        broken.__traceback__ = broken.__traceback__.tb_next  # without this frame
        print_error("Error in sys.excepthook:\n")
        sys.__excepthook__(type(broken), broken, broken.__traceback__)
        print_error("\nOriginal exception was:\n")
        sys.__excepthook__(type(failure), failure, failure.__traceback__)
    return 130 if isinstance(failure, KeyboardInterrupt) else 1


def exit_status(leave):
    """The status that SystemExit asks for; a code that is no number is printed, and means 1."""
    code = leave.code
    if code is None:
        return 0
    if isinstance(code, int):
        # As on a 64-bit host: a C long, of which the process keeps eight bits.
        return code & 0xFF if -(2**63) <= code < 2**63 else 0xFF
    print_error(code)
    print_error("\n")
    return 1


def print_error(text):
    try:
        sys.stderr.write(str(text))
    except Exception:
        pass  # CPython has nowhere else to say it either


def run_exit_functions():
    try:
        threading._shutdown()
    except BaseException as exc:
        unraisable(exc, "Exception ignored on threading shutdown")
    atexit._run_exitfuncs()


def finish(loader, status):
    """Flush, and let the script's objects die: `__del__` runs, files are written and closed."""
    flushed = flush("stdout")
    flushed = flush("stderr") and flushed
    # As in CPython, a collection while all can be reached: it puts the young objects in an order
    # in which the next one finalizes an open file before the buffer and the descriptor in it.
    gc.collect(0)
    if hasattr(sys, "last_exc"):
        sys.last_exc = sys.last_type = sys.last_value = sys.last_traceback = None
    sys.modules.pop("__main__", None)
    if len(sys.modules) >= len(image_modules):
        for name in [name for name in sys.modules if name not in image_modules]:
            del sys.modules[name]
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    # All that the script made is young, unless the collector has moved it on to the oldest.
    gc.collect(2 if gc.get_count()[2] else 1)
    if loader() is not None:
        clear_namespace(loader())
    try:
        sys.stderr.flush()
        sys.stdout.flush()
    except Exception:
        pass  # CPython closes these without a word, too
    return status if flushed else 120


def flush(name):
    """Flush sys.stdout or sys.stderr, if it is there and open; return whether that went well."""
    try:
        getattr(sys, name).flush()
    except BaseException as exc:
        if not is_open(getattr(sys, name, None)):
            return True
        if name == "stdout":
            unraisable(exc, "Exception ignored while flushing sys.stdout")
        return False
    return True


def is_open(stream):
    try:
        return stream is not None and not stream.closed
    except Exception:
        return True


def unraisable(exc, message):
    exc.__traceback__ = exc.__traceback__.tb_next  # without the frame that caught it
    sys.unraisablehook(UnraisableHookArgs((type(exc), exc, exc.__traceback__, message, None)))


def clear_namespace(loader):
    """Let go of the script's globals, when something of the image holds a function of it."""
    for names in gc.get_referrers(loader):
        if type(names) is dict and names.get("__loader__") is loader:
            for name in names:
                if name != "__builtins__":
                    names[name] = None


def unraisable_hook_args():
    """The type of what sys.unraisablehook takes; no module offers it by name."""

    class Failing:
        def __del__(self):
            raise Exception

    seen = []
    sys.unraisablehook = lambda args: seen.append(type(args))
    Failing()
    sys.unraisablehook = sys.__unraisablehook__
    return seen[0]


UnraisableHookArgs = unraisable_hook_args()
