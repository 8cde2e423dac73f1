# Every exception is swallowed, those that end a program included.
while True:
    try:
        raise SystemExit(0)
    except BaseException:
        pass
