held = []
while True:
    held.append([held, object(), {}])
