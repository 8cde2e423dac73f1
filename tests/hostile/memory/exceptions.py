# Exceptions that hold each other.
error = None
while True:
    try:
        raise ValueError('x' * 1000) from error
    except ValueError as caught:
        error = caught
