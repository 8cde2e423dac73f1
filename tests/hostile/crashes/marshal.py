import marshal, os
while True:
    try:
        marshal.loads(b'c' + os.urandom(200))
    except (ValueError, EOFError, TypeError, MemoryError):
        pass
