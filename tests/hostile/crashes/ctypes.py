try:
    import ctypes
    ctypes.string_at(0)
except ImportError:
    pass
