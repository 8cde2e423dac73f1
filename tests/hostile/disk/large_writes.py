x = bytes(50_000_000)
f = open('f', 'wb', 0)
while True:
    f.seek(0)
    f.write(x)
