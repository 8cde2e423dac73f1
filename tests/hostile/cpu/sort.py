import itertools
sorted(itertools.repeat(0, 10**12))
