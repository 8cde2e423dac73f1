# All have the same hash: that of a number is its rest by a prime.
import sys
step = sys.hash_info.modulus
table = {}
for n in range(10**6):
    table[n * step] = n
