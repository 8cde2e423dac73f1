import warnings
n = 0
while True:
    warnings.warn(f'{n}' * 100)
    n += 1
