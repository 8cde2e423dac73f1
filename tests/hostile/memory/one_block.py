held = []
while True:
    held.append(bytearray(b'x') * 100_000_000)
