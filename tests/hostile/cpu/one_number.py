# A single operation that would take for ever.
print(len(str(10 ** 10 ** 8)))
