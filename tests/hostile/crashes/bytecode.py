# Code that no compiler would make.
def f():
    pass
f.__code__ = f.__code__.replace(co_code=bytes(range(0, 200, 2)) * 50, co_stacksize=1)
f()
