while True:
    print('x' * 9999)
