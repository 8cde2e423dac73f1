held = {}
n = 0
while True:
    held[n] = held[-n] = n
    n += 1
