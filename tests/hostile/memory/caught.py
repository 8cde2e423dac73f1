held = []
while True:
    try:
        held.append(bytes(1 << 20))
    except MemoryError:
        try:
            held.append(' ' * 1000)
        except MemoryError:
            pass
