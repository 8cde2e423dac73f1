import sys
sys.setrecursionlimit(2**31 - 1)

def f():
    return f()

f()
