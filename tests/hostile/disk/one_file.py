with open('f', 'wb', 0) as f:
    while True:
        f.write(bytes(1 << 20))
