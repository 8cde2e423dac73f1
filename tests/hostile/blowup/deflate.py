import zlib
small = zlib.compress(bytes(50_000_000))
held = []
while True:
    held.append(zlib.decompress(small))
