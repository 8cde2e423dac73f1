import numpy
held = []
while True:
    held.append(numpy.ones((4000, 4000)))
