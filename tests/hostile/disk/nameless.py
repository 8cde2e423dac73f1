import os
held = []
n = 0
while True:
    try:
        f = os.open('f', os.O_RDWR | os.O_CREAT)
        held.append(f)
        os.write(f, bytes(1 << 20))
        os.remove('f')
    except OSError:
        pass
