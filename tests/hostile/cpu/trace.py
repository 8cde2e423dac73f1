import sys
sys.settrace(lambda *a: [0 for _ in range(10**9)])
def f():
    pass
f()
