import os
f = os.open('f', os.O_RDWR | os.O_CREAT)
while True:
    os.pwrite(f, bytes(1 << 20), 0)
    os.fsync(f)
