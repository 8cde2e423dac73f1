import os
os.mkdir('d')
held = []
while True:
    try:
        held.append(os.open('d', os.O_RDONLY))
    except OSError:
        pass
