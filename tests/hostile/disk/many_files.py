n = 0
while True:
    try:
        open(str(n), 'w').close()
    except OSError:
        pass
    n += 1
