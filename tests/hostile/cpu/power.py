# One call into C after another, each far longer than a tick.
while True:
    pow(7, 10**6)
