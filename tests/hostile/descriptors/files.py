held = []
while True:
    try:
        held.append(open(f'{len(held) % 50}', 'w'))
    except OSError:
        pass
