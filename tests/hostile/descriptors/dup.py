import os
while True:
    for n in range(300):
        for m in range(300):
            try:
                os.dup2(n, m)
            except OSError:
                pass
