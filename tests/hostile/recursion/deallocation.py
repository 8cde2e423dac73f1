x = None
for _ in range(3 * 10**6):
    x = (x,)
del x
