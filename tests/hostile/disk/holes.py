import os
n = 0
while True:
    f = os.open(str(n), os.O_RDWR | os.O_CREAT)
    try:
        os.ftruncate(f, 1 << 50)
    except OSError:
        pass
    try:
        os.pwrite(f, b'x', 1 << 50)
    except OSError:
        pass
    os.close(f)
    n += 1
